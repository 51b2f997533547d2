"""The map of pairs: its cells are those of the result, on a scale around 0, and its caption has the whole sum."""

import numpy as np
import pytest

from bertviz_core.attribution.pair_attributions import pair_attributions
from bertviz_core.figures.base.style import DARK, LIGHT, Theme
from bertviz_core.figures.interventions.words import pair_ledger_figure
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.text import decimals
from tests.helpers.tiny_causes import opened
from tests.helpers.tiny_models import PAIR, TEXT


@pytest.mark.sample(1)
@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_cells_are_the_shares(theme: Theme) -> None:
    ledger = pair_attributions(*opened("bert"), TEXT, PAIR, SentencePlan("mean"), 1)
    spec = pair_ledger_figure(ledger)
    (cells,) = (trace for trace in spec.drawn(theme).data if trace.type == "heatmap")
    np.testing.assert_array_equal(cells.z, ledger.shares)
    assert cells.z.shape == (len(ledger.first), len(ledger.second))
    assert cells.zmin == -cells.zmax <= -np.abs(ledger.shares).max()
    for number in (ledger.cosine, float(ledger.shares.sum()), ledger.reference_terms):
        assert decimals(number) in spec.caption
    row, column = np.unravel_index(np.abs(ledger.shares).argmax(), ledger.shares.shape)
    assert f"{ledger.first.tokens[row]} and {ledger.second.tokens[column]}" in spec.alt
