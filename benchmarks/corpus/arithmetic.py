"""What a corpus of so many rows costs, computed from measured growths."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from benchmarks.corpus.growth import Growth
from bertviz_core.corpus.embedding import ROWS_PER_SHARD
from bertviz_core.corpus.manifest import MAX_SHARDS
from bertviz_core.corpus.writing import MAX_NBYTES

Unit = Literal["count", "seconds", "bytes"]
DAY = 24 * 3600
POINT_NBYTES = 2 * 4
"""Bytes of a point: two numbers in float32."""
CODE_NBYTES = 4
"""Bytes of a cell in a column of few texts: the number of its text."""
CUT = "the command's limits"
COLOURS = f"memory of a column of few texts for its colours, of which at most {MAX_NBYTES // 1024**2} MiB are read"
JOBS: Sequence[tuple[str, Unit, Sequence[str]]] = (
    ("looking at the input and cutting it into shards", "seconds", ["planning seconds"]),
    ("memory of the list of shards", "bytes", ["memory of planned shards"]),
    ("embedding by the bundled model, on one processor", "seconds", ["embedding seconds"]),
    ("writing the shards", "seconds", ["writing seconds"]),
    ("joining the vectors of the shards into one file", "seconds", ["joining seconds"]),
    ("disk for the shards", "bytes", ["shards on the disk"]),
    ("disk for the shards and the file of vectors", "bytes", ["shards on the disk", "file of vectors"]),
    ("opening", "seconds", ["opening seconds"]),
    ("memory of an opened corpus", "bytes", ["opening memory"]),
    ("finding it for a page of the dashboard", "seconds", ["finding seconds"]),
    ("exact search, the file of vectors in memory", "seconds", ["exact search seconds"]),
    ("exact search, the file of vectors on the disk, by the clock", "seconds", ["exact search seconds from the disk"]),
    ("memory of an exact search", "bytes", ["exact search memory"]),
    ("filter by a column", "seconds", ["filter seconds"]),
    ("memory of a filter", "bytes", ["filter memory"]),
    ("making an index", "seconds", ["index seconds"]),
    ("memory while it is made", "bytes", ["index memory"]),
    ("its file, mapped into memory by a search", "bytes", ["file of the index"]),
    ("search by the index, by the clock", "seconds", ["index search seconds"]),
    ("map by principal components of all rows", "seconds", ["principal components seconds"]),
    ("memory of that beside the points", "bytes", ["principal components memory"]),
    ("map by UMAP, fitted on a sample that does not grow", "seconds", ["UMAP seconds"]),
    ("picture of a map, coloured by a column", "seconds", ["density seconds"]),
    ("memory of that above the points", "bytes", ["density memory"]),
    ("near duplicates, every pair compared", "seconds", ["near duplicates seconds"]),
)
"""What is done, its unit, and the growths whose sum it is, if they were measured."""


class Shards(NamedTuple):
    """How an input is cut."""

    rows_each: int
    count: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job costs for several numbers of rows."""

    job: str
    """What is done."""
    unit: Unit
    """Unit of the values."""
    values: tuple[float, ...]
    """Cost for each number of rows."""
    of: str
    """What the largest measurement counts, "rows" or "shards"; "" where nothing was measured."""
    measured: int = 0
    """The largest measured size."""
    factors: tuple[float, ...] = ()
    """For each number of rows, how many times as far as the largest measurement it is."""
    source: str = ""
    """Where the values are from if nothing was measured."""


def shards_for(rows: int) -> Shards:
    """Cut rows into shards of the command's default size, or larger ones where there would be too many."""
    each = max(ROWS_PER_SHARD, -(-rows // MAX_SHARDS))
    return Shards(each, -(-rows // each))


def estimates(growths: Mapping[str, Growth], counts: Sequence[int]) -> list[Estimate]:
    """Compute what corpora cost.

    Args:
        growths: name of a quantity -> its measured growth; jobs whose growths were not measured are left out.
        counts: numbers of rows.
    """
    cuts = [shards_for(rows) for rows in counts]
    found = [
        Estimate("rows in a shard", "count", tuple(float(cut.rows_each) for cut in cuts), "", source=CUT),
        Estimate("shards", "count", tuple(float(cut.count) for cut in cuts), "", source=CUT),
    ]
    for job, unit, names in JOBS:
        if all(name in growths for name in names):
            parts = [growths[name] for name in names]
            of, measured = parts[0].of, min(part.sizes[-1] for part in parts)
            sizes = [cut.count if of == "shards" else rows for cut, rows in zip(cuts, counts, strict=True)]
            values = tuple(sum(part.at(size) for part in parts) for size in sizes)
            found.append(Estimate(job, unit, values, of, measured, tuple(size / measured for size in sizes)))
        if names == ["embedding seconds"] and names[0] in growths:
            found.append(_processors_of_a_day(found[-1]))
        if names == ["principal components memory"]:
            found += [_exact("memory of its points", POINT_NBYTES, counts), _exact(COLOURS, CODE_NBYTES, counts)]
    return found


def _exact(job: str, nbytes: int, counts: Sequence[int]) -> Estimate:
    values = tuple(float(rows * nbytes) for rows in counts)
    return Estimate(job, "bytes", values, "", source=f"{nbytes} bytes a row")


def _processors_of_a_day(embedding: Estimate) -> Estimate:
    values = tuple(float(math.ceil(seconds / DAY)) for seconds in embedding.values)
    job = "processors that embed it in a day"
    return Estimate(job, "count", values, embedding.of, embedding.measured, embedding.factors)
