"""The report of a page: created, saved, and opened without a network.

Covers `ui/widgets/downloads.py`, `ui/cache/report.py`, `ui/widgets/downloads.py`.
"""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pptx import Presentation
from pptx.shapes.picture import Picture

from tests.browser.conftest import COLD_MS, WAIT_MS, Watch, open_files

pytestmark = pytest.mark.browser
TEXT = "I love <b>my</b> pet python."


def panel(page: Page) -> None:
    """Open the panel of Report."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.get_by_test_id("stSidebar").get_by_role("button", name="Report", exact=True).click()
    expect(page.get_by_role("button", name="Make the report")).to_be_visible(timeout=2 * WAIT_MS)


@pytest.mark.slow
def test_a_report_of_the_text_opens_without_a_network(
    page: Page, server: str, browser: Browser, tmp_path: Path
) -> None:
    page.goto(f"{server}/tokens?text=I+love+%3Cb%3Emy%3C%2Fb%3E+pet+python.")
    panel(page)
    page.get_by_role("button", name="Make the report").click()
    save = page.get_by_role("button", name="Save the report")
    expect(save).to_be_visible(timeout=4 * WAIT_MS)
    with page.expect_download() as download:
        save.click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.name == "report-all-MiniLM-L6-v2.html"
    with browser.new_context(offline=True, viewport={"width": 390, "height": 844}) as context:
        alone = context.new_page()
        watch = Watch(alone)
        alone.goto(path.as_uri())
        expect(alone.locator("section .main-svg").first).to_be_visible()
        sections = alone.locator("section").count()
        assert sections >= 10
        assert (alone.locator("section").first.get_attribute("id") or "").startswith("view-tokens")
        assert alone.locator("section:not(:has(.main-svg))").count() == 0
        expect(alone.locator("dd", has_text=TEXT)).to_be_visible()
        assert alone.locator("b").count() == 0
        assert alone.evaluate("document.documentElement.scrollWidth") == 390
        assert alone.get_by_role("navigation").get_by_role("link").count() == sections
        assert not watch.faults()


def saved(page: Page, name: str, folder: Path) -> Path:
    """Wait for the button that saves a file, press it, and return the file."""
    save = page.get_by_role("button", name=re.compile(name))
    expect(save).to_be_visible(timeout=COLD_MS)
    with page.expect_download() as download:
        save.click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.mark.slow
def test_slides_and_a_pdf_are_drawn_by_the_server_and_saved(page: Page, server: str, tmp_path: Path) -> None:
    page.goto(f"{server}/representations?view=Token+similarity&layer=2&text=A+river.")
    panel(page)
    page.get_by_text("The usual figures of this model and text").click()
    page.get_by_text("Slides (PPTX)").click()
    expect(page.get_by_text("One slide a figure")).to_be_visible()
    make = page.get_by_role("button", name="Make the report")
    row = make.bounding_box()
    assert row
    make.click()
    stop_or_save = page.locator(":is(.st-key-report_stop, .st-key-report_save) button")
    expect(stop_or_save).to_be_in_viewport(timeout=COLD_MS)
    box = stop_or_save.bounding_box()
    assert box
    assert box["y"] <= row["y"] + row["height"], "in the place of the button"
    file = saved(page, "Save the report", tmp_path)
    assert file.name == "report-all-MiniLM-L6-v2.pptx"
    (slide,) = Presentation(str(file)).slides
    (picture,) = [each for each in slide.shapes if isinstance(each, Picture)]
    width, height = picture.image.size
    assert width > height
    notes = slide.notes_slide.notes_text_frame
    assert notes
    assert "Its address: /representations?view=Token+similarity&layer=2" in notes.text
    assert "Text: A river." in notes.text
    page.keyboard.press("Escape")
    open_files(page)
    page.get_by_role("radio", name="Paper column").click()
    page.get_by_role("button", name="Make the PDF").click()
    drawing = saved(page, "Save the PDF", tmp_path)
    assert re.fullmatch(r"representations-.*-all-MiniLM-L6-v2-column\.pdf", drawing.name)
    content = drawing.read_bytes()
    assert content.startswith(b"%PDF-")
    assert b"/FontFile2" in content
    assert b"/Type3" not in content


@pytest.mark.slow
def test_a_model_without_weights_has_a_report_of_its_config(page: Page, server: str) -> None:
    page.goto(f"{server}/parameters?model=bert-base-uncased")
    panel(page)
    page.get_by_role("button", name="Make the report").click()
    expect(page.get_by_role("button", name="Save the report")).to_be_visible(timeout=4 * WAIT_MS)
    page.get_by_text("This view", exact=True).click()
    page.get_by_text("The usual figures of this model and text").click()
    page.get_by_role("combobox", name="Further figures").fill("what one head")
    page.get_by_role("option", name="what one head looks at", exact=True).click()
    expect(page.get_by_role("button", name="Save the report")).to_have_count(0)
    page.get_by_role("button", name="Make the report").click()
    expect(page.get_by_role("alert").filter(has_text="not on this machine")).to_be_visible(timeout=2 * WAIT_MS)
