"""Movement of weights in a training run, against NumPy from the definition; frozen and broken tensors."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from bertviz_core.checkpoints.comparison import compare_checkpoints
from bertviz_core.checkpoints.results import TensorLocation
from bertviz_core.checkpoints.training.folder import training_run
from bertviz_core.checkpoints.training.movement import checkpoint_sums, indices_by_place, require_two, training_movement
from bertviz_core.checkpoints.training.results import MOVED_PARTS, TrainingMovement
from bertviz_core.errors import CheckpointError, SupersededError
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import LAYERS
from tests.helpers.training_runs import FROZEN_LAYER, SAVED, STEPS, save_run, weights

QUERY = "bert.encoder.layer.2.attention.self.query.weight"
IDS = "bert.embeddings.position_ids"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A training run with a checkpoint that is cut off."""
    return save_run(tmp_path / "run")


def moved(folder: Path, settings: Settings, first: int | None = None) -> TrainingMovement:
    run = training_run(folder.name, folder, settings)
    opened = run.states
    before = [opened[0], *opened]
    sums = [checkpoint_sums(opened[0], then, now) for then, now in zip(before, opened, strict=False)]
    return training_movement(run, sums[:first])


def change(folder: Path, **tensors: np.ndarray) -> None:
    """Replace tensors of a checkpoint, or add some."""
    own = {name: value.astype(np.float32) for name, value in weights(folder).items()}
    save_file({**own, **tensors}, folder / "model.safetensors", metadata={"format": "pt"})


def ratio(now: list[np.ndarray], then: list[np.ndarray]) -> float:
    """||now - then|| / ||then|| of all values in one row."""
    row, old = (np.concatenate([each.reshape(-1) for each in values]) for values in (now, then))
    return float(np.linalg.norm(row - old) / np.linalg.norm(old))


def in_part(location: TensorLocation, part: str) -> bool:
    """Whether a BERT parameter belongs to a part of its layer, by its name."""
    is_norm, is_attention = "LayerNorm" in location.name, ".attention." in location.name
    return {
        "all": True,
        "attention": location.layer is not None and is_attention and not is_norm,
        "feed-forward": location.layer is not None and not is_attention and not is_norm,
        "layer norm": location.layer is not None and is_norm,
    }[part]


def test_movement_is_the_relative_change_of_numpy_by_place_and_part(folder: Path, settings: Settings) -> None:
    found = moved(folder, settings)
    values = [*(weights(folder / f"checkpoint-{step}") for step in SAVED), weights(folder)]
    assert found.steps.tolist() == [*SAVED, STEPS]
    assert found.places == ("embeddings", *(f"layer {layer}" for layer in range(LAYERS)), "pooler", "task head")
    names = {each.name for each in found.tensors}
    assert names == set(values[0])
    for row, now in enumerate(values):
        for then, whole, by_place, by_tensor in (
            (values[0], found.whole_from_first, found.from_first, found.tensor_from_first),
            (values[max(row - 1, 0)], found.whole_from_previous, found.from_previous, found.tensor_from_previous),
        ):
            assert whole[row] == pytest.approx(ratio(list(now.values()), [then[name] for name in now]), rel=1e-9)
            for column, place in enumerate(found.places):
                for index, part in enumerate(found.parts):
                    inside = [
                        each.name
                        for each, where in zip(found.tensors, found.tensor_places, strict=True)
                        if where == place and in_part(each, part)
                    ]
                    cell = by_place[row, column, index]
                    if not inside:
                        assert np.isnan(cell)
                        continue
                    expected = ratio([now[name] for name in inside], [then[name] for name in inside])
                    assert cell == pytest.approx(expected, rel=1e-9)
            for index, tensor in enumerate(found.tensors):
                expected = ratio([now[tensor.name]], [then[tensor.name]])
                assert by_tensor[row, index] == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_movement_between_two_checkpoints_is_that_of_their_comparison(folder: Path, settings: Settings) -> None:
    found, run = moved(folder, settings), training_run(folder.name, folder, settings)
    compared = compare_checkpoints(run.checkpoints[0].checkpoint, run.checkpoints[2].checkpoint)
    assert found.whole_from_first[2] == pytest.approx(compared.relative_change, rel=1e-12)
    changes = {each.name: each.relative_change for each in compared.tensors}
    assert found.tensor_from_first[2].tolist() == pytest.approx(
        [changes[each.name] for each in found.tensors], rel=1e-12
    )


def test_the_frozen_layer_never_moves_and_all_else_does(folder: Path, settings: Settings) -> None:
    found = moved(folder, settings)
    inside = {each.name for each in found.tensors if each.layer == FROZEN_LAYER}
    assert inside <= set(found.frozen)
    assert set(found.frozen) - inside <= {"bert.embeddings.token_type_embeddings.weight"}
    column = found.places.index(f"layer {FROZEN_LAYER}")
    assert not np.nan_to_num(found.from_first[:, column]).any()
    assert found.from_first[1:-1, found.places.index("layer 2"), 0].all()
    assert found.broken == ()


def test_buffers_are_no_part_of_the_norm(folder: Path, settings: Settings) -> None:
    expected = moved(folder, settings)
    for place in (folder, *(folder / f"checkpoint-{step}" for step in SAVED)):
        change(place, **{IDS: np.arange(10_000)[None]})
    found = moved(folder, settings)
    assert found.whole_from_first == pytest.approx(expected.whole_from_first, rel=1e-6)
    assert IDS not in {each.name for each in found.tensors}
    assert IDS not in found.frozen


def test_nan_infinity_and_a_tensor_that_blew_up_are_named_with_their_first_step(
    folder: Path, settings: Settings
) -> None:
    for step in (6, 8):
        place = folder / f"checkpoint-{step}"
        own = weights(place)
        bad = own[QUERY].astype(np.float32)
        bad[0, :3] = np.nan
        change(place, **{QUERY: bad, "classifier.bias": np.full(own["classifier.bias"].shape, np.inf, np.float32)})
    pooler = weights(folder / "checkpoint-4")["bert.pooler.dense.weight"]
    change(folder / "checkpoint-4", **{"bert.pooler.dense.weight": np.full(pooler.shape, 200, np.float32)})
    found = moved(folder, settings)
    rows = {(each.name, each.what): (each.step, each.checkpoint, each.numel, each.place) for each in found.broken}
    assert rows == {
        ("bert.pooler.dense.weight", "blew up"): (4, "checkpoint-4", pooler.size, "pooler"),
        (QUERY, "NaN"): (6, "checkpoint-6", 3, "layer 2"),
        ("classifier.bias", "infinity"): (6, "checkpoint-6", 2, "task head"),
    }
    assert np.isnan(found.from_first[2, found.places.index("layer 2"), MOVED_PARTS.index("attention")])
    assert np.isfinite(found.from_first[1, found.places.index("layer 2"), 0])


@pytest.mark.slow
def test_growth_up_to_ten_times_the_spread_of_new_weights_breaks_nothing(folder: Path, settings: Settings) -> None:
    bias = weights(folder / "checkpoint-2")["classifier.bias"]
    for place in (folder, *(folder / f"checkpoint-{step}" for step in SAVED)):
        change(place, **{"classifier.bias": np.zeros(bias.shape, np.float32)})
    change(folder / "checkpoint-4", **{"classifier.bias": np.full(bias.shape, 2.9, np.float32)})  # 0.3 is the spread
    change(folder / "checkpoint-6", **{"classifier.bias": np.full(bias.shape, 3.1, np.float32)})
    found = moved(folder, settings)
    assert [(each.step, each.what) for each in found.broken] == [(6, "blew up")]
    assert found.tensor_from_first[1, [each.name for each in found.tensors].index("classifier.bias")] == np.inf


def test_other_number_formats_are_compared_by_their_values(folder: Path, settings: Settings) -> None:
    own = weights(folder)
    save_file({name: value.astype(np.float16) for name, value in own.items()}, folder / "model.safetensors")
    found = moved(folder, settings)
    last = {name: value.astype(np.float16).astype(np.float64) for name, value in own.items()}
    before = weights(folder / "checkpoint-8")
    expected = ratio(list(last.values()), [before[name] for name in last])
    assert found.whole_from_previous[-1] == pytest.approx(expected, rel=1e-9)


def test_tensors_are_grouped_in_one_pass_however_many_layers_there_are() -> None:
    passes = 0

    class Tensors(list[TensorLocation]):
        def __iter__(self) -> Iterator[TensorLocation]:
            nonlocal passes
            passes += 1
            return super().__iter__()

    layers = 50
    of_layer = Tensors(
        TensorLocation(f"{layer}.{name}", name, "encoder", layer, name, part)
        for layer in range(layers)
        for name, part in (("a", "query"), ("b", "feed_forward"), ("c", "layer_norm"), ("d", "query"))
    )
    places = [f"layer {index // 4}" for index in range(4 * layers)]
    found = [indices_by_place(of_layer, places, part) for part in MOVED_PARTS]
    first = 4 * (layers - 1)
    grouped = [[first, first + 1, first + 2, first + 3], [first, first + 3], [first + 1], [first + 2]]
    assert [each[f"layer {layers - 1}"] for each in found] == grouped
    assert passes == len(MOVED_PARTS)


def test_a_partial_result_is_the_beginning_of_the_whole(folder: Path, settings: Settings) -> None:
    part, whole = moved(folder, settings, 3), moved(folder, settings)
    assert part.checkpoints == whole.checkpoints[:3]
    assert np.array_equal(part.from_first, whole.from_first[:3], equal_nan=True)


def test_a_single_checkpoint_is_one_sentence(folder: Path, settings: Settings) -> None:
    run = training_run("one", folder / "checkpoint-2", settings)
    with pytest.raises(CheckpointError, match="has a single checkpoint"):
        require_two(run)


def test_progress_can_cancel(folder: Path, settings: Settings) -> None:
    run = training_run(folder.name, folder, settings)
    first, second = run.checkpoints[:2]

    def stop() -> None:
        raise SupersededError("stopped")

    with pytest.raises(SupersededError):
        checkpoint_sums(first, first, second, stop)
