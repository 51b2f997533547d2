"""The steps of slides are their figures and their pictures, so that the time left is that of both.

Covers `bertviz_core/questions/report/files.py`; its HTML file is tested in `tests/cli/test_report.py`, its contents in
`tests/ui/cache/test_report.py`.
"""

from collections.abc import Sequence

import pytest

from bertviz_core.errors import Progress
from bertviz_core.figures.base.style import LIGHT, Theme
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
