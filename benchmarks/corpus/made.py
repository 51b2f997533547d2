"""Corpora whose vectors are made and not those of a model: planned, written and checked by the command's own code.

The runner that `embed_corpus` calls for the missing shards writes seeded vectors of a few clusters in place of those of
the model, so the survey of the input, the shards, the manifest and the file of vectors are the project's own.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from time import process_time

import numpy as np

from bertviz_core.corpus.embedding import EmbeddingOptions, embed_corpus
from bertviz_core.corpus.folder import Corpus, shard_path
from bertviz_core.corpus.manifest import write_manifest
from bertviz_core.corpus.reading import shard_table
from bertviz_core.corpus.results import ShardOutcome, ShardRows
from bertviz_core.corpus.shards import ShardWork, write_shard
from bertviz_core.settings import DEFAULT_MODEL, Settings

CLUSTERS, NOISE, SEED = 1_000, 0.8, 0
KINDS = 7
LINKS = 50_000
"""Names of one file; a file system may have a limit of 65,000."""
TOKENS = 12


def written_input(path: Path, rows: int) -> Path:
    """Write a table of numbered texts with a column of a few kinds."""
    with path.open("w", encoding="utf-8") as file:
        file.write("text,kind\n")
        file.writelines(f"Row {row} of a corpus that no model has read.,k{row % KINDS}\n" for row in range(rows))
    return path


def made_vectors(shard: int, rows: int, dimensions: int) -> np.ndarray:
    """Return unit vectors around the directions of the clusters, seeded by the number of their shard."""
    rng = np.random.default_rng([SEED, shard])
    noise = rng.standard_normal((rows, dimensions), dtype=np.float32) * np.float32(NOISE / np.sqrt(dimensions))
    vectors = _directions(dimensions)[rng.integers(CLUSTERS, size=rows)] + noise
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


@lru_cache(maxsize=1)
def _directions(dimensions: int) -> np.ndarray:
    directions = np.random.default_rng(SEED).standard_normal((CLUSTERS, dimensions), dtype=np.float32)
    return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))


class MadeRunner:
    """A runner that makes vectors; `seconds` is the processor time in which their shards were read and written."""

    def __init__(self) -> None:
        """Start at no time."""
        self.seconds = 0.0

    def __call__(self, work: ShardWork, shards: Sequence[ShardRows]) -> Iterator[ShardOutcome]:
        """Write shards with made vectors."""
        for shard in shards:
            vectors = made_vectors(shard.index, shard.rows, work.manifest.dimensions)
            started = process_time()
            rows = shard_table(work.survey, shard)
            write_shard(work, shard, rows, vectors, np.full(len(vectors), TOKENS), np.zeros(len(vectors), dtype=bool))
            self.seconds += process_time() - started
            yield ShardOutcome(shard.index, shard.rows, ())


def made_corpus(folder: Path, texts: Path, rows_per_shard: int, runner: Callable[..., Iterator[ShardOutcome]]) -> None:
    """Make a corpus of a table as the command does, with the vectors of a runner."""
    settings = Settings.from_environment(any_folder=True)
    embed_corpus(DEFAULT_MODEL, str(texts), folder, settings, EmbeddingOptions(rows_per_shard=rows_per_shard), runner)


def linked_corpus(source: Corpus, folder: Path, shards: int) -> None:
    """Make a corpus of many shards out of the first of another, each of them a name of the same few files."""
    shard_path(folder, 0).parent.mkdir(parents=True)
    for index in range(shards):
        if index % LINKS == 0:
            shutil.copy(shard_path(source.path, 0), shard_path(folder, index))
        else:
            os.link(shard_path(folder, index - index % LINKS), shard_path(folder, index))
    rows = int(source.starts[1])
    manifest = replace(source.manifest, rows=rows * shards, rows_per_shard=rows, shards=shards)
    write_manifest(folder, manifest)
