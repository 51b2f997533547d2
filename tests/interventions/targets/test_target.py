"""Targets equal transformers' own run of the same text, one number per row, with and without gradients."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from bertviz_core.errors import TextError
from bertviz_core.interventions.targets import (
    Target,
    answer_target,
    class_target,
    cosine_target,
    direction_target,
    probe_target,
    state_target,
    tag_target,
    word_target,
)
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.sentences.results import DenseLayer, SentencePlan
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import tokenize
from bertviz_core.trace.verification import check_recording
from tests.helpers.tiny_heads import tiny_head
from tests.helpers.tiny_models import HIDDEN, PAIR, TEXT

CLASSES = {"num_labels": 4}


def clean(target: Target, *rows: Any) -> np.ndarray:
    given = rows or (target.tokens,)
    with RUN_LOCK, torch.inference_mode():
        check_recording(target.loaded)
        return target.values(target.inputs(given), [len(row) for row in given]).numpy()


def own_run(own: Any, target: Target) -> Any:
    tokens = target.tokens
    with torch.no_grad():
        return own(
            input_ids=torch.tensor(tokens.input_ids[None]),
            token_type_ids=torch.tensor(tokens.token_type_ids[None]),
            output_hidden_states=True,
        )


@pytest.mark.parametrize("measure", ["logit", "probability", "margin"])
def test_a_class_is_that_of_transformers_own_head(measure: Any) -> None:
    head, tokenizer, own = tiny_head("bert", "sequence-classification", **CLASSES)
    target = class_target(head, tokenize(tokenizer, TEXT, PAIR), "LABEL_2", measure)
    logits = own_run(own, target).logits[0]
    others = max(float(logits[each]) for each in (0, 1, 3))
    expected = {
        "logit": float(logits[2]),
        "probability": float(logits.softmax(dim=0)[2]),
        "margin": float(logits[2]) - others,
    }
    assert clean(target)[0] == pytest.approx(expected[measure], abs=1e-5)
    assert target.unit == ("probability" if measure == "probability" else "logit")


@pytest.mark.parametrize("measure", ["logit", "probability", "margin"])
@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_a_tag_is_that_of_transformers_own_head(family: str, measure: Any) -> None:
    head, tokenizer, own = tiny_head(family, "token-classification", num_labels=5)
    target = tag_target(head, tokenize(tokenizer, TEXT), "LABEL_3", 4, measure)
    with torch.no_grad():
        logits = own(input_ids=torch.tensor(target.tokens.input_ids[None])).logits[0, 4]
    expected = {
        "logit": float(logits[3]),
        "probability": float(logits.softmax(dim=0)[3]),
        "margin": float(logits[3]) - max(float(logits[each]) for each in (0, 1, 2, 4)),
    }
    assert clean(target)[0] == pytest.approx(expected[measure], abs=1e-5)
    assert target.unit == ("probability" if measure == "probability" else "logit")
    assert target.title == f"{measure} of 'LABEL_3' at token 4"


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "mpnet"])
def test_a_word_has_the_log_probability_of_transformers_own_head(family: str) -> None:
    head, tokenizer, own = tiny_head(family, "masked-lm")
    tokens = tokenize(tokenizer, TEXT)
    target = word_target(head, tokenizer, tokens, "river", 4)
    with torch.no_grad():
        logits = own(input_ids=torch.tensor(tokens.input_ids[None])).logits[0, 4]
    river = tokenizer.tokenizer.convert_tokens_to_ids("river")
    assert clean(target)[0] == pytest.approx(float(logits.log_softmax(dim=0)[river]), abs=1e-5)
    continued = word_target(head, tokenizer, tokens, "##on", 4)
    assert clean(continued)[0] == pytest.approx(
        float(logits.log_softmax(dim=0)[tokenizer.tokenizer.convert_tokens_to_ids("##on")]), abs=1e-5
    )


def test_an_answer_has_the_start_and_end_logit_of_transformers_own_head() -> None:
    head, tokenizer, own = tiny_head("bert", "question-answering")
    target = answer_target(head, tokenizer, TEXT, PAIR, (9, 11))
    output = own_run(own, target)
    assert clean(target)[0] == pytest.approx(float(output.start_logits[0, 9] + output.end_logits[0, 11]), abs=1e-5)
    best = answer_target(head, tokenizer, TEXT, PAIR)
    first, last = map(int, best.name.removeprefix("answer:").split("-"))
    context = np.array([each == 1 for each in best.tokens.sequence])
    spans = [(i, j) for i in range(len(context)) for j in range(i, len(context)) if context[i] and context[j]]
    scores = {(i, j): float(output.start_logits[0, i] + output.end_logits[0, j]) for i, j in spans}
    assert max(scores, key=scores.__getitem__) == (first, last)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "weightedmean"])
def test_the_cosine_is_that_of_the_two_vectors(pooling: Any) -> None:
    head, tokenizer, _ = tiny_head("bert", "masked-lm")
    rows = np.random.default_rng(0).normal(size=(5, HIDDEN)).astype(np.float32)
    plan = SentencePlan(pooling, dense=(DenseLayer(rows, None, "tanh"),), normalize=True, truncate_dim=4)
    target = cosine_target(head.base, tokenizer, TEXT, PAIR, plan)
    vectors = []
    for text in (TEXT, PAIR):
        with torch.no_grad():
            states = head.base.model(**tokenizer.tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        weights = torch.arange(1, len(states) + 1.0)[:, None]
        pooled = {
            "mean": states.mean(dim=0),
            "cls": states[0],
            "max": states.amax(dim=0),
            "weightedmean": (states * weights).sum(dim=0) / weights.sum(),
        }[pooling]
        vectors.append(torch.tanh(torch.tensor(rows) @ pooled)[:4])
    expected = torch.nn.functional.cosine_similarity(*vectors, dim=0)
    assert clean(target)[0] == pytest.approx(float(expected), abs=1e-5)
    same = cosine_target(head.base, tokenizer, TEXT, TEXT, plan)
    assert clean(same)[0] == pytest.approx(1, abs=1e-6)


def test_a_probe_is_its_weights_times_the_pooled_states() -> None:
    head, tokenizer, own = tiny_head("bert", "sequence-classification", **CLASSES)
    draw = np.random.default_rng(0)
    weight, bias = draw.normal(size=(3, HIDDEN)).astype(np.float32), draw.normal(size=3).astype(np.float32)
    name, revision = head.base.name, head.base.revision
    probe = Probe(name, revision, "mean", 1, ("a", "b", "c"), weight, bias, "own.csv", 30, 4, 0.8, 0.05)
    target = probe_target(probe, head.base, tokenizer, TEXT, "b")
    states = own_run(own, target).hidden_states[1][0]
    assert clean(target)[0] == pytest.approx(float(weight[1] @ states.mean(dim=0).numpy() + bias[1]), abs=1e-5)
    assert not target.last_state
    assert probe_target(replace(probe, layer=3), head.base, tokenizer, TEXT, "b").last_state


KINDS = ("class", "tag", "word", "answer", "cosine", "state", "direction", "pooler")


def targets() -> dict[str, Callable[[], Target]]:
    classes, tokenizer, _ = tiny_head("bert", "sequence-classification", **CLASSES)
    tags, tag_tokenizer, _ = tiny_head("bert", "token-classification", num_labels=5)
    words, word_tokenizer, _ = tiny_head("bert", "masked-lm")
    answers, answer_tokenizer, _ = tiny_head("bert", "question-answering")
    return {
        "class": lambda: class_target(classes, tokenize(tokenizer, TEXT), "LABEL_1", "margin"),
        "tag": lambda: tag_target(tags, tokenize(tag_tokenizer, TEXT, PAIR), "LABEL_4", 7, "margin"),
        "word": lambda: word_target(words, word_tokenizer, tokenize(word_tokenizer, TEXT), "bank", 2),
        "answer": lambda: answer_target(answers, answer_tokenizer, TEXT, PAIR, (9, 10)),
        "cosine": lambda: cosine_target(words.base, word_tokenizer, TEXT, PAIR, SentencePlan("mean")),
        "state": lambda: state_target(words.base, word_tokenizer, TEXT, None, 2, 3, 5),
        "direction": lambda: direction_target(
            words.base, word_tokenizer, TEXT, None, 2, 3, np.arange(HIDDEN, dtype=np.float32), "own"
        ),
        "pooler": lambda: cosine_target(classes.base, tokenizer, TEXT, PAIR, SentencePlan("pooler")),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_has_the_number_that_it_has_alone_and_a_gradient(kind: str) -> None:
    target = targets()[kind]()
    other = replace(target.tokens, input_ids=target.tokens.input_ids[::-1].copy())
    alone = [clean(target, row)[0] for row in (target.tokens, other)]
    np.testing.assert_allclose(clean(target, target.tokens, other), alone, atol=1e-6)
    assert abs(alone[0] - alone[1]) > 1e-4
    inputs = target.inputs((target.tokens,))
    embeddings = target.loaded.model.get_input_embeddings()(inputs.pop("input_ids")).detach()
    direction = torch.randn(embeddings.shape, generator=torch.Generator().manual_seed(1)) * 1e-2
    with RUN_LOCK:
        embeddings.requires_grad_()
        value = target.values({**inputs, "inputs_embeds": embeddings}, [len(target.tokens)])
        (gradient,) = torch.autograd.grad(value.sum(), embeddings)
        with torch.no_grad():
            ends = [
                target.values({**inputs, "inputs_embeds": embeddings + sign * direction}, [len(target.tokens)])
                for sign in (1, -1)
            ]
    assert float(value.detach()) == pytest.approx(float(alone[0]), abs=1e-6)
    assert float((gradient * direction).sum()) == pytest.approx(float(ends[0] - ends[1]) / 2, rel=0.02, abs=1e-5)


def test_what_does_not_exist_is_told() -> None:
    head, tokenizer, _ = tiny_head("bert", "sequence-classification", **CLASSES)
    words, word_tokenizer, _ = tiny_head("bert", "masked-lm")
    with pytest.raises(TextError, match=r"no class 'joy' in .*'LABEL_0', 'LABEL_1'"):
        class_target(head, tokenize(tokenizer, TEXT), "joy")
    tags, tag_tokenizer, _ = tiny_head("bert", "token-classification", num_labels=5)
    with pytest.raises(TextError, match=r"no class 'joy' in"):
        tag_target(tags, tokenize(tag_tokenizer, TEXT), "joy", 2)
    with pytest.raises(TextError, match="no token 60"):
        tag_target(tags, tokenize(tag_tokenizer, TEXT), "LABEL_1", 60)
    with pytest.raises(TextError, match="no token 60"):
        word_target(words, word_tokenizer, tokenize(word_tokenizer, TEXT), "bank", 60)
    with pytest.raises(TextError, match="'pythons' has 2 pieces"):
        word_target(words, word_tokenizer, tokenize(word_tokenizer, TEXT), "pythons", 2)
    with pytest.raises(TextError, match="no answer from token 4 to 2"):
        answer_target(*tiny_head("bert", "question-answering")[:2], TEXT, PAIR, (4, 2))
    number, number_tokenizer, _ = tiny_head("bert", "sequence-classification", num_labels=1)
    for place, what in (((4, 0, 0), "hidden state 4"), ((0, 90, 0), "token 90"), ((0, 0, 12), "dimension 12")):
        with pytest.raises(TextError, match=f"no {what}"):
            clean(state_target(words.base, word_tokenizer, TEXT, None, *place))
    with pytest.raises(TextError, match="gives a number"):
        class_target(number, tokenize(number_tokenizer, TEXT), "LABEL_0", "probability")
