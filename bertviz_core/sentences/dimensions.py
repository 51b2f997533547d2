"""Compare vectors that are cut to their first dimensions with the full ones (Kusupati et al. 2022, Matryoshka)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import TextError
from bertviz_core.isolation.regular_files import present
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.receipt import PROMPTS_FILE
from bertviz_core.models.safetensors.folder import read_json
from bertviz_core.models.sources import ModelSource
from bertviz_core.sentences.results import DimensionCurve, off_diagonal
from bertviz_core.sentences.similarity import similarity_matrix
from bertviz_core.sentences.two_models import (
    EQUAL,
    LEAST_SENTENCES,
    average_ranks,
    evenly_chosen,
    nearest_others,
    pearson,
    require_finite,
    shared_neighbours,
)
from bertviz_core.settings import Settings

MOST_SENTENCES = 500
"""Maximum number of sentences, since every pair is compared at every number of dimensions."""
LEAST_DIMENSIONS, MOST_CURVE = 8, 64
"""Smallest number of dimensions by default, and maximum number of points of a curve."""
NUMBER_NBYTES = 4
"""Bytes of a number of a vector, a float32."""
KEYS = ("matryoshka_dimensions", "matryoshka_dims")
"""Settings with the dimensions of a model that was trained to be cut, in the files that sentence-transformers and
serving programs read."""


def dimension_curve(
    model: str,
    sentences: Sequence[str],
    vectors: Float[np.ndarray, "sentences dimensions"],
    neighbours: int,
    dimensions: Sequence[int] | None = None,
    trained: Sequence[int] = (),
) -> DimensionCurve:
    """Compare the cosines of pairs of vectors of fewer dimensions with those of the full vectors.

    Args:
        sentences: the sentences; of more than MOST_SENTENCES, evenly spaced ones are compared.
        dimensions: numbers of dimensions; None for powers of two, those in `trained`, and all.
    """
    if len(sentences) < LEAST_SENTENCES:
        raise TextError(
            f"Fewer dimensions are compared on at least {LEAST_SENTENCES} sentences, and {len(sentences) or 'none'} "
            "came; add another."
        )
    places = evenly_chosen(len(sentences), MOST_SENTENCES)
    chosen = vectors[places]
    require_finite(model, chosen)
    full = chosen.shape[1]
    marked = tuple(sorted(each for each in set(trained) if 1 <= each <= full))
    counts = checked_dimensions(dimensions, full) if dimensions is not None else usual_dimensions(full, marked)
    near = max(1, min(neighbours, (len(places) - 1) // 2))
    exact = similarity_matrix(chosen)
    exact_near, exact_ranks = nearest_others(exact, near), _ranks(exact)
    shared, spearman = [], []
    for count in counts:
        cosines = similarity_matrix(chosen[:, :count])
        shared.append(float(shared_neighbours(exact_near, nearest_others(cosines, near)).mean()))
        spearman.append(pearson(exact_ranks, _ranks(cosines)))
    return DimensionCurve(
        model=model,
        sentences=tuple(sentences[place] for place in places),
        dimensions=np.array(counts, dtype=np.int64),
        neighbours=near,
        shared=np.array(shared, dtype=np.float64),
        spearman=np.array(spearman, dtype=np.float64),
        nbytes=NUMBER_NBYTES * np.array(counts, dtype=np.int64),
        trained=marked,
    )


def usual_dimensions(full: int, trained: Sequence[int] = ()) -> tuple[int, ...]:
    """Powers of two from 8 (from 1 for short vectors), the dimensions of the training, and all of a vector."""
    least = LEAST_DIMENSIONS if full > LEAST_DIMENSIONS else 1
    powers = (2**power for power in range(full.bit_length()))
    return tuple(sorted({full, *(each for each in powers if least <= each < full), *trained}))[-MOST_CURVE:]


def trained_dimensions(source: ModelSource, settings: Settings) -> tuple[int, ...]:
    """Dimensions that a checkpoint was trained to be cut to, as its settings name them; () if they name none."""
    folder = weights_folder(source, settings)
    library = read_json(folder, PROMPTS_FILE) if present(folder, PROMPTS_FILE) else {}
    named = {each for table in (library, source.config) for each in _named(table)}
    return tuple(sorted(named))[:MOST_CURVE]


def _named(table: Mapping[str, Any]) -> list[int]:
    values: list[Any] = next((table[key] for key in KEYS if isinstance(table.get(key), list)), [])
    return [each for each in values if type(each) is int and each > 0]


def checked_dimensions(dimensions: Sequence[int], full: int) -> tuple[int, ...]:
    """Numbers of dimensions in ascending order, each once; one sentence where the vectors have fewer."""
    counts = tuple(sorted(set(dimensions)))
    wrong = next((each for each in counts if not 1 <= each <= full), None)
    if wrong is not None or not 1 <= len(counts) <= MOST_CURVE:
        what = f"{len(counts):,} numbers of dimensions" if wrong is None else f"{wrong:,} dimensions"
        raise TextError(
            f"The vectors have {full:,} dimensions, and {what} came; give 1 to {MOST_CURVE} numbers of 1 to {full:,}."
        )
    return counts


def _ranks(cosines: Float[np.ndarray, "sentences sentences"]) -> Float[np.ndarray, " pairs"]:
    """Ranks of the cosines of all pairs; all equal where they differ by rounding only."""
    pairs = off_diagonal(cosines).astype(np.float64)
    return average_ranks(pairs if np.ptp(pairs) >= EQUAL else np.zeros_like(pairs))
