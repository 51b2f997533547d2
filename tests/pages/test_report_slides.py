"""A report as slides: the same contents as the HTML file, drawn in the background, from the panel of Report.

Covers the slides of `ui/widgets/downloads.py` and of `ui/cache/report.py`, and
`bertviz_core/questions/report/files.py`.
"""

import sys
from io import BytesIO
from typing import Any

import pytest
from pptx import Presentation
from streamlit.testing.v1 import AppTest

from tests.pages.opened import SHELL, visible_text
from ui.cache.jobs import Job, board
from ui.widgets.downloads import SLIDES

MODEL = "all-MiniLM-L6-v2"


def panel(page: str, with_view: bool = True, figures: tuple[str, ...] = (), **query: str) -> AppTest:
    """The page with the panel of Report open, on slides without the usual figures."""
    at = AppTest.from_file(str(SHELL), default_timeout=60)
    at.switch_page(f"../pages/{page}.py")
    for name, value in query.items():
        at.query_params[name] = value
    at.session_state["report_open"], at.session_state["report_format"] = True, SLIDES
    at.session_state["report_view"], at.session_state["report_usual"] = with_view, False
    at.session_state["report_figures"] = list(figures)
    return at.run()


def made(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> bytes | None:
    """Press the button, and wait for the file; None if there is none."""
    jobs: list[Job[Any]] = []
    start = type(board()).start

    def noted(*args: Any, **kwargs: Any) -> Job[Any]:
        jobs.append(start(*args, **kwargs))
        return jobs[-1]

    monkeypatch.setattr(type(board()), "start", noted)
    at.button(key="report_make").click().run()
    assert not at.exception
    assert all(job.wait(120) for job in jobs)
    at.run()
    assert not at.exception
    return jobs[0].result if jobs else None


def notes(slide: Any) -> str:
    text: str = slide.notes_slide.notes_text_frame.text
    return text


def test_the_view_as_it_stands_is_a_slide_and_the_facts_are_in_its_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    at = panel("corpus", view="About")
    slide, *_ = Presentation(BytesIO(made(at, monkeypatch) or b"")).slides
    assert slide.shapes.title.text == "10 rows of the corpus, from row 0 on"
    for fact in (f"Model: {MODEL}", "Parameters: 22,713,216", "This view: Corpus: About"):
        assert fact in notes(slide)
    (table,) = [each.table for each in slide.shapes if each.has_table]
    assert "Fry the onions until they turn golden." in [cell.text for row in table.rows for cell in row.cells]
    assert [each.label for each in at.get("download_button") if each.label.startswith("Save the report")]
    at.checkbox(key="report_usual").check().run()
    assert not [each for each in at.get("download_button") if each.label.startswith("Save the report")], "of others"


def test_without_a_browser_the_panel_says_so_before_a_figure_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", "/nonexistent/chromium")
    at = panel("tokens", with_view=False, figures=("tokens",))
    assert made(at, monkeypatch) is None
    (sentence,) = [visible_text(each.value) for each in at.error]
    assert "Chromium" in sentence
    assert at.button(key="report_make")


def test_without_the_package_the_panel_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pptx", None)
    at = panel("architecture", view="Module tree")
    assert made(at, monkeypatch) is None
    (sentence,) = [visible_text(each.value) for each in at.error]
    assert "python-pptx" in sentence


@pytest.mark.slow
@pytest.mark.browser
def test_figures_are_the_chosen_ones_after_the_view_and_what_is_left_out_has_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = panel("tokens", figures=("classes", "layers", "tokens"), text="<b>River</b>")
    slides = list(Presentation(BytesIO(made(at, monkeypatch) or b"")).slides)
    assert slides[0].shapes.title.text == f"The text in 10 tokens — {MODEL}"
    assert all(any(each.shape_type == 13 for each in slide.shapes) for slide in slides)
    assert sum("The text in" in slide.shapes.title.text for slide in slides) == 1, "not drawn again"
    assert "Text: <b>River</b>" in notes(slides[0])
    assert "Without classes: " in notes(slides[0])
