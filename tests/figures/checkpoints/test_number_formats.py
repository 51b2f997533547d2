"""The figure of number formats draws the relative error of every part in every format."""

import math

import numpy as np
import pytest

from bertviz_core.checkpoints.results import NumberFormats, RoundedFormat, RoundedPart, together
from bertviz_core.figures.base.style import DARK, LIGHT
from bertviz_core.figures.checkpoints.weights import COMPONENT, LAYER, drawn_parts, mebibytes, number_formats_figure
from bertviz_core.questions.tables.checkpoints import formats_sentence


def part(component: str, layer: int | None, block: str, error: float, norm: float) -> RoundedPart:
    """A part of 10 numbers."""
    return RoundedPart(component, layer, block, 2, 1, 10, error, norm, error, 40, 12)


PARTS = (
    part("embeddings", None, "", 3.0, 10.0),
    part("encoder", 0, "attention", 3.0, 6.0),
    part("encoder", 0, "feed-forward", 4.0, 8.0),
    part("encoder", 1, "attention", 0.0, 5.0),
    part("pooler", None, "", math.nan, 1.0),
)
MADE = NumberFormats("mine", (RoundedFormat("int8", 8, PARTS), RoundedFormat("nf4", 4, PARTS)))


@pytest.mark.parametrize(
    ("by", "expected"), [(LAYER, [0.3, 5 / 10, 0.0, math.nan]), (COMPONENT, [0.3, 3 / math.hypot(6, 5), 0.5, math.nan])]
)
def test_a_cell_is_the_error_of_a_part(by: str, expected: list[float]) -> None:
    found = [each.relative_error for each in drawn_parts(MADE.formats[0], by)]
    np.testing.assert_allclose(found, expected)
    spec = number_formats_figure(MADE, by)
    for theme in (LIGHT, DARK):
        drawn = spec.drawn(theme)
        (cells,) = (trace for trace in drawn.data if trace.type == "heatmap")
        written = [[float(cell[1]) for cell in row] for row in cells.customdata]
        np.testing.assert_allclose(written, [expected, expected], rtol=1e-5)
        assert list(drawn.layout.xaxis.ticktext)[:1] == ["emb." if by == LAYER else "embeddings"]
        assert list(drawn.layout.yaxis.ticktext)[0].startswith("int8")
    assert "mine" in spec.title
    assert "nf4" in spec.alt


def test_parts_add_up_and_sizes_have_units() -> None:
    whole = together(PARTS[:4])
    assert (whole.tensors, whole.rounded, whole.numel, whole.nbytes, whole.saved_nbytes) == (8, 4, 40, 160, 112)
    assert whole.difference_norm == pytest.approx(math.sqrt(9 + 9 + 16))
    assert whole.largest_error == 4.0
    assert math.isnan(together(PARTS).largest_error)
    assert together([]).relative_error == 0.0
    assert part("pooler", None, "", 1.0, 0.0).relative_error == math.inf
    assert [mebibytes(size) for size in (1024, 3 * 2**20, -(2**20))] == ["1.0 KiB", "3.0 MiB", "-1.0 MiB"]


def test_formats_of_the_same_size_are_named_with_the_smallest_error_first() -> None:
    coarse = (part("encoder", 0, "attention", 3.0, 6.0),)
    fine = (part("encoder", 0, "attention", 1.5, 6.0),)
    made = NumberFormats("mine", (RoundedFormat("int4", 4, coarse), RoundedFormat("nf4", 4, fine)))
    words = formats_sentence(made)
    assert words.startswith("**nf4** and **int4** need the fewest bytes: ")
    assert words.endswith("; of these, nf4 has the smallest relative error, 0.25 (int4 0.5).")
