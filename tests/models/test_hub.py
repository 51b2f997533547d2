"""Hub models on a small local server: header by range requests, cache, and possible errors."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants
import numpy as np
import pytest
from safetensors.numpy import save

from bertviz_core.errors import CheckpointError, HubError, ModelNotFoundError, UnreachableHubError
from bertviz_core.models.sources import resolve
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.settings import Settings
from tests.helpers.hub_server import COMMIT, Hub, running_hub

CONFIG = json.dumps({"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 1}).encode()
WEIGHTS = save(
    {
        "embeddings.word_embeddings.weight": np.zeros((5000, 96), np.float32),
        "embeddings.LayerNorm.gamma": np.zeros(96, np.float32),
    }
)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with running_hub() as running:
        running.repositories["lab/good"] = {"config.json": CONFIG, "model.safetensors": WEIGHTS}
        yield running


@pytest.fixture
def online(settings: Settings, hub: Hub) -> Settings:
    return dataclasses.replace(settings, allow_hub=True, hub_endpoint=hub.endpoint)


def test_a_ledger_comes_from_the_header_alone(online: Settings, hub: Hub) -> None:
    ledger = source_ledger(resolve("lab/good", online), online)
    assert (ledger.source, ledger.total, ledger.tensors) == ("header", 5000 * 96 + 96, 2)
    assert {row.name: row.stored_name for row in ledger.parameters} == {
        "embeddings.word_embeddings.weight": "embeddings.word_embeddings.weight",
        "embeddings.LayerNorm.weight": "embeddings.LayerNorm.gamma",
    }
    fetched = sum(size for path, size in hub.served if path.endswith("model.safetensors"))
    assert fetched <= 100_001 < len(WEIGHTS), "the weights stay where they are"


def test_the_second_time_the_config_comes_from_the_cache(online: Settings, hub: Hub) -> None:
    first = resolve("lab/good", online)
    hub.served.clear()
    second = resolve("lab/good", online)
    assert (second.kind, second.revision, second.config) == ("hub", COMMIT, first.config)
    assert hub.served == []
    assert source_ledger(resolve("lab/good", online), online).source == "header"


def test_unplugged_after_the_config_was_fetched_the_config_tells(online: Settings, hub: Hub) -> None:
    resolve("lab/good", online)
    hub.status = 503
    assert source_ledger(resolve("lab/good", online), online).source == "config"


def test_a_sharded_repository_is_read_shard_by_shard(online: Settings, hub: Hub) -> None:
    shards = {"a.safetensors": save({"a": np.zeros((2, 3))}), "b.safetensors": save({"b": np.zeros(5)})}
    index = json.dumps({"metadata": {}, "weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}).encode()
    hub.repositories["lab/sharded"] = {"config.json": CONFIG, "model.safetensors.index.json": index, **shards}
    assert source_ledger(resolve("lab/sharded", online), online).total == 11


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("name", "files", "error", "words"),
    [
        ("lab/absent", None, ModelNotFoundError, "no public model"),
        ("lab/empty", {}, ModelNotFoundError, "no config.json"),
        ("lab/noise", {"config.json": b"{"}, CheckpointError, "JSON"),
        ("lab/custom", {"config.json": b'{"model_type": "strange", "auto_map": {}}'}, CheckpointError, "custom code"),
        ("lab/pickle", {"config.json": CONFIG, "pytorch_model.bin": b"\x80"}, CheckpointError, "no safetensors file"),
        (
            "lab/lies",
            {"config.json": CONFIG, "model.safetensors": (2**62).to_bytes(8, "little") + b"{}"},
            CheckpointError,
            "damaged",
        ),
        (
            "lab/overlap",
            {
                "config.json": CONFIG,
                "model.safetensors": (lambda raw: len(raw).to_bytes(8, "little") + raw)(
                    b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}'
                ),
            },
            CheckpointError,
            "gap",
        ),
    ],
)
def test_what_the_hub_lacks_is_said_in_one_sentence(
    online: Settings, hub: Hub, name: str, files: dict[str, bytes] | None, error: type[Exception], words: str
) -> None:
    if files is not None:
        hub.repositories[name] = files
    with pytest.raises(error, match=words) as refusal:
        source_ledger(resolve(name, online), online)
    assert "\n" not in str(refusal.value)


def test_a_hub_that_fails_is_named(online: Settings, hub: Hub) -> None:
    hub.status = 500
    with pytest.raises(HubError, match="lab/good"):
        source_ledger(resolve("lab/good", online), online)


def test_a_hub_that_breaks_off_is_asked_again_at_once(online: Settings, hub: Hub) -> None:
    hub.cut = 40
    with pytest.raises(HubError, match="broke off its answer for 'lab/good'; try again") as refusal:
        resolve("lab/good", online)
    assert not isinstance(refusal.value, UnreachableHubError), "which the dashboard remembers for minutes"
    hub.cut = None
    assert resolve("lab/good", online).revision == COMMIT


def test_a_hub_out_of_reach_is_named(settings: Settings) -> None:
    unplugged = dataclasses.replace(settings, allow_hub=True, hub_endpoint="http://127.0.0.1:9")
    with pytest.raises(HubError, match="could not be reached"):
        resolve("lab/nowhere", unplugged)
