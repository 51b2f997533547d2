"""The HTML file of a figure: complete in itself, and no text in it becomes a tag."""

import re
from html.parser import HTMLParser

import plotly.graph_objects as go
import pytest

from figures.export import standalone_html
from figures.parameters import parameter_tree_figure
from figures.style import DARK, LIGHT, layout
from tests.figures.hand_made import TREE

EVIL = '</title></script><script>alert(1)</script><img src="http://evil.example/x.png">&'
LOADED = ("src", "href", "data", "srcset", "action", "poster")


class Tags(HTMLParser):
    """Every tag of a page, and the text of those asked for."""

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
    return standalone_html(parameter_tree_figure(TREE, "Tree", "sunburst", LIGHT), "A tree", "Its caption.")


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
    plain, evil = Tags(standalone_html(figure, "A", "B")), Tags(standalone_html(figure, EVIL, EVIL))
    assert [tag for tag, _ in evil.tags] == [tag for tag, _ in plain.tags]
    assert evil.text["title"] == EVIL
    assert evil.text["p"] == EVIL


def test_a_label_cannot_end_the_script() -> None:
    tags = []
    for label in ("quiet", EVIL):
        figure = go.Figure(go.Sunburst(ids=["a"], labels=[label], parents=[""]), layout(LIGHT, label))
        tags.append([tag for tag, _ in Tags(standalone_html(figure, "A", "B")).tags])
    assert tags[0] == tags[1]


def test_the_page_has_the_ground_of_its_figure() -> None:
    figure = go.Figure(layout=layout(DARK, "Dark"))
    body = next(attributes for tag, attributes in Tags(standalone_html(figure, "A", "B")).tags if tag == "body")
    assert DARK.paper in (body["style"] or "")
    assert DARK.text in (body["style"] or "")
