"""Hidden states of two models: the drawn cells are the cosines, and the smallest one is in the alternative text."""

from pathlib import Path

import numpy as np
import pytest

from bertviz_core.checkpoints.results import Behaviour
from bertviz_core.figures.base.style import DARK, LIGHT, Theme
from bertviz_core.figures.hidden_states.lines import states_compared_figure
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.two_models import cosines_of_states
from bertviz_core.text import decimals
from tests.helpers.tiny_models import TEXT, save_tiny
from tests.helpers.two_tokenizers import opened_model


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_cells_are_the_cosines(tmp_path: Path, theme: Theme) -> None:
    save_tiny("bert", tmp_path / "first")
    save_tiny("bert", tmp_path / "second", initializer_range=0.4)
    options = Options((TEXT,), values={"other": str(tmp_path / "second")})
    found: Behaviour = cosines_of_states(opened_model(tmp_path / "first"), options).result
    spec = states_compared_figure(found)
    assert found.cosines is not None
    (heatmap,) = [each for each in spec.drawn(theme).data if each.type == "heatmap"]
    np.testing.assert_array_equal(np.asarray(heatmap.z), found.cosines)
    assert heatmap.zmax == 1
    assert heatmap.zmin <= found.cosines.min()
    state, token = np.unravel_index(found.cosines.argmin(), found.cosines.shape)
    assert f"token {token}: {decimals(float(found.cosines[state, token]))}" in spec.alt
