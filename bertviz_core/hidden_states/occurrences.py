"""Find the occurrences of a word in a text, in characters and tokens."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from bertviz_core.trace.results import Tokens
from bertviz_core.trace.word_alignment import SPACE_MARKS

UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "BOPOMOFO", "JAVANESE")
"""First words of the Unicode names of letters in scripts without spaces between words."""

WRITTEN = re.compile(r"[^\W_]+")
LONGEST_WORD, MAX_OCCURRENCES = 1_000, 1_000
"""Maximum length of a word in characters, and number of its occurrences that are returned."""


def occurrences(tokens: Tokens, word: str) -> tuple[tuple[int, ...], ...]:
    """Token positions of every occurrence of a word in the text and its pair, of the first MAX_OCCURRENCES.

    The search is case-insensitive and matches whole words; the tokens of an occurrence are those that cover any of its
    characters. If the tokenizer provides no offsets, the spelling of the tokens is searched.
    """
    if tokens.offsets is None:
        text, owners = _spelled_out(tokens)
        matches = (sorted({owners[place] for place in range(*span)}) for span in word_spans(text, word))
        return tuple(tuple(positions) for positions in matches)
    places: list[tuple[int, ...]] = []
    for sequence, text in enumerate((tokens.text, tokens.pair or "")):
        own = [
            (position, span)
            for position, (which, span) in enumerate(zip(tokens.sequence, tokens.offsets, strict=True))
            if which == sequence and span is not None
        ]
        covered = max((end for _, (_, end) in own), default=0)  # the text may be truncated
        for start, end in word_spans(text, word):
            if start >= covered or len(places) == MAX_OCCURRENCES:
                break
            covering = tuple(position for position, (low, high) in own if low < min(end, high) and start < high)
            if covering:
                places.append(covering)
    return tuple(places)


def shared_word(first: str, second: str) -> str:
    """Return the longest word that is in both texts, as the first one spells it; "" if there is none."""
    others = {word.casefold() for word in WRITTEN.findall(second)}
    shared = [word for word in WRITTEN.findall(first) if word.casefold() in others and not word.isnumeric()]
    return max(shared, key=len, default="")


def word_spans(text: str, word: str) -> Iterator[tuple[int, int]]:
    """Character spans, end exclusive, of every occurrence of a word; ignores case and the composition of accents.

    A word of more than LONGEST_WORD characters has none, since time grows with the length of both.
    """
    if len(word := word.strip()) > LONGEST_WORD:
        return
    folded = "".join(letter for letter, _ in _folded(word))
    letters = list(_folded(text))
    whole, places = "".join(letter for letter, _ in letters), [place for _, place in letters]
    start = whole.find(folded) if folded else -1
    while start >= 0:
        stop = start + len(folded)
        first, end = places[start], places[stop - 1] + 1
        # Not half of a character, such as the e of an é.
        parted = first in places[max(start - 1, 0) : start] or end - 1 in places[stop : stop + 1]
        inside = _one_word(text[max(first - 1, 0) : first], text[first]) or _one_word(
            text[end - 1], text[end : end + 1]
        )
        if not (parted or inside):
            yield first, end
        start = whole.find(folded, start + 1)


def _folded(text: str) -> Iterator[tuple[str, int]]:
    """The case-folded, decomposed characters of a text, each with the index of its character."""
    for place, character in enumerate(text):
        for letter in unicodedata.normalize("NFD", character.casefold()):
            yield letter, place


def _one_word(before: str, behind: str) -> bool:
    """Whether two consecutive characters belong to one word; "" is the end of the text."""
    return all(_in_word(each) for each in (before, behind)) and not any(_unspaced(each) for each in (before, behind))


def _in_word(character: str) -> bool:
    return character != "" and (character.isalnum() or unicodedata.category(character)[0] == "M")


def _unspaced(character: str) -> bool:
    return unicodedata.name(character, "").startswith(UNSPACED)


def _spelled_out(tokens: Tokens) -> tuple[str, Sequence[int]]:
    """The text spelled by its tokens, and the token of each character.

    Tokens are separated by a space unless their spelling joins them: a "##" prefix, an "@@" suffix, a vocabulary that
    marks the beginning (U+2581, U+0120) or end ("</w>") of words, or one of single characters.
    """
    own = [
        (position, token)
        for position, token in enumerate(tokens.tokens)
        if not tokens.special[position] and tokens.sequence[position] is not None
    ]
    marked = any(token[:1] in SPACE_MARKS or token.endswith("</w>") for _, token in own if token)
    joined = marked or all(len(token) == 1 for _, token in own)
    text, owners, before = "", list[int](), ""
    for place, (position, token) in enumerate(own):
        piece = token.lstrip(SPACE_MARKS)
        second = place > 0 and tokens.sequence[position] != tokens.sequence[own[place - 1][0]]
        apart = len(piece) < len(token) or not (joined or piece.startswith("##") or before.endswith("@@"))
        bare = (piece if joined else piece.removeprefix("##")).removesuffix("</w>").removesuffix("@@")
        written = f"{' ' if apart or second else ''}{bare}{' ' if piece.endswith('</w>') else ''}"
        text, before = text + written, piece
        owners += [position] * len(written)
    return text, owners
