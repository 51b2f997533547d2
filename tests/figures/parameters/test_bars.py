"""The drawn numbers of the bars: layers by part, components, several models."""

import re
from typing import Any

import pytest

from bertviz_core.figures.base.axes import label_width
from bertviz_core.figures.base.style import TEXT_SIZE, THEMES, WIDTHS, Theme, theme_named
from bertviz_core.figures.parameters import LAYER_PARTS, component_bar, layer_bars, model_bars
from tests.helpers.hand_made import (
    ACTIVE,
    ACTIVE_ESCAPED,
    PLAIN_LAYERS,
    SHARED_LAYERS,
    TWO_STACKS,
    layer,
    ledger,
    parameter,
)

LIGHT, DARK = THEMES["light"], THEMES["dark"]
every_theme = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def bars(rows: Any, theme: Theme = LIGHT) -> dict[str, dict[str, Any]]:
    """Drawn bars by the name of their part; in the legend its share follows."""
    figure = layer_bars(ledger("tiny", rows), "Layers", theme)
    return {trace["name"].rpartition(" ")[0]: trace for trace in figure.to_plotly_json()["data"]}


@pytest.mark.parametrize("rows", [PLAIN_LAYERS, SHARED_LAYERS, TWO_STACKS], ids=["plain", "shared", "two stacks"])
def test_bars_are_the_matrix_of_layers_and_parts(rows: Any) -> None:
    drawn = bars(rows)
    expected = {
        "query": [row.query for row in rows],
        "key": [row.key for row in rows],
        "value": [row.value for row in rows],
        "query, key, value (fused)": [row.query_key_value for row in rows],
        "attention output": [row.attention_output for row in rows],
        "attention, other": [row.attention_other for row in rows],
        "feed-forward": [row.feed_forward for row in rows],
        "layer norm": [row.layer_norm for row in rows],
        "other": [row.other for row in rows],
    }
    assert {name: list(trace["x"]) for name, trace in drawn.items()} == {
        name: counts for name, counts in expected.items() if any(counts)
    }
    for trace in drawn.values():
        assert list(trace["y"]) == list(range(len(rows)))


@pytest.mark.parametrize("rows", [PLAIN_LAYERS, SHARED_LAYERS, TWO_STACKS], ids=["plain", "shared", "two stacks"])
def test_a_stack_of_bars_is_as_long_as_its_layer(rows: Any) -> None:
    figure = layer_bars(ledger("tiny", rows), "Layers", LIGHT)
    assert figure.layout.barmode == "stack"
    lengths = [sum(column) for column in zip(*(trace.x for trace in figure.data), strict=True)]
    assert lengths == [row.total for row in rows]
    assert figure.layout.xaxis.range[1] > max(lengths)


def test_ticks_name_the_layers_and_a_shared_layer_says_how_often_it_runs() -> None:
    axis = layer_bars(ledger("tiny", SHARED_LAYERS), "Layers", LIGHT).layout.yaxis
    assert list(axis.tickvals) == [0, 1]
    assert list(axis.ticktext) == ["layer 0, runs 5 times", "layer 1"]


def test_layer_0_stands_at_the_top() -> None:
    low, high = layer_bars(ledger("tiny", PLAIN_LAYERS), "Layers", LIGHT).layout.yaxis.range
    assert low > high


def test_each_bar_ends_with_its_total_and_each_part_has_its_share() -> None:
    figure = layer_bars(ledger("tiny", PLAIN_LAYERS), "Layers", LIGHT)
    totals = [row.total for row in PLAIN_LAYERS]
    assert [note.text.strip() for note in figure.layout.annotations] == [str(total) for total in totals]
    shares = {trace.name.rpartition(" ")[0]: trace.name.rpartition(" ")[2] for trace in figure.data}
    assert shares["feed-forward"] == f"{sum(row.feed_forward for row in PLAIN_LAYERS) / sum(totals):.1%}"
    assert shares["layer norm"] == f"{(4 + 6 + 8) / sum(totals):.1%}"


def test_a_layer_unlike_the_others_says_by_how_much() -> None:
    usual = [layer("encoder", index, 1, 100, 0, 0, 0, 0, 0, 0, 20, 0) for index in (1, 2, 3)]
    rows = (layer("encoder", 0, 1, 100, 0, 0, 0, 0, 0, 0, 13, 0), *usual)
    notes = [note.text for note in layer_bars(ledger("tiny", rows), "Layers", LIGHT).layout.annotations]
    assert notes[0] == " 113 (7 fewer)"
    assert notes[1:] == [" 120"] * 3


def test_a_number_stands_in_a_part_that_has_room_for_it() -> None:
    rows = (layer("encoder", 0, 1, 10, 0, 0, 0, 0, 0, 100_000, 0, 0),)
    texts = {name: list(trace["text"]) for name, trace in bars(rows).items()}
    assert texts == {"query": [""], "feed-forward": ["100,000"]}


def test_ticks_tell_the_two_stacks_apart() -> None:
    axis = layer_bars(ledger("tiny", TWO_STACKS), "Layers", LIGHT).layout.yaxis
    assert list(axis.ticktext) == ["encoder 0", "decoder 0"]


def test_many_layers_have_few_ticks_each_at_its_own_layer() -> None:
    rows = tuple(layer("encoder", index, 1, 100 + index, 0, 0, 0, 0, 0, 0, 0, 0) for index in range(97))
    axis = layer_bars(ledger("deep", rows), "Layers", LIGHT).layout.yaxis
    assert len(axis.tickvals) <= 40
    assert [f"layer {value}" for value in axis.tickvals] == list(axis.ticktext)


@every_theme
def test_bars_have_the_colours_of_their_parts(theme: Theme) -> None:
    every_part = (layer("encoder", 0, 1, *range(11, 20)),)
    figure = layer_bars(ledger("tiny", every_part), "Layers", theme)
    assert [trace.marker.color for trace in figure.data] == [theme.colours[part] for part in LAYER_PARTS]


def test_model_bars_are_the_matrix_of_models_and_components() -> None:
    ledgers = [
        ledger("first", PLAIN_LAYERS, embeddings=83, pooler=7),
        ledger("second", TWO_STACKS, embeddings=89, task_head=5),
    ]
    figure = model_bars(ledgers, "Models", LIGHT)
    drawn = {trace["name"]: list(trace["x"]) for trace in figure.to_plotly_json()["data"]}
    assert drawn == {
        "embeddings": [83, 89],
        "encoder": [sum(row.total for row in PLAIN_LAYERS), TWO_STACKS[0].total],
        "decoder": [0, TWO_STACKS[1].total],
        "pooler": [7, 0],
        "task head": [0, 5],
    }
    for trace in figure.data:
        assert trace.orientation == "h"
        assert list(trace.y) == [0, 1]
    assert [sum(column) for column in zip(*drawn.values(), strict=True)] == [each.total for each in ledgers]


def test_totals_stand_at_the_end_of_their_bars() -> None:
    ledgers = [ledger("first", PLAIN_LAYERS, embeddings=5_083), ledger("second", SHARED_LAYERS, embeddings=12_089)]
    figure = model_bars(ledgers, "Models", LIGHT)
    found = {note.y: (note.x, note.text.strip()) for note in figure.layout.annotations}
    assert found == {0: (5_557, "5,557"), 1: (12_624, "12,624")}
    assert figure.layout.xaxis.range[1] > 12_624


def test_a_tie_is_drawn_between_its_components_and_named_with_its_count() -> None:
    owner = parameter("embeddings.word.weight", (97, 38), "embeddings")
    tied = parameter(f"head.{ACTIVE}.weight", (97, 38), "task head", tied_to=owner.name)
    row = ledger("tiny", PLAIN_LAYERS, (owner, tied), embeddings=4_000, task_head=100)
    figure = component_bar(row, LIGHT)
    assert [sum(column) for column in zip(*(trace.x for trace in figure.data), strict=True)] == [4_574]
    words = [note.text for note in figure.layout.annotations]
    (tie,) = (text for text in words if "tied" in text)
    assert owner.name in tie
    assert ACTIVE_ESCAPED in tie
    assert ACTIVE not in tie
    assert "3,686" in tie
    (arc,) = figure.layout.shapes
    start, *_, end = re.findall(r"[\d.]+(?=,)", arc.path)
    assert (float(start), float(end)) == (4_000 / 2, 4_000 + 474 + 100 / 2)


def test_the_words_of_a_tie_stand_in_as_many_lines_as_its_place_asks_for() -> None:
    owner = parameter("shared.weight", (97, 38), "embeddings")
    tied = parameter("encoder.embed_tokens.weight", (97, 38), "encoder", tied_to=owner.name)
    phone = theme_named("light", WIDTHS[0])
    figure = component_bar(ledger("tiny", PLAIN_LAYERS, (owner, tied), embeddings=4_000), phone)
    lines = [note.text for note in sorted(figure.layout.annotations, key=lambda note: note.y)]
    assert " ".join(lines) == "tied: encoder.embed_tokens.weight = shared.weight, 3,686 counted once"
    shift = max(note.xshift for note in figure.layout.annotations)
    assert shift > 0, "away from the axis"
    assert shift + max(label_width(line, TEXT_SIZE) for line in lines) <= phone.pixels


def test_a_component_shows_its_share_in_the_bar_or_in_the_legend() -> None:
    figure = component_bar(ledger("tiny", PLAIN_LAYERS, embeddings=4_000, pooler=1), LIGHT)
    shown = {trace.name: trace.text for trace in figure.data}
    assert shown == {
        f"embeddings {4_000 / 4_475:.1%}": f"4,000<br>{4_000 / 4_475:.1%}",
        f"encoder {474 / 4_475:.1%}": f"474<br>{474 / 4_475:.1%}",
        "pooler 0.0%": "",
    }
    assert list(figure.layout.xaxis.range) == [0, 4_475]


def test_a_model_without_ties_has_no_arc() -> None:
    figure = component_bar(ledger("tiny", PLAIN_LAYERS, embeddings=4_000), LIGHT)
    assert not figure.layout.shapes
    assert "4,474" in figure.layout.title.text


def test_model_names_are_shown_as_text_and_equal_names_stay_apart() -> None:
    figure = model_bars([ledger(ACTIVE), ledger(ACTIVE, SHARED_LAYERS)], ACTIVE, LIGHT)
    assert list(figure.layout.yaxis.ticktext) == [ACTIVE_ESCAPED, ACTIVE_ESCAPED]
    assert list(figure.layout.yaxis.tickvals) == [0, 1]
    assert figure.layout.title.text == ACTIVE_ESCAPED
    for trace in figure.data:
        assert list(trace.customdata) == [ACTIVE_ESCAPED, ACTIVE_ESCAPED]


@every_theme
def test_components_that_stand_together_have_different_colours_of_the_theme(theme: Theme) -> None:
    every_component = ledger("tiny", TWO_STACKS, embeddings=83, pooler=7, task_head=5)
    colours = [trace.marker.color for trace in model_bars([every_component], "Models", theme).data]
    assert len(colours) == 5
    assert len(set(colours)) == 5
    assert set(colours) <= set(theme.colours.values())
    assert colours[0] == theme.colours["embeddings"]


def test_no_model_at_all_is_an_empty_figure() -> None:
    assert not model_bars([], "Models", LIGHT).data
