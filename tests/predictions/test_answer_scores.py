"""Answers over a list against logits of transformers, the evaluation of SQuAD 2 by hand, and every threshold."""

import re
import string
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from bertviz_core import open_model
from bertviz_core.errors import BertvizError
from bertviz_core.predictions.answer_scores import best_scores, gold_answers, null_curve
from tests.helpers.tiny_heads import save_tiny_head

QUESTIONS = ("the pet?", "Where is the bank?", "love?", "a river?", "python")
CONTEXT = "I love my pet python, the river."
CONTEXTS = (CONTEXT, "The river bank.", "my pets", CONTEXT, "coding in python, I love two rivers.")
GOLD = (["pet", "my pet"], "", ["pets"], [], "Python!")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("qa") / "qa"
    save_tiny_head("bert", "question-answering", place)
    return place


# The evaluation script of SQuAD 2, by its description: lower case, no punctuation, no articles, single spaces.
def plain(text: str) -> str:
    text = "".join(each for each in text.lower() if each not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def official(gold: list[str], answer: str) -> tuple[int, float]:
    exact, f1 = [], []
    for each in [text for text in gold if plain(text)] or [""]:
        exact.append(int(plain(each) == plain(answer)))
        expected, words = plain(each).split() if each else [], plain(answer).split() if answer else []
        same = sum((Counter(expected) & Counter(words)).values())
        if not expected or not words:
            f1.append(float(expected == words))
        elif same == 0:
            f1.append(0.0)
        else:
            precision, recall = same / len(words), same / len(expected)
            f1.append(2 * precision * recall / (precision + recall))
    return max(exact), max(f1)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (["The Cat"], "cat"),
        (["an apple, a day"], "apple day!"),
        (["red red fish"], "red fish fish"),
        ([], ""),
        ([], "fish"),
        (["the"], "a"),
        (["U.S.A.", "America"], "usa"),
        (["don\u2019t"], "don't"),
        (["x-ray\troom"], "xray  room"),
        (["theatre"], "the theatre"),
    ],
)
def test_exact_match_and_f1_are_those_of_the_script(gold: list[str], answer: str) -> None:
    assert best_scores(gold, answer) == pytest.approx(official(gold, answer))


def test_spans_and_null_scores_are_those_of_transformers(folder: Path) -> None:
    found = open_model(folder).answers(QUESTIONS, CONTEXTS, GOLD, longest=3)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForQuestionAnswering.from_pretrained(folder)
    for at, (question, context) in enumerate(zip(QUESTIONS, CONTEXTS, strict=True)):
        encoded = tokenizer(question, context, return_tensors="pt", return_offsets_mapping=True)
        offsets = encoded.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            output = model.eval()(**encoded)
        start, end = output.start_logits[0].double(), output.end_logits[0].double()
        inside = [place for place, side in enumerate(encoded.sequence_ids(0)) if side == 1]
        logit, first, last = max((float(start[i] + end[j]), i, j) for i in inside for j in inside if i <= j < i + 3)
        span = found.data.spans[at]
        assert span.logit == pytest.approx(logit, abs=1e-5)
        assert span.text == context[offsets[first][0] : offsets[last][1]]
        assert found.data.null_logits[at] == pytest.approx(float(start[0] + end[0]), abs=1e-5)
        assert found.data.difference[at] == pytest.approx(float(start[0] + end[0]) - logit, abs=2e-5)


def by_hand(found, threshold: float) -> dict[str, float]:
    """Scores at a threshold by the script's apply_no_ans_threshold and make_eval_dict."""
    scores: dict[str, list[tuple[float, float]]] = {"": [], "HasAns_": [], "NoAns_": []}
    for span, difference, gold in zip(found.data.spans, found.data.difference, GOLD, strict=True):
        texts = [gold] if isinstance(gold, str) and gold else list(gold)
        pair = (float(not texts),) * 2 if difference > threshold else official(texts, span.text)
        for key in ("", "HasAns_" if texts else "NoAns_"):
            scores[key].append(pair)
    return {
        f"{key}{name}": float(np.mean([pair[side] for pair in pairs]))
        for key, pairs in scores.items()
        for side, name in enumerate(("exact", "f1"))
    }


def test_scores_at_a_threshold_and_the_best_ones_equal_every_threshold_tried(folder: Path) -> None:
    model = open_model(folder)
    differences = sorted(model.answers(QUESTIONS, CONTEXTS, GOLD).data.difference.tolist())
    tried = {}
    for threshold in (-1e9, *differences):
        found = model.answers(QUESTIONS, CONTEXTS, GOLD, null_threshold=threshold)
        tried[threshold] = by_hand(found, threshold)
        assert {key: found.scores[key] for key in tried[threshold]} == pytest.approx(tried[threshold])
        assert [bool(answer) for answer in found.answers] == [each <= threshold for each in found.data.difference]
    for key in ("exact", "f1"):
        best = max(scores[key] for scores in tried.values())
        first = next(threshold for threshold, scores in tried.items() if scores[key] >= best - 1e-12)
        assert found.scores[f"best_{key}"] == pytest.approx(best)
        assert found.scores[f"best_{key}_thresh"] == (None if first == -1e9 else first)
    assert (found.scores["total"], found.scores["HasAns_total"], found.scores["NoAns_total"]) == (5, 3, 2)


def script_best(difference: np.ndarray, has: np.ndarray, scores: np.ndarray) -> tuple[float, float | None]:
    """find_best_thresh of the script; None where its threshold is the 0 that it begins with."""
    current = best = float((~has).sum())
    threshold = None
    for at in np.argsort(difference).tolist():
        current += float(scores[at]) if has[at] else -1
        if current > best:
            best, threshold = current, float(difference[at])
    return best / len(has), threshold


@pytest.mark.parametrize("seed", range(5))
def test_the_curve_has_the_best_threshold_of_the_script(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 41 + seed
    difference, has, f1 = rng.normal(size=count), rng.random(count) < 0.6, rng.random(count).round(1)
    exact = (f1 > 0.7) & has
    f1 = np.where(has, np.where(exact, 1.0, f1), 0.0)
    curve = null_curve(difference - has, has, exact, f1)
    for values, scores in ((curve.exact, exact), (curve.f1, f1)):
        best, threshold = script_best(difference - has, has, scores)
        assert values.max() == pytest.approx(best)
        place = int(np.flatnonzero(values >= values.max() - 1e-12)[0])
        assert (curve.thresholds[place] if place else None) == threshold
    tied = null_curve(
        np.zeros(3), np.array([True, False, True]), np.array([True, False, False]), np.array([1.0, 0, 0.5])
    )
    np.testing.assert_allclose(tied.exact, [1 / 3, 1 / 3])
    np.testing.assert_allclose(tied.f1, [1 / 3, 1.5 / 3])


def test_gold_cells_of_every_form() -> None:
    assert gold_answers(" ") == gold_answers("[]") == gold_answers('{"text": [], "answer_start": []}') == ()
    assert gold_answers("a [b]") == ("a [b]",)
    assert gold_answers('["x", "y"]') == gold_answers('{"text": ["x", "y"], "answer_start": [0, 3]}') == ("x", "y")
    assert gold_answers('[{"text": "x", "answer_start": 0}]') == ("x",)
    assert gold_answers("[1]") == ("[1]",)
    assert gold_answers("[" * 100_000) == ("[" * 100_000,)


def test_bad_rows_are_counted_and_bad_lists_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = open_model(folder)
    found = model.answers([*QUESTIONS, "who?"], [*CONTEXTS[:4], " ", CONTEXT], [*GOLD, "a queen"])
    assert found.data.rows.tolist() == [1, 2, 3, 4, 6]
    words = " ".join(found.data.notices)
    assert "1 question left out, the first in row 5: The context is empty" in words
    assert "1 gold answer not in the context as written, such as 'a queen' to 'who?'" in words
    one = model.answers(["pet?"], CONTEXT, [""])
    assert set(one.scores) >= {"exact", "NoAns_f1", "best_f1_thresh"}
    assert "HasAns_exact" not in one.scores
    assert model.answers(["pet?"], CONTEXT).scores == {}
    for wrong, message in (
        (lambda: model.answers([], CONTEXT), "empty list"),
        (lambda: model.answers(["a", "b"], ["c"]), "texts is a list of 2"),
        (lambda: model.answers(["pet?"], [" "]), "The context is empty"),
        (lambda: model.answers(["pet?"], CONTEXT, null_threshold=float("nan")), "give a number, such as 0"),
        (lambda: model.answers(["pet?"], CONTEXT).figure(), "was asked without gold answers"),
        (lambda: open_model("all-MiniLM-L6-v2").answers(["pet?"], CONTEXT), "question-answering"),
    ):
        with pytest.raises(BertvizError, match=message) as refusal:
            wrong()
        assert "\n" not in str(refusal.value)
    monkeypatch.setattr("bertviz_core.predictions.probing.calibration.MOST_TEXTS", 3)
    monkeypatch.setattr("bertviz_core.questions.predictions.answer_list.MOST_TEXTS", 3)
    sample = open_model(folder).answers([*QUESTIONS, "who?"], CONTEXT)
    assert len(sample.data.rows) == 3
    assert "A random sample of 3 of 6 questions is answered" in sample.data.notices[0]
    asked = [*QUESTIONS, "who?"]
    assert sample.data.questions == tuple(asked[row - 1] for row in sample.data.rows)
