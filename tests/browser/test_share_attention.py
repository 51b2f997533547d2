"""The address contains the state of the attention view: another browser shows the same; invalid values are ignored."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Fresh, hurried_tab

pytestmark = pytest.mark.browser
LOOK = "lines_order-entropy_scale-own_heads-3.5-1.2_zoom-1.6.0.7"
SHOWN = """root => {
    const { order, tint, own, lifted, mode, threshold, heads, opened, zoom, cell, colours, pins } = root.view;
    const places = { heads, opened, zoom, cell, colours: [...colours], pins: [...pins] };
    return { order, tint, own, lifted, mode, threshold, ...places };
}"""
"""Complete state of the view in the browser."""


def head(page: Page, layer: int, number: int) -> Locator:
    """The cell of one head."""
    return page.locator(f".cell[data-layer='{layer}'][data-head='{number}']")


def ready(page: Page, name: str) -> None:
    """Wait until these heads are drawn in full."""
    expect(page.locator(f".stage[data-shown='{name}'][data-full='true']")).to_be_visible()


def shown(page: Page) -> dict[str, Any]:
    """State of the view."""
    found: dict[str, Any] = page.locator(".attention").evaluate(SHOWN)
    return found


def over(page: Page, query: float, key: float) -> dict[str, float]:
    """Position of these indices of the map in its box."""
    place: dict[str, float] = page.locator(".attention").evaluate("root => root.view.map")
    first_query, first_key = place["q0"], place["k0"]
    return {
        "x": place["left"] + (key - first_key) * place["cell"],
        "y": place["top"] + (query - first_query) * place["cell"],
    }


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Zoom into the part between two positions of the map."""
    box = page.locator(".map-box")
    box.scroll_into_view_if_needed()
    corner = box.bounding_box()
    assert corner
    for move, place in ((page.mouse.down, start), (page.mouse.up, end)):
        at = over(page, *place)
        page.mouse.move(corner["x"] + at["x"], corner["y"] + at["y"])
        move()


@pytest.mark.slow
def test_a_fresh_browser_shows_what_the_link_was_made_of(fresh: Fresh, server: str, page: Page) -> None:
    page.goto(f"{server}/attention")
    ready(page, "0.0")
    head(page, 3, 5).click()
    head(page, 1, 2).click(modifiers=["Shift"])
    ready(page, "1.2")
    drag(page, (1.5, 0.5), (5.5, 6.5))
    page.get_by_label("Sort heads by", exact=True).select_option(label="entropy")
    page.get_by_role("button", name="Options").click()
    page.get_by_label("Colour scale", exact=True).select_option(label="own for each head")
    page.get_by_role("button", name="Lines").click()
    expect(page).to_have_url(f"{server}/attention?layer=1&head=2&look={LOOK}")
    page.get_by_test_id("stSidebar").get_by_role("button", name="Share").click()
    field = page.get_by_role("textbox", name="Link to this view")
    expect(field).to_have_value(f"{server}/attention?layer=1&head=2&look={LOOK}")
    here = shown(page)
    assert (here["zoom"], here["opened"], here["heads"]) == ([1, 6, 0, 7], [1, 2], [[3, 5], [1, 2]])
    with fresh() as other:
        other.goto(field.input_value())
        ready(other, "3.5 1.2")
        expect(other.locator(".head-chip")).to_have_text(["3.5", "1.2"])
        expect(other.get_by_label("Sort heads by", exact=True)).to_have_value("1")
        expect(other.get_by_label("Colour scale", exact=True)).to_have_value("1")
        expect(other.get_by_role("button", name="Lines")).to_have_attribute("aria-pressed", "true")
        expect(other.locator(".token")).to_have_count(12)
        assert shown(other) == here
        expect(other).to_have_url(field.input_value())
        other.get_by_role("button", name="Maps", exact=True).click()
        expect(other).to_have_url(re.compile(r"look=order-entropy_scale-own_heads-3\.5-1\.2_zoom-1\.6\.0\.7$"))
        other.keyboard.press("Escape")
        expect(other).to_have_url(re.compile(r"look=order-entropy_scale-own_heads--1\.2$"))


@pytest.mark.slow
def test_a_clicked_cell_and_pins_are_in_the_link_and_the_way_back_restores_them(
    fresh: Fresh, server: str, page: Page
) -> None:
    page.goto(f"{server}/attention")
    ready(page, "0.0")
    page.locator(".map-box").click(position=over(page, 4.5, 2.5))
    exact = page.get_by_text("Layer 0, head 0: 4 pet looks at 2 love with 0.")
    expect(exact).to_be_visible()
    words = exact.inner_text()
    expect(page).to_have_url(f"{server}/attention?look=cell-4.2")
    with fresh() as other:
        other.goto(page.url)
        expect(other.get_by_text(words)).to_be_visible()
        ready(other, "0.0")
        assert shown(other) == shown(page)
        other.get_by_role("spinbutton", name="Head").fill("3")
        other.get_by_role("spinbutton", name="Head").press("Enter")
        ready(other, "0.3")
        expect(other).to_have_url(f"{server}/attention?head=3")
        assert shown(other)["cell"] is None
    page.get_by_role("button", name="Lines").click()
    expect(page).to_have_url(f"{server}/attention?look=lines_cell-4.2")
    page.locator("[data-token=q2]").click()
    expect(page).to_have_url(f"{server}/attention?look=lines_cell-4.2_pins-q2")
    page.go_back()
    expect(page.locator("[data-token=q2]")).to_have_attribute("aria-pressed", "false")
    page.go_back()
    expect(page.get_by_role("button", name="Maps", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(f"{server}/attention?look=cell-4.2")
    expect(page.get_by_text(words)).to_be_visible()


@pytest.mark.sample(1)
@pytest.mark.parametrize("look", ["lines_zoom-9", "lines_order-%3Cimg%3E", "zoom-0.999.0.1_cell-77.1", "lines%0A"])
def test_a_malformed_look_changes_nothing(page: Page, server: str, look: str) -> None:
    page.goto(f"{server}/attention?layer=2&head=7&look={look}")
    ready(page, "2.7")
    expect(page).to_have_url(f"{server}/attention?layer=2&head=7")
    expect(page.get_by_role("button", name="Maps", exact=True)).to_have_attribute("aria-pressed", "true")
    found = shown(page)
    assert (found["zoom"], found["cell"], found["heads"], found["order"]) == (None, None, [[2, 7]], 0)
    expect(page.get_by_test_id("stAlert")).to_have_count(0)


@pytest.mark.slow
def test_places_in_a_text_are_forgotten_with_the_text(page: Page, server: str) -> None:
    page.goto(f"{server}/attention?look=order-entropy_zoom-1.4.1.4_cell-2.2")
    ready(page, "0.0")
    expect(page.get_by_text("2 love looks at 2 love with")).to_be_visible()
    text = page.get_by_test_id("stSidebar").get_by_role("textbox", name="Text", exact=True)
    text.fill("The bank of the river lends nothing.")
    text.press("Control+Enter")
    expect(page).to_have_url(f"{server}/attention?look=order-entropy")
    expect(page.get_by_role("button", name="Show all")).to_be_hidden()


@pytest.mark.slow
def test_a_clicked_cell_of_a_heatmap_is_in_the_link(fresh: Fresh, server: str, page: Page) -> None:
    page.goto(f"{server}/representations?view=Values&cell=representations_values.3.17")
    expect(page.get_by_text("dimension 17, after layer 5:")).to_be_visible()
    for strange in ("representations_values.3", "other.3.17", "representations_values.999.1"):
        with fresh() as other:
            other.goto(f"{server}/representations?view=Values&cell={strange}")
            expect(other.get_by_text("Choose a cell for its exact value.")).to_be_visible()


def test_a_click_that_follows_closely_on_another_is_in_the_address(page: Page, server: str) -> None:
    first, second = "look=cell-4.2", "look=cell-2.4"
    with hurried_tab(page, first, second) as (tab, late):
        tab.goto(f"{server}/attention")
        ready(tab, "0.0")
        for place, address in ((4.5, 2.5), first), ((2.5, 4.5), second), ((4.5, 2.5), first):
            tab.locator(".map-box").click(position=over(tab, *place))
            expect(tab).to_have_url(f"{server}/attention?{address}")
            if address == second:
                late.set()
