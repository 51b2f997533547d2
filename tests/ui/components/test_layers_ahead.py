"""Layers sent ahead: the limit holds for any number and size of layers."""

import numpy as np
import pytest

from ui.components.charts import fit_ahead


@pytest.mark.parametrize(
    ("states", "seq", "window", "fit"),
    [
        (13, 128, 64, True),
        (7, 512, 64, True),
        (13, 512, 64, True),  # 1.7 MB as float32
        (25, 512, 64, False),
        (25, 512, 256, False),
        (23, 8192, 64, False),
        (1, 1, 1, True),
        (125, 1, 4_000, True),  # 2,000,000 bytes
        (126, 1, 4_000, False),
    ],
)
def test_layers_go_ahead_while_they_are_two_megabytes(states: int, seq: int, window: int, fit: bool) -> None:
    values = np.broadcast_to(np.float32(0), (states, seq, window))
    assert fit_ahead(values) is fit
