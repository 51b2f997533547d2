"""Figures of the architecture page show the numbers of hand-made results.

Covers `bertviz_core/figures/architecture/cost.py`, `bertviz_core/figures/architecture/drawing.py`,
`bertviz_core/figures/architecture/drawing.py`.
"""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.architecture.results import (
    ActivationMemory,
    Block,
    Crossover,
    Design,
    FlowStep,
    LayerFlow,
    MultiplyAdds,
    Window,
)
from bertviz_core.figures.architecture.cost import binary_bytes, cost_curves, cost_figure, memory_figure, memory_map
from bertviz_core.figures.architecture.designs import design_figure
from bertviz_core.figures.architecture.layers import flow_rows, layer_drawing, layer_figure
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import THEMES, Theme
from tests.helpers.drawings import assert_inside_and_legible, plain
from tests.helpers.hand_made import ACTIVE, ACTIVE_ESCAPED, ledger

LIGHT, DARK = THEMES["light"], THEMES["dark"]
SEQ, HIDDEN, MIDDLE = 7, 38, 53


def step(kind: str, name: str, part: str, enters: int = HIDDEN, leaves: int = HIDDEN, numel: int = 0) -> FlowStep:
    return FlowStep(
        kind, name, "LayerNorm" if kind == "norm" else "Linear", part, (), numel, (SEQ, enters), (SEQ, leaves)
    )


QKV = tuple(step("projection", f"self.{part}", part, numel=100 + i) for i, part in enumerate(("query", "key", "value")))
OUT = step("attention_output", "out", "attention_output", numel=110)
NORMS = (step("norm", "first_norm", "layer_norm", numel=76), step("norm", "second_norm", "layer_norm", numel=77))
WIDE = step("feed_forward", "wide", "feed_forward", HIDDEN, MIDDLE, 120)
ACT = step("activation", "act", "feed_forward", MIDDLE, MIDDLE)
NARROW = step("feed_forward", "narrow", "feed_forward", MIDDLE, HIDDEN, 130)
POST = (*QKV, OUT, NORMS[0], WIDE, ACT, NARROW, NORMS[1])
PRE = (NORMS[0], *QKV, OUT, NORMS[1], WIDE, ACT, NARROW)


def blocks(steps: tuple[FlowStep, ...], order: str) -> tuple[Block, ...]:
    """Attention and feed-forward with their norms, in this order."""
    ahead = [each.name for each in steps if each.part not in ("feed_forward", "layer_norm", "other")]
    behind = [each.name for each in steps if each.part == "feed_forward"]
    norms = [(each.name,) for each in steps if each.kind == "norm"]
    first = ("mixing",) if any(each.kind == "mixing" for each in steps) else ("attention",)
    if order == "post-norm":
        made = ((first, ahead, (), norms[0]), (("feed-forward",), behind, (), norms[1]))
    else:
        made = ((first, ahead, norms[0] if len(norms) > 1 else (), ()), (("feed-forward",), behind, norms[-1], ()))
    return tuple(Block(kinds, before, (), after, (*before, *own)) for kinds, own, before, after in made)


def flow(**changes: Any) -> LayerFlow:
    made = LayerFlow(
        model="tiny", title="BERT", layer=1, paths=("layer.1",), class_name="Layer", order="post-norm",
        blocks=blocks(POST, "post-norm"), steps=POST, softmax=True, scaling=19**-0.5, gated=False, activation="gelu",
        num_attention_heads=2, head_dim=19, hidden=HIDDEN, window=None, positions=(), seq=SEQ, vectors=SEQ,
        applications=1, total=816,
    )  # fmt: skip
    if "steps" in changes and "blocks" not in changes:
        order = changes.get("order", "post-norm")
        changes["blocks"] = blocks(changes["steps"], str(order)) if order else ()
    return replace(made, **changes)


def words(found: LayerFlow) -> list[str]:
    return [" + ".join(box.label for box in row.boxes) for row in flow_rows(found)]


def notes(figure: go.Figure) -> list[str]:
    return [plain(note.text) for note in figure.layout.annotations if note.text]


def test_post_norm_adds_and_normalises_behind_each_block() -> None:
    assert words(flow()) == [
        "query + key + value", "softmax(query · key / √19)", "weighted sum of values", "output projection",
        "add & norm",
        "feed-forward in", "gelu", "feed-forward out", "add & norm",
    ]  # fmt: skip


def test_pre_norm_normalises_before_and_adds_behind() -> None:
    assert words(flow(order="pre-norm", steps=PRE)) == [
        "norm", "query + key + value", "softmax(query · key / √19)", "weighted sum of values", "output projection",
        "add",
        "norm", "feed-forward in", "gelu", "feed-forward out", "add",
    ]  # fmt: skip
    assert words(flow(order="pre-norm", steps=PRE[1:]))[0] == "query + key + value"


@pytest.mark.parametrize("found", [flow(), flow(order="pre-norm", steps=PRE)], ids=["post", "pre"])
def test_drawn_counts_are_those_of_the_steps(found: LayerFlow) -> None:
    assert sum(row.count or 0 for row in flow_rows(found)) == found.total
    drawn = [int(text.replace(",", "")) for text in notes(layer_drawing(found, LIGHT)) if re.fullmatch(r"[\d,]+", text)]
    assert sum(drawn) == 2 * found.total  # and the sum once


def test_every_block_has_one_residual_line_and_it_joins_behind_it() -> None:
    for found in (flow(), flow(order="pre-norm", steps=PRE)):
        rows = flow_rows(found)
        marks = ["begins" if row.begins else "joins" for row in rows if row.begins or row.joins]
        assert marks == ["begins", "joins"] * 2
        assert notes(layer_drawing(found, LIGHT)).count("residual") == 2


def test_an_unknown_order_is_drawn_without_residual_lines_in_the_order_of_the_run() -> None:
    found = flow(order="", steps=(NORMS[1], *POST))
    assert words(found) == [each.name for each in found.steps]
    assert "residual" not in notes(layer_drawing(found, LIGHT))


def test_sizes_stand_in_the_boxes_and_shapes_beside() -> None:
    texts = notes(layer_drawing(flow(), LIGHT))
    assert "feed-forward in 38 → 53" in texts
    assert "query 38 → 38" in texts
    assert "softmax(query · key / √19) 2 heads, 7 × 7" in texts
    assert "3 × (7, 38)" in texts
    assert "(2, 7, 7)" in texts
    assert "7 vectors of 38 numbers" in texts


def test_attention_of_its_own_kind_is_never_called_softmax() -> None:
    texts = " ".join(notes(layer_drawing(flow(softmax=False), LIGHT)))
    assert "softmax" not in texts
    assert "weighted sum" not in texts
    assert "the family's own kind" in texts
    assert "√" not in texts


@pytest.mark.parametrize(
    ("scaling", "formula"),
    [
        (64**-0.5, "softmax(query · key / √64)"),
        (1.0, "softmax(query · key)"),
        (18**-0.5, "softmax(query · key / √18)"),
        (0.3, "softmax(0.3 · query · key)"),
        (None, "softmax(query · key)"),
    ],
)
def test_the_softmax_is_drawn_with_the_models_own_factor(scaling: float | None, formula: str) -> None:
    assert words(flow(scaling=scaling))[1] == formula
    assert ("not divided by √d" in " ".join(notes(layer_drawing(flow(scaling=scaling), LIGHT)))) is (scaling == 1)


def test_mixing_without_attention_is_drawn_as_such() -> None:
    mixing = step("mixing", "fourier", "other")
    texts = " ".join(notes(layer_drawing(flow(softmax=False, steps=(mixing, *POST[4:])), LIGHT)))
    assert "Fourier" in texts
    assert "attention" not in texts


def test_gates_windows_and_shared_projections_are_named() -> None:
    fused = step("projection", "qkv", "query_key_value", HIDDEN, 3 * HIDDEN)
    wide = replace(WIDE, leaves=(SEQ, 2 * MIDDLE))
    found = flow(window=Window(4, 4), gated=True, steps=(fused, OUT, NORMS[0], wide, ACT, NARROW, NORMS[1]))
    texts = notes(layer_drawing(found, LIGHT))
    assert any("4 tokens to each side" in text for text in texts)
    assert "gelu(first half) × second half" in texts
    assert any(text.startswith("query, key, value") for text in texts)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_everything_drawn_lies_inside_and_text_has_contrast(theme: Theme) -> None:
    assert_inside_and_legible(layer_drawing(flow(), theme), theme)


def test_scores_have_as_many_rows_and_columns_as_there_are_queries_and_keys() -> None:
    query, key, value = QKV
    pooled = (replace(query, enters=(3, HIDDEN), leaves=(3, HIDDEN)), key, value, OUT, *POST[4:])
    texts = notes(layer_drawing(flow(steps=pooled, vectors=3), LIGHT))
    assert "softmax(query · key / √19) 2 heads, 3 × 7" in texts
    assert "(2, 3, 7)" in texts
    assert "3 vectors of 38 numbers" in texts
    untold = tuple(replace(each, kind="attention_other", part="attention_other") for each in QKV)
    texts = " ".join(notes(layer_drawing(flow(steps=(*untold, *POST[3:])), LIGHT)))
    assert "2 heads" not in texts


def test_channels_that_come_first_are_no_tokens() -> None:
    turned = tuple(replace(each, class_name="Conv1d", enters=(HIDDEN, SEQ), leaves=(HIDDEN, SEQ)) for each in QKV)
    texts = notes(layer_drawing(flow(steps=(*turned, *POST[3:])), LIGHT))
    assert "query 38 → 38" in texts
    assert "softmax(query · key / √19) 2 heads, 7 × 7" in texts


def test_names_are_shown_as_text() -> None:
    figure = layer_drawing(flow(model=ACTIVE, order="", steps=(replace(WIDE, name=ACTIVE),)), LIGHT)
    assert ACTIVE_ESCAPED in figure.layout.title.text
    assert not any(ACTIVE in (note.text or "") for note in figure.layout.annotations)


def costs(every: tuple[int, ...] = (1, 16, 81)) -> MultiplyAdds:
    lengths = np.array([1, 4, 9])
    return MultiplyAdds(lengths, lengths * 5, np.array([1, 16, 81]), np.array(every), lengths * 7, lengths * 2 + 1)


def counts(*found: tuple[int, int]) -> MultiplyAdds:
    """PyTorch's counts at some lengths, all in one part."""
    lengths, numbers = (np.array([each[side] for each in found], dtype=np.int64) for side in (0, 1))
    return MultiplyAdds(lengths, numbers, lengths * 0, lengths * 0, lengths * 0, lengths * 0)


def test_curves_are_the_parts_and_their_sum() -> None:
    figure = cost_curves(costs(), counts((4, 73)), Crossover(7), 6, "cost", LIGHT)
    lines = {trace.name: list(trace.y) for trace in figure.data}
    assert lines["sum"] == [16, 16 + 20 + 28 + 9, 81 + 45 + 63 + 19]
    assert lines["scores and mixing"] == [1, 16, 81]
    assert lines["counted by PyTorch"] == [73]
    assert lines["the rest"] == [3, 9, 19]
    assert len(lines) == 6
    assert any("equal at 7 tokens" in note.text for note in figure.layout.annotations)
    (shade,) = figure.layout.shapes
    assert (shade.x0, shade.x1) == (6, 9)


def test_a_small_rest_has_no_line_and_what_holds_at_every_length_no_mark() -> None:
    small = replace(costs(), other=np.array([0, 1, 1]))
    figure = cost_curves(small, counts((4, 64)), Crossover(1), None, "cost", LIGHT)
    assert "the rest" not in [trace.name for trace in figure.data]
    assert not figure.layout.annotations
    assert "at every length" in cost_figure(small, counts(), Crossover(1), None, "tiny", by_formula=True).caption


@pytest.mark.parametrize(
    ("most", "unit"), [(81, "pass"), (81_000, "(k: thousand)"), (2 * 10**6, "(M: million)"), (10**9, "(G: billion)")]
)
def test_the_axis_says_what_its_letter_means(most: int, unit: str) -> None:
    figure = cost_curves(counts((4, most)), counts(), Crossover(None), None, "cost", LIGHT)
    assert figure.layout.yaxis.title.text.endswith(unit)


def test_windows_add_a_line_and_a_missing_crossing_no_mark() -> None:
    figure = cost_curves(costs((1, 20, 99)), counts(), Crossover(None), None, "cost", DARK)
    lines = {trace.name: list(trace.y) for trace in figure.data}
    assert lines["scores and mixing of every pair"] == [1, 20, 99]
    whole = np.array(lines["sum, every pair"]) - np.array(lines["sum, pairs inside the windows only"])
    assert whole.tolist() == [0, 20 - 16, 99 - 81]
    assert not figure.layout.annotations
    assert not figure.layout.shapes


def test_memory_is_written_in_every_cell_and_coloured_by_its_logarithm() -> None:
    nbytes = np.array([[1024, 5 * 1024**2], [2048, -1]])
    figure = memory_map(ActivationMemory("tiny", "training", (1, 2), (8, 16), nbytes), "memory", LIGHT)
    (heat,) = figure.data
    np.testing.assert_allclose(heat.z, [[10, np.log2(5 * 1024**2)], [11, np.nan]], rtol=1e-6)
    cells = {(note.y, note.x): note.text for note in figure.layout.annotations}
    assert cells == {(0, 0): "1.00 KiB", (0, 1): "5.00 MiB", (1, 0): "2.00 KiB", (1, 1): "not run"}
    assert list(figure.layout.xaxis.ticktext) == ["8", "16"]


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "0.98 KiB"), (24 * 2**20, "24.0 MiB"), (2**40, "1.00 TiB")],
)
def test_bytes_are_three_digits_long(value: int, words: str) -> None:
    assert binary_bytes(value) == words


def figures() -> list[FigureSpec]:
    """Every figure of the page."""
    nbytes = np.array([[1024, 5 * 1024**2], [2048, -1]])
    memory = ActivationMemory("tiny", "training", (1, 2), (8, 16), nbytes)
    return [
        layer_figure(flow()),
        cost_figure(costs(), counts((4, 73)), Crossover(7), 6, "tiny", by_formula=True),
        memory_figure(memory),
        design_figure(Design("decoder", 0, 5, False, False, 0), replace(ledger("tiny"), total=4321)),
    ]


@pytest.mark.parametrize("place", range(4))
def test_every_figure_is_drawn_in_every_theme_and_says_what_it_is(place: int) -> None:
    spec = figures()[place]
    for theme in THEMES.values():
        figure = spec.drawn(theme)
        assert figure.layout.title.text == spec.title
        assert figure.layout.paper_bgcolor == theme.paper
    assert "tiny" in spec.title
    assert spec.alt.startswith(spec.title)
    assert spec.caption.endswith(".")


def test_captions_carry_the_numbers() -> None:
    layer, curves, memory, design = figures()
    assert "816 parameters" in layer.caption
    assert "at 7 tokens" in curves.caption
    assert "73 at 4 tokens" in curves.caption
    assert "208 at 9 tokens" in curves.alt
    assert "1.00 KiB to 5.00 MiB" in memory.alt
    assert "5 layers of the decoder, 4,321 parameters" in design.caption
