"""The drawn tree of parameters: its numbers, its words and the legend of its colours."""

import html
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from bertviz_core.figures.base.axes import text_width
from bertviz_core.figures.base.style import TEXT_SIZE, THEMES, Theme
from bertviz_core.figures.parameters import ROOT_ID, SMALLEST, TreeForm, centre_lines, parameter_tree_figure
from bertviz_core.parameters.results import TreeNode
from tests.helpers.hand_made import ACTIVE, ACTIVE_ESCAPED, TREE

FORMS: tuple[TreeForm, ...] = ("sunburst", "treemap", "icicle")
LIGHT, DARK = THEMES["light"], THEMES["dark"]
every_form = pytest.mark.parametrize("form", FORMS)
every_theme = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def drawn_tree(nodes: tuple[TreeNode, ...] = TREE, form: TreeForm = "sunburst", theme: Theme = LIGHT) -> dict[str, Any]:
    trace, *_ = parameter_tree_figure(nodes, "Tree", form, theme).to_plotly_json()["data"]
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
    trace, *_ = figure.to_plotly_json()["data"]
    assert trace["labels"] == [ACTIVE_ESCAPED, *(html.escape(node.label) for node in TREE[1:])]
    assert figure.layout.title.text == f"Of {ACTIVE_ESCAPED}"
    hovered = [row[0] for row in trace["customdata"]]
    assert f"embeddings.{ACTIVE_ESCAPED}" in hovered
    assert not any("<" in name for name in hovered)


def test_hover_tells_tensors_and_shares() -> None:
    trace = drawn_tree()
    rows = dict(zip(trace["ids"], trace["customdata"], strict=True))
    assert rows["encoder.layer.0.attention"][1:] == ["4 tensors", f"{190 / 1_009:.1%}", f"{190 / 307:.1%}"]
    assert rows["pooler.dense"][1:] == ["2 tensors", "3.7%", "3.7%"]
    assert rows[ROOT_ID][1:] == ["17 tensors", "100.0%", "100.0%"]


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


@pytest.mark.parametrize(
    "name", ["BertModel", "GPT2LMHeadModel", "DistilBertForSequenceClassification", "XLMRobertaXLModel"]
)
def test_a_name_in_the_centre_is_broken_before_capitals_and_leaves_the_rim_free(name: str) -> None:
    """A circle contains a rectangle if its diagonal is not longer than the diameter."""
    diameters = (102.0, 136.0, 204.0, 400.0)
    for diameter in diameters:
        lines = centre_lines(name, diameter)
        assert "".join(lines) == name
        assert all(line[0].isupper() for line in lines)
        wide, high = max(text_width(line, TEXT_SIZE) for line in lines), 1.3 * TEXT_SIZE * len(lines)
        assert math.hypot(wide, high) * SMALLEST / TEXT_SIZE < diameter  # plotly shrinks long words
        assert math.hypot(wide, high) < diameter or len(lines) > 1
    assert [len(centre_lines(name, each)) for each in diameters] == sorted(
        (len(centre_lines(name, each)) for each in diameters), reverse=True
    )
    assert centre_lines(name, 1_000) == (name,)


def test_a_name_of_many_capitals_stays_whole() -> None:
    assert centre_lines("Aa" * 5_000, 100) == ("Aa" * 5_000,)


def test_a_model_without_parameters_is_drawn() -> None:
    trace = drawn_tree((TreeNode("", None, "Empty", 0, 0, "", "", 0),))
    assert trace["values"] == [0]


@every_theme
def test_every_colour_is_explained_once(theme: Theme) -> None:
    figure = parameter_tree_figure(TREE, "Tree", "sunburst", theme)
    drawn, *legend = figure.data
    explained = {trace.marker.color: trace.name for trace in legend}
    assert set(explained) == set(drawn.marker.colors[1:])
    assert len(explained) == len(legend)
    assert explained[theme.colours["attention"]] == "attention"
    assert explained[theme.colours["feed_forward"]] == "feed-forward"
    assert figure.layout.showlegend


def test_parts_of_one_colour_are_explained_together() -> None:
    query = TreeNode("q", "encoder.layer.0.attention", "query", 190, 4, "encoder", "query", 0)
    legend = [trace.name for trace in parameter_tree_figure((*TREE, query), "Tree", "sunburst", LIGHT).data[1:]]
    assert "attention, query" in legend


def layers(count: int) -> tuple[TreeNode, ...]:
    """A model of identical layers only."""
    inside = (TreeNode(f"{n}", "", f"layer {n}", 1_774_464, 1, "encoder", "", 0, f"{n}") for n in range(count))
    return (TreeNode("", None, "Model", 1_774_464 * count, count, "", "", 0), *inside)


@pytest.mark.parametrize(("count", "words"), [(2, "layer 1<br>1,774,464"), (9, "layer 1"), (24, "1")])
def test_a_step_has_the_longest_words_that_fit(count: int, words: str) -> None:
    assert drawn_tree(layers(count), "icicle")["text"][2] == words


def test_words_that_fit_nowhere_wait_for_a_larger_place() -> None:
    assert drawn_tree(layers(200), "icicle")["text"][2] == "layer 1"


@every_form
def test_words_in_the_tree_are_no_markup(form: TreeForm) -> None:
    trace = drawn_tree(form=form)
    (words,) = (word for word in trace["text"] if word.startswith(ACTIVE_ESCAPED))
    share = f"{263 / trace['values'][0]:.1%}"
    assert words in (ACTIVE_ESCAPED, f"{ACTIVE_ESCAPED}<br>{share if form == 'sunburst' else 263}")
