"""Maps of head profiles show mean and spread of the measure; lines of probes show the means of their parts."""

from typing import get_args

import numpy as np
import pytest

from bertviz_core.attention.atlas import PROFILE_MEASURES
from bertviz_core.attention.results import HeadMeasure
from bertviz_core.corpus.analysis.results import HeadProfile, HeadProfiles
from bertviz_core.figures.base.style import theme_named
from bertviz_core.figures.corpus import MEASURE_NAMES, corpus_probe_figure, profiles_figure
from bertviz_core.predictions.probing.results import ProbeScores

LAYERS, HEADS = 3, 5


def profile(name: str, sentences: int) -> HeadProfile:
    rng = np.random.default_rng(sentences)
    mean, spread = (rng.random((len(PROFILE_MEASURES), LAYERS, HEADS)).astype(np.float32) for _ in range(2))
    return HeadProfile(name, sentences, mean, spread)


def profiles() -> HeadProfiles:
    whole, part = profile("", 9), profile("a <b>", 4)
    return HeadProfiles("mine", "tiny", "r1", PROFILE_MEASURES, whole, "kind", (part,), np.arange(9), 2)


def test_every_measure_has_its_words() -> None:
    assert set(MEASURE_NAMES) == set(get_args(HeadMeasure)) == set(PROFILE_MEASURES)


@pytest.mark.sample(4)
@pytest.mark.parametrize("measure", PROFILE_MEASURES)
@pytest.mark.parametrize("pixels", [320, 980])
def test_the_maps_are_mean_and_spread(measure: HeadMeasure, pixels: int) -> None:
    inputs, place = profiles(), PROFILE_MEASURES.index(measure)
    for part in (inputs.overall, inputs.parts[0]):
        figure = profiles_figure(inputs, part, measure).drawn(theme_named("light", pixels))
        mean, spread = (trace for trace in figure.data if trace.type == "heatmap")
        np.testing.assert_array_equal(mean.z, part.mean[place])
        np.testing.assert_array_equal(spread.z, part.spread[place])
        assert (mean.zmin, spread.zmin) == (0, 0)


def test_the_words_name_part_sample_and_largest_head() -> None:
    inputs = profiles()
    spec = profiles_figure(inputs, inputs.parts[0], "entropy")
    layer, head = np.unravel_index(inputs.parts[0].mean[0].argmax(), (LAYERS, HEADS))
    assert spec.title == "Attention entropy of every head, kind: a <b> — tiny"
    assert f"in layer {layer}, head {head}" in spec.alt
    assert "4 sentences of mine, drawn by seed 2" in spec.caption
    assert "a &lt;b&gt;" in spec.drawn(theme_named("light")).layout.title.text


def test_lines_are_the_means_of_the_parts() -> None:
    rng = np.random.default_rng(0)
    accuracy, f1, control = (rng.random((4, 5)).astype(np.float32) for _ in range(3))
    scores = ProbeScores(
        "tiny", "", "kind in mine", ("a", "b"), np.array([6, 4]), "mean", (0, 1, 2, 3), 3, accuracy, f1, control
    )
    spec = corpus_probe_figure(scores, scores.layers[scores.best])
    traces = {trace.name: trace for trace in spec.drawn(theme_named("light")).data}
    np.testing.assert_allclose(traces["accuracy"].y, 100 * accuracy.mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(traces["control task"].y, 100 * control.mean(axis=1), rtol=1e-5)
    assert spec.title == "Which layer tells the 2 values of kind in mine apart? — tiny"
    assert "most frequent value 60.0%" in spec.alt
