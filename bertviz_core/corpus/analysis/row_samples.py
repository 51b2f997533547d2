"""Iterate over the rows of a corpus block by block, or sample some with their texts."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.corpus.folder import TEXT_COLUMN, Corpus
from bertviz_core.errors import CorpusError
from bertviz_core.lazy_imports import torch
from bertviz_core.sentences.store.vectors import Vectors
from bertviz_core.text import quoted

BLOCK_ROWS = 16_384
"""Number of rows per block: 48 MiB of float64 at 384 dimensions."""


def blocks(
    vectors: Float[Vectors, "rows dimensions"], size: int = 0
) -> Iterator[tuple[slice, Float[np.ndarray, "block dimensions"]]]:
    """Yield rows in float32 in blocks of this size (0 for BLOCK_ROWS), with their indices."""
    size = size or BLOCK_ROWS
    for start in range(0, len(vectors), size):
        # PyTorch converts float16 to float32 ten times as fast as NumPy.
        block = torch.from_numpy(np.array(vectors[start : start + size])).float().numpy()
        if not np.isfinite(block).all():
            row = start + int((~np.isfinite(block).all(axis=1)).argmax())
            raise CorpusError(
                f"The vector of row {row:,} holds NaN or infinity, so nothing can be compared with it; embed the "
                "corpus again."
            )
        yield slice(start, start + len(block)), block


def sampled_rows(count: int, most: int, seed: int) -> Int[np.ndarray, " sampled"]:
    """Draw a sorted random sample of rows without replacement; all rows if there are no more."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, most, replace=False))


def texts_of(corpus: Corpus, rows: Int[np.ndarray, " sampled"]) -> list[str]:
    """Return the texts of some rows; "" if missing."""
    if corpus.manifest.text_column is None:
        raise CorpusError(
            f"The corpus {quoted(corpus.path.name)} keeps no texts (--no-text), and this reads them; embed it again "
            "with its texts."
        )
    cells = corpus.read(rows.tolist(), [TEXT_COLUMN]).column(TEXT_COLUMN)
    return ["" if text is None else str(text) for text in cells.to_pylist()]
