"""Classes, tags and next sentences against transformers' pipelines, misleading names, and groups by hand.

Covers `bertviz_core/predictions/classes.py`.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import processors
from transformers import AutoModelForTokenClassification, PreTrainedTokenizerFast, pipeline

from bertviz_core.errors import BertvizError
from bertviz_core.predictions.classes import class_predictions, entities, surest_tag, tag_predictions
from bertviz_core.predictions.results import STRATEGIES, Entity, Strategy
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.tiny_heads import opened_head, tiny_head
from tests.helpers.tiny_models import PAIR, TEXT, tiny_config
from tests.helpers.tiny_tokenizers import byte_level, metaspace

TEXTS = (TEXT, PAIR, "the bank, my bank.", "python", "I love xyz pythons on the river")
BIO = {0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC", 4: "I-LOC"}
CLASS = "sequence-classification"


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["bert", "distilbert", "roberta", "modernbert"])
def test_classes_are_the_pipelines(name: str) -> None:
    for scoring, changes in (
        ("softmax", {"num_labels": 3}),
        ("sigmoid", {"num_labels": 4, "problem_type": "multi_label_classification"}),
        ("number", {"num_labels": 1, "problem_type": "regression"}),
    ):
        head, tokenizer, own = tiny_head(name, CLASS, **changes)
        predictions = class_predictions(head, [tokenize(tokenizer, text) for text in TEXTS])
        ask = pipeline("text-classification", model=own, tokenizer=tokenizer.tokenizer, top_k=None)
        for prediction, expected in zip(predictions, ask(list(TEXTS)), strict=True):
            values = prediction.logits if prediction.probabilities is None else prediction.probabilities
            probability_of = dict(zip(prediction.labels, values.tolist(), strict=True))
            assert prediction.scoring == scoring
            assert probability_of == pytest.approx({each["label"]: each["score"] for each in expected}, abs=1e-5)
            if scoring == "softmax":
                assert expected[0]["label"] == prediction.labels[prediction.best]
                assert values.sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("problem", [None, "regression"])
def test_an_output_of_which_the_pipeline_takes_the_sigmoid_says_so(problem: str | None) -> None:
    head, tokenizer, own = tiny_head("electra", "sequence-classification", num_labels=1, problem_type=problem)
    ask = pipeline("text-classification", model=own, tokenizer=tokenizer.tokenizer, top_k=None)
    (found,) = class_predictions(head, [tokenize(tokenizer, TEXT)])
    score, logit = ask([TEXT])[0][0]["score"], float(found.logits[0])
    np.testing.assert_allclose(score, logit if problem else 1 / (1 + np.exp(-logit)), rtol=1e-5)
    assert any("takes its sigmoid" in each for each in found.notices) == (problem is None)


def test_a_pair_is_read_as_one_and_its_next_sentence_told() -> None:
    head, tokenizer, own = tiny_head("bert", CLASS, num_labels=3)
    pair = tokenize(tokenizer, TEXT, PAIR)
    ask = pipeline("text-classification", model=own, tokenizer=tokenizer.tokenizer, top_k=None)
    expected = {each["label"]: each["score"] for each in ask({"text": TEXT, "text_pair": PAIR})}
    (prediction,) = class_predictions(head, [pair])
    assert prediction.probabilities is not None
    probability_of = dict(zip(prediction.labels, prediction.probabilities.tolist(), strict=True))
    assert probability_of == pytest.approx(expected, abs=1e-5)
    follows, tokenizer, _ = tiny_head("bert", "next-sentence")
    assert class_predictions(follows, [pair])[0].labels == ("is the next sentence", "is another sentence")
    with pytest.raises(BertvizError, match="give the second text"):
        class_predictions(follows, [tokenize(tokenizer, TEXT)])
    with pytest.raises(BertvizError, match="this asks for token-classification"):
        tag_predictions(head, [pair])


@pytest.mark.parametrize(
    ("names", "labels", "words"),
    [
        ({0: "good", 1: "bad"}, ("good", "bad"), ""),
        ({0: "good", 7: "bad"}, ("good", "LABEL_1"), "names 1 output of 2"),
        ({0: "same", 1: "same"}, ("same (0)", "same (1)"), "the same name"),
        ({0: "", 1: None}, ("LABEL_0", "LABEL_1"), "names 0 outputs of 2"),
    ],
)
def test_names_that_lie_are_numbered_and_said(
    names: Any, labels: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, tokenizer, _ = tiny_head("distilbert", CLASS)
    # Some versions, such as transformers 5.15, check what is assigned.
    monkeypatch.setitem(vars(head.model.config), "id2label", names)
    (prediction,) = class_predictions(head, [tokenize(tokenizer, TEXT)])
    assert prediction.labels == labels
    assert any(words in notice for notice in prediction.notices) if words else not prediction.notices


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_entities_are_the_pipelines(name: str, strategy: Strategy, monkeypatch: pytest.MonkeyPatch) -> None:
    head, tokenizer, own = tiny_head(name, "token-classification", num_labels=5)
    for model in (own, head.model):  # which other tests share
        monkeypatch.setattr(model.config, "id2label", BIO)
    ask = pipeline("token-classification", model=own, tokenizer=tokenizer.tokenizer, aggregation_strategy=strategy)
    predictions = tag_predictions(head, [tokenize(tokenizer, text) for text in TEXTS])
    assert sum(len(entities(prediction, tokenizer, strategy)) for prediction in predictions) > 5
    for text, prediction in zip(TEXTS, predictions, strict=True):
        expected = ask(text)
        listed = entities(prediction, tokenizer, strategy)
        label = "entity" if strategy == "none" else "entity_group"
        assert [(each.label, each.start, each.end) for each in listed] == [
            (each[label], each["start"], each["end"]) for each in expected
        ]
        np.testing.assert_allclose([each.score for each in listed], [each["score"] for each in expected], atol=1e-5)
        assert [each.text for each in listed] == [text[each["start"] : each["end"]] for each in expected]


def stretches(tags: str, text: str = "i love my pet python the bank") -> list[tuple[str, str]]:
    """Entities from a row of tags, one per word."""
    head, tokenizer, _ = tiny_head("bert", "token-classification", num_labels=5)
    tokens = tokenize(tokenizer, text)
    labels = ("O", *dict.fromkeys(tags.replace("O", "").split()), "B-X")
    rows = np.zeros((len(tokens), len(labels)), dtype=np.float32)
    for position, tag in enumerate(tags.split(), start=1):
        rows[position, labels.index(tag)] = 1
    (made,) = tag_predictions(head, [tokens])
    made = dataclasses.replace(made, labels=labels, logits=rows, probabilities=rows)
    return [(each.label, each.text) for each in entities(made, tokenizer)]


def test_bilou_and_iobes_end_where_they_say() -> None:
    assert stretches("B-A I-A L-A U-A U-A O O") == [("A", "i love my"), ("A", "pet"), ("A", "python")]
    assert stretches("S-A B-A E-A B-A I-A O O") == [("A", "i"), ("A", "love my"), ("A", "pet python")]
    assert stretches("I-A I-A B-A I-A O O O") == [("A", "i love"), ("A", "my pet")]


def test_the_surest_tag_is_the_likeliest_but_outside() -> None:
    head, tokenizer, _ = tiny_head("bert", "token-classification", num_labels=3)
    tokens = tokenize(tokenizer, "i love my pet")
    (made,) = tag_predictions(head, [tokens])
    rows = np.array(
        [[0, 0, 1], [0.9, 0.1, 0], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7], [0.95, 0, 0.05], [0, 0, 1]], dtype=np.float32
    )  # special tokens first and last
    made = dataclasses.replace(made, labels=("O", "A", "B"), logits=rows, probabilities=rows)
    assert surest_tag(made) == ("B", 3)
    outside = np.tile(np.array([0.8, 0.1, 0.1], dtype=np.float32), (6, 1))
    assert surest_tag(dataclasses.replace(made, logits=outside, probabilities=outside)) is None


def test_a_text_and_its_pair_are_read_apart() -> None:
    head, tokenizer, _ = tiny_head("bert", "token-classification", num_labels=5)
    tokens = tokenize(tokenizer, "love", "my pet")
    (made,) = tag_predictions(head, [tokens])
    rows = torch.nn.functional.one_hot(torch.full((len(tokens),), 2), 5).float().numpy()
    made = dataclasses.replace(made, labels=tuple(BIO.values()), logits=rows, probabilities=rows)
    assert entities(made, tokenizer) == (
        Entity("PER", 1.0, "love", 0, 4, 1, 1, 0),
        Entity("PER", 1.0, "my pet", 0, 6, 3, 4, 1),
    )


def trimmed() -> PreTrainedTokenizerFast:
    """A byte-level tokenizer whose tokens do not cover the space before them, as RoBERTa's."""
    spaced = byte_level()
    spaced.backend_tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    return spaced


@pytest.mark.sample(4)
@pytest.mark.parametrize("strategy", ["none", "simple", "first"])
@pytest.mark.parametrize("spaced", [metaspace, trimmed])
def test_a_mark_of_a_space_alone_has_the_place_that_the_pipeline_gives_it(
    spaced: Callable[[], PreTrainedTokenizerFast], strategy: Strategy, tmp_path: Path
) -> None:
    """SentencePiece writes it before a text if no piece consists of a space and the first letter."""
    tokens = spaced()
    torch.manual_seed(0)
    own = AutoModelForTokenClassification.from_config(tiny_config("bert", vocab_size=len(tokens), num_labels=5)).eval()
    own.save_pretrained(tmp_path)
    tokens.save_pretrained(tmp_path)
    head, tokenizer = opened_head(tmp_path)
    ask = pipeline("token-classification", model=own, tokenizer=tokens, aggregation_strategy=strategy, ignore_labels=[])
    texts = ("xq", "( I love", "Zurich xq.", "my pet xq", "☃ I", "q", "fox  jumps ", "שלום hello", "hi 你")
    for text, prediction in zip(
        texts, tag_predictions(head, [tokenize(tokenizer, each) for each in texts]), strict=True
    ):
        listed = entities(prediction, tokenizer, strategy, outside=True)
        expected = [(each["start"], each["end"]) for each in ask(text)]
        assert [(each.start, each.end) for each in listed] == expected, text
        assert all(each.text == text[each.start : each.end] for each in listed)
