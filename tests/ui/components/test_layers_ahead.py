"""Layers sent ahead: the limit holds for any number and size of layers."""

import numpy as np
import pytest

from ui.components.chart import fit_ahead


@pytest.mark.parametrize(
    ("states", "seq", "window", "fit"),
    [
        (13, 64, 64, True),
        (13, 128, 64, False),  # 425,984 bytes as float32
        (25, 512, 256, False),
        (1, 1, 1, True),
        (25, 1, 3_000, True),  # 300,000 bytes as float32
        (26, 1, 3_000, False),
    ],
)
def test_layers_go_ahead_while_they_are_three_hundred_kilobytes(states: int, seq: int, window: int, fit: bool) -> None:
    values = np.broadcast_to(np.float32(0), (states, seq, window))
    assert fit_ahead(values) is fit
