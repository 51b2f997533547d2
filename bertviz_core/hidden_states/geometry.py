"""Geometry of hidden states: lengths, cosines, paths, a word in two texts; and their file."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.hidden_states.results import LargestValue, OutlierDimensions, TokenPaths, WordComparison, state_name
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.word_alignment import SPACE_MARKS

OUTLIER_Z = 6.0
OUTLIER_SHARE = 0.25
OUTLIER_RULE = (
    f"A dimension is named where its value lies more than {OUTLIER_Z:g} standard deviations from the mean of its "
    f"token's own values, in at least {OUTLIER_SHARE:.0%} of the tokens of some entry (the phenomenon: Kovaleva et al. "
    "2021, BERT Busters; Timkey & van Schijndel 2021, All Bark and No Bite)."
)


def norms(hidden_states: Float[np.ndarray, "states seq hidden"]) -> Float[np.ndarray, "states seq"]:
    """Euclidean length of every token's vector at every entry."""
    return np.asarray(np.sqrt(np.einsum("sth,sth->st", hidden_states, hidden_states)))


def cosine(
    first: Float[np.ndarray, "*rows hidden"], second: Float[np.ndarray, "*rows hidden"]
) -> Float[np.ndarray, "*rows"]:
    """Row-wise cosine of two arrays, -1 to 1; 0 for zero vectors."""
    return np.asarray(np.clip(np.einsum("...h,...h->...", unit(first), unit(second)), -1, 1))


def unit(vectors: Float[np.ndarray, "*rows hidden"]) -> Float[np.ndarray, "*rows hidden"]:
    """The vectors normalised to unit length; a zero vector stays zero."""
    # Divided by the largest entry first: squares of very small or very large numbers leave float32.
    peak = np.abs(vectors).max(axis=-1, keepdims=True, initial=0)
    with np.errstate(invalid="ignore"):  # a vector with an infinite number has no direction: its unit vector is NaN
        scaled = vectors / np.where(peak == 0, np.float32(1), peak)
    length = np.sqrt(np.einsum("...h,...h->...", scaled, scaled))[..., None]
    return np.asarray(scaled / np.where(length == 0, np.float32(1), length), dtype=np.float32)


def cosine_to_previous(hidden_states: Float[np.ndarray, "states seq hidden"]) -> Float[np.ndarray, "layers seq"]:
    """Cosine between the input and the output of each layer, for every token."""
    return cosine(hidden_states[1:], hidden_states[:-1])


def change_by_layer(hidden_states: Float[np.ndarray, "states seq hidden"]) -> Float[np.ndarray, "layers seq"]:
    """Cosine distance, 1 - cosine, between the input and output of a layer; 0 if only the length changes.

    Row i is layer i; 1 is a right angle, 2 the opposite direction.
    """
    return np.asarray(1 - cosine_to_previous(hidden_states), dtype=np.float32)


def cosine_to_embedding(hidden_states: Float[np.ndarray, "states seq hidden"]) -> Float[np.ndarray, "states seq"]:
    """Cosine of every token's vector with its embedding output; row 0 is 1 for nonzero vectors."""
    return cosine(hidden_states, np.broadcast_to(hidden_states[0], hidden_states.shape))


def token_cosines(hidden_states: Float[np.ndarray, "states seq hidden"]) -> Float[np.ndarray, "states seq seq"]:
    """Cosine of all pairs of tokens at every entry: symmetric, with diagonal 1 for nonzero vectors."""
    units = unit(hidden_states)
    return np.asarray(np.clip(units @ units.transpose(0, 2, 1), -1, 1))


def most_alike(cosines: Float[np.ndarray, "seq seq"], tokens: Tokens, first: int = 0) -> tuple[int, int] | None:
    """The two tokens of the largest cosine among those with different texts, special ones left out; None for none.

    Args:
        first: position of the first of them.

    Returns:
        The two positions in the text, the smaller first.
    """
    places = [place for place in range(first, first + len(cosines)) if not tokens.special[place]]
    pairs = ((a, b) for a, b in combinations(places, 2) if tokens.tokens[a] != tokens.tokens[b])
    return max(pairs, key=lambda pair: cosines[pair[0] - first, pair[1] - first], default=None)


def outlier_dimensions(hidden_states: Float[np.ndarray, "states seq hidden"]) -> OutlierDimensions:
    """The dimensions with outlying values in many tokens of an entry.

    z is taken over the values of one token: (value - mean) / standard deviation. With n dimensions no |z| can be larger
    than (n - 1) / sqrt(n), so a model of fewer than 38 dimensions has none by the rule of 6.
    """
    deviation = hidden_states - hidden_states.mean(axis=-1, keepdims=True)
    spread = np.sqrt(np.einsum("sth,sth->st", deviation, deviation) / hidden_states.shape[-1])[..., None]
    scores = np.abs(np.divide(deviation, spread, out=np.zeros_like(deviation), where=spread > 0))
    shares = (scores > OUTLIER_Z).mean(axis=1, dtype=np.float32)
    peaks = scores.max(axis=(0, 1), initial=0)
    dimensions = np.flatnonzero((shares >= OUTLIER_SHARE).any(axis=0) & (shares > 0).any(axis=0))
    dimensions = dimensions[np.argsort(-peaks[dimensions], kind="stable")]
    return OutlierDimensions(dimensions, shares[:, dimensions], peaks[dimensions], OUTLIER_RULE)


def largest_value(state: Float[np.ndarray, "seq hidden"]) -> LargestValue:
    """The value of largest magnitude in an entry of the hidden states."""
    token, dimension = (int(place) for place in np.unravel_index(np.abs(state).argmax(), state.shape))
    own = state[token].astype(np.float64)
    value, spread = float(own[dimension]), float(own.std())
    return LargestValue(token, dimension, value, abs(value - float(own.mean())) / spread if spread > 0 else 0.0)


def first_tokens(tokens: Tokens, most: int = 8) -> list[int]:
    """Positions of the first tokens of the text, half of them of the second text of a pair, without special tokens."""
    texts = [
        [place for place, sequence in enumerate(tokens.sequence) if sequence == text and not tokens.special[place]]
        for text in (0, 1)
    ]
    share = most // max(sum(1 for text in texts if text), 1)
    return sorted(place for text in texts for place in text[:share]) or list(range(min(len(tokens), most)))


def token_paths(hidden_states: Float[np.ndarray, "states seq hidden"], components: int = 2) -> TokenPaths:
    """Paths of all tokens through the layers in the principal components of all entries.

    The sign of a component is chosen so that its largest entry is positive. Components beyond the rank are zero.
    """
    if not np.isfinite(hidden_states).all():
        raise UnsupportedModelError("The hidden states hold NaN or infinity, so no plane can be laid through them.")
    states, seq, hidden = hidden_states.shape
    rows = hidden_states.reshape(-1, hidden).astype(np.float64)
    center = rows.mean(axis=0)
    rows -= center
    # The triangle of QR has the same singular values and directions as the tall array, at a fraction of the time.
    tall = rows if len(rows) <= hidden else np.linalg.qr(rows, mode="r")
    _, singular, directions = np.linalg.svd(tall, full_matrices=False)
    rank = min(components, int((singular > singular[0] * 1e-12).sum()))
    basis = np.zeros((components, hidden))
    basis[:rank] = directions[:rank]
    peaks = np.take_along_axis(basis, np.abs(basis).argmax(axis=1)[:, None], axis=1)
    basis *= np.where(peaks < 0, -1.0, 1.0)
    variance = np.zeros(components)
    variance[:rank] = singular[:rank] ** 2
    explained = variance / max(float((singular**2).sum()), np.finfo(np.float64).tiny)
    points = (rows @ basis.T).reshape(states, seq, components)
    return TokenPaths(*(array.astype(np.float32) for array in (points, explained, basis, center)))


def compare_word(
    word: str, first: Trace, first_positions: Sequence[int], second: Trace, second_positions: Sequence[int]
) -> WordComparison:
    """Cosine of two occurrences of a word at every entry of the hidden states, averaged over its tokens.

    The static embeddings of the same tokens have cosine 1; a lower cosine is the effect of the context (and of the
    position, from entry 0 on).
    """
    if not first_positions or not second_positions:
        raise ValueError("a word without tokens")
    if first.hidden_states.shape[::2] != second.hidden_states.shape[::2]:
        raise ValueError(f"{first.hidden_states.shape} against {second.hidden_states.shape}")
    first_indices, second_indices = list(first_positions), list(second_positions)
    same_ids = first.tokens.input_ids[first_indices].tolist() == second.tokens.input_ids[second_indices].tolist()
    curve = cosine(
        first.hidden_states[:, first_indices].mean(axis=1), second.hidden_states[:, second_indices].mean(axis=1)
    )
    return WordComparison(word, tuple(first_indices), tuple(second_indices), curve, 1.0 if same_ids else None)


def inside_polygon(
    points: Float[np.ndarray, "points 2"], corners: Float[np.ndarray, "corners 2"]
) -> Bool[np.ndarray, " points"]:
    """Whether each point is inside a polygon, by the even-odd rule."""
    x, y = points.astype(np.float64).T
    odd = np.zeros(len(points), dtype=np.bool_)
    for (from_x, from_y), (to_x, to_y) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if from_y != to_y:
            crossing = (y >= min(from_y, to_y)) & (y < max(from_y, to_y))
            odd ^= crossing & (x < from_x + (y - from_y) * (to_x - from_x) / (to_y - from_y))
    return odd


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
    return all(_in_word(each) and not unicodedata.name(each, "").startswith(UNSPACED) for each in (before, behind))


def _in_word(character: str) -> bool:
    return character != "" and (character.isalnum() or unicodedata.category(character)[0] == "M")


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


def hidden_states_npz(trace: Trace) -> bytes:
    """All hidden states of a run as a NumPy archive; np.load reads it without pickle.

    Arrays: hidden_states (states, seq, hidden) float32, states (the name of each
    entry), tokens, input_ids and special by position, sequence (0 and 1 for the first and second text,
    -1 for an added token), model, revision, and pooler_output where the model has a pooler.
    """
    tokens, buffer = trace.tokens, BytesIO()
    arrays: dict[str, Any] = {
        "hidden_states": trace.hidden_states,
        "states": np.array([state_name(entry) for entry in range(len(trace.hidden_states))]),
        "tokens": np.array(tokens.tokens),
        "input_ids": tokens.input_ids,
        "special": tokens.special,
        "sequence": np.array([-1 if each is None else each for each in tokens.sequence], dtype=np.int8),
        "model": np.array(trace.model),
        "revision": np.array(trace.revision),
    }
    if trace.pooler_output is not None:
        arrays["pooler_output"] = trace.pooler_output
    np.savez(buffer, **arrays)
    return buffer.getvalue()
