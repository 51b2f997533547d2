"""Write slides as an editable PPTX: a title, a picture or a table, and a note on each, all texts as text.

A view with several pictures or tables goes on on further slides, each as large as a single one.
Positions are in inches, sizes of letters in points. A text without room is cut on its slide, and whole in the notes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING, Any

from bertviz_core.figures.base.axes import wrapped
from bertviz_core.figures.base.export import DECK_HIGH, DECK_NOTED, DECK_WIDE, spelled
from bertviz_core.figures.base.style import FAMILY, Theme
from bertviz_core.lazy_imports import optional
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.report.page import cell_text
from bertviz_core.questions.report.sections import Report, ReportSection
from bertviz_core.questions.report.slide_pictures import POINTS, SlidePicture, slide_line
from bertviz_core.text import is_right_to_left
from bertviz_core.version import __version__

if TYPE_CHECKING:
    from pptx.presentation import Presentation
    from pptx.slide import Slide as DrawnSlide
    from pptx.text.text import TextFrame

EMU = 914_400
"""English metric units per inch, in which the file has lengths."""
PAGE_WIDTH, HEIGHT, EDGE = 13 + 1 / 3, 7.5, 0.5
"""Inches: the size of a slide, 16:9, and its margin."""
TITLE_BOX = (EDGE, 0.2, PAGE_WIDTH - 2 * EDGE, 0.85)
MIDDLE, BOTTOM = 1.3, 1.3 + DECK_HIGH
"""Inches: top and bottom of the space between the title and the reading."""
NOTE_BOX, HEADING_BOX = (EDGE, 1.05, DECK_WIDE, 0.65), (EDGE, 1.72, DECK_WIDE, 0.3)
"""Places of a note above a picture, two lines, and of the picture's own heading."""
READING_BOX = (EDGE, 6.65, PAGE_WIDTH - 2 * EDGE, 0.6)
TITLE_SIZES, NOTE_SIZES, READING_SIZES, CELL_SIZE = (30, 26, 22), (20, 18, 16, 14), (12, 11, 10), 12
HEADING_SIZES = (16, 14, 12)
COVER_BOX, COVER_SIZES = (EDGE, 2.2, PAGE_WIDTH - 2 * EDGE, 1.4), (44, 36, 30, 24)
"""Place and sizes of the title of a slide without a picture, whose note is below it."""
LINE = 1.2
"""Height of a line as a share of its letters."""
MOST_ROWS, MOST_COLUMNS, ROW = 12, 6, 0.34
"""Size of a table on a slide, and the height of a row in inches."""
MAKER = f"Inside BERT {__version__}"
LAYOUT = 5
"""Number of the layout "Title Only" in the template of python-pptx."""
NO_CHARACTERS = {code: f"U+{code:04X}" for code in (0xFFFE, 0xFFFF)}
"""Code points that are no characters and that XML 1.0 (section 2.2) has no place for."""
Box = tuple[float, float, float, float]
"""Left, top, width and height in inches."""


@dataclass(frozen=True, slots=True, eq=False)
class ReportSlide:
    """A title, a note, and figures or tables, of which each has a slide."""

    title: str
    note: str = ""
    """A text above the first of them; may have several lines."""
    sections: tuple[ReportSection, ...] = ()
    """Its figures and tables."""
    more: tuple[str, ...] = field(default=())
    """Texts that only the notes of the first slide contain."""

    @property
    def heading(self) -> str:
        """The title of what it shows, where that is another than its own."""
        return next((each.title for each in self.sections[:1] if each.title != self.title), "")


def slides_of(report: Report) -> tuple[ReportSlide, ...]:
    """A slide for each figure of a report; the notes of the first have the text around the figures of a page.

    These are the facts about the model, remarks on the data, and why figures are left out.
    """
    facts = (f"{name}: {value}" for name, value in report.facts.items())
    left_out = (f"Without {', '.join(names)}: {why}" for why, names in report.left_out.items())
    around = "\n".join((*facts, *report.notices, *left_out))
    return tuple(
        ReportSlide(each.title, each.note, (each,), more=() if place else (around,))
        for place, each in enumerate(report.sections)
    )


def require_slides() -> "Callable[[], Presentation]":
    """Return what makes an empty presentation, so that a missing library is reported before the figures are drawn."""
    with optional("slides", "python-pptx", "A .pptx file", "An .html file needs no more."):
        from pptx import Presentation
    return Presentation


def slides_file(
    slides: Sequence[ReportSlide],
    pictures: Mapping[str, SlidePicture],
    theme: Theme,
    title: str,
    author: str = "",
    about: str = "",
) -> bytes:
    """Write the slides as a PPTX file, in their order: one for each picture or table, or for a note alone.

    Args:
        pictures: name of a section -> its picture; sections without one are tables or texts.
    """
    deck = require_slides()()
    _widen(deck)
    properties = deck.core_properties
    properties.title, properties.author, properties.comments = _cut(title), _cut(author or MAKER), _cut(about)
    properties.last_modified_by = MAKER
    properties.created = properties.modified = datetime.now(UTC).replace(tzinfo=None)  # as the library writes UTC
    for each in (part for whole in slides for part in _parts(whole, pictures)):
        slide = deck.slides.add_slide(deck.slide_layouts[LAYOUT])
        _draw(slide, each, next((pictures[one.name] for one in each.sections if one.name in pictures), None), theme)
    file = BytesIO()
    deck.save(file)
    return file.getvalue()


def _parts(slide: ReportSlide, pictures: Mapping[str, SlidePicture]) -> list[ReportSlide]:
    """A slide for each picture or table: the first with title and note, the others with the titles of what they show.

    Sections with neither have no slide.
    """
    shown = [each for each in slide.sections if each.name in pictures or each.table is not None]
    first = replace(slide, sections=tuple(shown[:1]))
    return [first, *(ReportSlide(each.title, sections=(each,)) for each in shown[1:])]


def _widen(deck: "Presentation") -> None:
    """Make the slides of the template, which are 4:3, 16:9, with all that its layouts have."""
    before, deck.slide_width, deck.slide_height = deck.slide_width or 1, _emu(PAGE_WIDTH), _emu(HEIGHT)
    for size in deck.element.iter("{*}sldSz"):
        size.attrib.pop("type", None)  # python-pptx's template is 4:3 and says so
    for surface in (deck.slide_master, *deck.slide_layouts):
        for shape in surface.placeholders:
            left, top, width, height = shape.left, shape.top, shape.width, shape.height
            shape.left, shape.width = (round(each * deck.slide_width / before) for each in (left, width))
            shape.top, shape.height = top, height


def _draw(slide: "DrawnSlide", content: ReportSlide, picture: SlidePicture | None, theme: Theme) -> None:
    """Draw title, figure and texts of a slide, and write its notes, which have every text whole."""
    slide.background.fill.solid()
    slide.background.fill.fore_color.rgb = _colour(theme.paper)
    title, note, heading = _line(content.title), _lines(content.note), slide.shapes.title
    if heading is None:
        raise ValueError("the layout has no title")
    at, sizes = (TITLE_BOX, TITLE_SIZES) if content.sections else (COVER_BOX, COVER_SIZES)
    heading.left, heading.top, heading.width, heading.height = map(_emu, at)
    _write(heading.text_frame, title, at, sizes, theme.text)
    heading.text_frame.paragraphs[0].font.bold = True
    line, reading, note_box = _add_figure(slide, content, picture)
    for words, box, sizes, colour in (
        (note, note_box, NOTE_SIZES, theme.text),
        (_line(content.heading), HEADING_BOX, HEADING_SIZES, theme.text),
        (line, READING_BOX, READING_SIZES, theme.muted),
    ):
        if words:
            _write(slide.shapes.add_textbox(*map(_emu, box)).text_frame, words, box, sizes, colour)
    for shape in slide.shapes:
        for properties in shape.element.iter("{*}pPr"):
            if properties.get("algn") == "r":  # as _write sets it
                properties.set("rtl", "1")
    notes = slide.notes_slide.notes_text_frame
    if notes is not None:
        whole = "" if heading.text_frame.text == title else title
        above = "" if reading.startswith(_line(content.heading)) else _line(content.heading)
        parts = (whole, note, above, reading, *map(_lines, content.more))
        notes.text = "\n".join(filter(None, parts))


def _add_figure(slide: "DrawnSlide", content: ReportSlide, picture: SlidePicture | None) -> tuple[str, str, Box]:
    """Place the picture or table of a slide; returns the line below it, how it is read, and the place of a note."""
    if picture is None and not content.sections:
        return "", "", (EDGE, COVER_BOX[1] + COVER_BOX[3], DECK_WIDE, 3.4)
    high = DECK_NOTED if content.note or content.heading else DECK_HIGH
    box = (EDGE, BOTTOM - high, DECK_WIDE, high)
    if picture is not None:
        _add_picture(slide, picture, box)
        return _line(picture.line or picture.reading), _line(picture.reading), NOTE_BOX
    (each,) = content.sections
    left_out = "" if each.table is None else _add_table(slide, each.table, box)
    line, reading = (_line(f"{left_out} {words}") for words in (slide_line(each.caption), each.caption.line))
    return line, reading, NOTE_BOX


def _add_picture(slide: "DrawnSlide", picture: SlidePicture, box: Box) -> None:
    """Place a picture as large as fits, and describe it for screen readers."""
    left, top, width, height = box
    shape = slide.shapes.add_picture(BytesIO(picture.png), _emu(left), _emu(top), _emu(width))
    if shape.height > _emu(height):
        shape.width, shape.height = round(shape.width * _emu(height) / shape.height), _emu(height)
    shape.left, shape.top = (
        shape.left + (_emu(width) - shape.width) // 2,
        shape.top + (_emu(height) - shape.height) // 2,
    )
    for properties in shape.element.iter("{*}cNvPr"):
        properties.set("descr", _line(picture.alt))


def _add_table(slide: "DrawnSlide", table: "pd.DataFrame", box: Box) -> str:
    """Place the first rows and columns of a table; returns a sentence about those that are left out, or ""."""
    left, top, width, _ = box
    first = table.iloc[:MOST_ROWS, :MOST_COLUMNS]
    rows, columns = len(first) + 1, max(len(first.columns), 1)
    shape = slide.shapes.add_table(rows, columns, _emu(left), _emu(top), _emu(width), _emu(ROW * rows))
    cells = [list(map(str, first.columns)), *(list(map(cell_text, row)) for row in first.itertuples(index=False))]
    for row, texts in enumerate(cells):
        for column, text in enumerate(texts):
            cell = shape.table.cell(row, column)
            inside = (0.0, 0.0, width / columns - 0.25, ROW - 0.1)
            _write(cell.text_frame, _line(text), inside, (CELL_SIZE,), "", bare=False)
    for properties in shape.element.iter("{*}cNvPr"):
        properties.set("descr", f"A table of {rows - 1} rows and {columns} columns")
    omitted = [
        f"the first {shown:,} of {count:,} {name}"
        for shown, count, name in ((rows - 1, len(table), "rows"), (columns, len(table.columns), "columns"))
        if count > shown
    ]
    return f"Shown are {' and '.join(omitted)}." if omitted else ""


def _write(frame: "TextFrame", text: str, box: Box, sizes: Sequence[int], colour: str, bare: bool = True) -> None:
    """Write a text into a frame, in the largest letters with which it fits; cut if it fits with none."""
    from pptx.enum.text import MSO_AUTO_SIZE, PP_ALIGN

    shown, size = _fitting(text, box, sizes)
    frame.word_wrap, frame.auto_size = True, MSO_AUTO_SIZE.NONE
    if bare:
        frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = _emu(0)
    frame.text = shown
    for paragraph in frame.paragraphs:
        backwards = is_right_to_left(paragraph.text)
        paragraph.alignment = PP_ALIGN.RIGHT if backwards else PP_ALIGN.LEFT
        for run in paragraph.runs:
            run.font.size, run.font.name = _emu(size / POINTS), FAMILY
            if colour:
                run.font.color.rgb = _colour(colour)


def _fitting(text: str, box: Box, sizes: Sequence[int]) -> tuple[str, int]:
    """The text, and the size of its letters; with the smallest, its beginning, as far as there is room."""
    for size in sizes:
        if _fits(text, box, size):
            return text, size
    low, high, size = 0, len(text), sizes[-1]
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _fits(f"{text[:middle]}…", box, size) else (low, middle - 1)
    return f"{text[:low].rstrip()}…", size


def _fits(text: str, box: Box, size: int) -> bool:
    lines = sum(len(wrapped(line, box[2] * POINTS, size)) for line in text.split("\n"))
    return lines * size * LINE <= box[3] * POINTS


def _line(text: str) -> str:
    """User text on one line, with unprintable characters, and those that XML cannot contain, escaped."""
    return spelled(text).translate(NO_CHARACTERS)


def _lines(text: str) -> str:
    return "\n".join(map(_line, text.splitlines())).strip()


def _cut(text: str) -> str:
    """A property of the file, which has at most 255 characters."""
    line = _line(text)
    return line if len(line) <= 255 else f"{line[:254]}…"


def _colour(code: str) -> Any:
    from pptx.dml.color import RGBColor

    red_green_blue: Any = RGBColor  # whose constructor has no annotations
    return red_green_blue(*bytes.fromhex(code.removeprefix("#")))


def _emu(inches: float) -> Any:
    return round(inches * EMU)
