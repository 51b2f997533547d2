"""Links from the drawing of the Journey to each page, and from each page to its place in the drawing.

Covers `ui/components/frame/__init__.py` and `ui/address/navigation.py`.
"""

from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from bertviz_core.figures.pages import PAGES
from tests.browser.conftest import COLD_MS, open_files
from tests.browser.test_journey import opened
from ui.address.navigation import LINKS, JourneyLink

OPENED = [row for row in LINKS if row.part not in ("text", "answer")]

pytestmark = pytest.mark.browser
TEXT = "The bank of the river was steep."
TOKEN, LAYER, HEAD, KEY = 2, 2, 5, 6
"""bank, a layer that is no page's default, one of its heads, and was."""
OPEN = {
    "embeddings": {"layer": "embeddings"},
    "layer": {"layer": LAYER},
    "head": {"layer": LAYER, "head": HEAD},
    "cell": {"layer": LAYER, "head": HEAD, "key": KEY},
}
LOOK = {"query": TOKEN, "colour": "length"}
TARGET = {"target": "state", "target_at": TOKEN}
"""A target that needs no second text."""
Control = Callable[[Page], Locator]


def spin(name: str) -> Control:
    return lambda page: page.get_by_role("spinbutton", name=name)


def listed(name: str) -> Control:
    return lambda page: page.get_by_test_id("stMain").get_by_role("combobox", name=name)


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Layer")


CONTROLS: dict[tuple[str, str], list[tuple[Control, str]]] = {
    ("tokens", ""): [(spin("Token, by its position"), str(TOKEN))],
    ("predictions", ""): [],
    ("representations", "Values"): [(lambda page: page.get_by_role("slider", name="After layer"), str(LAYER + 1))],
    ("parameters", "Layers"): [(lambda page: page.get_by_role("radio", name="components", checked=True), "")],
    ("architecture", "One layer"): [(slider, str(LAYER))],
    ("attention", ""): [(slider, str(LAYER)), (spin("Head"), str(HEAD))],
    ("heads", ""): [(slider, str(LAYER)), (spin("Head"), str(HEAD))],
    ("heads", "One cell"): [
        (slider, str(LAYER)),
        (spin("Head"), str(HEAD)),
        (listed("Query token"), f"{TOKEN} bank"),
        (listed("Key token"), f"{KEY} was"),
    ],
    ("causes", ""): [(listed("Head"), f"layer {LAYER}, head {HEAD}")],
}
"""Page and view -> its controls, and their values for the selection above; "" for one that need only be there."""


def places(page: Page) -> dict[str, str]:
    """Names of the address that say what is open and how it looks."""
    query = dict(parse_qsl(urlsplit(page.url).query))
    return {name: value for name, value in query.items() if name in ("query", "layer", "head", "key", "colour")}


@pytest.mark.parametrize("row", OPENED, ids=lambda row: f"{row.part}-{row.page}")
@pytest.mark.slow
def test_each_link_opens_its_page_at_what_is_selected_and_leads_back(page: Page, server: str, row: JourneyLink) -> None:
    path = {**OPEN.get(row.part, {}), **LOOK, **(TARGET if row.page == "causes" else {})}
    opened(page, server, text=TEXT, **path)
    page.evaluate("window.notLoadedAnew = true")
    title = PAGES[row.page].title
    label = f"{title}: {row.words}" if row.words else title
    page.locator(".journey .links").get_by_role("link", name=label, exact=True).click()
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    for control, value in CONTROLS[row.page, row.view] if row.names else ():
        expect(control(page)).to_have_value(value) if value else expect(control(page)).to_be_visible()
    if row.view:
        expect(page.get_by_role("radio", name=row.view, exact=True)).to_be_checked()
    assert page.get_by_test_id("stException").count() == 0
    page.get_by_role("link", name="Show in Journey").click()
    page.locator(".journey svg").wait_for(timeout=COLD_MS)
    assert places(page) == {name: str(value) for name, value in {**OPEN.get(row.part, {}), **LOOK}.items()}
    expect(page.locator(f"[data-name^='Token {TOKEN}: bank'][aria-pressed='true']")).to_be_visible()
    if row.part in ("head", "cell"):
        expect(page.locator(f"[data-name^='Head {HEAD} of layer {LAYER}'][aria-pressed='true']")).to_be_visible()
    assert page.evaluate("window.notLoadedAnew") is True


@pytest.mark.slow
def test_a_page_opens_its_own_layer_and_head_in_the_drawing(page: Page, server: str) -> None:
    page.goto(f"{server}/attention?{urlencode({'layer': 2, 'head': 7})}")
    head = page.get_by_role("spinbutton", name="Head")
    expect(head).to_have_value("7")
    head.fill("4")
    head.press("Enter")
    expect(page.locator(".stage[data-shown='2.4']")).to_be_visible()
    page.get_by_role("link", name="Show in Journey").click()
    expect(page.locator("[data-name='Head 4 of layer 2'][aria-pressed='true']")).to_be_visible()
    page.go_back()
    expect(page.locator(".stage[data-shown='2.4']")).to_be_visible()


@pytest.mark.slow
def test_a_page_at_its_defaults_opens_them(page: Page, server: str) -> None:
    page.goto(f"{server}/representations?view=Values")
    expect(page.get_by_role("radio", name="Values")).to_be_checked()
    page.get_by_role("link", name="Show in Journey").click()
    expect(page.locator("[data-name='Close layer 5']")).to_be_visible()


@pytest.mark.slow
def test_a_page_about_one_number_opens_what_it_rests_on(page: Page, server: str) -> None:
    page.goto(f"{server}/words?{urlencode({'pair': 'A river.', 'target': 'cosine'})}")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible(timeout=COLD_MS)
    page.get_by_role("link", name="Show in Journey").click()
    expect(page.get_by_text("Target: cosine to 'A river.'")).to_be_visible()
    expect(page.locator("[data-name^='show the ']")).to_be_visible(timeout=COLD_MS)


@pytest.mark.slow
def test_saved_files_have_no_links(page: Page, server: str) -> None:
    opened(page, server, layer=2, head=1)
    expect(page.locator(".journey .links a").first).to_be_visible()
    open_files(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="as SVG").click()
    assert "<a " not in saved.value.path().read_text(encoding="utf-8")
    with page.expect_download() as saved:
        page.get_by_role("button", name="HTML").click()
    assert 'class="links"' not in saved.value.path().read_text(encoding="utf-8")
