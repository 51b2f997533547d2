"""Which rows of a corpus change their nearest rows under another model."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.corpus.analysis.results import NeighbourChanges
from bertviz_core.corpus.analysis.row_samples import texts_of
from bertviz_core.corpus.exact_search import exact_units
from bertviz_core.corpus.folder import Corpus
from bertviz_core.errors import CorpusError, TextError
from bertviz_core.sentences.two_models import EQUAL, evenly_chosen
from bertviz_core.text import counted, quoted

ROWS, MAX_ROWS, LEAST_ROWS = 1_000, 5_000, 3
"""Number of compared rows by default, at most, and at least; of two rows each is always nearest to the other."""
NEIGHBOURS, MAX_NEIGHBOURS = 10, 100
TIES = {"float16": 1e-4, "float32": EQUAL}
"""Number format of stored vectors -> difference of cosines up to which rounding decides their order."""
BLOCK_ROWS = 512
"""Rows of cosines at a time."""


class ComparedRows(NamedTuple):
    """Rows of a corpus to compare."""

    rows: Int[np.ndarray, " compared"]
    texts: tuple[str, ...]
    notices: tuple[str, ...]


def check_numbers(rows: int = ROWS, neighbours: int = NEIGHBOURS) -> None:
    """Check the number of rows and of neighbours before a model is loaded."""
    if not LEAST_ROWS <= rows <= MAX_ROWS:
        raise TextError(f"{rows:,} rows were requested; give {LEAST_ROWS} to {MAX_ROWS:,}.")
    if not 1 <= neighbours <= MAX_NEIGHBOURS:
        raise TextError(f"{neighbours:,} neighbours were requested; give 1 to {MAX_NEIGHBOURS}.")


def compared_rows(corpus: Corpus, most: int = ROWS) -> ComparedRows:
    """Rows evenly spaced over a corpus, all of a small one, without those that have no text."""
    check_numbers(most)
    chosen = np.array(evenly_chosen(corpus.rows, most), dtype=np.int64)
    texts, notices = texts_of(corpus, chosen), []
    known = [place for place, text in enumerate(texts) if text.strip()]
    if len(chosen) < corpus.rows:
        notices.append(
            f"{len(chosen):,} of the {corpus.rows:,} rows are compared with each other, evenly spaced in the corpus."
        )
    if blank := len(chosen) - len(known):
        notices.append(f"{counted(blank, 'row')} without a text left out.")
    if len(known) < LEAST_ROWS:
        raise CorpusError(
            f"Neighbours are compared on at least {LEAST_ROWS} rows with a text, and {quoted(corpus.path.name)} has "
            f"{len(known) or 'none'} of {counted(len(chosen), 'row')}."
        )
    return ComparedRows(chosen[known], tuple(texts[place] for place in known), tuple(notices))


def neighbour_changes(
    corpus: Corpus,
    compared: ComparedRows,
    vectors: Float[np.ndarray, "compared dimensions"],
    model: str,
    neighbours: int = NEIGHBOURS,
    notices: Sequence[str] = (),
    done: Callable[[int], None] = lambda rows: None,
) -> NeighbourChanges:
    """Compare the nearest rows by the stored vectors with those by vectors of another model.

    Cosines are computed in float64. A neighbour that leaves the list counts as lost only if another took its place that
    was clearly farther before, and is clearly nearer now: what rounding or equal vectors decide is no change.

    Args:
        corpus: the corpus.
        compared: the rows, and their texts.
        vectors: their vectors by the other model.
        model: name of the other model.
        neighbours: number of nearest rows; fewer where there are not so many others.
        notices: further remarks.
        done: called with the number of rows that are compared; may raise to cancel.
    """
    check_numbers(neighbours=neighbours)
    count, manifest = min(neighbours, len(compared.rows) - 1), corpus.manifest
    stored = np.asarray(corpus.vectors()[compared.rows])
    _check_finite(manifest.model, stored)
    _check_finite(model, vectors)
    sides = exact_units(stored), exact_units(vectors)
    ties = TIES[manifest.vector_dtype], EQUAL
    shape = len(compared.rows), count
    nearest = np.empty((2, *shape), dtype=np.int64)
    cosines, same = np.empty((2, *shape)), np.empty(len(compared.rows), dtype=np.int64)
    for start in range(0, len(compared.rows), BLOCK_ROWS):
        part = slice(start, min(start + BLOCK_ROWS, len(compared.rows)))
        both = [_cosines(units, part) for units in sides]
        for side, each in enumerate(both):
            nearest[side, part] = np.argsort(-np.round(each, 12), axis=1, kind="stable")[:, :count]
            cosines[side, part] = np.take_along_axis(each, nearest[side, part], 1)
        lost = _farther(both[1], nearest[0, part], cosines[1, part, -1], ties[1])
        gained = _farther(both[0], nearest[1, part], cosines[0, part, -1], ties[0])
        same[part] = count - np.minimum(lost, gained)
        done(part.stop)
    return NeighbourChanges(
        corpus=corpus.path.name,
        first=manifest.model,
        second=model,
        total=corpus.rows,
        neighbours=count,
        rows=compared.rows,
        texts=compared.texts,
        first_nearest=nearest[0],
        first_cosines=cosines[0],
        second_nearest=nearest[1],
        second_cosines=cosines[1],
        same=same,
        notices=tuple(dict.fromkeys((*compared.notices, *notices))),
    )


def _cosines(units: Float[np.ndarray, "compared dimensions"], part: slice) -> Float[np.ndarray, "part compared"]:
    """Cosines of some rows with all; −∞ with itself."""
    cosines = np.clip(units[part] @ units.T, -1, 1)
    cosines[np.arange(len(cosines)), np.arange(part.start, part.stop)] = -np.inf
    return np.asarray(cosines)


def _farther(
    cosines: Float[np.ndarray, "part compared"],
    nearest: Int[np.ndarray, "part neighbours"],
    last: Float[np.ndarray, " part"],
    tie: float,
) -> Int[np.ndarray, " part"]:
    """Number of rows of a list that are clearly farther than the last of the nearest ones here."""
    return np.asarray((np.take_along_axis(cosines, nearest, 1) < last[:, None] - tie).sum(axis=1))


def _check_finite(model: str, vectors: Float[np.ndarray, "compared dimensions"]) -> None:
    broken = int((~np.isfinite(vectors)).any(axis=1).sum())
    if broken:
        raise CorpusError(
            f"{counted(broken, 'vector')} of {quoted(model)} hold{'s' if broken == 1 else ''} NaN or infinity, so that "
            "nothing is near; embed the corpus again, or choose another model."
        )
