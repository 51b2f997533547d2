"""The figure of smaller vectors draws the recall of each format over its bytes, and says what is lost and why."""

import numpy as np
import pytest

from bertviz_core.figures.base.style import DARK, LIGHT, WIDTHS, Theme, theme_named
from bertviz_core.figures.sentences.bits import asking_words, bits_figure, bits_frame, kept_words, widest_words
from bertviz_core.sentences.analysis.results import BitsComparison, SmallerVectors, VectorFormat, WidestDimension

ROWS: tuple[tuple[VectorFormat, bool, int, int, float], ...] = (
    ("float32", False, 16, 64, 1.0), ("float32", False, 8, 32, 0.75),
    ("int8", False, 16, 16, 0.5), ("int8", False, 8, 8, 0.25),
    ("int8", True, 16, 16, 0.875), ("int8", True, 8, 8, 0.625),
    ("binary", False, 16, 2, 0.25), ("binary", False, 8, 1, 0.125),
    ("binary", True, 16, 2, 0.375), ("binary", True, 8, 1, 0.0),
)  # fmt: skip
FOUND = BitsComparison(
    "mine", ("a", "b", "c"), (), 16, 2, 3, 3, tuple(SmallerVectors(*row, spearman=0.5, changed=1) for row in ROWS),
    WidestDimension(3, 0.5, 0.25, 0.125), 4,
)  # fmt: skip


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_line_is_a_format_and_a_mark_a_number_of_dimensions(theme: Theme) -> None:
    lines = bits_figure(FOUND).drawn(theme).data
    assert [line.name for line in lines] == ["float32", "int8", "int8, rescored", "binary", "binary, rescored"]
    assert [list(line.y) for line in lines] == [[1, 0.75], [0.5, 0.25], [0.875, 0.625], [0.25, 0.125], [0.375, 0]]
    assert [list(line.x) for line in lines[:2]] == [np.log2([64, 32]).tolist(), np.log2([16, 8]).tolist()]
    assert {line.line.dash for line in lines if "rescored" in line.name} == {"dot"}
    assert lines[4].customdata[1].startswith("binary, rescored: 8 dimensions, 1 byte<br>")


@pytest.mark.parametrize("pixels", WIDTHS)
def test_labels_are_the_bytes(pixels: int) -> None:
    axis = bits_figure(FOUND).drawn(theme_named("light", pixels)).layout.xaxis
    every = {float(np.log2(size)): str(size) for size in (1, 2, 8, 16, 32, 64)}
    assert dict(zip(axis.tickvals, axis.ticktext, strict=True)).items() <= every.items()


def test_the_table_and_the_words() -> None:
    frame = bits_frame(FOUND)
    assert frame["recall"].tolist() == [row[4] for row in ROWS]
    assert frame["MiB per million"].tolist() == pytest.approx([row[3] * 1e6 / 1024**2 for row in ROWS])
    assert "int8 finds 50.0% (rescored 87.5%) with 16 bytes" in kept_words(FOUND)
    assert "signs alone find 25.0% (rescored 37.5%) with 2 bytes" in kept_words(FOUND)
    assert "Dimension 3 has the largest range (0.500, 2.0 times the median) and 12.5%" in widest_words(FOUND)
    assert "4 of 16 signs are the same" in widest_words(FOUND)
    assert asking_words(FOUND) == "Each sentence is a query for all others."
