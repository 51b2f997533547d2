"""Compare two versions of a text: words kept, inserted, deleted and replaced, and unchanged tokens."""

import re
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from typing import Literal

from bertviz_core.text import repair_surrogates
from bertviz_core.trace.results import Tokens, WordEdit

WORD = re.compile(r"\w+|[^\w\s]")
"""A word, or a single punctuation mark."""
MOST_COMPARED = 10_000
"""Maximum number of words or tokens, between a common beginning and end, that are compared one by one."""
KINDS: dict[str, Literal["same", "inserted", "deleted", "replaced"]] = {
    "equal": "same",
    "insert": "inserted",
    "delete": "deleted",
    "replace": "replaced",
}
"""difflib's name of an operation -> kind of a WordEdit."""


def word_edits(before: str, after: str) -> tuple[WordEdit, ...]:
    """The edits from one text to another, by words and difflib's matching blocks (Ratcliff and Obershelp 1988).

    The spans of all edits cover all words of either text in order; the words of "same" edits are equal. White space is
    ignored.
    """
    texts = repair_surrogates(before), repair_surrogates(after)
    first, second = ([match.span() for match in WORD.finditer(text)] for text in texts)
    words = [[text[slice(*span)] for span in spans] for text, spans in zip(texts, (first, second), strict=True)]
    return tuple(WordEdit(KINDS[kind], _span(first, i, j), _span(second, k, m)) for kind, i, j, k, m in _steps(*words))


def unchanged_positions(before: Tokens, after: Tokens) -> dict[int, int]:
    """Old position -> new position of every unchanged token, by difflib's matching blocks within each text."""
    rows = [list(zip(each.tokens, each.sequence, strict=True)) for each in (before, after)]
    return {
        first + place: second + place
        for kind, first, end, second, _ in _steps(*rows)
        if kind == "equal"
        for place in range(end - first)
    }


def _steps(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[tuple[str, int, int, int, int]]:
    """The opcodes of difflib; the common beginning and end are set aside first, for speed.

    What lies between is one replacement if it has more than MOST_COMPARED parts, since time grows with their square.
    """
    most = min(len(before), len(after))
    start = next((place for place in range(most) if before[place] != after[place]), most)
    left = most - start
    end = next((place for place in range(left) if before[-1 - place] != after[-1 - place]), left)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    compared = not (old and new) or max(len(old), len(new)) <= MOST_COMPARED
    whole = ("replace", 0, len(old), 0, len(new))
    inside = SequenceMatcher(None, old, new).get_opcodes() if compared else [whole]
    steps = [("equal", 0, start, 0, start)] if start else []
    steps += [(kind, i + start, j + start, k + start, m + start) for kind, i, j, k, m in inside]
    return [*steps, ("equal", len(before) - end, len(before), len(after) - end, len(after))] if end else steps


def _span(words: list[tuple[int, int]], first: int, end: int) -> tuple[int, int]:
    """The character span of a range of words; an empty span for none."""
    if first < end:
        return words[first][0], words[end - 1][1]
    place = words[first - 1][1] if first else 0
    return place, place
