"""What the rows and columns of a map stand for: readable tokens or whole words, texts of a pair, punctuation."""

import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
from jaxtyping import Int

from bertviz_core.attention.results import Axis, Block
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.word_alignment import Word
from bertviz_core.trace.word_alignment import words as words_of

BLOCKS: tuple[Block, ...] = ("all", "A to A", "A to B", "B to A", "B to B")
SIDES_RULE = (
    "Text A is what the tokenizer took from the first text, text B what it took from the second; a special token that "
    "the tokenizer added counts to the text that it closes, the first one to text A."
)
WORDS_RULE = (
    "Pieces of one word are merged: the weights on its pieces are added up, the rows of its pieces are averaged, so "
    "that a row still adds up to the same (Clark et al. 2019, section 4.1); special tokens stay as they are."
)
PUNCTUATION_RULE = "Punctuation is what consists of nothing but Unicode punctuation (P) and symbols (S)."
BYTE_LEVEL_SPACES, PIECE_SPACE = ("\u0120", "\u010a"), "\u2581"
SPACE, NEW_LINE = "\u2423", "\u21b5"
"""What stands for a token that is nothing but white space."""


def blocks_of(tokens: Tokens) -> tuple[Block, ...]:
    """The parts that a map of these tokens has: ("all",), or for a pair all five (see SIDES_RULE)."""
    return BLOCKS if len(set(text_sides(tokens).tolist())) > 1 else BLOCKS[:1]


def text_sides(tokens: Tokens) -> Int[np.ndarray, " seq"]:
    """0 for a token of text A, 1 of text B, by SIDES_RULE.

    Neither token types nor separators are needed, so that RoBERTa, which has no types and two separators between the
    texts, is cut like BERT.
    """
    sides, current = [], 0
    for text in tokens.sequence:
        current = current if text is None else text
        sides.append(current)
    return np.array(sides, dtype=np.int64)


def token_groups(tokens: Tokens, words: bool) -> Axis:
    """All tokens in their order, or where words are wanted each word (trace.words) as one entry."""
    if not words:
        count = len(tokens)
        return Axis(tuple(readable(tokens, position) for position in range(count)), tuple((at,) for at in range(count)))
    found = words_of(tokens)
    return Axis(tuple(_label(tokens, word) for word in found), tuple(word.positions for word in found))


def readable(tokens: Tokens, position: int) -> str:
    """A token as one reads it: bytes as the characters that they are, without the marks of a space before it.

    Byte-level vocabularies spell every byte as a sign, also the space before a word and each byte of a letter that is
    not ASCII; SentencePiece spells the space alone. A token that is a part of a character is shown as the whole of it.
    WordPiece's "##" stays, since it says that the token continues a word.
    """
    token = tokens.tokens[position]
    if token.isspace():
        return NEW_LINE if "\n" in token else SPACE
    if tokens.special[position] or token.isascii():
        return token
    if token.startswith(PIECE_SPACE):
        return token.lstrip(PIECE_SPACE) or SPACE
    found = _of_bytes(token)
    if found is None:
        return token
    inside = surface(tokens, [position])
    try:
        decoded = found.decode()
    except UnicodeDecodeError:
        known, written = inside.casefold(), token.casefold()
        return token if known.isascii() or known in written or written in known else inside
    if decoded == token or ((inside or token[0] not in BYTE_LEVEL_SPACES) and decoded.strip() != inside):
        return token
    return decoded.strip() or (NEW_LINE if "\n" in decoded else SPACE)


def is_punctuation(tokens: Tokens, positions: Sequence[int]) -> bool:
    """Whether a token or word is nothing but punctuation and symbols; a special token is none."""
    if tokens.special[list(positions)].any():
        return False
    spelling = surface(tokens, positions) or "".join(_bare(tokens.tokens[position]) for position in positions)
    return bool(spelling) and all(unicodedata.category(character)[0] in "PS" for character in spelling)


def surface(tokens: Tokens, positions: Sequence[int]) -> str:
    """What the text has in the place of neighbouring tokens of one text; "" where the tokenizer does not say."""
    sequence = tokens.sequence[positions[0]]
    if tokens.offsets is None or sequence is None:
        return ""
    spans = [span for position in positions if (span := tokens.offsets[position]) is not None]
    text = tokens.text if sequence == 0 else tokens.pair or ""
    return text[spans[0][0] : spans[-1][1]].strip() if spans else ""


def _label(tokens: Tokens, word: Word) -> str:
    """The word as the text has it; a special token, and a word without a place, as the tokenizer spells it."""
    if len(word.positions) == 1 and (not word.text or tokens.special[word.positions[0]]):
        return readable(tokens, word.positions[0])
    return word.text or "".join(tokens.tokens[position] for position in word.positions)


@cache
def _byte_of() -> dict[str, int]:
    """The character by which byte-level vocabularies spell each byte (Radford et al. 2019, bytes_to_unicode)."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(0x100 + place): byte for place, byte in enumerate(others)}


def _of_bytes(token: str) -> bytes | None:
    """The bytes that a byte-level vocabulary spells like this; None where one of the characters is not of its kind."""
    found = [_byte_of().get(character) for character in token]
    return bytes(byte for byte in found if byte is not None) if None not in found else None


def _bare(token: str) -> str:
    """A token without the marks by which vocabularies tell beginnings and ends of words."""
    for mark in (*BYTE_LEVEL_SPACES, PIECE_SPACE, "##"):
        token = token.removeprefix(mark) if len(token) > len(mark) else token
    for mark in ("</w>", "@@"):
        token = token.removesuffix(mark) if len(token) > len(mark) else token
    return "" if token == PIECE_SPACE else token
