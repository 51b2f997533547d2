"""Two readers at once, who ask one opened model in two threads: their numbers and their time, against one by one."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from benchmarks.device import difference, finished
from benchmarks.models.sentences import made_sentences
from benchmarks.timing import Row, duration, medians_s
from bertviz_core import Model, open_model
from bertviz_core.settings import DEFAULT_MODEL

WORDS = ("river", "bank", "water", "boat", "money", "loan", "teacher", "school", "summer", "winter", "music", "song")
TEXTS, MIDDLE = 24, 40
ROUNDS = 3
SAME = 1e-5
"""Largest relative difference between the numbers of one reader alone and beside another."""


def rows(device: str) -> list[Row]:
    """Rows of the table for two readers; each asks for runs, attention and sentence vectors of texts of their own."""
    texts = made_sentences(WORDS, 2 * TEXTS, MIDDLE)
    shares = texts[:TEXTS], texts[TEXTS:]
    expected, found = (_numbers(_opened(device), shares, at_once) for at_once in (1, 2))
    worst = np.max([difference(new, old) for new, old in zip(found, expected, strict=True)])
    # Answers are cached, so each round has a model of its own, opened before it is timed.
    alone, beside = (iter([_opened(device) for _ in range(ROUNDS + 1)]) for _ in range(2))
    both_s, alone_s = medians_s(
        finished(lambda: _numbers(next(beside), shares, 2), device),
        finished(lambda: _numbers(next(alone), shares, 1), device),
        ROUNDS,
    )
    work = f"two readers at once, {TEXTS} texts each: largest difference from one by one, relative"
    ratio = f"{duration(alone_s)} one by one: {both_s / alone_s:.2f}x"
    return [
        Row(work, f"{worst:.0e}", "", f"<= {SAME:.0e}", bool(worst <= SAME)),
        Row("their time", duration(both_s), ratio, "<= 1.2x", both_s <= 1.2 * alone_s),
    ]


def _opened(device: str) -> Model:
    """The bundled model, loaded and run once."""
    model = open_model(DEFAULT_MODEL, device=device)
    model.trace("A text.")
    return model


def _numbers(model: Model, shares: Sequence[Sequence[str]], at_once: int) -> list[np.ndarray]:
    """The answers to the readers, each with texts of its own, of whom this many ask at once.

    One by one they ask in a thread, too: on a CPU PyTorch may take another time in the main thread.
    """
    with ThreadPoolExecutor(at_once) as readers:
        return [array for arrays in readers.map(partial(_answers, model), shares) for array in arrays]


def _answers(model: Model, texts: Sequence[str]) -> list[np.ndarray]:
    """Hidden states, attention of the last layer, and vectors of the texts."""
    traces = [model.trace(text) for text in texts]
    last = len(traces[0].hidden_states) - 2
    maps = [each.attention(last) for each in traces]
    return [*(each.hidden_states for each in traces), *maps, model.sentences(texts).vectors]
