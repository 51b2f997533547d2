"""Statistics of checkpoints against NumPy and torch on the loaded arrays; findings about their health.

Covers `bertviz_core/checkpoints/health.py`, `bertviz_core/checkpoints/values.py`.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForSequenceClassification, BertConfig, BertModel

from bertviz_core.checkpoints import values as checkpoints_values
from bertviz_core.checkpoints.health import diagnose_weights
from bertviz_core.checkpoints.results import Finding
from bertviz_core.checkpoints.tensor_map import tensor_grid
from bertviz_core.checkpoints.tensor_statistics import checkpoint_statistics, tensor_histogram
from bertviz_core.checkpoints.values import Checkpoint, decoded, number_pieces, open_checkpoint, tensor_slices
from bertviz_core.errors import CheckpointError, SupersededError
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.models.local_files import saved_class
from bertviz_core.models.skeleton import initial_deviations
from bertviz_core.models.sources import folder_source, resolve
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import FAMILIES, save_tiny, tiny_config

MODEL = "all-MiniLM-L6-v2"
SMALL = {"vocab_size": 97, "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 2}
SMALL |= {"intermediate_size": 80, "max_position_embeddings": 41, "initializer_range": 0.02}


def opened(folder: Path, settings: Settings) -> Checkpoint:
    """The checkpoint in a folder."""
    return open_checkpoint(folder_source(folder.name, folder), settings)


def signs(folder: Path, settings: Settings) -> tuple[Finding, ...]:
    """Findings about the checkpoint in a folder."""
    found = opened(folder, settings)
    drawn = initial_deviations(found.name, found.config, saved_class(found.config))
    return diagnose_weights(checkpoint_statistics(found), found.config, drawn)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT with newly initialised weights."""
    folder = tmp_path_factory.mktemp("fresh")
    torch.manual_seed(0)
    BertModel(BertConfig(**SMALL)).save_pretrained(folder)
    return folder


@pytest.fixture
def trained(fresh: Path, tmp_path: Path) -> Callable[..., Path]:
    """Create a folder whose tensors have changed as by training, with further changes."""

    def make(**changes: torch.Tensor) -> Path:
        made = torch.Generator().manual_seed(1)
        tensors = load_file(fresh / "model.safetensors")
        tensors = {
            name: value + 0.03 * torch.randn(value.shape, generator=made) if value.is_floating_point() else value
            for name, value in tensors.items()
        }
        tensors |= {name.replace("__", "."): value for name, value in changes.items()}
        folder = tmp_path / "trained"
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text((fresh / "config.json").read_text())
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return folder

    return make


def test_statistics_are_numpys_on_the_loaded_arrays(settings: Settings) -> None:
    found = checkpoint_statistics(open_checkpoint(resolve(MODEL, settings), settings))
    arrays = load_file(bundled_folder() / "model.safetensors")
    assert set(found.by_name()) == set(arrays)
    for each in found.tensors:
        values = arrays[each.name].numpy().astype(np.float64)
        assert (each.minimum, each.maximum) == (values.min(), values.max())
        assert each.zeros == (values == 0).sum()
        assert each.numel == values.size
        assert (each.nan, each.infinite) == (0, 0)
        np.testing.assert_allclose(each.std, values.std(), rtol=1e-9)
        np.testing.assert_allclose(each.mean, values.mean(), rtol=1e-9, atol=1e-12)


def test_pieces_give_the_same_numbers_as_the_whole(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = open_checkpoint(resolve(MODEL, settings), settings)
    name = "encoder.layer.3.output.dense.weight"
    whole = load_file(bundled_folder() / "model.safetensors")[name].numpy()
    monkeypatch.setattr(checkpoints_values, "PIECE_NUMBERS", 9_973)
    pieces = list(number_pieces(tensor_slices(checkpoint)[name]))
    assert {len(piece) for piece in pieces[:-1]} == {9_973}
    np.testing.assert_array_equal(np.concatenate(pieces), whole.reshape(-1).astype(np.float64))


@pytest.mark.parametrize(
    "dtype",
    ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]
    + ["float8_e8m0fnu", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "bool"],
)
def test_every_code_of_a_format_is_the_number_that_torch_reads(dtype: str) -> None:
    width = torch.empty(0, dtype=getattr(torch, dtype)).element_size()
    made = np.random.default_rng(0)
    raw = bytes(range(256)) if width == 1 else made.integers(0, 256, 4096 * width, dtype=np.uint8).tobytes()
    if width == 2:
        raw = np.arange(2**16, dtype="<u2").tobytes()
    if dtype == "bool":
        raw = bytes([0, 1])
    expected = torch.frombuffer(bytearray(raw), dtype=getattr(torch, dtype)).to(torch.float64).numpy()
    np.testing.assert_array_equal(decoded(raw, dtype), expected)


def test_two_numbers_of_four_bits_stand_in_a_byte_the_first_in_its_lower_half() -> None:
    # E2M1 of the OCP microscaling specification, section 5.3.3: 0, 0.5, 1, 1.5, 2, 3, 4, 6.
    codes = bytes([0x10, 0x32, 0x54, 0x76, 0x98, 0xFE])
    expected = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -4, -6]
    assert decoded(codes, "float4_e2m1fn_x2").tolist() == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_what_is_not_finite_is_counted_and_left_out(
    dtype: torch.dtype, settings: Settings, trained: Callable[..., Path]
) -> None:
    values = torch.linspace(-1, 1, 64 * 64).reshape(64, 64).to(dtype)
    values[0, :3], values[1, :2], values[2, 0] = torch.nan, torch.inf, -torch.inf
    name = "encoder.layer.1.attention.self.query.weight"
    folder = trained(**{name.replace(".", "__"): values})
    found = checkpoint_statistics(opened(folder, settings)).by_name()[name]
    kept = values.double()[torch.isfinite(values)].numpy()
    assert (found.nan, found.infinite, found.finite) == (3, 3, kept.size)
    np.testing.assert_allclose([found.mean, found.std], [kept.mean(), kept.std()], rtol=1e-9)
    assert {each.problem for each in signs(folder, settings)} == {"NaN", "infinity"}
    assert all(name in each.sentence for each in signs(folder, settings))


@pytest.mark.slow
def test_a_histogram_and_what_it_leaves_out_add_up_to_all_numbers(settings: Settings) -> None:
    checkpoint = open_checkpoint(resolve(MODEL, settings), settings)
    place = tensor_slices(checkpoint)["embeddings.word_embeddings.weight"]
    values = load_file(bundled_folder() / "model.safetensors")[place.tensor.name].numpy().reshape(-1)
    whole = tensor_histogram(place, float(values.min()), float(values.max()))
    assert whole.counts.sum() == values.size
    assert whole.left_out == 0
    part = tensor_histogram(place, -0.05, 0.1, bins=30)
    expected, edges = np.histogram(values.astype(np.float64), 30, (-0.05, 0.1))
    np.testing.assert_array_equal(part.counts, expected)
    np.testing.assert_allclose(part.edges, edges)
    assert part.counts.sum() + part.left_out == values.size


def test_a_constant_tensor_has_no_spread_and_one_bin(settings: Settings, trained: Callable[..., Path]) -> None:
    name = "encoder.layer.0.output.dense.bias"
    checkpoint = opened(trained(**{name.replace(".", "__"): torch.full((64,), 0.1)}), settings)
    found = checkpoint_statistics(checkpoint).by_name()[name]
    assert found.std == 0
    histogram = tensor_histogram(tensor_slices(checkpoint)[name], found.minimum, found.maximum)
    assert sorted(histogram.counts.tolist())[-2:] == [0, 64]


def test_shards_are_read_like_one_file(settings: Settings, fresh: Path, tmp_path: Path) -> None:
    AutoModel.from_pretrained(fresh).save_pretrained(tmp_path, max_shard_size="100KB")
    assert (tmp_path / "model.safetensors.index.json").exists()
    sharded = checkpoint_statistics(opened(tmp_path, settings)).by_name()
    whole = checkpoint_statistics(opened(fresh, settings)).by_name()
    assert {name: each.digest for name, each in sharded.items()} == {name: each.digest for name, each in whole.items()}


def test_a_file_cut_short_while_it_is_read_is_told(settings: Settings, trained: Callable[..., Path]) -> None:
    folder = trained()
    checkpoint = opened(folder, settings)
    with open(folder / "model.safetensors", "r+b") as file:
        file.truncate(60_000)
    with pytest.raises(CheckpointError, match="became shorter"):
        checkpoint_statistics(checkpoint)


def test_progress_reaches_the_whole_and_may_end_the_reading(settings: Settings, fresh: Path) -> None:
    calls: list[tuple[int, int, str]] = []
    checkpoint = opened(fresh, settings)
    checkpoint_statistics(checkpoint, lambda *facts: calls.append(facts))
    done = [facts[0] for facts in calls]
    assert done == sorted(done)
    assert done[-1] == calls[-1][1] == checkpoint.nbytes

    def stop(done: int, total: int, name: str) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        checkpoint_statistics(checkpoint, stop)


def test_the_bundled_model_and_a_trained_one_give_no_alarm(settings: Settings, trained: Callable[..., Path]) -> None:
    assert signs(resolve(MODEL, settings).folder, settings) == ()
    assert signs(trained(), settings) == ()


UNTRAINED = ["bert", "roberta", "electra", "distilbert", "albert", "mpnet", "xlm", "fnet", "gpt2", "t5", "umt5"]
WITHOUT_BIAS = {"d_model": 96, "d_ff": 128, "d_kv": 24, "num_heads": 4}  # T5's, large enough to be told


@pytest.mark.parametrize("model_type", UNTRAINED)
def test_a_model_that_was_never_trained_is_told(model_type: str, settings: Settings, tmp_path: Path) -> None:
    torch.manual_seed(0)
    changes = WITHOUT_BIAS if model_type.endswith("t5") else {}
    AutoModel.from_config(tiny_config(model_type, **changes)).save_pretrained(tmp_path)
    (found,) = [each for each in signs(tmp_path, settings) if each.problem == "never trained"]
    assert found.sentence.startswith("The model appears to be untrained")


def test_a_cut_off_initialiser_is_known(settings: Settings, tmp_path: Path) -> None:
    torch.manual_seed(0)
    changes = {"hidden_size": 96, "intermediate_size": 160, "initializer_range": 0.02, "num_attention_heads": 4}
    AutoModel.from_config(tiny_config("modernbert", **changes)).save_pretrained(tmp_path)
    names = {name for each in signs(tmp_path, settings) for name in each.tensors}
    weights = load_file(tmp_path / "model.safetensors")
    assert {name for name in weights if "norm" in name or "Wqkv" in name or "Wi" in name} <= names


@pytest.mark.parametrize("model_type", ["t5", "gpt2", "xlm", "roformer", "modernbert"])
def test_the_curve_of_new_values_is_what_the_class_draws(model_type: str) -> None:
    torch.manual_seed(0)
    model = AutoModel.from_config(tiny_config(model_type))
    known = initial_deviations(model_type, model.config.to_dict(), type(model).__name__)
    assert bool(known) == (model_type != "modernbert")  # which cuts its values off
    assert not any("embed_positions" in name for name in known)  # sines in RoFormer
    words = ("word_embeddings.weight", "shared.weight", "wte.weight", "embeddings.weight")  # with a row of zeros
    assert model_type == "modernbert" or any(name.endswith(words) for name in known)
    for name, deviation in known.items():
        values = model.get_parameter(name).detach()
        drawn = values[values != 0]  # padding has a row of zeros
        assert abs(drawn.std() / deviation - 1) < 5 / (2 * drawn.numel()) ** 0.5, name


def test_a_new_head_on_a_trained_model_is_told_and_nothing_else(
    settings: Settings, trained: Callable[..., Path], tmp_path: Path
) -> None:
    torch.manual_seed(2)
    model = AutoModelForSequenceClassification.from_pretrained(trained(), num_labels=5)
    model.save_pretrained(tmp_path / "head")
    (found,) = signs(tmp_path / "head", settings)
    assert found.tensors == ("classifier.weight",)
    assert found.sentence.startswith("The task head appears to be untrained: classifier.weight ")
    with torch.no_grad():  # one training step changes the bias
        model.classifier.bias += 1e-4 * torch.randn(5)
    model.save_pretrained(tmp_path / "head")
    assert signs(tmp_path / "head", settings) == ()


def test_matrices_of_zeros_are_told_but_not_the_unused_token_types_of_roberta(
    settings: Settings, trained: Callable[..., Path]
) -> None:
    name = "encoder.layer.2.intermediate.dense.weight"
    shapes = {name: (80, 64), "embeddings.token_type_embeddings.weight": (2, 64)}
    folder = trained(**{each.replace(".", "__"): torch.zeros(shape) for each, shape in shapes.items()})
    (found,) = signs(folder, settings)
    assert (found.problem, found.tensors) == ("all zero", (name,))


def test_layers_of_the_same_bytes_are_told(settings: Settings, trained: Callable[..., Path]) -> None:
    tensors = load_file(trained() / "model.safetensors")
    same = {name.replace("layer.0.", "layer.2."): value for name, value in tensors.items() if "layer.0." in name}
    folder = trained(**{name.replace(".", "__"): value.clone() for name, value in same.items()})
    (found,) = signs(folder, settings)
    assert found.problem == "identical layers"
    assert "layers 0 and 2 of the encoder" in found.sentence
    assert set(found.tensors) == {name for name in tensors if "layer.0." in name or "layer.2." in name}


@pytest.mark.sample(10)
@pytest.mark.parametrize("model_type", sorted(FAMILIES))
def test_every_tensor_has_its_cell_and_every_cell_its_tensor(
    model_type: str, settings: Settings, tmp_path: Path
) -> None:
    found = checkpoint_statistics(opened(save_tiny(model_type, tmp_path), settings))
    with open(tmp_path / "config.json") as file:
        assert json.load(file)["model_type"] == model_type
    values = [float(index) for index in range(len(found.tensors))]
    grid = tensor_grid([each.location for each in found.tensors], values)
    drawn = {
        grid.tensor_at(row, column): grid.values[row, column]
        for row in range(len(grid.places))
        for column in range(len(grid.layers))
        if grid.tensor_at(row, column)
    }
    drawn |= {grid.tensor_at(row, -1): grid.outside_values[row] for row in range(len(grid.outside))}
    expected = {each.name: value for each, value in zip(found.tensors, values, strict=True)}
    assert {name: expected[name] for name in drawn} == drawn
    buffers = [each for each in found.tensors if each.location.component == "buffer"]
    if "*" not in "".join(grid.places):
        assert len(drawn) + grid.left_out + len(buffers) == len(found.tensors)
