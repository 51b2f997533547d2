"""Every fact of a prediction is in every face: a face changes when the fact does, or a reason says why it need not.

Covers `bertviz_core/questions/tables/predictions.py`.
"""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from bertviz_core import open_model
from bertviz_core.predictions.answers import predicted_answers
from bertviz_core.predictions.probing.table import text_predictions
from bertviz_core.predictions.results import NO_ANSWER, AnswerPrediction
from bertviz_core.predictions.two_models.comparison import compared_spans
from bertviz_core.questions.question import Answer
from bertviz_core.questions.tables.predictions import prediction_frame, prediction_json, prediction_lines
from bertviz_core.questions.tables.two_models.predictions import prediction_comparison_lines
from tests.helpers.tiny_heads import opened_head, save_tiny_head, tiny_head
from ui.views.predictions.task_heads.answers import answer_frame, null_words

QUESTION, CONTEXT, TEXT = "the pet?", "I love my pet python, the river.", "I love my pet python."
ABOUT = {"model": "tiny", "model_class": "Tiny", "task": "task"}
FACES: Mapping[str, Callable[[Answer[Any]], str]] = {
    "json": lambda answer: repr(prediction_json(answer)),
    "lines": lambda answer: "\n".join(prediction_lines(ABOUT, [answer])),
    "frame": lambda answer: (
        repr(prediction_frame(answer).rename_axis(index=None).to_dict("split")) + repr(prediction_frame(answer).axes)
    ),
}
ELSEWHERE = {
    "model": "in the first line and in every object, from the head",
    "notices": "shown beside every face, from the answer",
    "tokens": "the text, which the caller has; its truncation is a notice",
    "question": "the caller has it",
    "context": "the caller has it",
}
"""Fields that stand beside the faces."""
LEFT_OUT: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("sequence-classification", "lines"): {"logits": "probabilities are shown"},
    ("token-classification", "lines"): {"logits": "scores are shown", "labels": "entities name theirs"},
    ("token-classification", "frame"): {"logits": "as in lines", "labels": "as in lines"},
    ("question-answering", "lines"): {"windows": "logits of every token are in the JSON object"},
    ("question-answering", "frame"): {"windows": "as in lines"},
    ("masked-lm", "lines"): {
        "top_ids": "words are shown", "top_logits": "probabilities are shown", "typed": "the token is the mask",
    },
    ("masked-lm", "json"): {},
}  # fmt: skip
DERIVED = {("token-classification", "probabilities"): "entities are made of them before any face"}


def changed(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, np.ndarray):
        return (
            ~value if value.dtype == bool else value + np.asarray(0.25 if value.dtype.kind == "f" else 1, value.dtype)
        )
    if isinstance(value, tuple):
        return tuple(changed(each) for each in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = ("text", "start_logits", "end_logits", "logit", "score")
        there = {each.name for each in dataclasses.fields(value)} & set(names)
        return dataclasses.replace(value, **{name: changed(getattr(value, name)) for name in there})
    if value in ("softmax", "sigmoid"):
        return "sigmoid" if value == "softmax" else "softmax"
    return f"{value}x" if isinstance(value, str) else value + 0.25


@pytest.mark.parametrize(
    ("task", "texts", "changes"),
    [
        ("sequence-classification", (TEXT, None), {"num_labels": 3}),
        ("sequence-classification", (TEXT, None), {"num_labels": 3, "problem_type": "multi_label_classification"}),
        ("sequence-classification", (TEXT, None), {"num_labels": 1}),
        ("token-classification", (TEXT, CONTEXT), {"num_labels": 3}),
        ("question-answering", (QUESTION, CONTEXT), {}),
        ("masked-lm", (TEXT, None), {}),
    ],
)
def test_a_face_changes_with_every_fact(
    task: str, texts: tuple[str, str | None], changes: dict[str, Any], tmp_path: Path
) -> None:
    answer = open_model(save_tiny_head("bert", task, tmp_path / "tiny", **changes)).predict(*texts)._answer
    for field in dataclasses.fields(answer.result):
        value = getattr(answer.result, field.name)
        if (
            field.name in ELSEWHERE
            or (task, field.name) in DERIVED
            or value is None
            or field.name == "scoring"
            and value == "number"
        ):
            continue
        other = dataclasses.replace(answer, result=dataclasses.replace(answer.result, **{field.name: changed(value)}))
        for face, show in FACES.items():
            left_out = LEFT_OUT.get((task, face), {})
            differs = show(other) != show(answer)
            regression = face == "lines" and changes.get("num_labels") == 1
            assert differs or field.name in left_out or regression, (face, field.name)


def test_which_text_an_entity_is_in_is_told(tmp_path: Path) -> None:
    found = open_model(save_tiny_head("bert", "token-classification", tmp_path / "tiny")).predict(TEXT, CONTEXT)
    assert set(found.to_pandas()["sequence"]) == {0, 1}
    assert {each["sequence"] for each in found.to_json()["entities"]} == {0, 1}
    assert "of the second text" in repr(found)


@pytest.fixture(name="unanswering")
def unanswering_head(tmp_path: Path) -> Path:
    """A head fitted to the first token of a text, so that the null score is the greatest."""
    folder = save_tiny_head("bert", "question-answering", tmp_path / "unanswering")
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        states = model.base_model(**tokenizer(QUESTION, CONTEXT, return_tensors="pt")).last_hidden_state[0]
        first = torch.zeros(len(states)).index_fill(0, torch.tensor([0]), 10.0)
        model.qa_outputs.weight.copy_((torch.linalg.pinv(states) @ first).expand(2, -1))
        model.qa_outputs.bias.zero_()
        logits = model(**tokenizer(QUESTION, CONTEXT, return_tensors="pt"))
    assert logits.start_logits.argmax() == logits.end_logits.argmax() == 0
    model.save_pretrained(folder)
    return folder


def test_a_head_that_prefers_no_answer_says_so_in_every_face(unanswering: Path, tmp_path: Path) -> None:
    head, tokenizer = opened_head(unanswering, "question-answering")
    prediction = predicted_answers(head, tokenizer, QUESTION, CONTEXT)
    null, best = prediction.null_logit, prediction.answers[0].logit
    assert null is not None
    assert null > best
    both = [f"{value:.3f}".replace("-", "−") for value in (null, best)]
    found = open_model(unanswering).predict(QUESTION, CONTEXT)
    first = found.to_pandas().iloc[0]
    assert (first["label"], first["logit"]) == (NO_ANSWER, pytest.approx(null))
    assert found.to_pandas().iloc[1]["logit"] == pytest.approx(best)
    assert (found.to_json()["answer"], found.to_json()["null_logit"]) == (NO_ANSWER, pytest.approx(null))
    lines = "\n".join(prediction_lines(ABOUT, [found._answer]))
    assert lines.index(NO_ANSWER) < lines.index(prediction.answers[0].text)
    assert all(f"{value:.3f}" in lines for value in (null, best))
    assert any(NO_ANSWER in notice and all(each in notice for each in both) for notice in found.notices)
    assert NO_ANSWER in repr(found)
    assert answer_frame(prediction)["answer"][0] == NO_ANSWER
    assert "above" in null_words(prediction)
    rows = text_predictions(head, tokenizer, [QUESTION], [CONTEXT])  # of many texts, two models and training runs
    assert rows.answers == (NO_ANSWER,)
    assert any(each in notice for notice in rows.notices for each in both)
    other, words = opened_head(save_tiny_head("bert", "question-answering", tmp_path / "other"), "question-answering")
    spans = compared_spans(prediction, predicted_answers(other, words, QUESTION, CONTEXT))
    assert spans.answers[0] == NO_ANSWER
    assert NO_ANSWER in prediction_comparison_lines(spans)[0]
    assert any(NO_ANSWER in notice for notice in spans.notices)


def test_a_tie_and_a_span_are_not_no_answer() -> None:
    head, tokenizer, _ = tiny_head("bert", "question-answering")
    prediction = predicted_answers(head, tokenizer, QUESTION, CONTEXT)
    tied: AnswerPrediction = dataclasses.replace(prediction, null_logit=prediction.answers[0].logit)
    assert tied.answer == prediction.answers[0].text
    assert not tied.is_null
