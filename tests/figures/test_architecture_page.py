"""The architecture page's figures: what is drawn is what the numbers say, on hand-made results."""

import re
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.results import Capability
from bertviz_core.results.module_tree import FlowStep, LayerFlow
from bertviz_core.results.operations import ActivationMemory, Crossover, MultiplyAdds
from figures.data_flow import layer_drawing
from figures.encoder_decoder import encoder_and_decoder
from figures.layer_rows import flow_rows
from figures.operations import binary_bytes, cost_curves, memory_map
from figures.style import THEMES, text_on
from tests.figures.hand_made import ACTIVE, ACTIVE_ESCAPED, architecture, layer, ledger

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


def flow(**changes: object) -> LayerFlow:
    made = LayerFlow(
        model="tiny", title="BERT", layer=1, path="layer.1", class_name="Layer", order="post-norm", first_norm=False,
        steps=POST, softmax=True, gated=False, activation="gelu", num_attention_heads=2, head_dim=19, hidden=HIDDEN,
        window=None, positions="absolute", seq=SEQ, applications=1, total=816,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]  # fields by name


def words(found: LayerFlow) -> list[str]:
    return [" + ".join(box[0] for box in row.boxes) for row in flow_rows(found)]


def notes(figure: go.Figure) -> list[str]:
    return [re.sub(r"</?b>", "", note.text) for note in figure.layout.annotations if note.text]


def test_post_norm_adds_and_normalises_behind_each_block() -> None:
    assert words(flow()) == [
        "query + key + value", "softmax(query · key)", "weighted sum of values", "output projection", "add & norm",
        "feed-forward in", "gelu", "feed-forward out", "add & norm",
    ]  # fmt: skip


def test_pre_norm_normalises_before_and_adds_behind() -> None:
    assert words(flow(order="pre-norm", first_norm=True, steps=PRE)) == [
        "norm", "query + key + value", "softmax(query · key)", "weighted sum of values", "output projection", "add",
        "norm", "feed-forward in", "gelu", "feed-forward out", "add",
    ]  # fmt: skip
    assert words(flow(order="pre-norm", first_norm=False, steps=PRE[1:]))[0] == "query + key + value"


@pytest.mark.parametrize("found", [flow(), flow(order="pre-norm", first_norm=True, steps=PRE)], ids=["post", "pre"])
def test_drawn_counts_are_those_of_the_steps(found: LayerFlow) -> None:
    assert sum(row.count for row in flow_rows(found)) == found.total
    drawn = [int(text.replace(",", "")) for text in notes(layer_drawing(found, LIGHT)) if re.fullmatch(r"[\d,]+", text)]
    assert sum(drawn) == found.total


def test_every_block_has_one_residual_line_and_it_joins_behind_it() -> None:
    for found in (flow(), flow(order="pre-norm", first_norm=True, steps=PRE)):
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
    assert "feed-forward in   38 → 53" in texts
    assert "query<br>38 → 38" in texts
    assert "softmax(query · key)<br>2 heads, each 7 × 7" in texts
    assert "3 × (7, 38)" in texts
    assert "(2, 7, 7)" in texts
    assert "7 vectors of 38 numbers" in texts


def test_attention_of_its_own_kind_is_never_called_softmax() -> None:
    texts = " ".join(notes(layer_drawing(flow(softmax=False), LIGHT)))
    assert "softmax" not in texts
    assert "weighted sum" not in texts
    assert "the family's own kind" in texts


def test_mixing_without_attention_is_drawn_as_such() -> None:
    mixing = step("mixing", "fourier", "other")
    texts = " ".join(notes(layer_drawing(flow(softmax=False, steps=(mixing, *POST[4:])), LIGHT)))
    assert "Fourier" in texts
    assert "attention" not in texts


def test_gates_windows_and_shared_projections_are_named() -> None:
    fused = step("projection", "qkv", "query_key_value", HIDDEN, 3 * HIDDEN)
    wide = replace(WIDE, leaves=(SEQ, 2 * MIDDLE))
    found = flow(window=4, gated=True, steps=(fused, OUT, NORMS[0], wide, ACT, NARROW, NORMS[1]))
    texts = notes(layer_drawing(found, LIGHT))
    assert any("4 tokens to each side" in text for text in texts)
    assert "gelu(first half) × second half" in texts
    assert any(text.startswith("query, key, value") for text in texts)


@pytest.mark.parametrize("look", [LIGHT, DARK], ids=["light", "dark"])
def test_everything_drawn_lies_inside_and_text_has_contrast(look: object) -> None:
    for figure in (layer_drawing(flow(), look), drawing(look=look)):
        low, high = figure.layout.yaxis.range
        left, right = figure.layout.xaxis.range
        for note in figure.layout.annotations:
            assert low <= note.y <= high
            assert left <= note.x <= right
        fills = {shape.fillcolor for shape in figure.layout.shapes if shape.fillcolor}
        inks = {note.font.color for note in figure.layout.annotations if note.text}
        assert {text_on(fill) for fill in fills if fill not in (look.grid,)} <= inks


def test_names_are_shown_as_text() -> None:
    figure = layer_drawing(flow(model=ACTIVE, order="", steps=(replace(WIDE, name=ACTIVE),)), LIGHT)
    assert ACTIVE_ESCAPED in figure.layout.title.text
    assert not any(ACTIVE in (note.text or "") for note in figure.layout.annotations)
    assert not any(ACTIVE in (note.text or "") for note in drawing(ACTIVE).layout.annotations)


def drawing(name: str = "tiny", encoder_only: bool = True, local: int = 0, look: object = LIGHT) -> go.Figure:
    rows = [layer("encoder", i, 1, 9, 9, 9, 0, 9, 0, 9, 9, 0) for i in range(5)]
    if not encoder_only:
        rows += [layer("decoder", i, 1, 9, 9, 9, 0, 9, 0, 9, 9, 0) for i in range(3)]
    model = replace(architecture(name), encoder_only=encoder_only)
    return encoder_and_decoder(model, ledger(name, tuple(rows)), local, look)


def test_an_encoder_alone_carries_its_count_and_the_other_design_none() -> None:
    texts = notes(drawing())
    assert texts.count("5 ×") == 1
    assert texts.count("N ×") == 2
    assert "tiny:<br>an encoder alone" in texts


def test_an_encoder_with_a_decoder_carries_both_counts() -> None:
    texts = notes(drawing(encoder_only=False))
    assert (texts.count("5 ×"), texts.count("3 ×"), texts.count("N ×")) == (1, 1, 1)
    assert "tiny:<br>encoder and decoder" in texts
    assert "cross-attention" in texts


def test_the_masks_show_who_sees_whom() -> None:
    squares = [shape for shape in drawing().layout.shapes if "Q" not in shape.path and shape.fillcolor]
    cells = dict.fromkeys((LIGHT.colours["attention"], LIGHT.grid), 0)
    for shape in squares:
        cells[shape.fillcolor] += shape.path.count("M")
    assert cells == {LIGHT.colours["attention"]: 36 + 36 + 16 + 24 - 6, LIGHT.grid: 4 * 3 / 2}
    assert any("in 2 of 5 layers" in text for text in notes(drawing(local=2)))


def test_a_model_without_attention_is_not_drawn_with_it() -> None:
    mixes = replace(architecture(), capabilities=(Capability("Attention maps", "none", ""),))
    texts = notes(encoder_and_decoder(mixes, ledger("fnet", ()), 0, LIGHT))
    assert "token mixing" in texts
    assert texts.count("self-attention") == 1


def costs(every: tuple[int, ...] = (1, 16, 81)) -> MultiplyAdds:
    lengths = np.array([1, 4, 9])
    return MultiplyAdds(lengths, lengths * 5, np.array([1, 16, 81]), np.array(every), lengths * 7, lengths * 2 + 1)


def test_curves_are_the_parts_and_their_sum() -> None:
    figure = cost_curves(costs(), {4: 73}, Crossover(7, "feed_forward"), 6, "cost", LIGHT)
    lines = {trace.name: list(trace.y) for trace in figure.data}
    assert lines["sum of the formula"] == [16, 16 + 20 + 28 + 9, 81 + 45 + 63 + 19]
    assert lines["scores and mixing: grow with its square"] == [1, 16, 81]
    assert lines["counted by PyTorch"] == [73]
    assert len(lines) == 5
    assert any("equal at 7 tokens" in note.text for note in figure.layout.annotations)
    (shade,) = figure.layout.shapes
    assert (shade.x0, shade.x1) == (6, 9)


def test_windows_add_a_line_and_a_missing_crossing_no_mark() -> None:
    figure = cost_curves(costs((1, 20, 99)), {}, Crossover(None, "feed_forward"), None, "cost", DARK)
    lines = {trace.name: list(trace.y) for trace in figure.data}
    assert lines["the same if every layer saw every token"] == [1, 20, 99]
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
