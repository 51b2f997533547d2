"""Colours that stand for different things differ for readers with each kind of colour blindness, by simulation.

The simulation is that of Machado, Oliveira and Fernandes 2009 (a physiologically-based model, severity 1), matrices in
linear RGB; a difference is the Euclidean one in CIELAB, where about 2.3 is just noticeable.
"""

from itertools import combinations

import numpy as np
import pytest

from bertviz_core.figures.base.style import HUES, THEMES, Theme, diverging, sequential

VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
PARTS = ("embeddings", "encoder", "pooler", "task head", "attention", "feed_forward", "layer_norm")
"""Parts that stand side by side in one figure; shades of one part are distinguished by their order."""
LEAST = 10.0
"""Smallest difference of two colours, four times what is just noticeable."""
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def lab(colour: str, vision: str) -> np.ndarray:
    """CIELAB coordinates (D65) of an sRGB colour as seen."""
    channels = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    seen = XYZ @ np.clip(VISION[vision] @ linear, 0, 1) / WHITE
    bent = np.where(seen > (6 / 29) ** 3, np.cbrt(seen), seen / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * bent[1] - 16, 500 * (bent[0] - bent[1]), 200 * (bent[1] - bent[2])])


def apart(one: str, other: str, vision: str) -> float:
    return float(np.linalg.norm(lab(one, vision) - lab(other, vision)))


def test_the_simulation_confuses_red_with_green_and_leaves_grey_alone() -> None:
    # Dichromats see no difference along their confusion lines; a mixture for each stands in Machado 2009, figure 3.
    assert apart("#D00000", "#3F5A00", "normal") > 2 * apart("#D00000", "#3F5A00", "deuteranopia")
    for vision in VISION:
        assert apart("#808080", "#808080", "normal") == 0
        np.testing.assert_allclose(lab("#808080", vision), lab("#808080", "normal"), atol=0.1)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_parts_side_by_side_differ(theme: Theme, vision: str) -> None:
    close = {
        (one, other): distance
        for one, other in combinations(PARTS, 2)
        if (distance := apart(theme.colours[one], theme.colours[other], vision)) < LEAST
    }
    assert not close


@pytest.mark.parametrize("vision", VISION)
def test_lines_without_a_fixed_meaning_differ(vision: str) -> None:
    close = {
        (one, other): distance
        for one, other in combinations(HUES, 2)
        if (distance := apart(one, other, vision)) < LEAST
    }
    assert not close


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_scales_go_one_way_in_lightness_and_their_ends_differ(theme: Theme, vision: str) -> None:
    steps = np.diff([lab(str(colour), vision)[0] for _, colour in sequential(theme)])
    assert (steps > 2).all() or (steps < -2).all()
    colours = [str(colour) for _, colour in diverging(theme)]
    for one, other in zip(colours[:2], colours[:2:-1], strict=True):  # of the same magnitude, with the other sign
        assert apart(one, other, vision) >= LEAST
