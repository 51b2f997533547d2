"""A probe as a classifier and as a file: the same probabilities, and one message for every invalid file.

Covers `bertviz_core/predictions/probing/table.py`.
"""

import io
import json
import zipfile
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from safetensors.numpy import save
from transformers import pipeline

from bertviz_core.errors import CheckpointError, TextError, UnsupportedModelError
from bertviz_core.predictions.answers import predicted_answers
from bertviz_core.predictions.masked_lm import predicted_words
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.probing.scores import MAX_FILE_NBYTES, probe_bytes, probe_predictions, read_probe
from bertviz_core.predictions.probing.table import mask_text, probe_table, text_predictions
from bertviz_core.trace.isolated.tokenizer import IsolatedTokenizer
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.tiny_heads import own_outputs, tiny_head
from tests.helpers.tiny_models import PAIR, TEXT

TEXTS = (TEXT, PAIR, "the bank, my bank.", "python", "I love xyz pythons on the river")


def probe(**changes: Any) -> Probe:
    head, _, _ = tiny_head("bert", "sequence-classification", num_labels=3)
    width = head.base.model.config.hidden_size
    draw = np.random.default_rng(0)
    facts: dict[str, Any] = {
        "model": head.base.name, "revision": head.base.revision, "pooling": "mean", "layer": 1,
        "classes": ("a", "b", "c"), "weight": draw.normal(size=(3, width)).astype(np.float32),
        "bias": draw.normal(size=3).astype(np.float32), "texts": "own.csv", "count": 30, "seed": 4,
        "accuracy": 0.8, "spread": 0.05,
    }  # fmt: skip
    return Probe(**{**facts, **changes})


def test_a_probe_is_a_softmax_of_the_pooled_states_and_says_what_it_is() -> None:
    head, tokenizer, _ = tiny_head("bert", "sequence-classification", num_labels=3)
    probe_file = probe()
    for prediction in probe_predictions(probe_file, head.base, tokenizer, TEXTS):
        inputs = tokenizer.tokenizer(prediction.tokens.text, return_tensors="pt")
        with torch.no_grad():
            states = head.base.model(**inputs, output_hidden_states=True).hidden_states[1][0]
        logits = torch.tensor(probe_file.weight) @ states.mean(dim=0) + torch.tensor(probe_file.bias)
        np.testing.assert_allclose(prediction.probabilities, logits.softmax(dim=0), atol=1e-5)
        assert "30 texts of 'own.csv'" in prediction.notices[0]
        assert "layer 0, seed 4, accuracy 80.0% ± 5.0%" in prediction.notices[0]


def test_the_table_of_a_probe_has_the_same_answers() -> None:
    head, tokenizer, _ = tiny_head("bert", "sequence-classification", num_labels=3)
    table = probe_table(probe(), head.base, tokenizer, TEXTS)
    each = probe_predictions(probe(), head.base, tokenizer, TEXTS)
    assert table.answers == tuple(one.labels[one.best] for one in each)
    np.testing.assert_array_equal(table.probabilities, np.stack([one.probabilities for one in each]))


def test_a_saved_probe_is_the_same_again() -> None:
    probe_file = probe()
    again = read_probe("probe.zip", probe_bytes(probe_file))
    for name in Probe.__slots__:
        np.testing.assert_array_equal(getattr(again, name), getattr(probe_file, name))
    with zipfile.ZipFile(io.BytesIO(probe_bytes(probe_file))) as archive:
        assert archive.namelist() == ["probe.safetensors", "probe.json"]  # nothing pickled


def zipped(weights: bytes | None = None, **facts: Any) -> bytes:
    """A probe's file with other weights or facts."""
    probe_file = probe()
    with zipfile.ZipFile(io.BytesIO(probe_bytes(probe_file))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    about = {**json.loads(parts["probe.json"]), **facts}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("probe.safetensors", parts["probe.safetensors"] if weights is None else weights)
        archive.writestr("probe.json", json.dumps(about))
    return target.getvalue()


def weights(rows: int = 3, value: float = 0.0, kind: Any = np.float32) -> bytes:
    return save({"weight": np.full((rows, 12), value, dtype=kind), "bias": np.zeros(rows, dtype=kind)})


BAD = {
    "no zip": (b"hello", "File is not a zip file"),
    "empty": (b"", "File is not a zip file"),
    "cut": (zipped()[:-40], "no probe that was saved here"),
    "a bomb": (zipped(weights=bytes(MAX_FILE_NBYTES + 2)), "has more than 8,388,608 bytes"),
    "too large": (bytes(2 * MAX_FILE_NBYTES + 1), "more than 16,777,216"),
    "no tensors": (zipped(weights=b"123"), "no probe that was saved here"),
    "other rows": (zipped(weights=weights(4)), "does not fit its 3 classes"),
    "half floats": (zipped(weights=weights(kind=np.float16)), "does not fit its 3 classes"),
    "NaN": (zipped(weights=weights(value=float("nan"))), "NaN or infinite"),
    "another format": (zipped(format="x"), "does not say 'inside-bert probe 1'"),
    "one class": (zipped(classes=["a"]), "no usable classes"),
    "numbers as classes": (zipped(classes=[1, 2, 3]), "no usable classes"),
    "no layer": (zipped(layer="first"), "no usable 'layer'"),
    "a pooling of its own": (zipped(pooling="sum"), "no pooling and layer that exist"),
    "no name": (zipped(texts=None), "no usable 'texts'"),
    "no accuracy": (zipped(accuracy=1.5), "no accuracy from 0 to 1"),
    "no number": (zipped(accuracy=float("nan")), "no probe that was saved here"),
    "half a character": (zipped(classes=["a", "b", "\ud800"]), "no probe that was saved here"),
    "a class without end": (zipped(classes=["a", "b", "c" * 10**6]), "no usable classes"),
    "a name without end": (zipped(texts="t" * 10**6), "no usable 'texts'"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_is_no_probe_gets_one_sentence(case: str) -> None:
    data, words = BAD[case]
    with pytest.raises(CheckpointError, match=words) as error:
        read_probe("own.zip", data)
    assert str(error.value).startswith("'own.zip' is no probe that was saved here: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "another"}, "was fitted on 'another', not on"),
        ({"revision": "older"}, "another revision of"),
        ({"weight": np.zeros((3, 5), dtype=np.float32)}, "reads 5 numbers"),
        ({"layer": 99}, "of layer 98"),
    ],
)
def test_a_probe_of_another_model_is_refused(changes: dict[str, Any], words: str) -> None:
    head, tokenizer, _ = tiny_head("bert", "sequence-classification", num_labels=3)
    with pytest.raises(UnsupportedModelError, match=words):
        probe_predictions(probe(**changes), head.base, tokenizer, TEXTS)


def test_answers_of_many_texts_are_the_pipelines() -> None:
    head, tokenizer, own = tiny_head("bert", "sequence-classification", num_labels=3)
    predictions = text_predictions(head, tokenizer, TEXTS)
    ask = pipeline("text-classification", model=own, tokenizer=tokenizer.tokenizer)
    pipeline_answers = ask(list(TEXTS))
    assert list(predictions.answers) == [each["label"] for each in pipeline_answers]
    np.testing.assert_allclose(predictions.scores, [each["score"] for each in pipeline_answers], atol=1e-5)
    head, tokenizer, own = tiny_head("bert", "token-classification", num_labels=3)
    groups = pipeline("token-classification", model=own, tokenizer=tokenizer.tokenizer, aggregation_strategy="simple")
    tagged = text_predictions(head, tokenizer, TEXTS)
    for text, answer in zip(TEXTS, tagged.answers, strict=True):
        assert answer.count("(") == len(groups(text)) or "(" in text


def test_a_mask_gets_its_best_word_whatever_stands_beside_it_in_the_batch() -> None:
    head, tokenizer, _ = tiny_head("bert", "masked-lm")
    mask = tokenizer.tokenizer.mask_token
    texts = (f"the {mask} bank", TEXT, f"{mask} love my {mask} .", f"python {mask}")
    predictions = text_predictions(head, tokenizer, texts)
    for text, answer, score in zip(texts, predictions.answers, predictions.scores, strict=True):
        alone = predicted_words(head, tokenizer, tokenize(tokenizer, text), top=1)
        places = np.flatnonzero(alone.typed)
        words = tokenizer.spelled(alone.top_ids[places, 0].tolist())
        assert answer == ", ".join(word.strip() for word in words)
        if len(places):
            assert score == pytest.approx(float(np.exp(alone.top_log_probability[places, 0].sum())), rel=1e-4)
        else:
            assert np.isnan(score)
    assert predictions.notices[-1] == f"1 text without a mask ({mask}): there is no word to fill in."


def test_a_mask_is_spelled_by_its_id() -> None:
    _, tokenizer, _ = tiny_head("bert", "masked-lm")
    apart = Mock(spec=IsolatedTokenizer)  # as much of a tokenizer as is known of one in a process of its own
    apart.convert_ids_to_tokens = lambda ids: [f"<{each}>" for each in ids]
    apart.mask_token_id = 4
    assert mask_text(replace(tokenizer, tokenizer=apart)) == "<4>"
    apart.mask_token_id = None
    assert mask_text(replace(tokenizer, tokenizer=apart)) == ""


def test_each_question_gets_its_answer_and_several_classes_are_all_named() -> None:
    head, tokenizer, _ = tiny_head("bert", "question-answering")
    predictions = text_predictions(head, tokenizer, ("who ?", "my pet ?"), (PAIR, TEXT))
    alone = predicted_answers(head, tokenizer, "my pet ?", TEXT, top=1).answers[0]
    assert (predictions.answers[1], predictions.scores[1]) == (alone.text, pytest.approx(alone.score))
    with pytest.raises(TextError, match="needs a context for every question"):
        text_predictions(head, tokenizer, ("who ?",))
    changes = {"num_labels": 4, "problem_type": "multi_label_classification"}
    head, tokenizer, _ = tiny_head("bert", "sequence-classification", **changes)
    several = text_predictions(head, tokenizer, TEXTS)
    assert several.probabilities is not None
    assert several.labels == ()
    for answer, row in zip(several.answers, several.probabilities, strict=True):
        assert len(answer.split(", ")) == max(1, int((row >= 0.5).sum()))


def test_no_class_of_several_has_no_probability() -> None:
    head, tokenizer, own = tiny_head(
        "bert", "sequence-classification", num_labels=3, problem_type="multi_label_classification"
    )
    bias = head.model.get_parameter("classifier.bias")
    with torch.no_grad():
        logits = own_outputs(head, own, (tokenize(tokenizer, TEXT),)).logits[0]
        before = bias.clone()
        try:
            bias -= logits.max() + 1
            (none,) = text_predictions(head, tokenizer, (TEXT,)).scores.tolist()
            bias += 2
            some = text_predictions(head, tokenizer, (TEXT,))
        finally:
            bias.copy_(before)
    assert np.isnan(none)
    assert some.answers != ("",)
    assert some.scores[0] == pytest.approx(1 / (1 + np.exp(-1)), abs=1e-5)
