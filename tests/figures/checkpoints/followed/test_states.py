"""Maps over the checkpoints of a run: CKA of hidden states, entropy of heads and its change."""

from dataclasses import replace

import numpy as np
import pytest

from bertviz_core.checkpoints.training.results import FINAL, FollowedStates
from bertviz_core.figures.base.style import LIGHT
from bertviz_core.figures.checkpoints.training import CHANGE, OF_STEP, training_cka_figure, training_entropy_figure
from tests.helpers.hand_made import ACTIVE

RANDOM = np.random.default_rng(0)
LAYERS, HEADS = 3, 2


def states(count: int = 3, layers: int = LAYERS) -> FollowedStates:
    return FollowedStates(
        run=ACTIVE,
        texts=7,
        checkpoints=(*(f"checkpoint-{step}" for step in range(count - 1)), FINAL),
        steps=np.arange(count) * 1_000,
        cka=RANDOM.random((count, layers + 1)),
        entropy=RANDOM.random((count, layers, HEADS)),
        notices=(),
    )


def test_a_row_is_a_hidden_state_and_a_column_a_checkpoint() -> None:
    followed = states()
    figure = training_cka_figure(followed).drawn(LIGHT)
    cells = figure.data[0]
    assert np.asarray(cells.z) == pytest.approx(followed.cka.T, abs=1e-6)
    assert list(figure.layout.yaxis.ticktext) == ["embeddings", "after layer 0", "after layer 1", "after layer 2"]
    assert list(figure.layout.xaxis.ticktext) == ["0", "1,000", "2,000 final"]
    assert cells.customdata[2][1][0] == "after layer 1, checkpoint-1, step 1,000"
    assert (cells.zmin, cells.zmax) == (0, 1)
    assert ACTIVE not in figure.to_json()


def test_the_scale_goes_below_zero_where_cka_does() -> None:
    followed = states()
    cka = followed.cka.copy()
    cka[1, 2] = -0.02
    followed = replace(followed, cka=cka)
    assert training_cka_figure(followed).drawn(LIGHT).data[0].zmin == pytest.approx(-0.02)


def test_the_heads_of_a_layer_are_together() -> None:
    followed = states()
    assert followed.entropy is not None
    figure = training_entropy_figure(followed, OF_STEP).drawn(LIGHT)
    cells = figure.data[0]
    for layer in range(LAYERS):
        for head in range(HEADS):
            row = layer * HEADS + head
            assert np.asarray(cells.z)[row] == pytest.approx(followed.entropy[:, layer, head], abs=1e-6)
            assert cells.customdata[row][0][0].startswith(f"layer {layer}, head {head}, ")
    assert list(figure.layout.yaxis.tickvals) == [0.5, 2.5, 4.5]
    assert [shape.y0 for shape in figure.layout.shapes] == [1.5, 3.5]


def test_the_change_is_from_the_first_checkpoint_on_a_scale_around_zero() -> None:
    followed = states()
    assert followed.entropy is not None
    cells = training_entropy_figure(followed, CHANGE).drawn(LIGHT).data[0]
    change = (followed.entropy - followed.entropy[0]).reshape(3, -1).T
    assert np.asarray(cells.z) == pytest.approx(change, abs=1e-6)
    assert cells.zmin == -cells.zmax


def test_a_model_without_attention_has_no_map_of_entropy() -> None:
    followed = states()
    bare = replace(followed, entropy=None)
    with pytest.raises(ValueError, match="not known"):
        training_entropy_figure(bare, OF_STEP)


def test_deep_models_and_many_checkpoints_fit() -> None:
    figure = training_entropy_figure(states(200, 48), OF_STEP).drawn(LIGHT)
    assert figure.layout.height < 1_000
    assert len(figure.layout.yaxis.ticktext) <= 30
    assert len(figure.layout.xaxis.ticktext) < 60
