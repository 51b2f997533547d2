"""Compare vectors of fewer bits, and of fewer dimensions, with the full float32 vectors.

Whole numbers and signs are those of `quantize_embeddings` of sentence-transformers, and rescoring is that of its
`semantic_search_usearch` and `semantic_search_faiss`: the nearest by these numbers, some times as many as are looked
for, are put in order by the product of the float32 query with their restored numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer

from bertviz_core.errors import TextError
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.sentences.analysis.results import BitsComparison, SmallerVectors, VectorFormat, WidestDimension
from bertviz_core.sentences.dimensions import MOST_CURVE, MOST_SENTENCES, NUMBER_NBYTES, checked_dimensions
from bertviz_core.sentences.two_models import (
    EQUAL,
    LEAST_SENTENCES,
    average_ranks,
    evenly_chosen,
    pearson,
    require_finite,
)
from bertviz_core.text import counted

FORMATS: tuple[VectorFormat, ...] = ("float32", "float16", "int8", "uint8", "binary")
RESCORED: tuple[VectorFormat, ...] = ("int8", "uint8", "binary")
"""Formats of which the nearest are compared again."""
USUAL_NEIGHBOURS, USUAL_OVERSAMPLING, MOST_OVERSAMPLING = 10, 2, 20
"""Nearest texts at most by default, and the factors of rescoring; sentence-transformers has 2 as well."""
LEAST_CALIBRATION, STEADY_CALIBRATION = 2, 100
"""Least vectors that have a range, and those below which sentence-transformers warns."""
LEVELS, SIGNED = 255, 128
"""Steps of a range in 8 bits, and what int8 is below uint8."""
ROUNDING = 12
"""Decimals of products that are compared: equal texts are equally near, whatever the order of a sum."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is compared beside the formats."""

    dimensions: Sequence[int] | None = None
    """Numbers of dimensions; None for those that the model is trained for, or all, half and a quarter."""
    neighbours: int | None = None
    """Nearest texts; None for 10, or half of a short list."""
    oversampling: int = USUAL_OVERSAMPLING
    """How many times as many texts are compared again."""
    calibration: int | None = None
    """Number of texts, evenly spaced, whose vectors set the ranges; None for all."""


USUAL = Sizes()


def bits_comparison(
    model: str,
    sentences: Sequence[str],
    vectors: Float[np.ndarray, "sentences dimensions"],
    queries: tuple[Sequence[str], Float[np.ndarray, "queries dimensions"]] | None = None,
    sizes: Sizes = USUAL,
    trained: Sequence[int] = (),
) -> BitsComparison:
    """Compare the nearest texts and the order of all scores in every format with those of the full vectors.

    Vectors are cut, then normalised, then stored in a format. Ties are by the order of the list.

    Args:
        sentences: the texts; of more than MOST_SENTENCES, evenly spaced ones are compared.
        queries: queries with their vectors, of which evenly spaced ones are compared, too; None to look for the
            nearest of each text among all others.
        trained: dimensions that the model is trained to be cut to.
    """
    if len(sentences) < LEAST_SENTENCES:
        raise TextError(
            f"Smaller vectors are compared on at least {LEAST_SENTENCES} sentences, and {len(sentences) or 'none'} "
            "came; add another."
        )
    require_finite(model, vectors)
    places, full = evenly_chosen(len(sentences), MOST_SENTENCES), vectors.shape[1]
    chosen, marked = vectors[places], tuple(sorted({each for each in trained if 1 <= each <= full}))
    asking, words = (None, ()) if queries is None else _queries(model, *queries)
    counts = usual_cuts(full, marked) if sizes.dimensions is None else checked_dimensions(sizes.dimensions, full)
    near = _neighbours(sizes.neighbours, len(places), asking is None)
    calibrating = vectors[_calibration(sizes.calibration, len(sentences))]
    factor = _oversampling(sizes.oversampling)
    positive = (chosen > 0).sum(axis=0)
    exact = _Exact.of(scores("float32", chosen if asking is None else asking, chosen), near, asking is None)
    formats = []
    for format_name in FORMATS:
        for rescored in (False, True) if format_name in RESCORED else (False,):
            for count in counts[::-1]:
                cut = [each[:, :count] for each in (chosen if asking is None else asking, chosen, calibrating)]
                agreement = _agreement(exact, format_name, rescored, factor, *cut)
                formats.append(
                    SmallerVectors(format_name, rescored, count, format_nbytes(format_name, count), *agreement)
                )
    return BitsComparison(
        model=model,
        sentences=tuple(sentences[place] for place in places),
        queries=words,
        dimensions=full,
        neighbours=near,
        oversampling=factor,
        calibration=len(calibrating),
        formats=tuple(formats),
        widest=_widest(unit(calibrating)),
        constant_signs=int(np.isin(positive, (0, len(chosen))).sum()),
        trained=marked,
    )


def usual_cuts(full: int, trained: Sequence[int] = ()) -> tuple[int, ...]:
    """The dimensions that a model is trained for and all; without such all, half and a quarter. Ascending."""
    cuts = trained or (full // 2, full // 4)
    return tuple(sorted({full, *(each for each in cuts if each >= 1)}))[-MOST_CURVE:]


def usual_neighbours(texts: int) -> int:
    """Number of nearest texts that are compared by default: 10, or half of the others in a short list."""
    return max(1, min(USUAL_NEIGHBOURS, (texts - 1) // 2))


def format_nbytes(name: VectorFormat, dimensions: int) -> int:
    """Bytes of a vector; of bits, whole bytes."""
    if name == "binary":
        return -(-dimensions // 8)
    return dimensions * {"float32": NUMBER_NBYTES, "float16": 2}.get(name, 1)


def ranges(vectors: Float[np.ndarray, "vectors dimensions"]) -> Float[np.ndarray, "2 dimensions"]:
    """Least and greatest number of each dimension."""
    return np.stack((vectors.min(axis=0), vectors.max(axis=0)))


def codes(
    name: VectorFormat, vectors: Float[np.ndarray, "vectors dimensions"], limits: Float[np.ndarray, "2 dimensions"]
) -> np.ndarray:
    """Numbers of vectors in a format; of "binary" their signs, 1 above 0, which eight to a byte are stored in.

    Args:
        limits: as `ranges` returns them.
    """
    if name in ("int8", "uint8"):
        steps = _steps(limits)
        levels: np.ndarray = np.clip(np.floor((vectors - limits[0]) / steps), 0, LEVELS)
        return (levels - SIGNED).astype(np.int8) if name == "int8" else levels.astype(np.uint8)
    return (vectors > 0).astype(np.uint8) if name == "binary" else vectors.astype(name)


def restored(
    name: VectorFormat, stored: Integer[np.ndarray, "vectors dimensions"], limits: Float[np.ndarray, "2 dimensions"]
) -> Float[np.ndarray, "vectors dimensions"]:
    """Numbers that whole numbers or signs stand for: the lower end of their step, 1 and -1."""
    numbers = stored.astype(np.float64)
    if name == "binary":
        return 2 * numbers - 1
    return np.asarray((numbers + (SIGNED if name == "int8" else 0)) * _steps(limits) + limits[0])


def scores(
    name: VectorFormat,
    queries: Float[np.ndarray, "queries dimensions"],
    texts: Float[np.ndarray, "texts dimensions"],
    calibrating: Float[np.ndarray, "vectors dimensions"] | None = None,
    rescored: bool = False,
) -> Float[np.ndarray, "queries texts"]:
    """Scores of all queries and texts in a format: products of their numbers; minus the Hamming distance for bits.

    Args:
        calibrating: vectors that set the ranges; None for the texts.
        rescored: whether to return the products of the float32 queries with the restored numbers.
    """
    asking, listed = unit(queries), unit(texts)
    limits = ranges(listed if calibrating is None else unit(calibrating))
    stored = codes(name, listed, limits)
    if rescored:
        return np.asarray(np.round(asking.astype(np.float64) @ restored(name, stored, limits).T, ROUNDING))
    both = codes(name, asking, limits), stored
    if name == "binary":  # of 1 and -1 the product is the dimensions without twice the Hamming distance
        first, second = (restored(name, each, limits) for each in both)
        return np.asarray((first @ second.T - texts.shape[1]) / 2)
    return np.asarray(np.round(both[0].astype(np.float64) @ both[1].astype(np.float64).T, ROUNDING))


@dataclass(frozen=True, slots=True, eq=False)
class _Exact:
    """Nearest texts and ranks of all pairs by the full vectors."""

    near: Integer[np.ndarray, "queries neighbours"]
    ranks: Float[np.ndarray, " pairs"]
    themselves: bool
    """Whether the texts are the queries: then none is a neighbour of itself, nor a pair."""

    @classmethod
    def of(cls, exact: Float[np.ndarray, "queries texts"], near: int, themselves: bool) -> "_Exact":
        return cls(_nearest(exact, near, themselves), _ranks(exact, themselves), themselves)


def _agreement(
    exact: _Exact,
    name: VectorFormat,
    rescored: bool,
    oversampling: int,
    queries: np.ndarray,
    texts: np.ndarray,
    calibrating: np.ndarray,
) -> tuple[float, float, int]:
    """Recall, rank correlation, and number of queries with another nearest text."""
    count = exact.near.shape[1]
    by_numbers = scores(name, queries, texts, calibrating)
    nearest, compared = _nearest(by_numbers, count * (oversampling if rescored else 1), exact.themselves), by_numbers
    if rescored:
        compared = scores(name, queries, texts, calibrating, rescored=True)
        nearest = np.sort(nearest, axis=1)  # equal scores are by the order of the list
        order = np.argsort(-np.take_along_axis(compared, nearest, axis=1), axis=1, kind="stable")[:, :count]
        nearest = np.take_along_axis(nearest, order, axis=1)
    recall = (exact.near[:, :, None] == nearest[:, None, :]).any(axis=2).mean()
    changed = int((exact.near[:, 0] != nearest[:, 0]).sum())
    return float(recall), pearson(exact.ranks, _ranks(compared, exact.themselves)), changed


def _nearest(compared: np.ndarray, count: int, themselves: bool) -> np.ndarray:
    """Indices of the texts with the largest scores; ties by index."""
    others = compared.copy()
    if themselves:
        np.fill_diagonal(others, -np.inf)
    most = others.shape[1] - themselves
    return np.argsort(-others, axis=1, kind="stable")[:, : min(count, most)]


def _ranks(compared: np.ndarray, themselves: bool) -> np.ndarray:
    """Ranks of the scores of all pairs; all equal where they differ by rounding only."""
    pairs = compared[~np.eye(len(compared), dtype=bool)] if themselves else compared.ravel()
    return average_ranks(pairs if np.ptp(pairs) >= EQUAL else np.zeros_like(pairs))


def _steps(limits: np.ndarray) -> np.ndarray:
    steps = (limits[1] - limits[0]) / LEVELS
    return np.where(steps == 0, 1, steps)


def _queries(model: str, queries: Sequence[str], vectors: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    if not len(queries):
        raise TextError("There are no queries; give at least one, or none to look for each sentence among the others.")
    require_finite(model, vectors)
    places = evenly_chosen(len(queries), MOST_SENTENCES)
    return vectors[places], tuple(queries[place] for place in places)


def _neighbours(count: int | None, texts: int, themselves: bool) -> int:
    most = texts - 1 if themselves else texts
    if count is None:
        return usual_neighbours(texts)
    if not 1 <= count <= most:
        among = f"Each of {texts:,} sentences has {most:,} others" if themselves else f"There are {texts:,} sentences"
        raise TextError(f"{among}, and the {count:,} nearest are to be compared; give k from 1 to {most:,}.")
    return count


def _calibration(count: int | None, texts: int) -> list[int]:
    if count is not None and not LEAST_CALIBRATION <= count <= texts:
        raise TextError(
            f"The ranges of int8 are to come from {counted(count, 'sentence')}; give {LEAST_CALIBRATION} to {texts:,}, "
            "as many as there are."
        )
    return evenly_chosen(texts, texts if count is None else count)


def _oversampling(factor: int) -> int:
    if not 1 <= factor <= MOST_OVERSAMPLING:
        raise TextError(
            f"Rescoring compares some times as many texts as are looked for, and {factor:,} times came; give 1 to "
            f"{MOST_OVERSAMPLING}."
        )
    return factor


def _widest(vectors: np.ndarray) -> WidestDimension:
    least, greatest = ranges(vectors).astype(np.float64)
    spans, squares = greatest - least, np.square(vectors, dtype=np.float64).sum(axis=0)
    widest = int(spans.argmax())
    share = float(squares[widest] / squares.sum()) if squares.any() else 0.0
    return WidestDimension(widest, float(spans[widest]), float(np.median(spans)), share)
