"""A Ray cluster of two workers on loopback writes the same corpus as one process."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import ray
from pyarrow import parquet
from ray.cluster_utils import Cluster

from bertviz_core.corpus.embedding import EmbeddingOptions, embed_corpus
from bertviz_core.corpus.folder import open_corpus
from bertviz_core.corpus.runners import ray as ray_runner
from bertviz_core.corpus.shards import embed_shards
from bertviz_core.errors import CorpusError
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import save_tiny

OPTIONS = EmbeddingOptions(vector_dtype="float32", rows_per_shard=4)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two nodes with one processor each."""
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 * 1024**2})
    nodes.add_node(num_cpus=1, object_store_memory=100 * 1024**2)
    nodes.wait_for_nodes()
    yield nodes
    ray.shutdown()
    nodes.shutdown()


@pytest.mark.slow
def test_the_cluster_makes_the_same_corpus(cluster: Cluster, tmp_path: Path, settings: Settings) -> None:
    save_tiny("bert", settings.models_dir / "mine")
    rows = pa.table({"id": list(range(13)), "text": [f"my pet w{row % 9} " * (1 + row % 5) for row in range(13)]})
    parquet.write_table(rows, tmp_path / "rows.parquet")
    address = str(tmp_path / "rows.parquet")
    alone = embed_corpus("mine", address, tmp_path / "one", settings, OPTIONS, embed_shards)
    runner = partial(ray_runner.run, count=2, address=cluster.address)
    together = embed_corpus("mine", address, tmp_path / "two", settings, OPTIONS, runner)
    assert together == alone
    first, second = open_corpus(tmp_path / "one"), open_corpus(tmp_path / "two")
    np.testing.assert_allclose(second.vectors(), first.vectors(), rtol=0, atol=1e-6)
    for name in first.columns:
        assert second.column(name).equals(first.column(name))


def test_a_cluster_out_of_reach_is_told(tmp_path: Path, settings: Settings) -> None:
    save_tiny("bert", settings.models_dir / "mine")
    parquet.write_table(pa.table({"text": ["my pet"]}), tmp_path / "rows.parquet")

    def lost(*arguments: object, **options: object) -> None:
        raise ConnectionError("Could not find any running Ray instance.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ray, "is_initialized", lambda: False)
        patch.setattr(ray, "init", lost)
        patch.setattr(ray, "shutdown", lambda: None)
        runner = partial(ray_runner.run, count=None, address="10.0.0.1:6379")
        with pytest.raises(CorpusError, match="Ray cluster '10.0.0.1:6379' failed .*same command resumes"):
            embed_corpus("mine", str(tmp_path / "rows.parquet"), tmp_path / "out", settings, OPTIONS, runner)
