"""Effects of heads in two models: each side is the answer about that model alone, the difference is exact.

Covers `bertviz_core/questions/tables/two_models/interventions.py`.
"""

from pathlib import Path

import numpy as np
import pytest

from bertviz_core.errors import BertvizError
from bertviz_core.figures.base.style import DARK, LIGHT
from bertviz_core.figures.interventions.effects import effects_compared_figure
from bertviz_core.interventions.results import TwoModelEffects
from bertviz_core.predictions.two_models import SAME_MODEL
from bertviz_core.questions.interventions.attributions import compared_effects
from bertviz_core.questions.interventions.effects import zero_effects
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.views.causes import effects_that_changed
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_models import TEXT
from tests.helpers.two_tokenizers import opened_model, save_byte_head
from tests.pages.labels import NAMES, named


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Classifiers that read pieces of words or bytes, and one with more layers."""
    place = tmp_path_factory.mktemp("two")
    save_tiny_head("bert", "sequence-classification", place / "classes", **named(*NAMES))
    save_byte_head("sequence-classification", place / "bytes", **named(*NAMES))
    save_tiny_head("bert", "sequence-classification", place / "deep", num_hidden_layers=5, **named(*NAMES))
    save_tiny_head("bert", "masked-lm", place / "words")
    return place


def compare(place: Path, second: str) -> TwoModelEffects:
    values = {"target": "class:neutral", "other": str(place / second)}
    return compared_effects(opened_model(place / "classes"), Options((TEXT,), values=values)).result


@pytest.mark.slow
def test_each_side_is_the_answer_about_that_model_alone(place: Path) -> None:
    found = compare(place, "bytes")
    for folder, side in (("classes", found.first), ("bytes", found.second)):
        options = Options((TEXT,), values={"target": "class:neutral"})
        alone = zero_effects(opened_model(place / folder), options).result
        np.testing.assert_array_equal(side.heads, alone.heads)
        assert side.clean == alone.clean
    change = found.difference
    assert change is not None
    np.testing.assert_array_equal(change, found.second.heads - found.first.heads)
    frame = effects_compared_figure(found).frame()
    sizes = frame["difference"].abs().to_numpy()
    np.testing.assert_array_equal(sizes, np.sort(sizes)[::-1])
    assert len(frame) == change.size
    layer, head = int(frame["layer"][0]), int(frame["head"][0])
    assert frame["difference"][0] == pytest.approx(float(change[layer, head]))
    assert f"layer {layer}, head {head} differs most" in effects_that_changed(found)


@pytest.mark.slow
@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_maps_are_the_effects_and_their_difference_on_one_scale(place: Path, theme: object) -> None:
    found = compare(place, "bytes")
    (heatmap,) = [each for each in effects_compared_figure(found).drawn(theme).data if each.type == "heatmap"]
    layers, heads = found.first.heads.shape
    for number, values in enumerate((found.first.heads, found.second.heads, found.difference)):
        start = number * (heads + 1)
        np.testing.assert_array_equal(np.asarray(heatmap.z)[:layers, start : start + heads], values)
    assert heatmap.zmax == -heatmap.zmin
    assert heatmap.zmax >= np.nanmax(np.abs(heatmap.z))


@pytest.mark.slow
def test_models_of_other_sizes_are_side_by_side_without_a_difference(place: Path) -> None:
    found = compare(place, "deep")
    assert found.difference is None
    assert any("so their heads have no difference" in notice for notice in found.notices)
    assert effects_compared_figure(found).frame()["difference"].isna().all()
    (heatmap,) = [each for each in effects_compared_figure(found).drawn(LIGHT).data if each.type == "heatmap"]
    heads = found.first.heads.shape[1]
    cells = np.asarray(heatmap.z)
    np.testing.assert_array_equal(cells[:, heads + 1 :], found.second.heads)
    assert np.isnan(cells[len(found.first.heads) :, :heads]).all()


@pytest.mark.slow
def test_the_same_model_twice_is_exact_zeros_and_says_so(place: Path) -> None:
    found = compare(place, "classes")
    assert found.difference is not None
    assert not found.difference.any()
    assert found.notices[0] == SAME_MODEL
    assert effects_that_changed(found).endswith("No head has another effect.")


def test_a_target_that_the_second_lacks_is_one_sentence(place: Path) -> None:
    with pytest.raises(BertvizError, match="has no task head for sequence-classification"):
        compare(place, "words")
