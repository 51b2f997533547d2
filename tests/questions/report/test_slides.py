"""Slides have the titles, notes and pictures of what was asked for, in order, and nothing stands beyond a slide.

Covers `bertviz_core/questions/report/slides.py`, whose pictures need a browser.
"""

import struct
import sys
import zlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from pptx import Presentation
from pptx.util import Inches

from bertviz_core.errors import BertvizError, SupersededError
from bertviz_core.figures.base.axes import wrapped
from bertviz_core.figures.base.export import Caption, offline_page
from bertviz_core.figures.base.style import DARK, LIGHT
from bertviz_core.questions.report.sections import Report, ReportSection
from bertviz_core.questions.report.slide_pictures import SlidePicture, slide_pictures
from bertviz_core.questions.report.slides import MOST_COLUMNS, MOST_ROWS, ReportSlide, slides_file, slides_of
from bertviz_core.version import __version__

CAPTION = Caption("Queries in rows", (("a-model", "abc"),), ("A river.",), "weight, 0 to 1")
PICTURE = 13
"""MSO_SHAPE_TYPE.PICTURE."""
CONTROLS = "".join(map(chr, range(32))) + "\x7f\x85\u202e\u2028\ufffe\uffff\ud800"
LONG = "What does one see here, and why? " * 60
TURNED = "هذا نص يُكتب من اليمين إلى اليسار. " * 60
TEXTS = {
    "plain": ("Head 3", "It reads the word before.\nSo it does."),
    "long": (LONG, f"{LONG}\n{LONG}"),
    "one word": ("w" * 2000, "w" * 2000),
    "right to left": (TURNED, TURNED),
    "markup": ('<b>&amp; "x" _x0041_</b>', "</a:t><p:sp/> *no* =1+1"),
    "nothing": ("", ""),
}


def png(width: int, height: int) -> bytes:
    """A black picture (PNG specification, 11.2)."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(bytes((width + 1) * height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def section(name: str, **more: Any) -> ReportSection:
    return ReportSection(name, f"Title of {name}", f"Alt of {name}", None, CAPTION, "", **more)


def picture(name: str, size: tuple[int, int] = (1600, 900)) -> SlidePicture:
    return SlidePicture(png(*size), f"Reading of {name}.", f"Alt of {name}")


def read(slides: Sequence[ReportSlide], pictures: dict[str, SlidePicture]) -> Any:
    return Presentation(BytesIO(slides_file(slides, pictures, LIGHT, "A lesson", "An author", "A summary")))


def texts(deck: Any) -> list[tuple[str, str]]:
    """Title and notes of each slide."""
    return [(each.shapes.title.text, each.notes_slide.notes_text_frame.text) for each in deck.slides]


def test_there_is_a_slide_for_each_in_order_with_its_title_note_and_picture() -> None:
    names = ["b", "a", "c"]
    slides = [ReportSlide(f"The {name}", f"Note of {name}.\nMore.", (section(name),), (f"/{name}",)) for name in names]
    deck = read(slides, {name: picture(name) for name in names})
    assert texts(deck) == [
        (f"The {name}", f"Note of {name}.\nMore.\nTitle of {name}\nReading of {name}.\n/{name}") for name in names
    ]
    for name, slide in zip(names, deck.slides, strict=True):
        (shape,) = [each for each in slide.shapes if each.shape_type == PICTURE]
        assert shape.image.blob == picture(name).png
        assert shape.element.xpath(".//p:cNvPr")[0].get("descr") == f"Alt of {name}"
        shown = [each.text_frame.text for each in slide.shapes if each.has_text_frame]
        assert shown == [f"The {name}", f"Note of {name}.\nMore.", f"Title of {name}", f"Reading of {name}."]
    properties = deck.core_properties
    assert (properties.title, properties.author, properties.comments) == ("A lesson", "An author", "A summary")
    assert properties.last_modified_by == f"Inside BERT {__version__}"
    assert properties.created == properties.modified > datetime(2014, 1, 1), "not those of the template"
    assert (deck.slide_width, deck.slide_height) == (round(Inches(7.5) * 16 / 9), Inches(7.5))


@pytest.mark.parametrize("note", ["", "A note."])
@pytest.mark.parametrize("size", [(1600, 900), (900, 1600), (1600, 100)])
def test_a_picture_keeps_its_proportions_and_nothing_overlaps(note: str, size: tuple[int, int]) -> None:
    deck = read([ReportSlide("T", note, (section("p"),))], {"p": picture("p", size)})
    (slide,) = deck.slides
    shapes = list(slide.shapes)
    assert sum(each.shape_type == PICTURE for each in shapes) == 1
    for each in shapes:
        assert each.left >= 0
        assert each.top >= 0
        assert each.left + each.width <= deck.slide_width
        assert each.top + each.height <= deck.slide_height
        if each.shape_type == PICTURE:
            assert each.width / each.height == pytest.approx(size[0] / size[1], rel=1e-4)
    for place, one in enumerate(shapes):
        for other in shapes[:place]:
            beside = one.left >= other.left + other.width or other.left >= one.left + one.width
            assert beside or one.top >= other.top + other.height or other.top >= one.top + one.height


def test_each_picture_and_table_of_a_view_has_a_slide_and_is_as_large_as_a_single_one() -> None:
    view = (section("a"), section("b"), section("nothing"), section("c", table=pd.DataFrame({"x": [1]})))
    made = {name: picture(name) for name in "ab"}
    deck = read([ReportSlide("T", "Note.", view, ("/a",)), ReportSlide("Title of a", "", view[:1])], made)
    assert texts(deck) == [
        ("T", "Note.\nTitle of a\nReading of a.\n/a"),
        ("Title of b", "Reading of b."),
        ("Title of c", CAPTION.line),
        ("Title of a", "Reading of a."),
    ]
    drawn = [[each for each in slide.shapes if each.shape_type == PICTURE] for slide in deck.slides]
    assert [len(each) for each in drawn] == [1, 1, 0, 1]
    (noted,), (bare,), (single,) = filter(None, drawn)
    assert (bare.width, bare.height) == (single.width, single.height)
    assert noted.height == Inches(4.5), "all but the note above it"
    assert bare.height == Inches(5.25)
    descriptions = [each.element.xpath(".//p:cNvPr")[0].get("descr") for (each,) in filter(None, drawn)]
    assert descriptions == ["Alt of a", "Alt of b", "Alt of a"]
    assert sum(shape.has_table for shape in deck.slides[2].shapes) == 1


def test_a_view_with_nothing_drawn_is_a_slide_with_its_note() -> None:
    deck = read([ReportSlide("T", "Note.", (section("nothing"), section("none")))], {})
    assert texts(deck) == [("T", "Note.")]


@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_fits_its_box_and_is_whole_in_the_notes(kind: str) -> None:
    title, note = TEXTS[kind]
    slide = ReportSlide(title, note, (section("a"),), (note,))
    ((shown, notes),) = texts(deck := read([slide], {"a": picture("a")}))
    for shape in deck.slides[0].shapes:
        if not shape.has_text_frame:
            continue
        frame = shape.text_frame
        sizes = {run.font.size.pt for paragraph in frame.paragraphs for run in paragraph.runs}
        if sizes:
            (size,) = sizes
            lines = sum(len(wrapped(each.text, shape.width / 12700, size)) for each in frame.paragraphs)
            assert lines * size * 1.2 <= shape.height / 12700
    whole = " ".join(notes.split())
    assert " ".join(note.split()) in whole
    assert shown == title or (shown.endswith("…") and " ".join(title.split()) in whole)


def test_characters_that_xml_does_not_have_are_codes() -> None:
    """XML 1.0, section 2.2: no control characters but three, no surrogates, no U+FFFE and U+FFFF."""
    ((_, notes),) = texts(read([ReportSlide(CONTROLS, CONTROLS, (section("a"),))], {"a": picture("a")}))
    for each in CONTROLS:
        assert f"U+{ord(each):04X}" in notes or each.isspace()


def test_what_is_written_from_right_to_left_is_marked_so() -> None:
    deck = read([ReportSlide(TURNED[:30], "From the left.", ())], {})
    title, note = (shape.element.xpath(".//a:pPr")[0] for shape in deck.slides[0].shapes)
    assert (title.get("rtl"), title.get("algn")) == ("1", "r")
    assert (note.get("rtl"), note.get("algn")) == (None, "l")


@pytest.mark.parametrize(("rows", "columns"), [(0, 2), (3, 2), (MOST_ROWS + 5, MOST_COLUMNS + 1)])
def test_a_table_is_a_table_whose_cells_are_those_of_the_report(rows: int, columns: int) -> None:
    numbers = np.arange(rows * columns).reshape(rows, columns) * -1000
    frame = pd.DataFrame(numbers, columns=[f"c{place}" for place in range(columns)])
    deck = read([ReportSlide("T", "Note.", (section("a", table=frame),))], {})
    (shape,) = [each for each in deck.slides[0].shapes if each.has_table]
    cells = [[cell.text for cell in row.cells] for row in shape.table.rows]
    first = numbers[:MOST_ROWS, :MOST_COLUMNS]
    assert cells == [
        [f"c{place}" for place in range(first.shape[1])],
        *([f"{cell:,}".replace("-", "−") for cell in row] for row in first.tolist()),
    ]
    cut = rows > MOST_ROWS
    assert (f"the first {MOST_ROWS} of {rows} rows" in texts(deck)[0][1]) == cut
    assert shape.top + shape.height <= deck.slide_height


def test_colours_are_those_of_the_theme() -> None:
    deck: Any = Presentation(BytesIO(slides_file([ReportSlide("T", "N")], {}, DARK, "")))
    (slide,) = deck.slides
    assert f"#{slide.background.fill.fore_color.rgb}".lower() == DARK.paper.lower()
    assert f"#{slide.shapes.title.text_frame.paragraphs[0].runs[0].font.color.rgb}".lower() == DARK.text.lower()


def test_a_report_has_a_slide_for_each_figure_and_its_facts_in_the_notes() -> None:
    report = Report("m", {"Model": "m", "Parameters": "7"}, (section("a"), section("b")))
    first, second = slides_of(replace(report, left_out={"No head.": ("c", "d")}, notices=("Cut.",)))
    assert (first.title, second.title) == ("Title of a", "Title of b")
    assert first.more == ("Model: m\nParameters: 7\nCut.\nWithout c, d: No head.",)
    assert second.more == ()


def test_without_the_package_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pptx", None)
    with pytest.raises(BertvizError, match=r"needs the package python-pptx, .*'inside-bert\[slides\]'"):
        slides_file([], {}, LIGHT, "")


def test_what_has_no_figure_needs_no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", "/nonexistent/chromium")
    assert slide_pictures([section("a"), section("b", table=pd.DataFrame({"x": [1]}))], LIGHT) == {}


@pytest.mark.browser
@pytest.mark.slow
def test_figures_and_drawings_become_pictures_of_slides_with_their_texts() -> None:
    sections = [
        ReportSection("f", "T", "Alt.", go.Figure(go.Bar(y=[1, 2]), layout={"height": 300}), CAPTION, ""),
        section("p", page=drawn_page()),
        section("t"),
    ]
    calls: list[tuple[int, int]] = []
    made = slide_pictures(sections, LIGHT, lambda done, total: calls.append((done, total)))
    assert list(made) == ["f", "p"]
    assert calls == [(0, 2), (1, 2), (2, 2)]
    for each in made.values():
        width, height = struct.unpack(">II", each.png[16:24])
        assert width > height, "without the title, which is text"
        assert width >= 1600
        assert each.alt.encode() in each.png
    assert (made["f"].reading, made["f"].alt) == (CAPTION.line, f"Alt. {CAPTION.line}")
    assert (made["p"].reading, made["p"].alt) == ("A caption & more.", "A caption & more.")
    assert {each.line for each in made.values()} == {CAPTION.line}


@pytest.mark.browser
@pytest.mark.slow
def test_work_that_is_not_wanted_any_more_ends() -> None:
    def stop(*_: int) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        slide_pictures([section("p", page=drawn_page())], LIGHT, stop)


def drawn_page() -> str:
    """A page whose drawing is a circle."""
    header = b'{"look":{"text":"#000000","paper":"#ffffff","muted":"#555555"}}'
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50"><circle r="9"/></svg>'
    script = f"function startAlone() {{ document.picture = () => '{svg}'; }}"
    payload = len(header).to_bytes(4, "little") + header
    return offline_page(payload, "<div></div>", "", script, "A title", "A caption & more.")
