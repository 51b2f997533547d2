"""The figures of the load report: drawn shares, textures that show the status, marked lines of the tree."""

import pytest

from bertviz_core.checkpoints.load_report.results import ComponentShare, HeadDifference, HeadNode
from bertviz_core.figures.base.style import DARK, LIGHT, PRINT, Theme
from bertviz_core.figures.checkpoints.load_report import MAX_LINES, head_tree, share_bars

SHARES = (
    ComponentShare("embeddings", matched=30, new=0, wrong_shape=70, unused=0, unused_keys=0),
    ComponentShare("encoder", matched=400, new=0, wrong_shape=0, unused=0, unused_keys=0),
    ComponentShare("pooler", matched=0, new=0, wrong_shape=0, unused=9, unused_keys=2),
    ComponentShare("task head", matched=0, new=8, wrong_shape=0, unused=5, unused_keys=1),
)


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT])
def test_the_bars_are_the_shares(theme: Theme) -> None:
    figure = share_bars(SHARES, "Title", theme)
    drawn = {bar.name: list(bar.x) for bar in figure.data if bar.showlegend is False}
    assert drawn == {
        "from the file": [30.0, 100.0, None, None],
        "new": [None, None, None, 100.0],
        "wrong shape": [70.0, None, None, None],
    }
    for column, share in enumerate(SHARES):
        heights = [values[column] or 0 for values in drawn.values()]
        assert sum(heights) == (100 if share.total else 0)
    assert list(figure.layout.yaxis.ticktext) == ["embeddings", "encoder", "pooler", "task head"]


def test_the_status_is_told_without_colour() -> None:
    bars = {bar.name: bar for bar in share_bars(SHARES, "Title", LIGHT).data if bar.showlegend is False}
    shapes = [bars[name].marker.pattern.shape for name in ("new", "wrong shape")]
    assert len({None, *shapes}) == 3
    assert bars["from the file"].marker.pattern.shape is None
    legend = [bar.name for bar in share_bars(SHARES[1:2], "Title", LIGHT).data if bar.showlegend is None]
    assert legend == []
    marks = {bar.name: bar.marker for bar in share_bars(SHARES, "Title", LIGHT).data if bar.showlegend is None}
    assert list(marks) == ["from the file", "new", "wrong shape"]
    solid = {colour for bar in bars.values() if bar.marker.pattern.shape is None for colour in bar.marker.color}
    assert marks["from the file"].color[0] in solid


def test_the_counts_stand_above_the_bars() -> None:
    texts = [note.text for note in share_bars(SHARES, "Title", LIGHT).layout.annotations]
    assert texts == [
        "30 of 100 from the file",
        "400 from the file",
        "2 keys of the file unused: 9 numbers",
        "8 not from the file<br>1 key of the file unused: 5 numbers",
    ]


def test_no_share_at_all_is_an_empty_figure() -> None:
    assert share_bars((), "Title", LIGHT).layout.height > 0


def difference(*nodes: HeadNode) -> HeadDifference:
    return HeadDifference("model", "masked-lm", "WithHead", "Base", None, 100, 103, 7, 4, nodes)


ROOT = HeadNode("changed", 0, "", "WithHead", None, 103, None)


def test_the_lines_of_the_tree_are_marked() -> None:
    nodes = (
        ROOT,
        HeadNode("same", 1, "bert", "Base", None, 96, None),
        HeadNode("added", 1, "head.weight", "parameter", (7, 1), 7, None),
        HeadNode("added", 1, "head.tied", "parameter", (9,), 0, "bert.words"),
        HeadNode("removed", 1, "pooler", "Pooler", None, 4, None),
    )
    figure = head_tree(difference(*nodes), "<Title>", LIGHT)
    signs, names, counts = (list(trace.text) for trace in figure.data)
    assert signs == ["", "", "+", "+", "−"]
    assert names[0] == "<b>WithHead</b>"
    assert names[2] == "<b>weight</b>  (7, 1)"
    assert names[4].startswith("<s>")
    assert counts == ["103", "96", "7", "tied", "4"]
    assert figure.data[2].customdata[3] == "shares its values with bert.words"
    bands = {(band.y0 + 0.5, band.fillcolor) for band in figure.layout.shapes}
    head, muted = LIGHT.colours["task head"], LIGHT.muted
    assert bands == {(2, head), (3, head), (4, muted)}
    assert figure.layout.title.text == "&lt;Title&gt;"


def test_a_name_is_not_read_as_a_tag() -> None:
    figure = head_tree(difference(ROOT, HeadNode("added", 1, "<b>x</b>", "A<b>", None, 1, None)), "Title", DARK)
    assert figure.data[1].text[1] == "<b>&lt;b&gt;x&lt;/b&gt;</b>  A&lt;b&gt;"


def test_a_long_tree_ends_with_how_much_is_left() -> None:
    nodes = [HeadNode("added", 1, f"head.{index}", "Linear", None, 1, None) for index in range(MAX_LINES + 40)]
    figure = head_tree(difference(*nodes), "Title", LIGHT)
    assert len(figure.data[0].y) == MAX_LINES
    assert figure.layout.xaxis.title.text == "40 more lines are in the table"
