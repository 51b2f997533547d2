"""The drawn stack has real sizes, and counts that add up to the model."""

import html
import re
from collections.abc import Iterable
from dataclasses import replace

import msgspec
import plotly.graph_objects as go
import pytest

from bertviz_core.architecture.results import StreamTable
from bertviz_core.figures.architecture.layers import model_stack, stack_picture
from bertviz_core.figures.base.axes import label_width
from bertviz_core.figures.base.style import THEMES, Theme, text_on
from bertviz_core.parameters.results import Ledger, Parameter
from tests.helpers.hand_made import ACTIVE, ACTIVE_ESCAPED, architecture, facts, layer, ledger, parameter

LIGHT, DARK = THEMES["light"], THEMES["dark"]
HIDDEN, MIDDLE = 38, 53
ATTENTION = 4 * (HIDDEN * HIDDEN + HIDDEN)
FEED_FORWARD = 2 * HIDDEN * MIDDLE + MIDDLE + HIDDEN
NORMS = 2 * 2 * HIDDEN
LAYER = ATTENTION + FEED_FORWARD + NORMS
TABLES = (97 + 29 + 5) * HIDDEN
POOLER = HIDDEN * HIDDEN + HIDDEN
EMBEDDINGS = (
    parameter("embeddings.word_embeddings.weight", (97, HIDDEN), "embeddings"),
    parameter("embeddings.position_embeddings.weight", (29, HIDDEN), "embeddings"),
    parameter("embeddings.token_type_embeddings.weight", (5, HIDDEN), "embeddings"),
    parameter("embeddings.LayerNorm.weight", (HIDDEN,), "embeddings"),
    parameter("embeddings.LayerNorm.bias", (HIDDEN,), "embeddings"),
)


def inside(layer_index: int, name: str, part: str, shape: tuple[int, ...]) -> Parameter:
    """A parameter of a layer."""
    made = parameter(f"encoder.layer.{layer_index}.{name}.weight", shape, "encoder")
    return msgspec.structs.replace(made, layer=layer_index, part=part)


INSIDE = tuple(
    inside(index, name, part, shape)
    for index in range(3)
    for name, part, shape in (
        ("attention", "query", (ATTENTION,)),
        ("first_norm", "layer_norm", (NORMS // 2,)),
        ("ffn", "feed_forward", (FEED_FORWARD,)),
        ("second_norm", "layer_norm", (NORMS // 2,)),
    )
)


def tiny(model: str = "tiny", runs: tuple[int, ...] = (1, 1, 1)) -> Ledger:
    """A BERT with 38 numbers per token, with one layer per entry of `runs`."""
    square = HIDDEN * HIDDEN + HIDDEN
    layers = tuple(
        layer("encoder", index, times, square, square, square, 0, square, 0, FEED_FORWARD, NORMS, 0)
        for index, times in enumerate(runs)
    )
    return ledger(model, layers, (*EMBEDDINGS, *INSIDE), embeddings=TABLES + 2 * HIDDEN, pooler=POOLER)


def notes(figure: go.Figure) -> list[str]:
    """All drawn texts from top to bottom, without markup."""
    found = sorted((note for note in figure.layout.annotations if note.text), key=lambda note: note.y)
    return [html.unescape(" ".join(re.sub(r"</?b>", "", note.text.replace("<br>", " ")).split())) for note in found]


def counts(texts: Iterable[str]) -> list[int]:
    """The texts that consist of a count only."""
    return [int(text.replace(",", "")) for text in texts if re.fullmatch(r"[\d,]+", text)]


def test_drawn_counts_add_up_to_the_model() -> None:
    row = tiny()
    *found, total = counts(notes(model_stack(architecture(), row, LIGHT)))
    assert found == [TABLES, 2 * HIDDEN, ATTENTION, NORMS // 2, FEED_FORWARD, NORMS // 2, POOLER]
    assert total == row.total
    assert sum(found[:2]) + 3 * sum(found[2:6]) + found[6] == row.total
    texts = notes(model_stack(architecture(), row, LIGHT))
    assert f"3 × {LAYER:,}" in texts


def test_boxes_show_the_real_sizes() -> None:
    texts = notes(model_stack(architecture(), tiny(), LIGHT))
    assert "word 97 × 38" in texts
    assert "position 29 × 38" in texts
    assert "token type 5 × 38" in texts
    assert "self-attention 2 heads × 19" in texts
    assert "feed-forward 38 → 53 → 38" in texts
    assert any(re.search(r"pooler.*38 → 38", text) for text in texts)
    assert any(re.search(r"layer norm.*38", text) for text in texts)


def test_the_text_enters_at_the_top_and_the_pooler_stands_last() -> None:
    figure = model_stack(architecture(), tiny(), LIGHT)
    texts = notes(figure)
    order = [
        next(i for i, text in enumerate(texts) if word in text)
        for word in ("token ids", "word", "self-attention", "feed-forward", "pooler")
    ]
    assert order == sorted(order)
    for note in figure.layout.annotations:
        assert figure.layout.yaxis.range[1] <= note.y <= figure.layout.yaxis.range[0]
        assert figure.layout.xaxis.range[0] <= note.x <= figure.layout.xaxis.range[1]


@pytest.mark.parametrize(
    ("norm_first", "steps"),
    [
        (False, ["self-attention", "add & norm", "feed-forward", "add & norm"]),
        (True, ["norm", "self-attention", "add", "norm", "feed-forward", "add"]),
    ],
)
def test_norms_stand_where_the_family_has_them(norm_first: bool, steps: list[str]) -> None:
    texts = notes(model_stack(architecture(norm_first=norm_first), tiny(), LIGHT))
    begin = re.compile(r"(self-attention|feed-forward|add & norm|norm|add)(?= \d|$)")
    assert [found[1] for text in texts if (found := begin.match(text))] == steps
    assert texts.count("residual") <= 2


def test_the_layers_say_how_many_they_are() -> None:
    assert "3 layers, each:" in notes(model_stack(architecture(), tiny(), LIGHT))


def test_a_shared_layer_says_how_often_it_runs_and_that_it_is_one() -> None:
    texts = notes(model_stack(architecture(), tiny(runs=(7,)), LIGHT))
    assert "1 layer, run 7 times" in texts


def test_without_attention_the_mixing_step_says_so() -> None:
    row = layer("encoder", 0, 1, 0, 0, 0, 0, 0, 0, FEED_FORWARD, NORMS, 0)
    bare = architecture(model_facts=facts(mixes=True))
    texts = notes(model_stack(bare, ledger("fnet", (row,), EMBEDDINGS, embeddings=TABLES), LIGHT))
    assert any("no attention" in text for text in texts)
    assert not any("heads" in text for text in texts)


def test_many_tables_are_drawn_as_three_boxes_with_the_count_of_all() -> None:
    tables = tuple(
        parameter(f"embeddings.{name}_embeddings.weight", (size, HIDDEN), "embeddings")
        for name, size in (("word", 97), ("a", 3), ("b", 5), ("c", 7), ("d", 11))
    )
    looked_up = tuple(StreamTable(each.name, "word" if "word" in each.name else "other", 3) for each in tables)
    model_facts = architecture(model_facts=facts(tables=looked_up))
    texts = notes(model_stack(model_facts, ledger("wide", (), tables, embeddings=123 * HIDDEN), LIGHT))
    assert [text for text in texts if re.search(r"\d × 38", text)] == ["word 97 × 38", "a 3 × 38"]
    assert any(text.startswith("3 more tables") for text in texts)
    assert counts(texts) == [123 * HIDDEN] * 2  # and the sum of all once


def test_a_tied_table_is_not_drawn_again() -> None:
    tied = parameter("embeddings.copy.weight", (97, HIDDEN), "embeddings", tied_to=EMBEDDINGS[0].name)
    row = replace(tiny(), parameters=(*EMBEDDINGS, *INSIDE, tied))
    assert notes(model_stack(architecture(), row, LIGHT)) == notes(model_stack(architecture(), tiny(), LIGHT))


def test_stack_of_a_model_without_sizes_is_drawn() -> None:
    bare = replace(architecture(), num_attention_heads=None, head_dim=None, hidden_size=None, intermediate_size=None)
    texts = notes(model_stack(bare, tiny(), LIGHT))
    assert not any("None" in text for text in texts)
    assert model_stack(bare, ledger("empty", ()), LIGHT).layout.height > 0


def test_names_are_shown_as_text_never_as_html() -> None:
    table = parameter(f"embeddings.{ACTIVE}_embeddings.weight", (97, HIDDEN), "embeddings")
    model_facts = facts(tables=(StreamTable(table.name, "other", 97),))
    figure = model_stack(
        architecture(ACTIVE, model_facts=model_facts), ledger(ACTIVE, (), (table,), embeddings=97 * HIDDEN), LIGHT
    )
    assert figure.layout.title.text.endswith(f"— {ACTIVE_ESCAPED}")
    assert any(f"<b>{ACTIVE_ESCAPED}</b>" in (note.text or "") for note in figure.layout.annotations)
    assert not any(ACTIVE in (note.text or "") for note in figure.layout.annotations)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_boxes_have_the_colours_of_their_components(theme: Theme) -> None:
    figure = model_stack(architecture(), tiny(), theme)
    filled = [shape.fillcolor for shape in figure.layout.shapes if shape.fillcolor]
    names = ["embeddings"] * 3 + ["layer_norm", "attention", "layer_norm", "feed_forward", "layer_norm", "pooler"]
    assert filled == [theme.colours[name] for name in names]
    bold = [note for note in figure.layout.annotations if (note.text or "").startswith("<b>")]
    boxed = [note.font.color for note in bold if note.xanchor == "center"]
    assert boxed == [text_on(colour) for colour in filled]


def test_a_table_that_the_tokens_do_not_pass_stands_beside_their_way() -> None:
    table = parameter("encoder.rel_embeddings.weight", (7, HIDDEN), "encoder")
    row = replace(tiny(), parameters=(*EMBEDDINGS, *INSIDE, table))
    picture = stack_picture(architecture(), row)
    (beside,) = [each for each in picture.rows if each.apart]
    assert beside.count == 7 * HIDDEN
    assert beside.boxes[0].label == "relative positions"


def test_without_a_run_no_order_is_drawn() -> None:
    bare = replace(architecture(), facts=None)
    assert all(row.apart for row in stack_picture(bare, tiny()).rows if row.group)
    assert not any(row.joins for row in stack_picture(bare, tiny()).rows)


@pytest.mark.parametrize("pixels", [320, 500, 980])
def test_words_fit_their_boxes_in_every_width(pixels: int) -> None:
    figure = model_stack(architecture(), tiny(), replace(LIGHT, pixels=pixels))
    width = figure.layout.xaxis.range[1]
    for note in figure.layout.annotations:
        if note.text and not note.textangle:
            wide = label_width(note.text, note.font.size)
            left = note.x - (wide / 2 if note.xanchor == "center" else wide if note.xanchor == "right" else 0)
            assert left >= -2
            assert left + wide <= width + 2
