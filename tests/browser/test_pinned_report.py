"""The report of pinned views shows them as they were on the screen, also those of a lesson file, in a real browser.

Covers `ui/components/links/__init__.py` and the frames of `bertviz_core/questions/report/page.py`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE

from tests.browser.conftest import COLD_MS, Fresh, Watch, until
from tests.browser.test_pinning import pin
from ui.lessons.library import SHIPPED, parse_lesson

pytestmark = pytest.mark.browser
QUERY = 5
"""Position of the token whose lines are pinned."""
DRAWN = ".stage[data-shown='2.5']"


@pytest.fixture
def lecturer(fresh: Fresh) -> Iterator[Page]:
    """A visitor whose pinned views no other test has."""
    with fresh() as tab:
        yield tab


def report(page: Page, folder: Path) -> Path:
    """Download the report of the pinned views from the open panel."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as a report").click()
    download.value.save_as(folder / "report.html")
    return folder / "report.html"


def quiet(page: Page) -> None:
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


@pytest.mark.slow
def test_one_query_and_an_opened_layer_are_in_the_report_as_they_were(
    lecturer: Page, server: str, browser: Browser, tmp_path: Path
) -> None:
    page = lecturer
    page.goto(f"{server}/attention?layer=2&head=5&look=lines_pins-q{QUERY}")
    expect(page.locator(DRAWN)).to_be_visible(timeout=COLD_MS)
    status = page.locator(".status", has_text=f"query {QUERY} ")
    expect(status).to_be_visible()
    lines, words = page.locator(DRAWN).get_attribute("data-lines"), status.inner_text()
    pin(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Journey").click()
    page.locator("[data-name='Open layer 3']").click()
    page.locator("[data-name^='Head 7 of layer 3']").click()
    expect(page).to_have_url(re.compile("layer=3&head=7"))
    quiet(page)
    ribbons = page.locator(".ribbon").evaluate_all("(all) => all.map((each) => each.dataset.share)")
    pin(page)
    page.locator(".st-key-pins_open button").first.click()
    file = report(page, tmp_path)
    with browser.new_context(offline=True, viewport={"width": 1400, "height": 900}) as context:
        alone = context.new_page()
        watch = Watch(alone)
        alone.goto(file.as_uri())
        attention, journey = alone.frame_locator("iframe").nth(0), alone.frame_locator("iframe").nth(1)
        expect(attention.locator(DRAWN)).to_be_visible()
        expect(attention.locator(".status")).to_have_text(words)
        assert attention.locator(DRAWN).get_attribute("data-lines") == lines
        journey.locator("[data-name^='Head 7 of layer 3'][aria-pressed=true]").wait_for()
        shares = journey.locator(".ribbon").evaluate_all("(all) => all.map((each) => each.dataset.share)")
        assert shares == ribbons
        assert alone.locator(".js-plotly-plot").count() == 0
        for frame in alone.locator("iframe").element_handles():  # nothing of a drawing is cut off
            inside = frame.content_frame()
            assert inside is not None
            until(alone, "[...document.querySelectorAll('iframe')].every((each) => each.offsetHeight > 300)")
            assert inside.evaluate("document.documentElement.scrollHeight <= window.innerHeight")
        alone.emulate_media(media="print")
        expect(journey.locator(".bar")).to_be_hidden()
        until(alone, "document.querySelectorAll('iframe')[1].offsetHeight > 500")
        assert journey.locator(".sheet svg").evaluate("(svg) => svg.getBoundingClientRect().height") > 300
        assert not watch.faults()


@pytest.mark.slow
def test_views_of_a_lesson_file_are_drawn_for_the_report_and_the_way_back_is_whole(
    lecturer: Page, server: str, tmp_path: Path
) -> None:
    page, file = lecturer, SHIPPED / "attention-and-what-it-is-not.yaml"
    steps = parse_lesson(file.read_bytes(), file.name, ["attention", "representations", "sentences", "causes"]).steps
    page.goto(f"{server}/attention?layer=1&head=2&text=Mine")
    expect(page.locator(".stage[data-shown='1.2']")).to_be_visible(timeout=COLD_MS)
    page.locator(".st-key-pins_open button").first.click()
    page.locator("input[type=file]").first.set_input_files(file)
    expect(page.get_by_role("button", name="Download the report without them")).to_be_visible()
    page.get_by_role("button", name=f"Draw the {len(steps)} views that slides and report need").click()
    expect(page.get_by_role("button", name="Download as a report")).to_be_visible(timeout=COLD_MS)
    expect(page.locator(".stage[data-shown='1.2']")).to_be_visible()
    assert re.search(r"/attention\?layer=1&head=2$", page.url)
    expect(page.get_by_test_id("stSidebar").get_by_role("textbox", name="Text", exact=True)).to_have_value("Mine")
    content = report(page, tmp_path).read_text(encoding="utf-8")
    assert content.count("<iframe ") == sum(step.page == "attention" for step in steps)
    assert "since the view was not drawn" not in content


@pytest.mark.slow
def test_the_slides_are_made_in_the_open_panel_and_saved(lecturer: Page, server: str, tmp_path: Path) -> None:
    page = lecturer
    page.goto(f"{server}/attention?layer=2&head=5&look=lines_pins-q{QUERY}")
    expect(page.locator(DRAWN)).to_be_visible(timeout=COLD_MS)
    pin(page)
    page.locator(".st-key-pins_open button").first.click()
    page.get_by_role("button", name="Make the slides (PPTX)").click()
    save = page.get_by_role("button", name=re.compile("Save the slides"))
    expect(save).to_be_visible(timeout=COLD_MS)
    with page.expect_download() as download:
        save.click()
    download.value.save_as(tmp_path / "slides.pptx")
    (slide,) = Presentation(str(tmp_path / "slides.pptx")).slides
    (picture,) = [each for each in slide.shapes if each.shape_type == MSO_SHAPE_TYPE.PICTURE]
    width, height = picture.image.size  # type: ignore[attr-defined]
    assert 2 < width / height < 3, "all heads stand beside the map"
    assert "all-MiniLM-L6-v2" in slide.notes_slide.notes_text_frame.text  # type: ignore[union-attr]
