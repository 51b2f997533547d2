"""Comparison of two checkpoints: matching names, differing shapes, and changes as computed by NumPy."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification

from bertviz_core.checkpoints import values as checkpoint_values
from bertviz_core.checkpoints.comparison import change_histograms, compare_checkpoints, matched_names
from bertviz_core.checkpoints.results import CheckpointComparison
from bertviz_core.checkpoints.tensor_map import tensor_grid
from bertviz_core.checkpoints.values import Checkpoint, open_checkpoint, tensor_slices
from bertviz_core.errors import CheckpointError, SupersededError
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.models.sources import folder_source, resolve
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import save_tiny

MODEL = "all-MiniLM-L6-v2"
QUERY = "encoder.layer.1.attention.self.query.weight"
Tensors = Mapping[str, torch.Tensor]
Change = Callable[[Tensors], Tensors]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A tiny BERT."""
    return save_tiny("bert", tmp_path / "base")


def edited(base: Path, change: Change) -> Path:
    """A copy of a model's folder with changed tensors."""
    folder = base.with_name("edited")
    shutil.copytree(base, folder, dirs_exist_ok=True)
    tensors = {name: value.clone() for name, value in load_file(base / "model.safetensors").items()}
    save_file(dict(change(tensors)), folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def opened(folder: Path, settings: Settings) -> Checkpoint:
    """The checkpoint in a folder."""
    return open_checkpoint(folder_source(folder.name, folder), settings)


def compared(first: Path, second: Path, settings: Settings) -> CheckpointComparison:
    """The comparison of two folders."""
    return compare_checkpoints(opened(first, settings), opened(second, settings))


def test_the_same_file_twice_gives_exact_zeros(settings: Settings) -> None:
    bundled = open_checkpoint(resolve(MODEL, settings), settings)
    found = compare_checkpoints(bundled, bundled)
    assert {each.name for each in found.tensors} == set(load_file(bundled_folder() / "model.safetensors"))
    for each in found.tensors:
        assert (each.relative_change, each.difference_norm, each.largest_difference, each.changed) == (0, 0, 0, 0)
        assert each.first_norm == each.second_norm
    assert (found.added, found.removed, found.resized, found.relative_change) == ((), (), (), 0)
    assert found.prefixes == ("", "")


def test_one_edited_tensor_lights_up_exactly_its_cell(settings: Settings, base: Path) -> None:
    made = torch.Generator().manual_seed(0)

    def change(tensors: Tensors) -> Tensors:
        return {**tensors, QUERY: tensors[QUERY] + torch.randn(tensors[QUERY].shape, generator=made)}

    other = edited(base, change)
    found = compared(base, other, settings)
    one, two = (load_file(each / "model.safetensors")[QUERY].double().numpy() for each in (base, other))
    changes = {each.name: each.relative_change for each in found.tensors}
    expected = np.linalg.norm(two - one) / np.linalg.norm(one)
    assert changes.pop(QUERY) == pytest.approx(expected, rel=1e-12)
    assert set(changes.values()) == {0.0}
    grid = tensor_grid([each.location for each in found.tensors], [each.relative_change for each in found.tensors])
    ((row, column),) = np.argwhere(grid.values > 0).tolist()
    assert grid.tensor_at(row, column) == QUERY
    assert (grid.places[row], grid.layers[column]) == ("attention.self.query.weight", "1")
    assert not grid.outside_values.any()
    (lit,) = [each for each in found.tensors if each.name == QUERY]
    assert lit.largest_difference == np.abs(two - one).max()
    assert lit.changed == (one != two).sum()


@pytest.mark.parametrize("place", [0, 60, 99, 143])
def test_one_edited_number_is_found_in_any_piece(
    settings: Settings, base: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """Of pieces of 50 numbers, at the beginning, in the middle, and at the end of a whole and of the last piece."""
    monkeypatch.setattr(checkpoint_values, "PIECE_NUMBERS", 50)

    def change(tensors: Tensors) -> Tensors:
        tensors[QUERY].view(-1)[place] += 1
        return tensors

    other = edited(base, change)
    one, two = (load_file(each / "model.safetensors")[QUERY].double().numpy() for each in (base, other))
    (lit,) = [each for each in compared(base, other, settings).tensors if each.changed]
    assert (lit.name, lit.changed) == (QUERY, 1)
    assert lit.largest_difference == np.abs(two - one).max()
    assert lit.second_norm == pytest.approx(np.linalg.norm(two), rel=1e-12)


def test_the_change_of_all_is_that_of_all_numbers_in_one_row(settings: Settings, base: Path) -> None:
    other = edited(base, lambda tensors: {name: value * 1.25 + 0.5 for name, value in tensors.items()})
    found = compared(base, other, settings)
    one, two = (load_file(each / "model.safetensors") for each in (base, other))
    rows = [np.concatenate([each[name].double().numpy().reshape(-1) for name in one]) for each in (one, two)]
    expected = np.linalg.norm(rows[1] - rows[0]) / np.linalg.norm(rows[0])
    assert found.relative_change == pytest.approx(expected, rel=1e-12)


def test_a_buffer_is_no_part_of_the_change_of_all(settings: Settings, base: Path) -> None:
    """A stored table of position ids, whose norm is far above that of any weight, is excluded from the ratio."""
    ids = {"embeddings.position_ids": torch.arange(512)[None]}
    other = edited(base, lambda tensors: {**{name: value * 1.25 for name, value in tensors.items()}, **ids})
    save_file({**load_file(base / "model.safetensors"), **ids}, base / "model.safetensors", metadata={"format": "pt"})
    found = compared(base, other, settings)
    assert found.relative_change == pytest.approx(0.25, rel=1e-6)
    assert [each.name for each in found.tensors if each.location.is_buffer] == list(ids)


def test_names_that_one_side_lacks_and_shapes_that_differ_are_listed(settings: Settings, base: Path) -> None:
    def change(tensors: Tensors) -> Tensors:
        shortened = {name: value for name, value in tensors.items() if not name.startswith("pooler.dense.bias")}
        table = "embeddings.word_embeddings.weight"
        return {**shortened, table: torch.ones(50, 12), "extra.weight": torch.ones(3, 5)}

    found = compared(base, edited(base, change), settings)
    assert [(each.name, each.shape) for each in found.added] == [("extra.weight", (3, 5))]
    assert [(each.name, each.shape) for each in found.removed] == [("pooler.dense.bias", (12,))]
    (resized,) = found.resized
    assert (resized.name, resized.first, resized.second) == ("embeddings.word_embeddings.weight", (37, 12), (50, 12))
    assert resized.name not in {each.name for each in found.tensors}


def test_a_fine_tuned_classifier_compares_to_its_base_both_ways(settings: Settings, base: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(base, num_labels=5)
    with torch.no_grad():
        model.bert.encoder.layer[2].output.dense.bias += 1
    model.save_pretrained(tmp_path / "tuned")
    there, back = (compared(*pair, settings) for pair in ((base, tmp_path / "tuned"), (tmp_path / "tuned", base)))
    assert (there.prefixes, back.prefixes) == (("", "bert."), ("bert.", ""))
    assert {each.name for each in there.added} == {"classifier.weight", "classifier.bias"}
    assert there.added == back.removed
    assert (there.removed, there.resized, back.added) == ((), (), ())
    (moved,) = [each for each in there.tensors if each.relative_change]
    assert (moved.name, moved.second_name) == (
        "encoder.layer.2.output.dense.bias",
        "bert.encoder.layer.2.output.dense.bias",
    )
    assert moved.difference_norm == pytest.approx(12**0.5, rel=1e-6)


@pytest.mark.parametrize("prefix", ["net.", "module.", "model.bert.", "bert."])
def test_any_prefix_around_everything_is_taken_off(prefix: str, settings: Settings, base: Path) -> None:
    other = edited(base, lambda tensors: {f"{prefix}{name}": value for name, value in tensors.items()})
    found = compared(base, other, settings)
    assert found.prefixes == ("", prefix)
    assert (found.added, found.removed) == ((), ())
    assert {each.relative_change for each in found.tensors} == {0.0}


def test_two_files_with_the_same_prefix_keep_their_names(settings: Settings, base: Path) -> None:
    other = edited(base, lambda tensors: {f"bert.{name}": value for name, value in tensors.items()})
    prefixes, pairs = matched_names(opened(other, settings), opened(other, settings))
    assert prefixes == ("", "")
    assert all(name == partner for name, partner in pairs)


def test_old_names_of_normalisations_meet_the_new_ones(settings: Settings, base: Path) -> None:
    def change(tensors: Tensors) -> Tensors:
        old = {".weight": ".gamma", ".bias": ".beta"}
        return {
            name.replace("LayerNorm" + end, "LayerNorm" + old[end]) if "LayerNorm" in name else name: value
            for name, value in tensors.items()
            for end in old
            if name.endswith(end)
        }

    found = compared(base, edited(base, change), settings)
    assert (found.added, found.removed) == ((), ())
    assert any(each.second_name.endswith("LayerNorm.gamma") for each in found.tensors)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_number_formats_are_compared_by_their_numbers(dtype: torch.dtype, settings: Settings, base: Path) -> None:
    other = edited(base, lambda tensors: {name: value.to(dtype) for name, value in tensors.items()})
    found = compared(base, other, settings)
    one = load_file(base / "model.safetensors")
    for each in found.tensors:
        whole = one[each.name].double()
        expected = (whole.to(dtype).double() - whole).norm() / whole.norm()
        assert each.relative_change == pytest.approx(float(expected), rel=1e-9)
        assert each.second_dtype == str(dtype).removeprefix("torch.")


def test_a_tensor_that_was_zero_changed_without_measure_and_nan_stays_nan(settings: Settings, base: Path) -> None:
    zero = edited(base, lambda tensors: {**tensors, QUERY: torch.zeros(12, 12)})
    (lit,) = [each for each in compared(zero, base, settings).tensors if each.relative_change]
    assert (lit.name, lit.relative_change) == (QUERY, float("inf"))
    back = {each.name: each.relative_change for each in compared(base, zero, settings).tensors}
    assert back[QUERY] == pytest.approx(1)
    broken = edited(base, lambda tensors: {**tensors, QUERY: torch.full((12, 12), torch.nan)})
    (bad,) = [each for each in compared(base, broken, settings).tensors if each.relative_change != 0]
    assert np.isnan([bad.relative_change, bad.largest_difference]).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_sentence_names_the_tensors_that_are_not_finite(value: float, settings: Settings, base: Path) -> None:
    broken = edited(base, lambda tensors: {**tensors, QUERY: torch.full((12, 12), value)})
    for first, second in ((base, broken), (broken, base), (broken, broken)):
        found = compared(first, second, settings)
        assert found.not_finite == (QUERY,)
        (notice,) = found.notices
        assert notice.startswith(f"1 tensor holds NaN or infinity ({QUERY!r})")
    assert compared(base, base, settings).notices == ()


def test_histograms_of_a_pair_count_every_number(settings: Settings, base: Path) -> None:
    other = edited(base, lambda tensors: {**tensors, QUERY: tensors[QUERY] * 2})
    places = [tensor_slices(opened(each, settings))[QUERY] for each in (base, other)]
    found = change_histograms(*places, bins=17)
    one, two = (load_file(each / "model.safetensors")[QUERY].double().numpy() for each in (base, other))
    for histogram, values in ((found.first, one), (found.second, two), (found.difference, two - one)):
        assert histogram.counts.sum() == values.size == 144
        ends = (histogram.edges[0], histogram.edges[-1])
        np.testing.assert_array_equal(histogram.counts, np.histogram(values, 17, ends)[0])
    assert found.first.edges.tolist() == found.second.edges.tolist()
    assert found.first.edges[[0, -1]].tolist() == [two.min(), two.max()]


def test_tensors_of_two_shapes_have_no_common_histogram(settings: Settings, base: Path) -> None:
    places = tensor_slices(opened(base, settings))
    with pytest.raises(ValueError, match="against"):
        change_histograms(places[QUERY], places["pooler.dense.bias"])


def test_progress_may_end_the_reading(settings: Settings, base: Path) -> None:
    calls: list[tuple[int, int, str]] = []
    checkpoint = opened(base, settings)
    compare_checkpoints(checkpoint, checkpoint, lambda *facts: calls.append(facts))
    assert calls[-1][0] == calls[-1][1]

    def stop(done: int, total: int, name: str) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        compare_checkpoints(checkpoint, checkpoint, stop)


def test_a_model_without_weights_is_refused_with_what_to_do(settings: Settings, base: Path) -> None:
    with pytest.raises(CheckpointError, match="not on this machine"):
        open_checkpoint(resolve("bert-base-uncased", settings), settings)
    (base / "model.safetensors").unlink()
    assert json.loads((base / "config.json").read_text())["model_type"] == "bert"
    with pytest.raises(CheckpointError, match="no safetensors file"):
        opened(base, settings)
