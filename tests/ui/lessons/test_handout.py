"""The pinned views become slides: one for each figure, in order, with title, note and caption."""

from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from pptx import Presentation
from streamlit.testing.v1 import AppTest

from tests.pages.opened import opened
from tests.pages.test_lesson import component
from tests.pages.test_pinning import NOTE, browse, on_three_pages, pin, shown, views
from tests.ui.lessons.shipped import lesson as shipped
from ui.cache.figures import cached_sections
from ui.cache.jobs import Job, board
from ui.lessons.library import lesson_yaml
from ui.lessons.pins import WITHOUT_FIGURE, slides_key
from ui.lessons.tour import ORDER


def with_slides(at: AppTest) -> Any:
    """Press the button that makes the slides, and wait for them; returns the file, or None if there is none."""
    at.button(key="pinned_slides_make").click().run()
    job: Job[Any] | None = board().find(slides_key(views(at)))
    assert job is None or job.wait(120)
    at.run()
    assert not at.exception
    return job and job.result


@pytest.mark.slow
def test_the_slides_are_the_views_in_order_with_titles_and_notes() -> None:
    at = shown(opened("tokens"))
    file = lesson_yaml(shipped(ORDER[0])).encode()
    at.file_uploader(key="pinned_file_0").upload("mine.yaml", file, "application/yaml").run()
    at.button(key="pinned_slides_make").click().run()
    assert not board().find(slides_key(views(at))), "the views are drawn first"
    drawing = at.session_state["pinned_views_drawn"]
    assert len(drawing.tokens) == len(views(at).pins)
    at.session_state["pinned_views_drawn"] = replace(drawing, at=len(drawing.tokens), to_open=True)  # all skipped
    at.run()
    browse(at, component(at, "pinned_next")["address"])
    job: Any = board().find(slides_key(views(at)))
    assert job.wait(120)
    at.run()
    deck: Any = Presentation(BytesIO(job.result))
    steps = [pin.step for pin in views(at).pins]
    titles = [each.shapes.title.text for each in deck.slides]
    assert titles == [views(at).title, *(step.title for step in steps), "In short"]
    for slide, step in zip(list(deck.slides)[1:-1], steps, strict=True):
        notes = slide.notes_slide.notes_text_frame.text
        assert notes.startswith(" ".join(step.note.split()))
        assert WITHOUT_FIGURE in notes
        assert f"/{step.page}" in notes
    assert deck.core_properties.title == views(at).title
    assert any(each.label.startswith("Save the slides") for each in at.get("download_button"))


@pytest.mark.slow
@pytest.mark.browser
def test_the_slides_have_the_figures_of_every_view_as_pictures_and_their_captions_as_text() -> None:
    at = shown(on_three_pages())
    deck: Any = Presentation(BytesIO(with_slides(at)))
    pictures = [[each for each in slide.shapes if each.shape_type == 13] for slide in deck.slides]
    assert [len(each) for each in pictures] == [1] * sum(
        len(cached_sections(pin.token) or ()) for pin in views(at).pins
    )
    second = views(at).pins[1]
    titles = [slide.shapes.title.text for slide in deck.slides]
    assert titles[1:3] == [second.step.title, (cached_sections(second.token) or ())[1].title]
    first = [each.text_frame.text for each in deck.slides[0].shapes if each.has_text_frame]
    assert "Attention of layer 2, head 5 — all-MiniLM-L6-v2" in first
    for slide, shapes in zip(deck.slides, pictures, strict=True):
        shown_texts = " ".join(each.text_frame.text for each in slide.shapes if each.has_text_frame)
        assert "Model: all-MiniLM-L6-v2, revision" in shown_texts
        for each in shapes:
            width, height = each.image.size
            assert 1600 <= width > height
            assert "all-MiniLM-L6-v2" in each.element.xpath(".//p:cNvPr")[0].get("descr")
    assert NOTE in deck.slides[0].notes_slide.notes_text_frame.text
    assert "“Mine.” and “Yours.”" in deck.slides[0].notes_slide.notes_text_frame.text


def test_without_a_browser_the_panel_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", "/nonexistent/chromium")
    at = shown(pin(opened("tokens")))
    assert with_slides(at) is None
    assert "Chromium" in " ".join(each.value for each in at.error)
    assert at.button(key="pinned_slides_make")
