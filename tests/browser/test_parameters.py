"""The parameters page in a browser: drawn, clicked, used by keyboard, downloaded as files."""

import csv
import io
import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Watch, open_files

pytestmark = pytest.mark.browser
GROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 21, 27)"}
DRAWN_TO_DEPTH_3 = 36


def sector(page: Page, label: str) -> Locator:
    """The text in a sector of the tree."""
    return page.locator(".sunburstlayer text", has_text=label).first


@pytest.mark.parametrize(("page", "scheme"), [("light", "light"), ("dark", "dark")], indirect=["page"])
@pytest.mark.sample(1)
def test_the_tree_is_drawn_on_the_ground_of_the_page(page: Page, server: str, scheme: str) -> None:
    page.goto(f"{server}/parameters")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_have_css("background-color", GROUND[scheme])
    expect(page.locator(".stApp")).to_have_css("background-color", GROUND[scheme])
    expect(page.locator(".sunburstlayer .slice")).to_have_count(DRAWN_TO_DEPTH_3)
    expect(sector(page, "embeddings")).to_be_visible()
    expect(page.locator("[data-testid=stMetric]").first).to_contain_text("22,713,216")
    expect(page.get_by_text("103 tensors, 22,713,216 parameters")).to_be_visible()
    expect(page.locator("[data-testid=stDataFrame] canvas").first).to_be_visible()


@pytest.mark.slow
def test_a_click_in_the_tree_shows_the_rows_of_the_module(page: Page, server: str) -> None:
    page.goto(f"{server}/parameters")
    sector(page, "embeddings").click(force=True)
    expect(page.get_by_text("5 tensors, 11,918,592 parameters")).to_be_visible()
    expect(page).to_have_url(f"{server}/parameters?module=embeddings")
    expect(page.get_by_role("combobox", name="Module")).to_have_value("embeddings")
    sector(page, "embeddings").click(force=True)
    expect(page.locator(".sunburstlayer .slice")).to_have_count(DRAWN_TO_DEPTH_3)


@pytest.mark.slow
def test_the_module_can_be_chosen_with_the_keyboard(page: Page, server: str) -> None:
    page.goto(f"{server}/parameters?depth=4")
    page.get_by_role("slider", name="Depth").focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(f"{server}/parameters")
    page.get_by_role("combobox", name="Module").focus()
    page.keyboard.type("pooler.dense")
    expect(page.get_by_role("option").first).to_have_text("pooler.dense")
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 tensors, 147,840 parameters")).to_be_visible()
    expect(page).to_have_url(f"{server}/parameters?module=pooler.dense")


def saved(page: Page, button: Locator, folder: Path) -> Path:
    """Click a button, and return the downloaded file."""
    with page.expect_download() as download:
        button.click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.mark.slow
def test_the_figure_and_its_numbers_can_be_taken_away(
    page: Page, server: str, browser: Browser, tmp_path: Path
) -> None:
    page.goto(f"{server}/parameters")
    expect(sector(page, "embeddings")).to_be_visible()
    chart = page.locator(".js-plotly-plot").bounding_box()
    assert chart is not None

    open_files(page)
    image = saved(page, page.get_by_role("button", name="as PNG"), tmp_path)
    content = image.read_bytes()
    assert image.suffix == ".png"
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    assert width == max(2 * round(chart["width"]), 1600)
    assert height * chart["width"] > width * chart["height"], "the caption stands below"

    drawing = saved(page, page.get_by_role("button", name="as SVG"), tmp_path)
    root = ElementTree.fromstring(drawing.read_text(encoding="utf-8"))
    assert drawing.suffix == ".svg"
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = {"".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"embeddings", "encoder"} <= words
    assert any(" parameters by module —" in word for word in words), words

    table = saved(page, page.get_by_test_id("stDownloadButton").get_by_role("button", name="CSV"), tmp_path)
    header, *rows = csv.reader(io.StringIO(table.read_text(encoding="utf-8")))
    assert header[:3] == ["name", "shape", "numel"]
    assert len(rows) == 103
    assert sum(int(row[2]) for row in rows) == 22_713_216
    assert rows[0][:3] == ["embeddings.word_embeddings.weight", "(30522, 384)", str(30_522 * 384)]

    standalone = saved(page, page.get_by_test_id("stDownloadButton").get_by_role("button", name="HTML"), tmp_path)
    with browser.new_context(offline=True) as context:
        alone = context.new_page()
        watch = Watch(alone)
        alone.goto(standalone.as_uri())
        expect(alone.locator(".sunburstlayer .slice")).to_have_count(DRAWN_TO_DEPTH_3)
        expect(alone.get_by_text("22,713,216 parameters in 103 tensors")).to_be_visible()
        assert not watch.faults()
    names = {path.stem for path in (image, drawing, table, standalone)}
    assert names == {"parameters-sunburst-all-MiniLM-L6-v2"}
