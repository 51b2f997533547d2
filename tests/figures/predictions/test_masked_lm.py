"""Figures of the masked-LM head show the numbers of the results, and words fit into their cells.

Covers `bertviz_core/figures/predictions/masked_lm.py`, `bertviz_core/figures/predictions/masked_lm.py`,
`bertviz_core/figures/predictions/masked_lm.py`, `bertviz_core/figures/predictions/masked_lm.py`.
"""

from dataclasses import replace

import numpy as np
import pytest

from bertviz_core.figures.base.axes import text_width
from bertviz_core.figures.base.style import LIGHT, THEMES, WIDTHS, Theme
from bertviz_core.figures.predictions.masked_lm import (
    MEASURES,
    lens_figure,
    masked_text_figure,
    score_figure,
    surprise_figure,
    terms_figure,
    word_rows,
    words_figure,
)
from bertviz_core.predictions.results import (
    ComparedWord,
    LogitLens,
    PseudoLikelihood,
    TermLedger,
    TermWeights,
    WordPrediction,
)
from bertviz_core.trace.results import Piece, PieceRun, TextPieces
from tests.helpers.made_traces import tokens_of

SEQ, TOP, STATES = 4, 3, 3
TOKENS = tokens_of(SEQ)


def prediction(typed: int | None = None) -> WordPrediction:
    """A prediction: at position 1 the original is not among the best; at position 2 it is the second."""
    at_mask = np.arange(SEQ) == 1
    known = np.arange(SEQ) != (-1 if typed is None else typed)
    ids = np.arange(100, 100 + SEQ * TOP).reshape(SEQ, TOP)
    ids[2, 1] = TOKENS.input_ids[2]
    logs = np.log(np.tile([0.5, 0.25, 0.125], (SEQ, 1))).astype(np.float32)
    own = np.where(known, np.log(0.01), np.nan).astype(np.float32)
    rank = np.where(known, 7, 0)
    return WordPrediction("m", TOKENS, at_mask, ~known, own, rank, ids, logs, logs)


def pieces() -> TextPieces:
    """The tokens, one per word."""
    runs = tuple(
        PieceRun((Piece(place, token, "", token, place, False, False),), place % 2, 0)
        for place, token in enumerate(TOKENS.tokens)
    )
    return TextPieces(runs, False, False)


def test_the_original_and_ones_own_word_stand_beside_the_best() -> None:
    own = ComparedWord("xy", ("x", "##y"), float(np.log(0.003)), None, "")
    rows = word_rows(prediction(), ("a", "b", "c"), 1, own)
    assert [(word, kind, rank) for word, kind, _, rank in rows] == [
        ("a", "", 1),
        ("b", "", 2),
        ("c", "", 3),
        (TOKENS.tokens[1], "original", 7),
        ("x ##y", "your word", None),
    ]
    np.testing.assert_allclose([value for *_, value, _ in rows], [0.5, 0.25, 0.125, 0.01, 0.003], rtol=1e-5)
    kinds = [kind for _, kind, _, _ in word_rows(prediction(), ("a", "b", "c"), 2, None)]
    assert kinds == ["", "original", ""]
    assert not any(kind for _, kind, _, _ in word_rows(prediction(typed=1), ("a", "b", "c"), 1, None))
    bars = words_figure(prediction(), ("a", "b", "c"), 1, own).drawn(LIGHT).data[0]
    np.testing.assert_allclose(bars.x, [value for *_, value, _ in rows], rtol=1e-5)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_a_masked_token_is_filled_and_said_in_the_alt_text(theme: Theme) -> None:
    spec = masked_text_figure(prediction(typed=3), pieces(), 2)
    figure = spec.drawn(theme)
    (filled,) = [trace for trace in figure.data if trace.fillcolor == theme.colours["task head"]]
    (middles,) = [trace.x for trace in figure.data if trace.customdata is not None]
    assert min(filled.x[:4]) < middles[1] < max(filled.x[:4])
    notes = [trace for trace in figure.data if trace.mode == "text"][1]
    assert list(notes.text) == ["0.010", "0.010", "0.010", "?"]
    assert f"{TOKENS.tokens[1]} masked" in spec.alt


@pytest.mark.parametrize("pixels", WIDTHS)
def test_surprise_has_its_shade_and_its_number(pixels: int) -> None:
    values = np.array([np.nan, 0.0, 4.0, 2.0], np.float32)
    spec = surprise_figure(PseudoLikelihood("m", TOKENS, values), pieces())
    theme = replace(LIGHT, pixels=pixels)
    figure = spec.drawn(theme)
    assert list([trace for trace in figure.data if trace.mode == "text"][1].text) == ["", "0.00", "4.00", "2.00"]
    fills = [trace.fillcolor for trace in figure.data if trace.fill == "toself"]
    assert LIGHT.paper in fills
    assert "#08306B" in fills  # the end of the scale is the largest surprise
    assert "mean 2.000 nats, PPPL 7.4" in spec.caption
    assert any(trace.marker.showscale for trace in figure.data if trace.type == "scatter") is not theme.narrow


def test_the_scale_of_a_long_text_stands_at_its_beginning() -> None:
    seq = 400
    values = np.arange(seq, dtype=np.float32)
    runs = tuple(PieceRun((Piece(place, "word", "", "word", place, False, False),), 0, 0) for place in range(seq))
    spec = surprise_figure(PseudoLikelihood("m", tokens_of(seq), values), TextPieces(runs, False, False))
    figure = spec.drawn(LIGHT)
    (bar,) = [trace.marker.colorbar for trace in figure.data if trace.type == "scatter" and trace.marker.showscale]
    assert figure.layout.height > 1_000
    assert (bar.lenmode, bar.y, bar.yanchor) == ("pixels", 1, "top")
    assert bar.len < 400


def lens(seq: int = SEQ) -> LogitLens:
    """A lens with ranks by position; no original at position 0."""
    shape = (STATES, seq)
    numbers = np.arange(STATES * seq, dtype=np.float32).reshape(shape)
    ids = np.zeros((*shape, TOP), np.int64)
    logs = np.log(np.tile([0.5, 0.25, 0.125], (*shape, 1))).astype(np.float32)
    rank = (numbers + 1).astype(np.int64)
    rank[:, 0] = 0
    masked = np.zeros(seq, bool)
    return LogitLens("m", tokens_of(seq), masked, ids, logs, -numbers, rank, numbers, numbers / 2, "")


@pytest.mark.parametrize("measure", MEASURES)
def test_the_lens_is_coloured_by_its_measure(measure: str) -> None:
    result = lens()
    words = [[("ab", "c", "d")] * SEQ] * STATES
    figure = lens_figure(result, words, measure).drawn(LIGHT)
    with np.errstate(divide="ignore"):
        ranks = np.where(result.rank > 0, np.log10(result.rank), np.nan)
    expected = {
        "probability": np.full((STATES, SEQ), 0.5),
        "rank of the original": ranks,
        "entropy": result.entropy,
        "KL to the last layer": result.divergence,
    }[measure]
    np.testing.assert_allclose(figure.data[0].z, expected, rtol=1e-6)
    assert list(figure.layout.yaxis.ticktext) == ["embeddings", "after layer 0", "after layer 1"]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the embeddings are at the top
    assert list(figure.data[1].text) == ["ab"] * SEQ * STATES
    assert "ab 0.500, c 0.250" in figure.data[0].customdata[0][0]


@pytest.mark.parametrize(
    ("seq", "pixels", "turned"), [(4, 355, False), (19, 355, True), (19, 520, True), (19, 980, False), (90, 520, False)]
)
def test_in_a_narrow_place_the_lens_is_turned_where_only_that_gives_words_room(
    seq: int, pixels: int, turned: bool
) -> None:
    result = lens(seq)
    words = [[(f"{entry}.{place}", "c", "d") for place in range(seq)] for entry in range(STATES)]
    figure = lens_figure(result, words, "entropy").drawn(replace(LIGHT, pixels=pixels))
    cells, *traces = figure.data
    assert cells.meta == {"turned": turned}
    np.testing.assert_array_equal(cells.z.T if turned else cells.z, result.entropy)
    hover_data = np.array(cells.customdata, dtype=object)
    assert ("0.1 0.500" in hover_data[1, 0]) if turned else ("0.1 0.500" in hover_data[0, 1])
    layers, tokens = (
        (figure.layout.xaxis, figure.layout.yaxis) if turned else (figure.layout.yaxis, figure.layout.xaxis)
    )
    assert layers.ticktext[0] == "embeddings"
    assert tokens.ticktext[0] == "t0"
    assert bool(traces) is (turned or seq in (4, 19) and pixels != 520)
    for trace in traces:
        for x, y, text in zip(trace.x, trace.y, trace.text, strict=True):
            assert text == (f"{x}.{y}" if turned else f"{y}.{x}")


@pytest.mark.parametrize(("seq", "pixels", "written"), [(9, 980, True), (60, 355, False), (400, 980, False)])
def test_no_word_is_wider_than_its_cell(seq: int, pixels: int, written: bool) -> None:
    words = [[("unbelievable",) * TOP] * seq] * STATES
    figure = lens_figure(lens(seq), words, "probability").drawn(replace(LIGHT, pixels=pixels))
    traces = [trace for trace in figure.data if trace.type == "scatter"]
    assert bool(traces) is written
    for trace in traces:
        assert max(text_width(word, trace.textfont.size) for word in trace.text) < pixels / seq


def test_bars_of_terms_and_scores_are_the_results() -> None:
    first = TermWeights("m", TOKENS, np.array([9, 8]), np.array([2.0, 1.0], np.float32), np.array([1, 2]))
    second = TermWeights("m", TOKENS, np.array([8]), np.array([3.0], np.float32), np.array([3]))
    figure = terms_figure(first, ("nine", "eight")).drawn(LIGHT)
    assert list(figure.data[0].x) == [2, 1]
    assert figure.layout.yaxis.ticktext[0] == f"nine <i>from {TOKENS.tokens[1]}</i>"
    ledger = TermLedger(3.0, np.array([8]), np.array([2]), np.array([3]), np.array([3.0], np.float32))
    figure = score_figure(ledger, ("eight",), first, second).drawn(LIGHT)
    assert list(figure.data[0].x) == [3]
    assert figure.layout.yaxis.ticktext[0] == f"eight <i>{TOKENS.tokens[2]} × {TOKENS.tokens[3]}</i>"
