"""A report begins with the reader's current view in its current state, for every page and view.

Covers `ui/widgets/downloads.py` without a browser.
"""

import re
from html import unescape

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.figures.pages import PAGES
from tests.pages.opened import SHELL, opened, views
from ui.cache.jobs import board
from ui.widgets import downloads
from ui.widgets import run_model as answers


def report_of(page: str, usual: bool = False, **query: str) -> tuple[AppTest, str]:
    """The page with its report, and the report's HTML; "" if the page explains why there is none."""
    at = AppTest.from_file(str(SHELL), default_timeout=60)
    at.switch_page(f"../pages/{page}.py")
    for name, value in query.items():
        at.query_params[name] = value
    at.session_state["report_open"], at.session_state["report_usual"] = True, usual
    at.run()
    at.button(key="report_make").click().run()
    assert not at.exception
    job = board().find((downloads.__name__, at.session_state["report_file"]))
    if job is None:
        return at, ""
    assert job.wait(120)
    assert job.error is None
    return at, job.result.decode()


def sections(html: str) -> list[tuple[str, str]]:
    """(id, title) of each section of a report."""
    return [(name, unescape(title)) for name, title in re.findall(r'<section id="([^"]+)"><h2>([^<]*)</h2>', html)]


@pytest.mark.slow
def test_the_opened_head_comes_first_and_is_not_drawn_again() -> None:
    _, page = report_of("attention", usual=True, layer="2", head="5")
    titles = [title for _, title in sections(page)]
    assert titles[0] == "Attention of layer 2, head 5 — all-MiniLM-L6-v2"
    assert sum("Attention of layer" in title for title in titles) == 1
    assert not any("Attention of all heads" in title for title in titles), "they are in the drawing"
    assert any("22,713,216 parameters" in title for title in titles)
    assert "<dd>/attention?layer=2&amp;head=5</dd>" in page


def test_a_view_without_a_figure_has_its_table_and_one_that_asks_for_something_says_so() -> None:
    _, about = report_of("corpus", view="About")
    assert [name for name, _ in sections(about)] == ["view-table-0", "view-table-1", "view-table-2"]
    assert "<td>Fry the onions until they turn golden.</td>" in about
    at, nothing = report_of("predictions", view="Several texts", texts_from="file")
    assert not nothing
    assert downloads.WAITING in [each.value for each in at.caption]


@pytest.mark.parametrize("page", [page for page in PAGES if page != "corpus"])
@pytest.mark.slow
def test_every_view_of_every_page_is_in_its_report(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)
    names = views(opened(page)) if page not in ("overview", "journey", "tokens", "attention") else [""]
    for view in names:
        at, file = report_of(page, pair="I love coding in python.", **({"view": view} if view else {}))
        assert (sections(file) and sections(file)[0][0].startswith("view-")) or at.info or at.error, view
