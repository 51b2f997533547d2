"""Embed shards on a Ray cluster: Ray Data distributes them, a pool of actors keeps the model loaded.

The corpus folder must be on storage shared by all machines; only the ranges of a shard's rows and its outcome are
transferred.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bertviz_core.corpus.results import ShardOutcome, ShardRows
from bertviz_core.corpus.shards import ShardWork, embed_shard
from bertviz_core.errors import CorpusError
from bertviz_core.text import first_line, quoted


class ShardActor:
    """A worker that caches the work, and through it the model."""

    def __init__(self, work: ShardWork) -> None:
        """Store the work."""
        self._work = work

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[bytes]]:
        """Embed a batch of shards."""
        shards = [msgspec.json.decode(raw, type=ShardRows) for raw in batch["shard"]]
        return {"outcome": [msgspec.json.encode(embed_shard(self._work, shard)) for shard in shards]}


def run(work: ShardWork, shards: Sequence[ShardRows], count: int | None, address: str | None) -> Iterator[ShardOutcome]:
    """Embed shards; yield outcomes as they complete, in any order.

    Args:
        count: number of workers; None for one per GPU, or per processor without GPUs.
        address: address of the cluster ("auto" for that of this machine); None to start a local one.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage reports from a locally started cluster
    try:
        import ray
    except ImportError as error:
        raise CorpusError(
            "--runner ray needs the package ray[data]; run pip install -r requirements-cluster.txt, or take another "
            "runner."
        ) from error
    from ray.exceptions import RayError

    own = not ray.is_initialized()
    try:
        if own:
            ray.init(address=address, log_to_driver=False, include_dashboard=False if address is None else None)
        yield from _outcomes(work, shards, count)
    except (RayError, ConnectionError) as error:
        where = quoted(address) if address else "on this machine"
        raise CorpusError(
            f"The Ray cluster {where} failed ({first_line(error)}); the same command resumes when it works again."
        ) from error
    finally:
        if own:
            ray.shutdown()


def _outcomes(work: ShardWork, shards: Sequence[ShardRows], count: int | None) -> Iterator[ShardOutcome]:
    import ray
    import ray.data

    ray.data.DataContext.get_current().enable_progress_bars = False
    resources = ray.cluster_resources()  # type: ignore[no-untyped-call]  # Ray does not say its types here
    gpus = int(resources.get("GPU", 0))
    workers = min(count or gpus or int(resources.get("CPU", 1)), len(shards))
    items = [{"shard": msgspec.json.encode(shard)} for shard in shards]
    outcomes = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
        ShardActor,
        fn_constructor_args=(work,),
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_gpus=1 if gpus else None,
        num_cpus=None if gpus else 1,
    )
    for row in outcomes.iter_rows():
        yield msgspec.json.decode(row["outcome"], type=ShardOutcome)
