"""A figure as a PDF for a column of a paper: drawn by the server for that size alone, saved by a second press.

Covers the PDF of `ui/widgets/downloads.py` and of `ui/views/attention.py`.
"""

import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.helpers.charts import sent_charts
from tests.pages.opened import opened, visible_text, with_files
from ui.cache.jobs import Job, JobBoard

MM = 72 / 25.4
"""Points per millimetre."""


def in_column(page: str, key: str, **query: str) -> AppTest:
    """The page with files for a column of a paper."""
    at = with_files(opened(page, **query), key)
    at.button_group(key=f"{key}_size").set_value("Paper column").run()
    assert not at.exception
    return at


def pressed(at: AppTest, key: str, monkeypatch: pytest.MonkeyPatch) -> bytes | None:
    """Press the button of a figure, and wait for its file; None if there is none."""
    jobs: list[Job[Any]] = []
    start = JobBoard.start

    def noted(*args: Any, **kwargs: Any) -> Job[Any]:
        jobs.append(start(*args, **kwargs))
        return jobs[-1]

    monkeypatch.setattr(JobBoard, "start", noted)
    at.button(key=f"{key}_pdf_make").click().run()
    assert not at.exception
    (job,) = jobs
    assert job.wait(120)
    at.run()
    assert not at.exception
    return job.result


def test_without_a_browser_one_sentence_says_so_and_the_page_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", "/nonexistent/chromium")
    at = in_column("parameters", "parameters_layers", view="Layers", model="bert-tiny")
    assert pressed(at, "parameters_layers", monkeypatch) is None
    (sentence,) = [visible_text(each.value) for each in at.error]
    assert "A .pdf file is drawn by Chrome or Chromium, and there is none" in sentence
    assert at.button(key="parameters_layers_pdf_make")
    assert sent_charts(at)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(
    ("page", "key", "query"),
    [
        ("parameters", "parameters_layers", {"view": "Layers"}),
        ("representations", "representations_similarity", {"view": "Token similarity"}),
        ("attention", "attention_heads", {"layer": "2", "head": "5"}),
    ],
)
def test_a_pdf_is_a_column_wide_with_truetype_fonts_inside(
    page: str, key: str, query: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = in_column(page, key, **query)
    content = pressed(at, key, monkeypatch) or b""
    assert content.startswith(b"%PDF-")
    ((width, _),) = [tuple(map(float, each.split())) for each in re.findall(rb"/MediaBox \[0 0 ([^\]]+)\]", content)]
    assert width == pytest.approx(85 * MM, abs=1)
    assert b"/Subtype /Type3" not in content
    assert b"/FontFile2" in content
    assert any(each.label.startswith("Save the PDF") for each in at.get("download_button"))
    at.button_group(key=f"{key}_theme").set_value("dark").run()
    assert at.button(key=f"{key}_pdf_make"), "that of other colours is another file"


@pytest.mark.slow
@pytest.mark.browser
def test_all_heads_are_a_pdf_too(monkeypatch: pytest.MonkeyPatch) -> None:
    at = in_column("attention", "attention_heads", layer="3", head="1")  # no other test makes its file
    content = pressed(at, "attention_atlas", monkeypatch) or b""
    assert content.startswith(b"%PDF-")
    assert b"/FontFile2" in content
    assert at.button(key="attention_heads_pdf_make"), "the open head is another file"
