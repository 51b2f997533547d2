"""Group tokens into words; every character of the text belongs to at most one word."""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from bertviz_core.text import JOINERS
from bertviz_core.trace.results import Tokens

SENTENCE_PIECE_MARK = "\u2581"
SPACE_MARKS = f"{SENTENCE_PIECE_MARK}\u0120"
"""Marks for a space in the spelling of SentencePiece and byte-level vocabularies."""


class Word(NamedTuple):
    """Neighbouring tokens that form a word, or a single token that is not part of one."""

    positions: tuple[int, ...]
    """Positions of its tokens."""
    sequence: int | None
    """0 for the text, 1 for its pair, None for an added token."""
    span: tuple[int, int] | None
    """Its character span without surrounding white space, end exclusive; None if unknown."""
    text: str
    """The characters of the span; "" if there are none."""


def words(tokens: Tokens) -> tuple[Word, ...]:
    """All tokens, grouped into words.

    Special tokens stay alone, as do all tokens of a tokenizer that does not provide words. White space ends a word, as
    some tokenizers report a whole text as one. Tokens that share a character, or a grapheme, stay together.
    """
    runs: list[list[int]] = []
    for position in range(len(tokens)):
        if runs and _continues(tokens, runs[-1], position):
            runs[-1].append(position)
        else:
            runs.append([position])
    read, found = [0, 0], []
    for run in runs:
        word = _word(tokens, run, read)
        if word.span is not None and word.sequence is not None:
            read[word.sequence] = word.span[1]
        found.append(word)
    return tuple(found)


def own_span(text: str, spelling: str, span: tuple[int, int]) -> tuple[int, int]:
    """The span of a token; empty for a space mark that is reported to cover the next letter."""
    covered = text[slice(*span)]
    mark_alone = bool(spelling) and not spelling.strip(SPACE_MARKS)
    return (span[0], span[0]) if mark_alone and covered != spelling and covered.strip() else span


def _continues(tokens: Tokens, run: Sequence[int], position: int) -> bool:
    """Whether a token continues the word of a run of tokens."""
    before, ids, sequences = run[-1], tokens.word_ids, tokens.sequence
    if ids is None or sequences[position] != sequences[before]:
        return False
    if tokens.special[before] or tokens.special[position]:
        return False
    same = ids[position] is not None and ids[position] == ids[before]
    start, end = (tokens.offsets[before], tokens.offsets[position]) if tokens.offsets is not None else (None, None)
    if start is None or end is None:
        return same
    text = _text(tokens, sequences[position])
    if end[0] < end[1] and end[0] < start[1]:
        return True  # both cover the same character
    between = text[start[1] : max(start[1], end[0])] + text[end[0] : end[1]][:1]
    ended = text[start[1] - 1 : start[1]].isspace() and bool(text[slice(*start)].strip())
    if ended or any(character.isspace() for character in between):
        return False
    return same or _one_character(text, end[0])


def _one_character(text: str, place: int) -> bool:
    """Whether the character at a place forms a grapheme with the one before it (Unicode Standard Annex 29)."""
    before, behind = text[max(place - 1, 0) : place], text[place : place + 1]
    return _ties(behind) or (_ties(before) and behind.isalpha())


def _ties(character: str) -> bool:
    return character != "" and (unicodedata.category(character)[0] == "M" or character in JOINERS)


def _word(tokens: Tokens, run: Sequence[int], read: Sequence[int]) -> Word:
    """The word of a run: its characters that no earlier word has, and combining marks that no token covers."""
    sequence = tokens.sequence[run[0]]
    spans = [span for position in run if tokens.offsets and (span := tokens.offsets[position]) is not None]
    if sequence is None or not spans:
        return Word(tuple(run), sequence, None, "")
    text = _text(tokens, sequence)
    start = max(read[sequence], min(span[0] for span in spans))
    end = max(start, max(span[1] for span in spans))
    while start < end and not tokens.special[run[0]] and _ties(text[end : end + 1]):
        end += 1
    covered = text[start:end]
    start += len(covered) - len(covered.lstrip())
    end = max(start, end - (len(covered) - len(covered.rstrip())))
    return Word(tuple(run), sequence, (start, end), text[start:end])


def _text(tokens: Tokens, sequence: int | None) -> str:
    return tokens.text if sequence == 0 else tokens.pair or ""
