"""Words and edits of a text by the tokens of two tokenizers."""

import re
from collections.abc import Hashable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from bertviz_core.errors import TextError
from bertviz_core.text import repair_surrogates
from bertviz_core.trace.results import Tokens, WordEdit
from bertviz_core.trace.word_alignment import words

Span = tuple[int, int]


class SharedSpan(NamedTuple):
    """A part of the text that both models cut into whole tokens; no smaller part of it is one of both."""

    sequence: int
    """0 for the text, 1 for its pair."""
    start: int
    """Index of its first character."""
    end: int
    """Index after its last character."""
    text: str
    """Its characters."""
    first: tuple[int, ...]
    """Positions of the first model's tokens; empty where it reads none, as beyond its longest input."""
    second: tuple[int, ...]
    """Positions of the second model's tokens."""


class _Item(NamedTuple):
    """Neighbouring tokens of one model and their characters."""

    sequence: int
    start: int
    end: int
    side: int
    positions: tuple[int, ...]


def shared_spans(first: Tokens, second: Tokens) -> tuple[SharedSpan, ...]:
    """The smallest parts of a text that are whole tokens of both models, in the order of the text.

    Parts share no character, and every token that is not special and covers a character is in exactly one of them.
    White space is part of no span; a token that covers nothing else belongs to the next one, or at the end to the last.
    """
    return _joined(first, second, [*_tokens(first, 0), *_tokens(second, 1)])


def shared_words(first: Tokens, second: Tokens) -> tuple[SharedSpan, ...]:
    """The smallest parts of a text that are whole words of both models; otherwise as `shared_spans`."""
    return _joined(first, second, [*_words(first, 0), *_words(second, 1)])


def same_tokens(first: Tokens, second: Tokens) -> bool:
    """Whether two models read a text as the same tokens, one after the other; see `same_parts`."""
    sides = [tuple((place,) for place in range(len(tokens))) for tokens in (first, second)]
    return same_parts(first, second, sides[0], sides[1])


def same_parts(
    first: Tokens, second: Tokens, parts: Sequence[tuple[int, ...]], others: Sequence[tuple[int, ...]]
) -> bool:
    """Whether parts of a text are the same for two models: as many, and each covers the same characters.

    White space around a part does not count, nor does the spelling of a token in its vocabulary. Tokens that a
    tokenizer adds, such as [CLS] and <s>, are the same where they stand at the same place. Where a tokenizer does not
    return the characters of its tokens, all tokens must be spelled alike.

    Args:
        parts: token positions of each part in the first model.
        others: token positions of each part in the second model.
    """
    if (first.text, first.pair) != (second.text, second.pair) or len(parts) != len(others):
        return False
    if first.offsets is None or second.offsets is None:
        return first.tokens == second.tokens and tuple(parts) == tuple(others)
    return all(_characters(first, one) == _characters(second, other) for one, other in zip(parts, others, strict=True))


def covered(tokens: Tokens, position: int) -> Span | None:
    """The characters of a token without white space around them; None for a token without characters."""
    span, sequence = None if tokens.offsets is None else tokens.offsets[position], tokens.sequence[position]
    if span is None or sequence is None:
        return None
    return _stripped(text_of(tokens, sequence), span)


def text_of(tokens: Tokens, sequence: int) -> str:
    """The text (0) or its pair (1)."""
    return (tokens.pair or "") if sequence else tokens.text


def _characters(tokens: Tokens, positions: Sequence[int]) -> tuple[int, int, int] | None:
    """Sequence, start and end of neighbouring tokens; None for added ones, no sequence for no token (a sink)."""
    if not positions:
        return -1, 0, 0
    spans = [span for place in positions if (span := covered(tokens, place)) is not None]
    sequence = tokens.sequence[positions[0]]
    if sequence is None or not spans:
        return None
    wide = [span for span in spans if span[0] < span[1]] or spans
    return sequence, min(span[0] for span in wide), max(span[1] for span in wide)


def _stripped(text: str, span: Span) -> Span:
    part = text[slice(*span)]
    start = span[0] + len(part) - len(part.lstrip())
    return start, max(start, span[1] - len(part) + len(part.rstrip()))


def _tokens(tokens: Tokens, side: int) -> Iterable[_Item]:
    for position in range(len(tokens)):
        sequence, span = tokens.sequence[position], covered(tokens, position)
        if sequence is not None and span is not None and not tokens.special[position]:
            yield _Item(sequence, *span, side, (position,))


def _words(tokens: Tokens, side: int) -> Iterable[_Item]:
    for word in words(tokens):
        if word.sequence is not None and word.span is not None and not tokens.special[word.positions[0]]:
            yield _Item(word.sequence, *word.span, side, word.positions)


def _joined(first: Tokens, second: Tokens, items: Sequence[_Item]) -> tuple[SharedSpan, ...]:
    """Join items that share a character; one without a character goes to the next."""
    if (first.text, first.pair) != (second.text, second.pair):
        raise ValueError("the two models read different texts")
    if first.offsets is None or second.offsets is None:
        raise TextError(
            "The tokens of two models are matched by their characters, and one of these tokenizers does not return the "
            "characters of its tokens; choose a model with a fast tokenizer."
        )
    parts: list[list[_Item]] = []
    end = (0, 0)
    for item in sorted(items, key=lambda each: (each.sequence, each.start, each.end)):
        is_open = bool(parts) and _blank(parts[-1])
        if parts and parts[-1][0].sequence == item.sequence and ((item.sequence, item.start) < end or is_open):
            parts[-1].append(item)
        else:
            parts.append([item])
        end = max(end, (item.sequence, item.end))
    if len(parts) > 1 and parts[-2][0].sequence == parts[-1][0].sequence and _blank(parts[-1]):
        last = parts.pop()
        parts[-1] += last
    return tuple(_span(first, part) for part in parts)


def _blank(part: Sequence[_Item]) -> bool:
    return all(each.start == each.end for each in part)


def _span(tokens: Tokens, part: Sequence[_Item]) -> SharedSpan:
    sequence, wide = part[0].sequence, [each for each in part if each.end > each.start] or list(part)
    start, end = min(each.start for each in wide), max(each.end for each in wide)
    sides = (tuple(sorted(place for each in part if each.side == side for place in each.positions)) for side in (0, 1))
    return SharedSpan(sequence, start, end, text_of(tokens, sequence)[start:end], *sides)


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
    return tuple(
        WordEdit(KINDS[kind], _edit_span(first, i, j), _edit_span(second, k, m)) for kind, i, j, k, m in _steps(*words)
    )


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


def _edit_span(words: list[tuple[int, int]], first: int, end: int) -> tuple[int, int]:
    """The character span of a range of words; an empty span for none."""
    if first < end:
        return words[first][0], words[end - 1][1]
    place = words[first - 1][1] if first else 0
    return place, place
