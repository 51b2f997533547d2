"""Label the rows and columns of attention maps: readable tokens or words, texts of a pair, punctuation.

Weights of merged words are computed in merging.py; which tokens are one word, in trace/word_alignment.py.
"""

import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
from jaxtyping import Int

from bertviz_core.attention.results import Axis, Block
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.subwords.reference_tokenizers import byte_characters
from bertviz_core.trace.word_alignment import Word
from bertviz_core.trace.word_alignment import words as words_of

BLOCKS: tuple[Block, ...] = ("all", "A to A", "A to B", "B to A", "B to B")
SIDES_RULE = (
    "Text A is what the tokenizer took from the first text, text B what it took from the second; a special token that "
    "the tokenizer added counts to the text that it closes, the first one to text A."
)
PUNCTUATION_RULE = "Punctuation is what consists of nothing but Unicode punctuation (P) and symbols (S)."
BYTE_LEVEL_SPACES, PIECE_SPACE = ("\u0120", "\u010a"), "\u2581"
SPACE, NEW_LINE = "\u2423", "\u21b5"
"""Labels of white space tokens."""


def blocks_of(tokens: Tokens) -> tuple[Block, ...]:
    """The blocks of a map: ("all",), or all five for a pair (see SIDES_RULE)."""
    return BLOCKS if len(set(text_sides(tokens).tolist())) > 1 else BLOCKS[:1]


def text_sides(tokens: Tokens) -> Int[np.ndarray, " seq"]:
    """0 for tokens of text A, 1 for those of text B (see SIDES_RULE).

    Works without token types and with any number of separators, as in RoBERTa.
    """
    sides, current = [], 0
    for text in tokens.sequence:
        current = current if text is None else text
        sides.append(current)
    return np.array(sides, dtype=np.int64)


def token_groups(tokens: Tokens, words: bool) -> Axis:
    """An axis of all tokens, or of all words (trace.word_alignment)."""
    if not words:
        count = len(tokens)
        return Axis(tuple(readable(tokens, position) for position in range(count)), tuple((at,) for at in range(count)))
    aligned = words_of(tokens)
    return Axis(tuple(_label(tokens, word) for word in aligned), tuple(word.positions for word in aligned))


def readable(tokens: Tokens, position: int) -> str:
    """A token in readable form: bytes decoded, without the mark for a preceding space.

    Byte-level vocabularies spell every byte as a character, including spaces and the bytes of non-ASCII letters;
    SentencePiece marks spaces only. A token that is part of a character is shown as that character. The "##" of
    WordPiece stays, since it means that the token continues a word.
    """
    token = tokens.tokens[position]
    if token.isspace():
        return NEW_LINE if "\n" in token else SPACE
    if tokens.special[position] or token.isascii():
        return token
    if token.startswith(PIECE_SPACE):
        return token.lstrip(PIECE_SPACE) or SPACE
    raw = _of_bytes(token)
    if raw is None:
        return token
    inside = surface(tokens, [position])
    try:
        decoded = raw.decode()
    except UnicodeDecodeError:
        known, written = inside.casefold(), token.casefold()
        return token if known.isascii() or known in written or written in known else inside
    if decoded == token or ((inside or token[0] not in BYTE_LEVEL_SPACES) and decoded.strip() != inside):
        return token
    return decoded.strip() or (NEW_LINE if "\n" in decoded else SPACE)


def is_punctuation(tokens: Tokens, positions: Sequence[int]) -> bool:
    """Whether a token or word consists of punctuation and symbols only; False for special tokens."""
    if tokens.special[list(positions)].any():
        return False
    spelling = surface(tokens, positions) or "".join(_bare(tokens.tokens[position]) for position in positions)
    return bool(spelling) and all(unicodedata.category(character)[0] in "PS" for character in spelling)


def surface(tokens: Tokens, positions: Sequence[int]) -> str:
    """The characters of consecutive tokens of a text; "" if the tokenizer provides no offsets."""
    sequence = tokens.sequence[positions[0]]
    if tokens.offsets is None or sequence is None:
        return ""
    spans = [span for position in positions if (span := tokens.offsets[position]) is not None]
    text = tokens.text if sequence == 0 else tokens.pair or ""
    return text[spans[0][0] : spans[-1][1]].strip() if spans else ""


def _label(tokens: Tokens, word: Word) -> str:
    """The characters of a word; the spelling of a special token, and of a word without offsets."""
    if len(word.positions) == 1 and (not word.text or tokens.special[word.positions[0]]):
        return readable(tokens, word.positions[0])
    return word.text or "".join(tokens.tokens[position] for position in word.positions)


@cache
def _byte_of() -> dict[str, int]:
    """Character -> byte in byte-level vocabularies."""
    return {character: byte for byte, character in enumerate(byte_characters())}


def _of_bytes(token: str) -> bytes | None:
    """The bytes of a token of a byte-level vocabulary; None if a character does not stand for a byte."""
    decoded = [_byte_of().get(character) for character in token]
    return bytes(byte for byte in decoded if byte is not None) if None not in decoded else None


def _bare(token: str) -> str:
    """A token without the marks for the beginning and end of words."""
    for mark in (*BYTE_LEVEL_SPACES, PIECE_SPACE, "##"):
        token = token.removeprefix(mark) if len(token) > len(mark) else token
    for mark in ("</w>", "@@"):
        token = token.removesuffix(mark) if len(token) > len(mark) else token
    return "" if token == PIECE_SPACE else token
