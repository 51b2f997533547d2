"""Pictures of the sections of a report for its slides, drawn by a browser."""

from collections.abc import Sequence
from dataclasses import dataclass

from bertviz_core.errors import Progress
from bertviz_core.figures.base.export import (
    DECK_WIDE,
    NO_CAPTION,
    Caption,
    captioned_svg,
    deck_tall,
    description,
    one_line,
    slide_width,
    without_selection,
)
from bertviz_core.figures.base.style import Theme
from bertviz_core.questions.interventions.journey_change import WHAT_OPENS
from bertviz_core.questions.report.drawing_files import page_drawing
from bertviz_core.questions.report.figure_files import Renderer, browser, by_browser, image_of
from bertviz_core.questions.report.sections import ReportSection

POINTS, LINE_SIZE = 72, 11
"""Points per inch, and the smallest letters of the line below a picture that is one line."""


@dataclass(frozen=True, slots=True, eq=False)
class SlidePicture:
    """A figure as a picture, and its texts, which stand on the slide as text."""

    png: bytes
    """The picture without its title."""
    reading: str
    """How it is read, and its model and text; may be empty."""
    alt: str
    """Text alternative for screen readers."""
    line: str = ""
    """What of the reading stands on the slide; "" for all of it."""


def slide_line(caption: Caption) -> str:
    """The caption in one line below a picture or a table of a slide."""
    return one_line(caption, DECK_WIDE * POINTS, LINE_SIZE)


def slide_pictures(
    sections: Sequence[ReportSection], theme: Theme, progress: Progress | None = None
) -> dict[str, SlidePicture]:
    """Draw the figures of these sections, all in one browser.

    Args:
        sections: sections of a report, whose names differ; those that are a table or a text have no picture.
        theme: the theme in which their figures were drawn.

    Returns:
        Name of the section -> its picture.
    """
    drawn = [each for each in sections if each.is_drawn]
    if not drawn:
        return {}

    async def pictures() -> dict[str, SlidePicture]:
        made: dict[str, SlidePicture] = {}
        async with browser() as started:
            for each in drawn:
                if progress is not None:
                    progress(len(made), len(drawn))
                made[each.name] = await _picture(started, each, theme)
        return made

    made = by_browser(".pptx", pictures)
    if progress is not None:
        progress(len(drawn), len(drawn))
    return made


async def _picture(started: Renderer, section: ReportSection, theme: Theme) -> SlidePicture:
    if section.page:
        drawing = await page_drawing(started, section.page, slide=True)
        reading = alt = drawing.caption.removesuffix(WHAT_OPENS).rstrip()  # nothing opens in a picture
        svg = drawing.captioned(theme, NO_CAPTION)
    else:
        reading, alt = section.caption.line, description(section.alt, section.caption)
        svg = captioned_svg(await _plotly_svg(started, section), section.title, NO_CAPTION, theme, alt)
    return SlidePicture(await image_of(started, ".png", svg, theme, alt), reading, alt, slide_line(section.caption))


async def _plotly_svg(started: Renderer, section: ReportSection) -> str:
    figure = without_selection(section.slide or section.figure)
    height = figure.layout.height or 450
    width = slide_width(figure, deck_tall(section.slide is not None))
    figure.update_layout(width=width)
    opts = {"format": "svg", "scale": 1, "width": width, "height": height}
    drawing: bytes = await started.calc_fig(figure, opts=opts)
    return drawing.decode()
