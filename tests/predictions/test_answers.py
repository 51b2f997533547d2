"""Answers equal brute force over all spans of all windows; invalid input gives a message."""

import math

import numpy as np
import pytest

from bertviz_core.errors import BertvizError
from bertviz_core.predictions.answers import predicted_answers
from bertviz_core.predictions.results import AnswerPrediction
from tests.helpers.tiny_heads import tiny_head

QUESTION = "the pet?"
SHORT = "I love my pet python, the river."
LONG = " ".join(f"w{place % 17} the python." for place in range(23))
TASK = "question-answering"


def brute_force(prediction: AnswerPrediction, longest: int) -> list[tuple[float, int, int, int]]:
    """(start + end logit, window, first, last) of every span of every window, by two simple loops, best first."""
    spans = []
    for index, window in enumerate(prediction.windows):
        places = np.flatnonzero(window.context)
        for first in places:
            for last in places:
                if first <= last < first + longest:
                    logit = float(window.start_logits[first]) + float(window.end_logits[last])
                    spans.append((logit, index, int(first), int(last)))
    return sorted(spans, reverse=True)


def normaliser(prediction: AnswerPrediction) -> float:
    """The sums under both softmaxes, written out: of the context's tokens, and of the least first token."""
    start = [float(logit) for part in prediction.windows for logit in part.start_logits[part.context]]
    end = [float(logit) for part in prediction.windows for logit in part.end_logits[part.context]]
    if prediction.null_logit is not None:
        least = min(prediction.windows, key=lambda part: float(part.start_logits[0] + part.end_logits[0]))
        start.append(float(least.start_logits[0]))
        end.append(float(least.end_logits[0]))
    return math.fsum(map(math.exp, start)) * math.fsum(map(math.exp, end))


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert", "modernbert", "deberta-v2", "xlnet", "splinter"])
@pytest.mark.parametrize("context", [SHORT, LONG])
def test_the_best_spans_are_those_of_brute_force(name: str, context: str) -> None:
    head, tokenizer, _ = tiny_head(name, TASK)
    for longest in (1, 4, 30):
        prediction = predicted_answers(head, tokenizer, QUESTION, context, top=6, max_answer_tokens=longest)
        spans = brute_force(prediction, longest)
        answer = prediction.answers[0]
        assert answer.logit == pytest.approx(spans[0][0], abs=1e-5)
        # Equal windows have equal best spans, in any order.
        assert (answer.window, answer.first, answer.last) in [
            span[1:] for span in spans if span[0] > spans[0][0] - 1e-5
        ]
        assert answer.text == context[answer.start : answer.end]
        logits = [each.logit for each in prediction.answers]
        assert logits == sorted(logits, reverse=True)
        assert len({(each.start, each.end) for each in prediction.answers}) == len(logits) == 6
        if len(prediction.windows) == 1:
            np.testing.assert_allclose(logits, [span[0] for span in spans[:6]], atol=1e-5)
        for each in prediction.answers:
            assert each.score == pytest.approx(np.exp(each.logit) / normaliser(prediction), rel=1e-5)
        if prediction.null_logit is not None:
            assert prediction.null_score == pytest.approx(
                np.exp(prediction.null_logit) / normaliser(prediction), rel=1e-5
            )
            assert prediction.is_null == ((prediction.null_score or 0) > answer.score)


def test_windows_cover_the_whole_context_and_overlap() -> None:
    head, tokenizer, _ = tiny_head("bert", TASK)
    prediction = predicted_answers(head, tokenizer, QUESTION, LONG)
    windows = prediction.windows
    assert len(windows) > 2
    assert f"{len(windows)} windows" in prediction.notices[0]
    assert (windows[0].start, windows[-1].end) == (0, len(LONG))
    assert all(one.end > other.start for one, other in zip(windows, windows[1:], strict=False))
    assert all(len(window.tokens) <= 29 for window in windows)
    assert prediction.null_logit == min(float(part.start_logits[0] + part.end_logits[0]) for part in windows)


def test_bad_input_is_told_in_one_sentence() -> None:
    head, tokenizer, _ = tiny_head("bert", TASK)
    other = tiny_head("bert", "masked-lm")[0]
    refusals = {
        "The context is empty": lambda: predicted_answers(head, tokenizer, QUESTION, " \n"),
        "The question is empty": lambda: predicted_answers(head, tokenizer, "", SHORT),
        "leaves no room for the context": lambda: predicted_answers(head, tokenizer, "love " * 40, SHORT),
        "at most 200,000 are read": lambda: predicted_answers(head, tokenizer, QUESTION, "a" * 200_001),
        "0 was requested": lambda: predicted_answers(head, tokenizer, QUESTION, SHORT, max_answer_tokens=0),
        "this asks for question-answering": lambda: predicted_answers(other, tokenizer, QUESTION, SHORT),
    }
    for words, refused in refusals.items():
        with pytest.raises(BertvizError, match=words) as refusal:
            refused()
        assert "\n" not in str(refusal.value)
