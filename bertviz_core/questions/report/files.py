"""Create the report of an opened model as a file: self-contained HTML, or slides."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bertviz_core.errors import Progress
from bertviz_core.figures.base.export import NO_CAPTION, Caption, deck_tall
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import Theme
from bertviz_core.questions.figures import all_figures
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.drawing_files import drawing_content
from bertviz_core.questions.report.figure_files import PPTX, file_content, require_browser
from bertviz_core.questions.report.page import report_page
from bertviz_core.questions.report.sections import (
    USUAL,
    Report,
    ReportSection,
    known_figures,
    needs_many_runs,
    report_of,
    reported_figures,
)
from bertviz_core.questions.report.slide_pictures import slide_pictures
from bertviz_core.questions.report.slides import ReportSlide, require_slides, slides_file, slides_of

__all__ = [
    "PPTX",
    "USUAL",
    "drawing_file",
    "figure_file",
    "report_figures",
    "report_file",
    "slides_of_report",
    "slides_steps",
]
NO_FACTS: Mapping[str, str] = {}


def report_figures(quick: bool) -> dict[str, str]:
    """Name of each figure that a report supports -> description; the default ones first.

    Args:
        quick: whether to omit figures that need more than one run of the model.
    """
    named = {each: all_figures()[each].description.partition(" (")[0] for each in reported_figures()}
    return {each: shows for each, shows in named.items() if not (quick and needs_many_runs(each))}


def report_file(
    opened: Opened,
    text: str,
    pair: str | None,
    figures: Sequence[str],
    theme: Theme,
    progress: Progress | None = None,
    first: Sequence[ReportSection] = (),
    facts: Mapping[str, str] = NO_FACTS,
    slides: bool = False,
) -> bytes:
    """Create the report as an HTML file, or as a PPTX file with a slide for each figure.

    Progress counts the figures, and for slides their pictures, too: `slides_steps` if all can be drawn.

    Args:
        text: the input; "" for a report on the model alone.
        facts: further facts for the head of the report.
    """
    if slides:
        require_slides()
        if figures or any(each.is_drawn for each in first):
            require_browser(PPTX)  # a missing one is reported before figures are drawn for a minute

    def figures_drawn(done: int, total: int) -> None:
        if progress is not None:
            progress(done, slides_steps(figures, first) if slides else total)

    def pictures_drawn(done: int, total: int) -> None:
        if progress is not None:
            progress(len(figures) + done, len(figures) + total)

    drawn = theme.on_slide(deck_tall()) if slides else theme
    options = Options((text,) if text.strip() else (), pair, values={"map": "change"})
    names = known_figures(figures) if figures or not first else ()
    made = report_of(opened, options, names, drawn, figures_drawn, first)
    made = replace(made, facts={**made.facts, **facts})
    return (
        slides_of_report(made, theme, pictures_drawn) if slides else report_page(made, theme).encode("utf-8", "replace")
    )


def slides_steps(figures: Sequence[str], first: Sequence[ReportSection] = ()) -> int:
    """Number of figures and pictures of slides; fewer where a figure cannot be drawn."""
    return 2 * len(figures) + sum(each.is_drawn for each in first)


def slides_of_report(made: Report, theme: Theme, progress: Progress | None = None) -> bytes:
    """Write a report as a PPTX file, a slide for each figure."""
    pictures = slide_pictures(made.sections, theme, progress)
    return slides_file(slides_of(made), pictures, theme, made.title or f"{made.model}: a report", about=made.about)


def figure_file(
    ending: str,
    picture: FigureSpec,
    caption: Caption,
    theme: Theme,
    width: int,
    height: int | None = None,
    medium: str = "",
) -> bytes:
    """Content of a file with a figure, as `figure_files.file_content`, or of a slide, whose texts are text."""
    if ending != PPTX:
        return file_content(ending, picture, caption, theme, width, height, medium)
    drawn = picture.drawn(theme.on_slide(deck_tall()))
    return _slide(ReportSection(picture.title, picture.title, picture.alt, drawn, caption, ""), theme)


def drawing_file(
    ending: str, page: str, width: int, theme: Theme, medium: str = "", below: Caption | None = None
) -> bytes:
    """Content of a file with a drawing, as `drawing_files.drawing_content`, or of a slide, whose texts are text."""
    if ending != PPTX:
        return drawing_content(ending, page, width, theme, medium, below)
    title = html.unescape(page.partition("<title>")[2].partition("</title>")[0])
    return _slide(ReportSection(title, title, title, None, below or NO_CAPTION, "", page=page), theme)


def _slide(section: ReportSection, theme: Theme) -> bytes:
    require_slides()
    slide = ReportSlide(section.title, section.note, (section,))
    return slides_file((slide,), slide_pictures((section,), theme), theme, section.title)
