"""Create the report of an opened model as a self-contained HTML file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bertviz_core.errors import Progress
from bertviz_core.figures.base.style import Theme
from bertviz_core.questions.figures import all_figures
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.page import report_page
from bertviz_core.questions.report.sections import MANY_RUNS, REPORTED, USUAL, ReportSection, known_figures, report_of

__all__ = ["USUAL", "report_figures", "report_file"]
NO_FACTS: Mapping[str, str] = {}


def report_figures(quick: bool) -> dict[str, str]:
    """Name of each figure that a report supports -> description; the default ones first.

    Args:
        quick: whether to omit figures that need more than one run of the model.
    """
    named = {each: all_figures()[each].description.partition(" (")[0] for each in REPORTED}
    return {each: shows for each, shows in named.items() if not (quick and each in MANY_RUNS)}


def report_file(
    opened: Opened,
    text: str,
    pair: str | None,
    figures: Sequence[str],
    theme: Theme,
    progress: Progress | None = None,
    first: Sequence[ReportSection] = (),
    facts: Mapping[str, str] = NO_FACTS,
) -> bytes:
    """Create the report.

    Args:
        opened: the model.
        text: the input; "" for a report on the model alone.
        pair: a second text of the same input.
        figures: names of the figures, in order.
        theme: colours, and the width of the figures.
        progress: called with figures drawn and their number.
        first: sections before these figures.
        facts: further facts for the head of the report.

    Raises:
        BertvizError: there is no such figure, or none of them can be drawn.
    """
    options = Options((text,) if text.strip() else (), pair, values={"map": "change"})
    names = known_figures(figures) if figures or not first else ()
    report = report_of(opened, options, names, theme, progress, first)
    return report_page(replace(report, facts={**report.facts, **facts}), theme).encode("utf-8", "replace")
