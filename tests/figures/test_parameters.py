"""The drawn numbers of the parameter figures."""

import html
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from bertviz_core.figures.base.style import THEMES, Theme
from bertviz_core.figures.parameters import (
    LAYER_PARTS,
    ROOT_ID,
    TreeForm,
    component_bar,
    layer_bars,
    model_bars,
    parameter_tree_figure,
)
from bertviz_core.parameters.results import TreeNode
from tests.helpers.hand_made import (
    ACTIVE,
    ACTIVE_ESCAPED,
    PLAIN_LAYERS,
    SHARED_LAYERS,
    TREE,
    TWO_STACKS,
    layer,
    ledger,
    parameter,
)

FORMS: tuple[TreeForm, ...] = ("sunburst", "treemap", "icicle")
LIGHT, DARK = THEMES["light"], THEMES["dark"]
every_form = pytest.mark.parametrize("form", FORMS)
every_theme = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def drawn_tree(nodes: tuple[TreeNode, ...] = TREE, form: TreeForm = "sunburst", theme: Theme = LIGHT) -> dict[str, Any]:
    (trace,) = parameter_tree_figure(nodes, "Tree", form, theme).to_plotly_json()["data"]
    assert trace["type"] == form
    found: dict[str, Any] = trace
    return found


def value_by_id(trace: dict[str, Any]) -> dict[str, int]:
    return dict(zip(trace["ids"], trace["values"], strict=True))


@every_form
def test_tree_draws_every_node_with_its_count(form: TreeForm) -> None:
    expected = {node.id or ROOT_ID: node.numel for node in TREE}
    assert value_by_id(drawn_tree(form=form)) == expected


@every_form
def test_ids_are_explicit_and_unique(form: TreeForm) -> None:
    ids = drawn_tree(form=form)["ids"]
    assert all(ids)
    assert max(Counter(ids).values()) == 1


@every_form
def test_parents_are_drawn_and_only_the_model_has_none(form: TreeForm) -> None:
    trace = drawn_tree(form=form)
    assert [own for own, parent in zip(trace["ids"], trace["parents"], strict=True) if not parent] == [ROOT_ID]
    assert {parent for parent in trace["parents"] if parent} <= set(trace["ids"])
    expected = [None if node.parent is None else node.parent or ROOT_ID for node in TREE]
    assert [parent or None for parent in trace["parents"]] == expected


@every_form
def test_children_add_up_to_their_parent(form: TreeForm) -> None:
    trace = drawn_tree(form=form)
    assert trace["branchvalues"] == "total"
    sums: Counter[str] = Counter()
    for parent, value in zip(trace["parents"], trace["values"], strict=True):
        sums[parent] += value
    values = value_by_id(trace)
    for parent, total in sums.items():
        if parent:
            assert total == values[parent]


def test_a_module_called_like_the_root_keeps_an_id_of_its_own() -> None:
    nodes = (
        TreeNode("", None, "ModernBertForMaskedLM", 67, 5, "", "", 0),
        TreeNode("model", "", "model", 43, 3, "", "", 0),
        TreeNode("model.layers", "model", "layers", 31, 2, "encoder", "", 0),
        TreeNode("model.embeddings", "model", "embeddings", 12, 1, "embeddings", "", 0),
        TreeNode("head", "", "head", 24, 2, "task head", "", 0),
    )
    trace = drawn_tree(nodes)
    assert max(Counter(trace["ids"]).values()) == 1
    assert all(own != parent for own, parent in zip(trace["ids"], trace["parents"], strict=True))
    roots = [own for own, parent in zip(trace["ids"], trace["parents"], strict=True) if not parent]
    children = [own for own, parent in zip(trace["ids"], trace["parents"], strict=True) if parent == roots[0]]
    assert [value_by_id(trace)[each] for each in children] == [43, 24]


@every_form
def test_names_are_shown_as_text_never_as_html(form: TreeForm) -> None:
    figure = parameter_tree_figure((replace(TREE[0], label=ACTIVE), *TREE[1:]), f"Of {ACTIVE}", form, LIGHT)
    (trace,) = figure.to_plotly_json()["data"]
    assert trace["labels"] == [ACTIVE_ESCAPED, *(html.escape(node.label) for node in TREE[1:])]
    assert figure.layout.title.text == f"Of {ACTIVE_ESCAPED}"
    hovered = [row[0] for row in trace["customdata"]]
    assert f"embeddings.{ACTIVE_ESCAPED}" in hovered
    assert not any("<" in name for name in hovered)


def test_hover_tells_tensors_and_shares() -> None:
    trace = drawn_tree()
    rows = dict(zip(trace["ids"], trace["customdata"], strict=True))
    assert rows["encoder.layer.0.attention"][1:] == [4, f"{190 / 1_009:.1%}", f"{190 / 307:.1%}"]
    assert rows["pooler.dense"][1:] == [2, "3.7%", "3.7%"]
    assert rows[ROOT_ID][1:] == [17, "100.0%", "100.0%"]


@every_theme
def test_sectors_have_the_colours_of_their_component_and_part(theme: Theme) -> None:
    trace = drawn_tree(theme=theme)
    colours = dict(zip(trace["ids"], trace["marker"]["colors"], strict=True))
    assert colours == {
        ROOT_ID: theme.neutral,
        "embeddings": theme.colours["embeddings"],
        f"embeddings.{ACTIVE}": theme.colours["embeddings"],
        "embeddings.position": theme.colours["embeddings"],
        "encoder.layer": theme.colours["encoder"],
        "encoder.layer.0": theme.colours["encoder"],
        "encoder.layer.0.attention": theme.colours["attention"],
        "encoder.layer.0.output": theme.colours["feed_forward"],
        "encoder.layer/folded": theme.colours["encoder"],
        "pooler.dense": theme.colours["pooler"],
    }


def test_a_model_without_parameters_is_drawn() -> None:
    trace = drawn_tree((TreeNode("", None, "Empty", 0, 0, "", "", 0),))
    assert trace["values"] == [0]


def bars(rows: Any, theme: Theme = LIGHT) -> dict[str, dict[str, Any]]:
    """Drawn bars by the colour-independent name of the legend."""
    figure = layer_bars(ledger("tiny", rows), "Layers", theme)
    return {trace["name"]: trace for trace in figure.to_plotly_json()["data"]}


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
    assert {name: list(trace["y"]) for name, trace in drawn.items()} == {
        name: counts for name, counts in expected.items() if any(counts)
    }
    for trace in drawn.values():
        assert list(trace["x"]) == list(range(len(rows)))


@pytest.mark.parametrize("rows", [PLAIN_LAYERS, SHARED_LAYERS, TWO_STACKS], ids=["plain", "shared", "two stacks"])
def test_a_stack_of_bars_is_as_high_as_its_layer(rows: Any) -> None:
    figure = layer_bars(ledger("tiny", rows), "Layers", LIGHT)
    assert figure.layout.barmode == "stack"
    heights = [sum(column) for column in zip(*(trace.y for trace in figure.data), strict=True)]
    assert heights == [row.total for row in rows]


def test_ticks_name_the_layers_and_a_shared_layer_says_how_often_it_runs() -> None:
    axis = layer_bars(ledger("tiny", SHARED_LAYERS), "Layers", LIGHT).layout.xaxis
    assert list(axis.tickvals) == [0, 1]
    assert axis.ticktext[0].startswith("0")
    assert "5 times" in axis.ticktext[0]
    assert axis.ticktext[1] == "1"


def test_ticks_tell_the_two_stacks_apart() -> None:
    axis = layer_bars(ledger("tiny", TWO_STACKS), "Layers", LIGHT).layout.xaxis
    assert list(axis.ticktext) == ["encoder 0", "decoder 0"]


def test_many_layers_have_few_ticks_each_at_its_own_layer() -> None:
    rows = tuple(layer("encoder", index, 1, 100 + index, 0, 0, 0, 0, 0, 0, 0, 0) for index in range(97))
    axis = layer_bars(ledger("deep", rows), "Layers", LIGHT).layout.xaxis
    assert len(axis.tickvals) <= 40
    assert [str(value) for value in axis.tickvals] == list(axis.ticktext)


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
    ledgers = [
        ledger("first", PLAIN_LAYERS, embeddings=5_083),
        ledger("second", SHARED_LAYERS, embeddings=12_089),
    ]
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
