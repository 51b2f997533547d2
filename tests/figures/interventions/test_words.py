"""Word shares: the drawn numbers are the shares, all tokens of a word have its colour, special tokens have none."""

import numpy as np
import pytest

from bertviz_core.attribution.results import WordAttributions
from bertviz_core.attribution.words import leave_one_out
from bertviz_core.figures.base.cells import colour_at
from bertviz_core.figures.base.style import DARK, LIGHT, diverging
from bertviz_core.figures.interventions.words import word_bars_figure, word_shares_figure
from bertviz_core.trace.pieces import text_pieces
from tests.helpers.tiny_causes import opened, tiny_target


@pytest.fixture(scope="module")
def shares() -> WordAttributions:
    return leave_one_out(tiny_target("bert"), opened("bert")[1])


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_every_token_has_the_number_and_the_colour_of_its_word(shares: WordAttributions, theme: object) -> None:
    spec = word_shares_figure(shares, text_pieces(shares.tokens))
    figure = spec.drawn(theme)
    written = [trace for trace in figure.data if trace.mode == "text"]
    notes = [text.lstrip("\u200f") for text in written[1].text]
    per_token = shares.per_token()
    expected = ["" if np.isnan(value) else f"{value:.3f}" for value in per_token]
    assert [note.replace("−", "-") for note in notes] == expected
    filled = [trace.fillcolor for trace in figure.data if trace.mode == "lines" and trace.fillcolor]
    bar = next(trace for trace in figure.data if trace.mode == "markers" and trace.marker.colorbar.tickvals)
    strongest = int(np.nanargmax(np.abs(per_token)))
    share = (round(float(per_token[strongest]) / bar.marker.cmax * 12) / 12 + 1) / 2
    assert colour_at(diverging(theme), share) in filled
    assert bar.marker.cmin == -bar.marker.cmax
    assert all(word in spec.alt for word in shares.words)


def test_bars_stand_in_the_order_of_the_shares(shares: WordAttributions) -> None:
    figure = word_bars_figure(shares).drawn(LIGHT)
    (bars,) = figure.data
    np.testing.assert_allclose(bars.x, np.sort(shares.shares)[::-1])
    names = [shares.words[index] for index in shares.ranked()]
    assert [name in label for name, label in zip(names, figure.layout.yaxis.ticktext, strict=True)] == [True] * len(
        names
    )
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]
