"""Every fact of a prediction is in every face: a face changes when the fact does, or a reason says why it need not.

Covers `bertviz_core/questions/tables/predictions.py`.
"""

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from bertviz_core import open_model
from bertviz_core.figures.predictions.marked_text import answer_frame
from bertviz_core.predictions.answers import predicted_answers
from bertviz_core.predictions.probing.table import text_predictions
from bertviz_core.predictions.results import NO_ANSWER, AnswerPrediction
from bertviz_core.predictions.two_models import compared_spans
from bertviz_core.questions.question import Answer
from bertviz_core.questions.tables.predictions import prediction_frame, prediction_json, prediction_lines
from bertviz_core.questions.tables.two_models.predictions import COMPARED_PREDICTIONS
from bertviz_core.questions.views.answered import answers_frame
from bertviz_core.questions.views.texts.predictions import null_words
from bertviz_core.trace.results import Tokens
from tests.helpers.tiny_heads import opened_head, save_tiny_head, tiny_head

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
    ("next-sentence", "lines"): {"logits": "probabilities are shown"},
    ("token-classification", "lines"): {"logits": "scores are shown", "labels": "entities name theirs"},
    ("token-classification", "frame"): {"logits": "as in lines", "labels": "as in lines"},
    ("question-answering", "lines"): {"windows": "logits of every token are in the JSON object"},
    ("question-answering", "frame"): {"windows": "as in lines"},
    ("masked-lm", "lines"): {
        "top_ids": "words are shown", "top_logits": "probabilities are shown", "typed": "the token is the mask",
    },
}  # fmt: skip
DERIVED = {("token-classification", "probabilities"): "entities are made of them before any face"}


OTHERS = {
    "softmax": "sigmoid", "sigmoid": "softmax", "zero": "gradient", "leave-one-out": "gradient-x-input", "mean": "cls",
    "cosine": "dot", "float32": "float16", "classes": "answers", "attention": "rollout", "all": "A to B",
}  # fmt: skip
"""Another value of a field that has one of a few."""


def changed(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, np.ndarray):
        steps = np.linspace(0.25, 0.75, value.size).reshape(value.shape) if value.dtype.kind == "f" else 1
        return ~value if value.dtype == bool else (value + steps).astype(value.dtype)
    if isinstance(value, tuple):
        return tuple(changed(each) for each in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = ("text", "start_logits", "end_logits", "logit", "score", "recall", "spearman", "nbytes", "changed")
        there = {each.name for each in dataclasses.fields(value)} & set(names)
        return dataclasses.replace(value, **{name: changed(getattr(value, name)) for name in there})
    if isinstance(value, bool):
        return not value
    return OTHERS.get(value, f"{value}x") if isinstance(value, str) else value + type(value)(1)


@pytest.mark.parametrize(
    ("task", "texts", "changes"),
    [
        ("sequence-classification", (TEXT, None), {"num_labels": 3}),
        ("sequence-classification", (TEXT, None), {"num_labels": 3, "problem_type": "multi_label_classification"}),
        ("sequence-classification", (TEXT, None), {"num_labels": 1}),
        ("token-classification", (TEXT, CONTEXT), {"num_labels": 3}),
        ("question-answering", (QUESTION, CONTEXT), {}),
        ("masked-lm", (TEXT, None), {}),
        ("next-sentence", (TEXT, CONTEXT), {}),
        ("pretraining", (TEXT, CONTEXT), {}),
    ],
)
@pytest.mark.sample(4)
def test_a_face_changes_with_every_fact(
    task: str, texts: tuple[str, str | None], changes: dict[str, Any], tmp_path: Path
) -> None:
    answer = open_model(save_tiny_head("bert", task, tmp_path / "tiny", **changes)).predict(*texts)._answer
    left_out = {face: LEFT_OUT.get(("masked-lm" if task == "pretraining" else task, face), {}) for face in FACES}
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
            differs = show(other) != show(answer)
            regression = face == "lines" and changes.get("num_labels") == 1
            assert differs or field.name in left_out[face] or regression, (face, field.name)


CALLER, RUN, NOTICE = "the caller chose it", "how it was run, not what came out", "a notice says it"
NOT_IN_JSON = {
    "revision": RUN, "dtype": RUN, "computed": RUN, "from_store": RUN, "seconds": RUN, "shared": RUN,
    "truncated": NOTICE, "first_token": "the tokenizer's own", "options.words": CALLER, "options.hide_special": CALLER,
    "options.hide_punctuation": CALLER, "options.block": CALLER, "second.options.weights": "that of the first",
    "queries.positions": "places of the labels", "keys.positions": "places of the labels",
}  # fmt: skip
LIKE_FIRST = {f"second.{axis}.labels": "those of the first, or nothing is subtracted" for axis in ("queries", "keys")}
NOT_IN_LINES = {
    **NOT_IN_JSON, **LIKE_FIRST, "query": CALLER, "document": CALLER, "sentences": CALLER, "layer": CALLER,
    "head": CALLER, "first": CALLER, "second": CALLER, "models": CALLER, "options.weights": CALLER,
    "queries": CALLER,
    "runs": RUN, "trained": NOTICE, "target": "its title is shown", "normalized": "a cosine is the same",
    "logits": "scores are shown",
    "token_counts": "in the JSON object", "dimensions": "in the JSON object", "probabilities": "in the JSON object",
    "hidden_share": "in the JSON object", "error": "0 where words are left out", "share_errors": "as error",
    "reference": "of the mean", "common": "said where there is none",
}  # fmt: skip
"""Fields that need not stand there, and why; a data frame has the fields with one value a row."""
NOT_IN_ROWS = {
    **NOT_IN_JSON, **LIKE_FIRST, "layers": "the rows are heads", "feed_forward": "the rows are heads",
    "sentences": CALLER, "queries": CALLER, "documents": CALLER, "relevance": CALLER,
    "confusion": "the rows are texts", "labels": "the rows are texts", "answers": "of the whole text",
    "models": "of the whole", "skipped": "the rows are of the query", "hidden_share": "in the JSON object",
    "share_errors": "in the JSON object", "token_counts": "in the JSON object",
}  # fmt: skip
OTHER_RESULTS: Mapping[str, Callable[[Any, str], Any]] = {
    "sentences": lambda model, _: model.sentences([TEXT, CONTEXT, QUESTION]),
    "dimensions": lambda model, _: model.sentences([TEXT, CONTEXT, QUESTION]).dimensions(),
    "bits": lambda model, _: model.sentences([TEXT, CONTEXT, QUESTION]).bits([QUESTION]),
    "prompts": lambda model, _: model.compare_prompts([TEXT, CONTEXT, QUESTION]),
    "prompts, ranked": lambda model, _: model.compare_prompts([TEXT, CONTEXT], queries=[QUESTION, TEXT]),
    "late interaction": lambda model, _: model.late_interaction(QUESTION, CONTEXT),
    "effects": lambda model, _: model.effects(TEXT, target="class:LABEL_1"),
    "words": lambda model, _: model.words(TEXT, target="class:LABEL_1"),
    "rank": lambda model, other: model.rank(QUESTION, [TEXT, CONTEXT], label="LABEL_1"),
    "one text": lambda model, other: model.compare(other, text=TEXT),
    "attention": lambda model, other: model.compare_attention(other, TEXT, layer=0, head=1),
    "changed heads": lambda model, other: model.changed_heads(other, TEXT),
    "states": lambda model, other: model.compare_states(other, TEXT),
    "many texts": lambda model, other: model.compare(other, [TEXT, CONTEXT]),
}


PLACES = ("query", "document")
"""Fields with places in a list, of which there may be one."""


def variants(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Each field, of parts as well, with its value and the whole with another one."""
    for field in dataclasses.fields(value):
        each, name = getattr(value, field.name), f"{path}{field.name}"
        if field.name in PLACES and isinstance(each, np.ndarray):
            continue
        if dataclasses.is_dataclass(each) and not isinstance(each, Tokens):
            for inner, inside, whole in variants(each, f"{name}."):
                yield inner, inside, dataclasses.replace(value, **{field.name: whole})
        elif not (each is None or isinstance(each, Tokens) or (isinstance(each, tuple) and Tokens in map(type, each))):
            yield name, each, dataclasses.replace(value, **{field.name: changed(each)})


def shown_faces(result: Any, data: Any) -> Mapping[str, str]:
    result = copy.copy(result)
    result.data = data
    vars(result).pop("similarity", None)  # cached
    frame = result.to_pandas()
    rows = repr(frame.rename_axis(index=None).to_dict("split")) + repr(frame.axes)
    return {"json": repr(result.to_json()), "lines": "\n".join(result._lines()), "frame": rows}


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", OTHER_RESULTS)
def test_a_face_of_other_results_changes_with_every_fact(kind: str, tmp_path: Path) -> None:
    one, other = (
        save_tiny_head("bert", "sequence-classification", tmp_path / name, num_labels=3, initializer_range=scale)
        for name, scale in (("one", 0.2), ("other", 0.3))
    )
    result = OTHER_RESULTS[kind](open_model(one), str(other))
    whole = shown_faces(result, result.data)
    for path, value, variant in variants(result.data):
        is_array = isinstance(value, np.ndarray)
        if path == "notices" or (not is_array and value == ()):
            continue
        faces = shown_faces(result, variant)
        same = {face for face, text in whole.items() if faces[face] == text}
        names = {path, path.rpartition(".")[2], ".".join(path.split(".")[-2:])}
        assert "json" not in same or names & set(NOT_IN_JSON), path
        assert "lines" not in same or names & set(NOT_IN_LINES), path
        rows = is_array or isinstance(value, tuple)
        assert "frame" not in same or not rows or names & set(NOT_IN_ROWS), path


def test_which_text_an_entity_is_in_is_told(tmp_path: Path) -> None:
    found = open_model(save_tiny_head("bert", "token-classification", tmp_path / "tiny")).predict(TEXT, CONTEXT)
    assert set(found.to_pandas()["sequence"]) == {0, 1}
    assert {each["sequence"] for each in found.to_json()["entities"]} == {0, 1}
    assert "of the second text" in repr(found)


@pytest.fixture(name="unanswering")
def unanswering_head(tmp_path: Path) -> Path:
    """A head whose null score is the greatest."""
    return fitted_to_first(tmp_path / "unanswering", 10.0)


def fitted_to_first(folder: Path, logit: float) -> Path:
    """A head whose logits are this at the first token, and 0 at the others."""
    save_tiny_head("bert", "question-answering", folder)
    model, tokenizer = AutoModelForQuestionAnswering.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        states = model.base_model(**tokenizer(QUESTION, CONTEXT, return_tensors="pt")).last_hidden_state[0]
        first = torch.zeros(len(states)).index_fill(0, torch.tensor([0]), logit)
        model.qa_outputs.weight.copy_((torch.linalg.pinv(states) @ first).expand(2, -1))
        model.qa_outputs.bias.zero_()
        logits = model(**tokenizer(QUESTION, CONTEXT, return_tensors="pt"))
    assert (logits.start_logits.argmax() == 0, logits.end_logits.argmax() == 0) == (logit > 0, logit > 0)
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
    assert found.to_json()["null_difference"] == pytest.approx(null - best)
    lines = "\n".join(prediction_lines(ABOUT, [found._answer]))
    assert lines.index(NO_ANSWER) < lines.index(prediction.answers[0].text)
    assert all(f"{value:.3f}" in lines for value in (null, best))
    assert any(NO_ANSWER in notice and all(each in notice for each in both) for notice in found.notices)
    assert NO_ANSWER in repr(found)
    assert answer_frame(prediction)["answer"][0] == NO_ANSWER
    assert "above" in null_words(prediction)
    for way in ("effects", "words"):  # measure the best span
        measured = getattr(open_model(unanswering), way)(QUESTION, CONTEXT, target="answer")
        assert any(all(each in notice for each in both) for notice in measured.to_json()["notices"])
        assert both[0] in repr(measured)
    rows = text_predictions(head, tokenizer, [QUESTION], [CONTEXT])  # of many texts, two models and training runs
    assert rows.answers == (NO_ANSWER,)
    assert rows.null_differences == pytest.approx([null - best])
    assert answers_frame(rows, None)["null difference"].tolist() == pytest.approx([null - best])
    (part,) = prediction.windows
    score = np.prod(
        [
            torch.tensor([logits[0], *logits[part.context]]).double().softmax(dim=0)[0]
            for logits in (part.start_logits, part.end_logits)
        ]
    )
    assert rows.scores == pytest.approx([score])
    assert any(each in notice for notice in rows.notices for each in both)
    other, words = opened_head(save_tiny_head("bert", "question-answering", tmp_path / "other"), "question-answering")
    second = dataclasses.replace(predicted_answers(other, words, QUESTION, CONTEXT), null_logit=-7.0)  # below its span
    assert not second.is_null
    spans = compared_spans(prediction, second)
    assert spans.answers[0] == NO_ANSWER
    assert NO_ANSWER in COMPARED_PREDICTIONS.to_lines(spans)[0]
    assert (spans.first_numbers[-1], spans.second_numbers[-1]) == pytest.approx((score, second.null_score))
    shown = "\n".join(spans.notices)
    assert all(each in shown for each in (*both, "−7.000", f"{second.answers[0].logit:.3f}".replace("-", "−")))


def test_the_null_score_stands_beside_a_span_that_beats_it(tmp_path: Path) -> None:
    folder = fitted_to_first(tmp_path / "answering", -10.0)
    head, tokenizer = opened_head(folder, "question-answering")
    prediction = predicted_answers(head, tokenizer, QUESTION, CONTEXT)
    assert prediction.null_logit is not None
    difference = prediction.null_logit - prediction.answers[0].logit
    assert difference < 0
    shown = [f"{value:.3f}".replace("-", "−") for value in (prediction.null_logit, difference)]
    found = open_model(folder).predict(QUESTION, CONTEXT)
    assert all(each in repr(found) and each in null_words(prediction) for each in shown)
    both = compared_spans(prediction, prediction)
    assert (both.names[-1], both.second_numbers[-1]) == (NO_ANSWER, pytest.approx(prediction.null_score))
    assert all(each in " ".join(both.notices) for each in shown)


def test_a_tie_and_a_span_are_not_no_answer() -> None:
    head, tokenizer, _ = tiny_head("bert", "question-answering")
    prediction = predicted_answers(head, tokenizer, QUESTION, CONTEXT)
    tied: AnswerPrediction = dataclasses.replace(prediction, null_logit=prediction.answers[0].logit)
    assert tied.answer == prediction.answers[0].text
    assert not tied.is_null
