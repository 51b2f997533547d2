"""Extract the best answer spans from a context, in overlapping windows where it is too long for the model."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Int

from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.predictions.results import AnswerPrediction, AnswerSpan, AnswerWindow, answer_log_sums
from bertviz_core.predictions.run import HeadModel, check_task, row_outputs
from bertviz_core.text import counted, first_line, repair_surrogates
from bertviz_core.trace.tokenization import TextTokenizer

MAX_ANSWER_TOKENS = 30
MAX_WINDOWS = 128
"""Maximum number of windows per context: 128 runs of 384 tokens take BERT-base about a minute on two cores."""
MAX_STRIDE = 128
"""Maximum overlap of neighbouring windows in tokens."""
INPUTS = ("input_ids", "token_type_ids")


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """Tokens of one run, in the form that bertviz_core.trace.verification.model_inputs takes."""

    input_ids: Int[np.ndarray, " seq"]
    token_type_ids: Int[np.ndarray, " seq"] | None
    other_inputs: Mapping[str, np.ndarray]
    offsets: tuple[tuple[int, int], ...]
    context: tuple[bool, ...]
    begins_special: bool

    def __len__(self) -> int:
        return len(self.input_ids)


def predicted_answers(
    head: HeadModel,
    tokenizer: TextTokenizer,
    question: str,
    context: str,
    top: int = 5,
    max_answer_tokens: int = MAX_ANSWER_TOKENS,
) -> AnswerPrediction:
    """Extract the best answer spans: (i, j) with the greatest start_i + end_j, i <= j < i + max_answer_tokens.

    A context that is too long for one run is read in overlapping windows; the overlap is a quarter of the available
    tokens, 128 at most. Start and end probabilities are each a softmax over the context tokens of all windows, and the
    first token where it stands for "no answer", so that windows and that answer are comparable. A span found in two
    windows is listed once, with the greater logit.
    """
    check_task(head, "question-answering")
    question, context = repair_surrogates(question), repair_surrogates(context)
    if top < 1 or max_answer_tokens < 1:
        raise TextError(f"{min(top, max_answer_tokens):,} was requested; give at least 1 answer of at least 1 token.")
    windows = _windows(tokenizer, question, context)
    outputs: dict[int, tuple[np.ndarray, ...]] = dict(row_outputs(head, windows, ("start_logits", "end_logits")))
    parts = tuple(_part(tokenizer, window, outputs[index]) for index, window in enumerate(windows))
    spans = _best_spans(parts, windows, context, top, max_answer_tokens)
    nulls = [float(part.start_logits[0] + part.end_logits[0]) for part in parts]
    notices = list(head.notices)
    if len(parts) > 1:
        notices.insert(0, f"The context is longer than the model reads at once: {counted(len(parts), 'window')}.")
    null = min(nulls) if _begin_special(windows) else None
    found = AnswerPrediction(head.name, question, context, spans, null, parts, notices=tuple(notices))
    return replace(found, notices=(*notices, found.null_words())) if found.is_null else found


def _begin_special(windows: list[_Window]) -> bool:
    return all(window.begins_special for window in windows)


def _windows(tokenizer: TextTokenizer, question: str, context: str) -> list[_Window]:
    backend, limit = tokenizer.tokenizer, tokenizer.limit.tokens
    for words, what in ((question, "question"), (context, "context")):
        if not words.strip():
            raise TextError(f"The {what} is empty; write a question and, as the second text, what holds its answer.")
        if len(words) > tokenizer.max_characters:
            raise TextError(
                f"The {what} has {len(words):,} characters; at most {tokenizer.max_characters:,} are read. Shorten it."
            )
    if not backend.is_fast:
        raise UnsupportedModelError(
            f"The tokenizer of {tokenizer.name!r} does not tell places in a text, so no answer can be cut out of it."
        )
    options: dict[str, Any] = {"return_special_tokens_mask": True, "verbose": False}
    try:
        with tokenizer.lock:
            question_tokens = len(backend(question, "", verbose=False)["input_ids"])
            if limit is not None and question_tokens < limit:
                stride = min((limit - question_tokens) // 4, MAX_STRIDE)
                options |= {"truncation": "only_second", "max_length": limit, "stride": stride}
            encoding = backend(question, context, return_overflowing_tokens=True, **options)
    except Exception as error:  # tokenizers raises undocumented errors
        raise TextError(f"The tokenizer of {tokenizer.name!r} cannot read this text: {first_line(error)}") from error
    if limit is not None and question_tokens >= limit:
        raise TextError(
            f"The question takes {question_tokens:,} of the {limit:,} tokens that the model reads and leaves no room "
            "for the context; shorten it."
        )
    count = len(encoding["input_ids"])
    if count > MAX_WINDOWS:
        raise TextError(
            f"Beside this question the context takes {count:,} windows, and at most {MAX_WINDOWS} are read; shorten "
            "the question or the context."
        )
    windows = [_window(encoding, index) for index in range(count)]
    if not any(any(window.context) for window in windows):
        raise TextError("The context has no token of its own that could answer; write some words.")
    return windows


def _window(encoding: Any, index: int) -> _Window:
    length = len(encoding["input_ids"][index])
    known = {*INPUTS, "attention_mask", "special_tokens_mask", "overflow_to_sample_mapping"}
    places = encoding.encodings[index]
    others = {
        name: np.asarray(values[index], dtype=np.int64)
        for name, values in encoding.items()
        if name not in known and len(values[index]) == length
    }
    types = encoding.get("token_type_ids")
    context = tuple(sequence == 1 for sequence in places.sequence_ids)
    return _Window(
        input_ids=np.asarray(encoding["input_ids"][index], dtype=np.int64),
        token_type_ids=None if types is None else np.asarray(types[index], dtype=np.int64),
        other_inputs=others,
        offsets=tuple(tuple(span) for span in places.offsets),
        context=context,
        begins_special=bool(encoding["special_tokens_mask"][index][0]),
    )


def _part(tokenizer: TextTokenizer, window: _Window, logits: tuple[np.ndarray, ...]) -> AnswerWindow:
    spans = [span for span, inside in zip(window.offsets, window.context, strict=True) if inside]
    context = np.array(window.context)
    for array in (context, *logits):
        array.setflags(write=False)
    return AnswerWindow(
        tokens=tokenizer.spelled(window.input_ids.tolist()),
        start=spans[0][0] if spans else 0,
        end=spans[-1][1] if spans else 0,
        context=context,
        start_logits=logits[0],
        end_logits=logits[1],
    )


def _best_spans(
    parts: tuple[AnswerWindow, ...], windows: list[_Window], context: str, top: int, longest: int
) -> tuple[AnswerSpan, ...]:
    total = sum(answer_log_sums(parts, _begin_special(windows)))
    best: dict[tuple[int, int], AnswerSpan] = {}
    for index, (part, window) in enumerate(zip(parts, windows, strict=True)):
        for first, last, logit in _candidates(part, top * len(parts), longest):
            start, end = window.offsets[first][0], window.offsets[last][1]
            known = best.get((start, end))
            if known is None or logit > known.logit:
                best[start, end] = AnswerSpan(
                    context[start:end], start, end, logit, float(np.exp(logit - total)), index, first, last
                )
    return tuple(sorted(best.values(), key=lambda answer: (-answer.logit, answer.start, answer.end))[:top])


def _candidates(part: AnswerWindow, count: int, longest: int) -> list[tuple[int, int, float]]:
    """Return the best spans of one window as (first token, last token, logit)."""
    positions = np.flatnonzero(part.context)
    if not len(positions):
        return []
    start, end = part.start_logits[positions].astype(np.float64), part.end_logits[positions].astype(np.float64)
    width = min(longest, len(positions))
    table = np.full((len(positions), width), -np.inf)
    for length in range(width):
        table[: len(positions) - length, length] = start[: len(positions) - length] + end[length:]
    flat = table.ravel()
    count = min(count, int(np.isfinite(flat).sum()))
    best = np.argsort(-flat, kind="stable")[:count]
    return [
        (int(positions[place // width]), int(positions[place // width + place % width]), float(flat[place]))
        for place in best
    ]
