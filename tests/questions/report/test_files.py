"""The steps of slides are their figures and their pictures, so that the time left is that of both.

Covers `bertviz_core/questions/report/files.py`; its HTML file is tested in `tests/cli/test_report.py`, its contents in
`tests/ui/cache/test_report.py`.
"""

import html
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import plotly.graph_objects as go
import pytest
from pptx import Presentation

from bertviz_core.errors import Progress
from bertviz_core.figures.base.export import COLUMN, MEDIA, SLIDE, WIDTH, Caption
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import FAMILY, FONT, LIGHT, Theme, layout
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.report import files
from bertviz_core.questions.report.sections import ReportSection
from bertviz_core.questions.report.slide_pictures import SlidePicture
from bertviz_core.settings import Settings


def test_steps_of_slides_count_figures_then_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    def black(sections: Sequence[ReportSection], theme: Theme, progress: Progress) -> dict[str, SlidePicture]:
        for place in range(len(sections) + 1):
            progress(place, len(sections))
        return {}

    monkeypatch.setattr(files, "require_browser", lambda suffix: None)
    monkeypatch.setattr(files, "slide_pictures", black)
    steps: list[tuple[int, int]] = []
    names = ("layers", "tokens")
    opened = OpenedModel("all-MiniLM-L6-v2", Settings.from_environment())
    files.report_file(opened, "A river.", None, names, LIGHT, lambda *step: steps.append(step), slides=True)
    assert files.slides_steps(names) == 4
    assert [total for _, total in steps] == [4] * len(steps)
    assert [done for done, _ in steps] == [0, 1, 2, 2, 3, 4]


TITLE = "A title of its own"
SOURCES = Caption("Bars", (("a-model", "abc"),), ("A river.",), "weight, 0 to 1")


def spec_of(height: int) -> FigureSpec:
    def draw(theme: Theme) -> go.Figure:
        return go.Figure(go.Bar(y=[1, 2]), layout(theme, TITLE, height=height))

    return FigureSpec(TITLE, "Two bars", draw)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("height", [180, 420, 900])
def test_a_figure_has_the_same_title_sources_and_typeface_in_all_files(height: int) -> None:
    """The title is there once and the picture fills the width, on a slide too."""
    svg = "{http://www.w3.org/2000/svg}"
    for medium in ("", SLIDE, COLUMN):
        content = files.figure_file(".svg", spec_of(height), SOURCES, LIGHT, MEDIA.get(medium, WIDTH), medium=medium)
        root = ElementTree.fromstring(content.decode())
        texts = ["".join(each.itertext()) for each in root.iter(f"{svg}text")]
        assert texts.count(TITLE) == 1
        title, line = root.findall(f"{svg}text")
        assert ("".join(title.itertext()), title.attrib["font-weight"]) == (TITLE, "600")
        written = " ".join("".join(each.itertext()) for each in line)
        assert SOURCES.line.endswith(written), "where it is cut, the description goes"
        assert written.startswith("Model" if medium == COLUMN else "Bars")
        assert {each.attrib["font-family"] for each in (title, line)} == {FONT}
        (place,) = root.findall(f"{svg}g")
        _, _, scale, *_ = [*map(float, re.findall(r"[-\d.]+", place.attrib["transform"])), 1.0]
        drawn = float(place[0].attrib["width"]) * scale
        assert drawn == pytest.approx(float(root.attrib["viewBox"].split()[2]), rel=0.03)
    deck: Any = Presentation(BytesIO(files.figure_file(".pptx", spec_of(height), SOURCES, LIGHT, WIDTH)))
    (slide,) = deck.slides
    assert slide.shapes.title.text == TITLE
    assert SOURCES.line in [each.text_frame.text for each in slide.shapes if each.has_text_frame]
    runs = [run for each in slide.shapes if each.has_text_frame for p in each.text_frame.paragraphs for run in p.runs]
    assert {run.font.name for run in runs} == {FAMILY}
    (picture,) = [each for each in slide.shapes if each.shape_type == 13]  # MSO_SHAPE_TYPE.PICTURE
    assert picture.width / deck.slide_width > 0.85
    assert picture.height / deck.slide_height > (0.65 if height > 180 else 0.35), (
        "drawn anew, as high as the slide has room"
    )
    page = files.figure_file(".html", spec_of(height), SOURCES, LIGHT, WIDTH).decode()
    assert f"<title>{TITLE}</title>" in page
    assert html.escape(SOURCES.line) in page
