"""The figures of a long text draw its shares, what is cut off, and both cosines of every chunk.

Covers `bertviz_core/figures/sentences/chunks.py`.
"""

from dataclasses import replace

import numpy as np
import pytest

from bertviz_core.figures.base.style import DARK, LIGHT, WIDTHS, Theme, theme_named
from bertviz_core.figures.sentences.chunks import (
    BLOCKS,
    ROWS,
    late_chunks_figure,
    late_words,
    position_shares_figure,
    shares_words,
)
from bertviz_core.sentences.analysis.chunks import late_chunks
from bertviz_core.sentences.analysis.results import ChunkVectors, PositionShares

EVIL = "<b>x</b>"


def shares_of(count: int, cut: int = 0, side: str = "end") -> PositionShares:
    shares = np.arange(1, count + 1, dtype=np.float64)
    special = np.arange(count) == 0
    uniform = np.full(count, 1 / count)
    tokens = (EVIL, *(f"t{each}" for each in range(1, count)))
    return PositionShares("mine", tokens, special, shares / shares.sum(), uniform, "mean", 3, True, "A sum.", cut, side)


def chunks_of(count: int) -> ChunkVectors:
    random = np.random.default_rng(0)
    starts = np.arange(count) * 5
    texts = tuple(f"{EVIL} chunk {each}" for each in range(count))
    vectors = random.normal(size=(2, count, 4)).astype(np.float32)
    pooled = np.full(count, 5)
    return ChunkVectors("mine", "text", 5, 0, texts, starts, starts + 5, pooled, *vectors, pooling="mean", windows=1)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("count", [2, 12, 64, 65, 1000])
def test_the_bars_add_up_to_the_whole_vector(theme: Theme, count: int) -> None:
    spec = position_shares_figure(shares_of(count))
    figure = spec.drawn(theme)
    bars = [trace for trace in figure.data if trace.type == "bar"]
    assert sum(float(np.sum(trace.y)) for trace in bars) == pytest.approx(1)
    assert sum(len(trace.y) for trace in bars) <= BLOCKS
    (line,) = [trace for trace in figure.data if trace.type == "scatter"]
    assert float(np.sum(line.y)) == pytest.approx(1)
    assert spec.frame()["share"].sum() == pytest.approx(1)
    assert "<b>x</b>" not in str(figure.to_json()).replace("\\u003c", "<").replace("\\u003e", ">")


@pytest.mark.parametrize("pixels", WIDTHS)
@pytest.mark.parametrize("side", ["end", "beginning"])
def test_what_is_cut_off_is_shaded_and_counted(pixels: int, side: str) -> None:
    shares = shares_of(100, 5_000, side)
    figure = position_shares_figure(shares).drawn(theme_named("light", pixels))
    (shade,) = figure.layout.shapes
    assert shade.x1 - shade.x0 == 100  # as wide as the rest, at most
    assert (shade.x0 > 50) == (side == "end")
    assert "5,000 cut off" in figure.layout.annotations[0].text
    assert f"5,000 tokens at the {side} of the text have no share: the model reads 99 of 5,099" in shares_words(shares)
    assert position_shares_figure(shares).frame()["position"].iloc[0] == (5_000 if side == "beginning" else 0)


def test_the_quarters_are_sums() -> None:
    assert shares_words(shares_of(4)) == (
        "The four quarters of what the model reads make up 10.0%, 20.0%, 30.0% and 40.0% of the vector."
    )


@pytest.mark.parametrize("pixels", [320, 680, 980])
@pytest.mark.parametrize("count", [1, 2, ROWS, 60])
def test_every_drawn_chunk_has_both_cosines(pixels: int, count: int) -> None:
    late = late_chunks(chunks_of(count), shares_of(9), EVIL, np.ones(4, dtype=np.float32))
    spec = late_chunks_figure(late)
    figure = spec.drawn(theme_named("dark", pixels))
    alone, made_late = (trace for trace in figure.data if trace.mode == "markers")
    drawn = min(count, ROWS)
    assert len(alone.x) == len(made_late.x) == drawn
    assert late.alone_scores.max() in np.asarray(alone.x)
    assert late.late_scores.max() in np.asarray(made_late.x)
    assert len(spec.frame()) == count
    assert "<b>x</b>" not in str(figure.to_json()).replace("\\u003c", "<").replace("\\u003e", ">")
    assert ("single chunk" in late_words(late)) == (count == 1)


def test_the_chunk_that_moved_most_is_named() -> None:
    chunks = chunks_of(3)
    same = replace(chunks, late=np.vstack([chunks.alone[0], -chunks.alone[1], chunks.alone[2]]))
    late = late_chunks(same, shares_of(9), "q", chunks.alone[0])
    assert late_words(late).startswith("Chunk 2 moved most: the cosine of its two vectors is −1.0000.")
    assert "Chunk 1 is nearest to the query in both ways." in late_words(late)
