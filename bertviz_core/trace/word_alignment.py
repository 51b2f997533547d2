"""The words that tokens are pieces of, each with its own characters of the text: none is in two words."""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from bertviz_core.text import JOINERS
from bertviz_core.trace.results import Tokens

SPACE_MARKS = "\u2581\u0120"
"""What stands for a space in a spelling: of SentencePiece, and of byte-level vocabularies."""


class Word(NamedTuple):
    """Neighbouring tokens that are one word, or one token that is none."""

    positions: tuple[int, ...]
    """Places among all tokens."""
    sequence: int | None
    """0 for the text, 1 for its pair, None for a token that the tokenizer added."""
    span: tuple[int, int] | None
    """Its characters in its text, end excluded, the white space around it left out; None where nothing tells them."""
    text: str
    """These characters; "" for None, and for a token that covers none."""


def words(tokens: Tokens) -> tuple[Word, ...]:
    """All tokens, cut into words; the words of a text, joined with what stands between them, are the text.

    Special tokens stay alone, as do tokens of a tokenizer that does not tell words. White space ends a word: some
    tokenizers count a whole text as one. What is drawn as one character, or written with one, is never parted.
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
    """The span of a token, empty for a mark of a space alone that is said to cover the letter behind it."""
    covered = text[slice(*span)]
    mark_alone = bool(spelling) and not spelling.strip(SPACE_MARKS)
    return (span[0], span[0]) if mark_alone and covered != spelling and covered.strip() else span


def _continues(tokens: Tokens, run: Sequence[int], position: int) -> bool:
    """Whether a token is a further piece of the word that the tokens of a run are from."""
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
        return True  # both are written with one character
    between = text[start[1] : max(start[1], end[0])] + text[end[0] : end[1]][:1]
    ended = text[start[1] - 1 : start[1]].isspace() and bool(text[slice(*start)].strip())
    if ended or any(character.isspace() for character in between):
        return False
    return same or _one_character(text, end[0])


def _one_character(text: str, place: int) -> bool:
    """Whether a mark or a joiner ties the character at a place to the one before it (Unicode Standard Annex 29)."""
    before, behind = text[max(place - 1, 0) : place], text[place : place + 1]
    return _ties(behind) or (_ties(before) and behind.isalpha())


def _ties(character: str) -> bool:
    return character != "" and (unicodedata.category(character)[0] == "M" or character in JOINERS)


def _word(tokens: Tokens, run: Sequence[int], read: Sequence[int]) -> Word:
    """The word of a run; of its characters those that no word before it has, and accents that no token covers."""
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
