"""Files of a figure are self-contained, have a caption, and never turn a text into a tag.

Covers `bertviz_core/figures/base/export.py`, `bertviz_core/figures/base/spec.py`.
"""

import base64
import re
import struct
import xml.etree.ElementTree as ElementTree
import zlib
from html.parser import HTMLParser

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.figures.base.axes import text_width
from bertviz_core.figures.base.export import (
    CAPTION_SIZE,
    EDGE,
    FONT_FILE,
    SELECTION,
    SLIDE,
    STATIC_FONTS,
    Caption,
    caption_of,
    captioned_svg,
    colour_range,
    described_png,
    for_medium,
    framed,
    one_line,
    png_scale,
    slide_room,
    spelled,
    standalone_html,
    with_static_fonts,
    without_selection,
)
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import (
    DARK,
    FAMILY,
    FONT,
    LIGHT,
    PRINT,
    TITLE_SIZE,
    TITLE_TOP,
    TITLE_WEIGHT,
    colour_bar,
    layout,
)
from bertviz_core.figures.hidden_states.heatmaps import layer_map, values_heatmap
from bertviz_core.figures.parameters import parameter_tree_figure
from tests.helpers.hand_made import TREE

EVIL = '</title></script><script>alert(1)</script><img src="http://evil.example/x.png">&'
CAPTION = Caption("Its caption", (("tiny", "abc"),))
SVG = "{http://www.w3.org/2000/svg}"
DRAWING = '<svg class="main-svg" xmlns="http://www.w3.org/2000/svg" width="400" height="300"><g/></svg>'
LOADED = ("src", "href", "data", "srcset", "action", "poster")


class Tags(HTMLParser):
    """Every tag of a page, and the text of selected ones."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self.inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        self.text[self.inside] = self.text.get(self.inside, "") + data


@pytest.fixture(scope="module")
def page() -> str:
    return standalone_html(parameter_tree_figure(TREE, "Tree", "sunburst", LIGHT), "A tree", CAPTION, LIGHT)


def test_the_page_loads_nothing(page: str) -> None:
    for tag, attributes in Tags(page).tags:
        assert tag not in ("link", "iframe", "object", "embed", "img", "base")
        assert not any(attributes.get(name) for name in LOADED), (tag, attributes)
    assert "@import" not in page.split("<script", 1)[0]


def test_the_page_brings_plotly_and_the_figure(page: str) -> None:
    scripts = Tags(page).text["script"]
    assert re.search(r"plotly\.js v\d", scripts)
    assert "Plotly.newPlot" in scripts
    assert "encoder.layer.0.attention" in scripts


def test_the_page_offers_no_upload(page: str) -> None:
    config = page.rpartition("Plotly.newPlot")[2]
    assert re.search(r'"showSendToCloud":\s*false', config)


def test_title_and_caption_are_text() -> None:
    figure = go.Figure(layout=layout(LIGHT, "Empty"))
    plain, evil = (
        Tags(standalone_html(figure, text, Caption(text, ((text, text),), (text,)), LIGHT, text))
        for text in ("quiet", EVIL)
    )
    assert [tag for tag, _ in evil.tags] == [tag for tag, _ in plain.tags]
    assert evil.text["title"] == EVIL
    assert evil.text["p"].startswith(f"{EVIL}. Model: {EVIL}, revision {EVIL}. Text: “{EVIL}”.")
    label = next(attributes["aria-label"] for tag, attributes in evil.tags if attributes.get("role") == "img")
    assert label == f"{EVIL}. {evil.text['p']}"


def test_a_label_cannot_end_the_script() -> None:
    tags = []
    for label in ("quiet", EVIL):
        figure = go.Figure(go.Sunburst(ids=["a"], labels=[label], parents=[""]), layout(LIGHT, label))
        tags.append([tag for tag, _ in Tags(standalone_html(figure, "A", CAPTION, LIGHT)).tags])
    assert tags[0] == tags[1]


def test_the_page_has_the_ground_of_its_figure() -> None:
    figure = go.Figure(layout=layout(DARK, "Dark"))
    body = next(
        attributes for tag, attributes in Tags(standalone_html(figure, "A", CAPTION, DARK)).tags if tag == "body"
    )
    assert DARK.paper in (body["style"] or "")
    assert DARK.text in (body["style"] or "")


def test_a_page_for_print_stands_still_and_others_do_not() -> None:
    figure = go.Figure(layout=layout(PRINT, "Paper"))
    still, moving = (
        standalone_html(figure, "A", CAPTION, theme).rpartition("Plotly.newPlot")[2] for theme in (PRINT, LIGHT)
    )
    assert re.search(r'"staticPlot":\s*true', still)
    assert "staticPlot" not in moving


def test_a_caption_says_model_revision_text_and_colours() -> None:
    caption = Caption(
        "A map.", (("org/name", "0a1b"),), ("I love\nit", "and you?"), "cosine, −1 to 1", "1 text cut off."
    )
    assert caption.line == (
        "A map. Model: org/name, revision 0a1b. Texts: “I love it” and “and you?” 1 text cut off. "
        "Colours: cosine, −1 to 1."
    )


def test_a_title_in_lines_is_not_said_twice_either() -> None:
    figure = go.Figure(layout=layout(LIGHT, "Effects of a/<br>part<br>— org/name"))
    assert caption_of(figure, "Effects of a/part — org/name. Clean 1.", [("org/name", "r")]).words == "Clean 1."


def test_a_file_is_without_what_marks_a_choice_on_the_page() -> None:
    figure = go.Figure([go.Scatter(y=[1], meta=SELECTION), go.Scatter(y=[2])])
    figure.add_shape(type="rect", x0=0, x1=1, y0=0, y1=1, name=SELECTION).add_shape(type="line", x0=0, x1=1, y0=0, y1=1)
    still = without_selection(figure)
    assert [list(trace.y) for trace in still.data] == [[2]]
    assert [shape.type for shape in still.layout.shapes] == ["line"]
    assert len(figure.data) == len(figure.layout.shapes) == 2


@pytest.mark.parametrize(("width", "pixels"), [(320, 1600), (545, 1600), (800, 1600), (1000, 2000)])
def test_a_png_is_wide_enough_for_a_slide(width: int, pixels: int) -> None:
    assert width * png_scale(width) == pytest.approx(pixels)


def test_many_texts_are_counted_and_a_long_one_is_cut() -> None:
    line = Caption("", (), ("x" * 500, "b", "c")).line
    assert line == f"3 texts, the first “{'x' * 119}…”."


@pytest.mark.parametrize(
    "line",
    [
        f"How it is read. Model: tiny, revision {'a1' * 20}. Text: “{'word ' * 15}end”.",
        f"How it is read. Model: tiny, revision a1a1a1a1a1a1. Text: “{'word ' * 15}end”.",
        f"Model: tiny, revision a1a1a1a1a1a1. Text: “{'word ' * 15}end”.",
        f"Model: tiny, revision a1a1a1a1a1a1. Text: “{('word ' * 12)[:59]}…”.",
    ],
)
def test_the_line_of_a_file_gives_way_to_its_width(line: str) -> None:
    """The revision first, then the description, then the end of a text."""
    caption = Caption("How it is read.", (("tiny", "a1" * 20),), ("word " * 15 + "end",))
    assert one_line(caption, text_width(line, CAPTION_SIZE)) == line
    assert one_line(caption, 100) == f"Model: tiny, revision a1a1a1a1a1a1. Text: “{'word ' * 15}end”.", (
        "in several lines"
    )


def test_characters_that_act_are_spelled_out() -> None:
    assert spelled("a\u202eb\x00 \t c\ud800") == "aU+202EbU+0000 cU+D800"


def test_a_title_is_not_said_twice() -> None:
    figure = go.Figure(layout=layout(LIGHT, "a &lt; b"))
    assert caption_of(figure, "a < b", [("m", "r")]).words == ""
    assert caption_of(figure, "a < b: one by one — m.", [("m", "r")]).words == "One by one."
    assert caption_of(figure, "a < b. b — m2 and — m", [("m", "r")]).words == "B — m2 and"
    assert caption_of(figure, "a < b, counted", [("m", "r")], ("", None, "t")) == Caption(
        "a < b, counted", (("m", "r"),), ("t",), ""
    )


@pytest.mark.parametrize(("scale", "end"), [(1.0, "1.5"), (3.0, "5")])
def test_the_range_is_that_of_the_scale_in_its_own_unit(scale: float, end: str) -> None:
    values = np.linspace(-1.5, 1.0, 6, dtype=np.float32).reshape(2, 3) * scale
    names, lengths = ["a", "b"], np.abs(values)
    signed = values_heatmap(values, names, 0, None, "t", LIGHT)
    assert colour_range(signed) == f"value, −{end} to {end}"
    assert colour_range(layer_map(lengths, [*names, "c"], ["x", "y"], None, "t", "norm", DARK)) == f"norm, 0 to {end}"
    many = np.resize(values, (400, 300))
    assert colour_range(values_heatmap(many, ["x"] * 400, 0, None, "t", LIGHT)) == colour_range(signed)


@pytest.mark.parametrize(
    ("words", "places", "ends"),
    [
        (("1.00 MiB", "4.00 MiB"), (20, 22), "memory, 1.00 MiB to 4.00 MiB"),
        (("1.00 MiB", "4.00 MiB"), (20.5, 21), "memory, less than 1.00 MiB to more than 4.00 MiB"),
        (("1", "10", "100"), (20.5, 21, 21.5), "memory, 0.1 to 1,000, logarithmic"),
        (("1", "2", "3"), (20.5, 21, 21.5), "memory, 0 to 4"),
        (("top", "end"), (22, 20), "memory, top to end"),
    ],
)
def test_a_tick_is_an_end_only_where_it_stands_at_the_end(
    words: tuple[str, ...], places: tuple[float, ...], ends: str
) -> None:
    bar = {"title": {"text": "memory"}, "tickvals": places, "ticktext": words}
    assert colour_range(go.Figure(go.Heatmap(z=[[20, 22]], zmin=20, zmax=22, colorbar=bar))) == ends


@pytest.mark.parametrize("drawn", [None, (0, 65_535), (-127, 127)])
def test_a_range_goes_to_the_ends_though_its_ticks_are_round_numbers_within(drawn: tuple[float, float] | None) -> None:
    low, high = drawn or (0, 0.946)
    bar = colour_bar("weight", 0, 0.946, drawn)
    assert bar["ticktext"][-1] == "0.946"
    bar |= {name: bar[name][:-1] for name in ("tickvals", "ticktext")}
    assert (
        colour_range(go.Figure(go.Heatmap(z=[[low, high]], zmin=low, zmax=high, colorbar=bar))) == "weight, 0 to 0.946"
    )


def test_a_figure_without_a_scale_has_no_range_and_bare_numbers_have_their_own() -> None:
    assert colour_range(go.Figure(go.Bar(y=[1, 2]))) == ""
    assert colour_range(go.Figure(go.Heatmap(z=[[1, 2]], showscale=False, colorbar={"title": "x"}))) == ""
    marks = go.Scatter(x=[1, 2], y=[1, 2], marker={"color": [3, -4], "colorbar": {"title": {"text": "year"}}})
    assert colour_range(go.Figure(marks)) == "year, −4 to 3"


TITLED = DRAWING.replace("</svg>", '<g class="g-gtitle"><text>Own title</text></g></svg>')
"""A drawing with a title by plotly."""


@pytest.mark.parametrize("medium", ["", "column", SLIDE])
@pytest.mark.parametrize("drawing", [DRAWING, TITLED])
def test_every_file_has_its_title_in_bold_the_picture_and_one_grey_line(drawing: str, medium: str) -> None:
    caption = Caption("", (("org/name", "0a1b"),), (EVIL,), "cosine, −1 to 1")
    root = ElementTree.fromstring(captioned_svg(drawing, "Its title", caption, LIGHT, medium=medium))
    heading, line = root.findall(f"{SVG}text")
    assert "".join(heading.itertext()) == "Its title"
    assert (heading.attrib["font-weight"], heading.attrib["fill"], heading.attrib["font-family"]) == (
        str(TITLE_WEIGHT),
        LIGHT.text,
        FONT,
    )
    words = "".join("".join(each.itertext()) for each in line)
    expected = one_line(caption, float(root.attrib["width"]) - 2 * EDGE)
    assert words.replace(" ", "") == expected.replace(" ", ""), "a long word is broken"
    assert (line.attrib["fill"], line.attrib["font-family"]) == (LIGHT.muted, FONT)
    assert {each.attrib["x"] for text in (heading, line) for each in text} == {str(EDGE)}
    assert "Own title" not in "".join(root.itertext()), "one title is enough"
    first, last = float(heading[0].attrib["y"]), float(line[-1].attrib["y"])
    assert first < 30
    assert last < float(root.attrib["height"])
    if medium == SLIDE:
        assert float(root.attrib["width"]) / float(root.attrib["height"]) == pytest.approx(16 / 9)


def place_of(root: ElementTree.Element) -> tuple[float, float, float]:
    """Left, top and scale of the drawing in a file."""
    (group,) = root.findall(f"{SVG}g")
    left, top, scale, *_ = [*map(float, re.findall(r"[-\d.]+", group.attrib["transform"])), 1.0]
    return left, top, scale


@pytest.mark.parametrize(("width", "height"), [(400, 300), (1000, 300), (480, 1700), (1000, 480)])
def test_a_slide_shows_the_picture_as_large_as_fits_between_title_and_line(width: int, height: int) -> None:
    drawing = DRAWING.replace('width="400" height="300"', f'width="{width}" height="{height}"')
    root = ElementTree.fromstring(for_medium(captioned_svg(drawing, "t", CAPTION, LIGHT, medium=SLIDE), SLIDE))
    assert (root.attrib["width"], root.attrib["height"]) == ("1600", "900")
    left, top, scale = place_of(root)
    assert left == pytest.approx((1000 - scale * width) / 2, abs=0.1)
    low = float(root.findall(f"{SVG}text")[1][0].attrib["y"]) - 0.8 * CAPTION_SIZE
    head = float(root.findall(f"{SVG}text")[0][-1].attrib["y"])
    assert top > head
    assert top + scale * height < low
    room = slide_room("t", CAPTION) - TITLE_TOP - 1.3 * TITLE_SIZE
    assert max(scale * width / 1000, scale * height / room) == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(("width", "height", "filled"), [(400, 200, 1000), (1250, 100, 1000), (400, 900, 333)])
def test_a_drawing_fills_the_width_of_its_file_up_to_three_quarters_high(width: int, height: int, filled: int) -> None:
    drawing = DRAWING.replace('width="400" height="300"', f'width="{width}" height="{height}"')
    root = ElementTree.fromstring(captioned_svg(drawing, "t", CAPTION, LIGHT, wide=1000))
    assert float(root.attrib["width"]) == 1000
    assert place_of(root)[2] * width == pytest.approx(filled, abs=1)


def test_the_caption_stands_below_the_drawing_and_above_the_edge() -> None:
    caption = Caption("", (("word " * 60, "abc"),))
    root = ElementTree.fromstring(captioned_svg(DRAWING, EVIL, caption, DARK, EVIL))
    heights = [float(each.attrib["y"]) for each in root.findall(f"{SVG}text")[1]]
    assert len(heights) > 5
    assert min(heights) > 300
    assert max(heights) < float(root.attrib["height"])
    assert all(low < high for low, high in zip(heights, heights[1:], strict=False))
    assert root.findtext(f"{SVG}title") == EVIL
    assert (root.findtext(f"{SVG}desc") or "").startswith(EVIL)
    assert [each.tag.removeprefix(SVG) for each in root] == ["title", "desc", "style", "rect", "g", "text", "text"]
    assert root.attrib["role"] == "img"


def test_files_carry_the_typeface_of_the_page() -> None:
    assert FONT_FILE.read_bytes()[:4] == b"wOF2"
    assert FONT.partition(",")[0] == FAMILY
    page = standalone_html(go.Figure(), "t", CAPTION, LIGHT)
    drawing = ElementTree.fromstring(captioned_svg(DRAWING, "t", CAPTION, LIGHT))
    for style in (page, drawing.findtext(f"{SVG}style") or ""):
        (file,) = re.findall(r"@font-face\{font-family:'Source Sans';[^}]*url\(data:font/woff2;base64,([^)]+)\)", style)
        assert base64.b64decode(file) == FONT_FILE.read_bytes()
    assert [each.attrib["font-family"] for each in drawing.findall(f"{SVG}text")] == [FONT, FONT]


def test_a_column_is_85_millimetres_wide_and_keeps_its_proportions() -> None:
    before = captioned_svg(DRAWING, "t", CAPTION, LIGHT)
    root = ElementTree.fromstring(for_medium(before, "column"))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert root.attrib["width"] == "85mm"
    assert float(root.attrib["height"].removesuffix("mm")) == pytest.approx(85 * height / width, rel=1e-4)
    assert root.attrib["viewBox"] == ElementTree.fromstring(before).attrib["viewBox"]


def test_what_is_no_drawing_is_refused() -> None:
    for refused in (
        lambda: captioned_svg("<p/>", "", CAPTION, LIGHT),
        lambda: framed("<p/>", LIGHT),
        lambda: for_medium("<p/>", "slide"),
    ):
        with pytest.raises(ValueError, match="size|width"):
            refused()
    with pytest.raises(ValueError, match="PNG"):
        described_png(b"GIF", "words")


def test_a_described_png_is_whole() -> None:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    rest = chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
    found = described_png(head + rest, "Zwei Wörter −1")
    words = b"Description\0\0\0\0\0" + "Zwei Wörter −1".encode()
    assert found == head + chunk(b"iTXt", words) + rest


def test_print_has_nothing_to_hover_or_drag_and_is_drawn_once() -> None:
    picture = FigureSpec("t", "a", lambda theme: go.Figure(layout=layout(theme, "t")))
    paper = picture.drawn(PRINT)
    assert (paper.layout.hovermode, paper.layout.dragmode) == (False, False)
    assert picture.drawn(LIGHT).layout.hovermode is not False
    assert picture.drawn(PRINT) is paper


def test_bars_and_lines_differ_in_print_by_more_than_colour() -> None:
    bars = FigureSpec(
        "t", "a", lambda theme: go.Figure([go.Bar(y=[1], name=name) for name in "abc"], layout(theme, "t"))
    )
    lines = FigureSpec(
        "t",
        "a",
        lambda theme: go.Figure([go.Scatter(y=[1], mode="lines", name=name) for name in "abb"], layout(theme, "t")),
    )
    assert len({bar.marker.pattern.shape for bar in bars.drawn(PRINT).data}) == 3
    assert not any(bar.marker.pattern.shape for bar in bars.drawn(LIGHT).data)
    first, second, third = (line.line.dash for line in lines.drawn(PRINT).data)
    assert first != second == third


def test_for_a_pdf_each_weight_of_the_typeface_is_a_font_of_its_own() -> None:
    svg = captioned_svg(DRAWING, "T", CAPTION, LIGHT)
    faces = re.findall(r"font-weight:(\d+) (\d+);src:url\(data:font/woff2;base64,([^)]+)\)", with_static_fonts(svg))
    files = [base64.b64decode(file) for _, _, file in faces]
    assert files == [FONT_FILE.with_name(name).read_bytes() for name in STATIC_FONTS.values()]
    weights = [range(int(first), int(last) + 1) for first, last, _ in faces]
    assert [*weights[0], *weights[1]] == list(range(200, 901)), "every weight has one font"
    assert 400 in weights[0]
    assert 600 in weights[1]
