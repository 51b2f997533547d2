"""The attention page in a browser: opening a head in the atlas by mouse and keyboard, and a link to it."""

import re
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import open_files

pytestmark = pytest.mark.browser
SVG = "{http://www.w3.org/2000/svg}"
THIRTY_TWO = (
    "The tired old python slept all day on the warm stone while its owner wrote long letters about unbelievable "
    "journeys through the mountains of Persia. Nobody answered him."
)
PAIR = "text=The%20cat%20sat%20on%20the%20mat.&pair=It%20was%20tired%20of%20chasing%20mice."
LONG = "the bank of the river by the old python ".replace(" ", "%20") * 60


def shown(page: Page, name: str) -> None:
    """Wait until this head is drawn in full."""
    expect(page.locator(f".stage[data-shown='{name}'][data-full='true']")).to_be_visible()


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
@pytest.mark.slow
def test_a_head_opened_in_the_atlas_is_in_the_address_and_its_cell_is_told_exactly(page: Page, server: str) -> None:
    page.goto(f"{server}/attention")
    shown(page, "0.0")
    expect(page.locator(".cell")).to_have_count(72)
    page.locator(".cell[data-layer='3'][data-head='5']").click()
    shown(page, "3.5")
    expect(page).to_have_url(f"{server}/attention?layer=3&head=5")
    place: dict[str, float] = page.locator(".attention").evaluate("root => root.view.map")
    middle = {"x": place["left"] + 2.5 * place["cell"], "y": place["top"] + 4.5 * place["cell"]}
    page.locator(".map-box").click(position=middle)
    expect(page.get_by_text("Layer 3, head 5: 4 pet looks at 2 love with 0.")).to_be_visible()
    for reading, name in (
        ("rollout", "3.0"),
        ("attention", "3.5"),
    ):  # after the map of all heads together, the head again
        page.get_by_role("radio", name=reading, exact=True).click()
        shown(page, name)


def test_a_link_restores_layer_head_and_reading(page: Page, server: str) -> None:
    page.goto(
        f"{server}/attention?layer=2&head=7&hide_special=true&text=I%20love%20my%20pet&pair=It%20sleeps&part=A+to+B"
    )
    shown(page, "2.7")
    expect(page.get_by_text("Nothing is renormalised")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["attention?layer=3&head=5", "heads?layer=3&head=5"])
def test_an_address_may_say_layer(page: Page, server: str, place: str) -> None:
    page.goto(f"{server}/{place}")
    expect(page.get_by_role("slider", name="Layer")).to_have_value("3")
    expect(page.get_by_label("Head, 0 to 11", exact=True)).to_have_value("5")
    expect(page).to_have_url(re.compile(r"(?=.*\blayer=3)(?=.*\bhead=5)"))


@pytest.mark.slow
def test_the_longest_text_is_painted_and_heads_open_by_keyboard(page: Page, server: str) -> None:
    received = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: received.append(len(data))))
    page.goto(f"{server}/attention?text={LONG}")
    shown(page, "0.0")
    assert sum(received) <= 1_000_000
    expect(page.get_by_text("512 tokens, run in")).to_be_visible()
    page.locator(".cell[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    shown(page, "1.1")


@pytest.mark.sample(1)
@pytest.mark.parametrize("size", [(1400, 900), (1366, 768), (900, 900)])
def test_every_column_of_32_tokens_is_named(page: Page, server: str, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    try:
        page.goto(f"{server}/attention?layer=1&head=8&text={quote(THIRTY_TWO)}")
        shown(page, "1.8")
        expect(page.get_by_text("32 tokens, run in")).to_be_visible()
        expect(page.locator(".stage")).to_have_attribute("data-columns", "32")
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})


@pytest.mark.slow
def test_on_a_phone_the_opened_map_comes_first_and_has_the_width(page: Page, server: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    try:
        page.goto(f"{server}/attention?layer=1&head=8&{PAIR}")
        shown(page, "1.8")
        expect(page.locator(".stage")).to_have_attribute("data-columns", "17")
        form = page.locator(".attention").evaluate("root => ({ ...root.view.map, rows: 0, columns: 0, picture: 0 })")
        assert form["across"] >= 200
        map_box, atlas = page.locator(".map-box").bounding_box(), page.locator(".grid").bounding_box()
        assert map_box is not None
        assert atlas is not None
        assert map_box["y"] < atlas["y"]
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})


CUT = """root => [...root.querySelectorAll(".title, .status")]
  .filter((each) => each.scrollWidth > each.clientWidth || each.offsetTop + each.offsetHeight > root.offsetHeight)
  .map((each) => each.textContent)"""


@pytest.mark.slow
@pytest.mark.parametrize("reading", ["value-zeroing", "value-weighted"])
def test_titles_are_whole_in_every_window(page: Page, server: str, reading: str) -> None:
    try:
        for width in (1400, 1280, 900, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{server}/attention?layer=5&head=11&weights={reading}")
            expect(page.locator(".stage[data-full='true']")).to_be_visible()
            assert page.locator(".attention").evaluate(CUT) == []
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})


def saved(page: Page, name: str, form: str) -> bytes:
    """Click a button for an image, and return the downloaded file."""
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile(f"^Download {name}.* as {form}$")).click()
    return Path(download.value.path()).read_bytes()


def words_of(svg: bytes) -> list[str]:
    """All words of a drawing."""
    return [text for each in ElementTree.fromstring(svg).iter(f"{SVG}text") if (text := "".join(each.itertext()))]


@pytest.mark.slow
def test_the_picture_that_is_taken_away_is_the_one_that_is_seen(page: Page, server: str) -> None:
    page.goto(f"{server}/attention?layer=3&head=5&{PAIR}")
    shown(page, "3.5")
    open_files(page)
    drawing = saved(page, "attention-of-layer-3-head-5", "SVG")
    words = words_of(drawing)
    assert words[-2] == "Attention of layer 3, head 5 — all-MiniLM-L6-v2"
    labels: list[str] = page.locator(".attention").evaluate("root => root.view.store.atlas.keys.labels")
    assert [words.count(label) for label in dict.fromkeys(labels)] == [
        2 * labels.count(each) for each in dict.fromkeys(labels)
    ]
    assert len([word for word in words if re.fullmatch(r"\.\d\d|1", word)]) >= 17
    assert {"0", "0.2", "0.4", "attention weight"} <= set(words)
    assert drawing.count(b"stroke-dasharray") == 2
    assert saved(page, "attention-of-layer-3-head-5", "PNG").startswith(b"\x89PNG")
    page.get_by_role("button", name="Lines", exact=True).click()
    open_files(page)
    lines = saved(page, "attention-of-layer-3-head-5", "SVG")
    drawn = int(page.locator(".stage").get_attribute("data-lines") or 0)
    assert lines.count(b"<path") == drawn + 2  # and the start of the second text, on both sides
    heads = words_of(saved(page, "attention-of-all-heads", "SVG"))
    assert heads[-2] == "Attention of all heads — all-MiniLM-L6-v2"
