"""Downloaded files in a browser: captioned, twice the size, in any theme, with no requests and no scripts."""

import re
import struct
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from bertviz_core.figures.base.style import DARK, LIGHT, PRINT, THEMES
from bertviz_core.models.catalog import BUNDLED, WEIGHTS
from tests.browser.conftest import WAIT_MS, Watch, open_files

pytestmark = pytest.mark.browser
SVG = "{http://www.w3.org/2000/svg}"
EVIL = "<img src=x onerror=alert(1)> & python </svg>"
MODEL = "all-MiniLM-L6-v2"
NAMED = f"Model: {MODEL}, revision {BUNDLED[MODEL].digests[WEIGHTS][:12]}."


def opened(page: Page, address: str) -> None:
    """Open a page, and wait for its chart and its downloads."""
    page.goto(address)
    page.wait_for_selector(".heatmaplayer image", state="attached", timeout=3 * WAIT_MS)  # the first one imports torch
    open_files(page)


def choose(page: Page, theme: str) -> None:
    """Select the theme of the files; the buttons then receive the figure again."""
    group = page.get_by_role("radiogroup", name="Colours of the files")
    group.get_by_role("radio", name=theme, exact=True).click()
    expect(page.get_by_role("button", name="as PNG")).to_have_attribute("data-theme", theme)


def saved(page: Page, name: str, folder: Path) -> Path:
    """Click a button, and return the downloaded file."""
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def words_of(root: ElementTree.Element) -> str:
    """The caption below a figure."""
    return " ".join("".join(each.itertext()) for each in root.findall(f"{SVG}text/{SVG}tspan"))


def png_chunks(content: bytes) -> dict[bytes, bytes]:
    """Kind -> content of a PNG's chunks, with verified checksums."""
    found, at = {}, 8
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        kind, inside = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        assert struct.unpack(">I", content[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + inside)
        found[kind] = inside
        at += 12 + length
    return found


@pytest.mark.parametrize(("page", "shown"), [("light", LIGHT), ("dark", DARK)], indirect=["page"])
@pytest.mark.slow
def test_a_file_as_shown_has_the_pages_colours_and_a_caption(
    page: Page, server: str, shown: object, tmp_path: Path
) -> None:
    opened(
        page,
        f"{server}/representations?view=Values&layer=3&text=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E+%26+python+%3C%2Fsvg%3E",
    )
    size = page.locator(".js-plotly-plot").bounding_box()
    assert size is not None
    path = saved(page, "as SVG", tmp_path)
    assert path.name == f"representations-hidden-states-after-layer-3-{MODEL}.svg"
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    assert float(root.attrib["width"]) == round(size["width"])
    height = float(root.attrib["height"])
    assert height > round(size["height"])
    assert f"{NAMED} Text: “{EVIL}”. Colours: value, −" in words_of(root)
    line = words_of(root)[words_of(root).index(NAMED) :]  # the description begins with the title and what is drawn
    assert (root.findtext(f"{SVG}desc") or "").endswith(line)
    assert root.findtext(f"{SVG}title")
    assert "font-family:'Source Sans'" in (root.findtext(f"{SVG}style") or "")
    assert ";base64,d09GMg" in (root.findtext(f"{SVG}style") or "")  # a web font, version 2
    assert root.find(f"{SVG}rect").attrib["fill"] == shown.paper  # type: ignore[union-attr, attr-defined]  # a theme
    assert not [each for each in root.iter() if each.tag.endswith(("script", "foreignObject", "img"))]
    chunks = png_chunks(saved(page, "as PNG", tmp_path).read_bytes())
    scale = max(2, 1600 / round(size["width"]))
    assert struct.unpack(">II", chunks[b"IHDR"][:8]) == (round(scale * round(size["width"])), round(scale * height))
    assert chunks[b"iTXt"].startswith(b"Description\0")
    assert chunks[b"iTXt"].endswith(line.encode())


@pytest.mark.parametrize("theme", ["dark", "print"])
@pytest.mark.slow
def test_a_theme_is_drawn_anew_and_the_page_stays_as_it_is(
    page: Page, server: str, browser: Browser, theme: str, tmp_path: Path
) -> None:
    look = THEMES[theme]
    opened(page, f"{server}/representations?view=Token+similarity")
    page.get_by_role("slider", name="After layer").focus()
    page.keyboard.press("ArrowLeft")
    title = page.locator(".js-plotly-plot .gtitle")
    expect(title).to_contain_text("after layer 4")
    expect(page).to_have_url(re.compile("layer=4"))
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    choose(page, theme)
    root = ElementTree.fromstring(saved(page, "as SVG", tmp_path).read_text(encoding="utf-8"))
    assert root.find(f"{SVG}rect").attrib["fill"] == look.paper  # type: ignore[union-attr]  # a missing one fails too
    assert root.findall(f"{SVG}text")[0].attrib["fill"] == look.text
    texts = ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
    assert any("after layer 4" in each for each in texts)
    assert page.locator(".js-plotly-plot .main-svg").first.evaluate("e => e.style.background") == "rgb(255, 255, 255)"
    expect(title).to_contain_text("after layer 4")

    path = saved(page, "HTML", tmp_path)
    with browser.new_context(offline=True) as context:
        alone = context.new_page()
        watch = Watch(alone)
        alone.goto(path.as_uri())
        alone.wait_for_selector(".heatmaplayer image", state="attached")
        expect(alone.get_by_text(NAMED)).to_be_visible()
        expect(alone.get_by_role("img", name=NAMED)).to_be_visible()
        assert alone.locator(".modebar-btn").count() == 0 or theme != "print"
        assert not watch.faults()
        requested = alone.evaluate("performance.getEntriesByType('resource').map(each => each.name)")
        assert not [each for each in requested if not each.startswith(("data:", "blob:", "file:"))]


@pytest.mark.slow
def test_print_is_white_on_a_dark_page(page: Page, server: str, tmp_path: Path) -> None:
    page.emulate_media(color_scheme="dark")
    opened(page, f"{server}/representations")
    choose(page, "print")
    root = ElementTree.fromstring(saved(page, "as SVG", tmp_path).read_text(encoding="utf-8"))
    assert root.find(f"{SVG}rect").attrib["fill"] == PRINT.paper  # type: ignore[union-attr]  # a missing one fails too
    assert page.locator(".js-plotly-plot .main-svg").first.evaluate("e => e.style.background") == "rgb(17, 21, 27)"


@pytest.mark.slow
def test_files_for_a_slide_and_a_column_have_the_size_of_the_command(page: Page, server: str, tmp_path: Path) -> None:
    opened(page, f"{server}/representations?view=Values")
    titles = set()
    for medium in ("slide", "column"):
        if medium == "column":
            sizes = page.get_by_role("radiogroup", name="Size of PNG, SVG and PDF")
            sizes.get_by_role("radio", name="Paper column", exact=True).click()
            expect(page.get_by_role("button", name="as PNG")).to_have_attribute("data-medium", medium)
            path = saved(page, "as SVG", tmp_path)
            root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
            title, line = [" ".join("".join(each.itertext()) for each in text) for text in root.findall(f"{SVG}text")]
            assert (root.attrib["width"], len(root.findall(f"{SVG}g"))) == ("85mm", 1)
            assert f"{NAMED} Text: “I love my pet python.”" in line
            titles.add(title)
        image = saved(page, "as PNG" if medium == "column" else "as Slide (PNG)", tmp_path)
        assert image.name.endswith(f"-{medium}.png")
        size = struct.unpack(">II", png_chunks(image.read_bytes())[b"IHDR"][:8])
        assert size == (1600, 900) if medium == "slide" else size[0] == 1600
    assert titles == {f"Hidden states, after layer 5, dimensions 0 to 63 — {MODEL}"}
