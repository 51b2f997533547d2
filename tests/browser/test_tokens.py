"""The tokens page in a browser: the text in place, reached by mouse and keyboard."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser
EVIL = "<img src=x onerror=alert(1)> <b>bold</b> **stars** ![a](http://evil.example/x.png) \u202egnp"


def piece(page: Page, position: int) -> Locator:
    """The button of one token."""
    return page.locator(f"button.chip[data-at='{position}']")


def title(page: Page, token: str) -> Locator:
    """The title of the neighbours' figure of one token; the one before may still be there while it fades."""
    return page.locator(".js-plotly-plot .gtitle", has_text=token)


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_a_click_shows_the_neighbours_of_a_token(page: Page, server: str) -> None:
    page.goto(f"{server}/tokens")
    expect(page.locator("button.chip .main")).to_have_text(["[CLS]", "I", "love", "my", "pet", "python", ".", "[SEP]"])
    expect(piece(page, 5)).to_have_attribute("aria-pressed", "true")
    expect(title(page, '"python"')).to_have_count(1)
    piece(page, 2).click()
    expect(title(page, '"love"')).to_have_count(1)
    expect(page.get_by_text("Row 2293 of the embedding table")).to_be_visible()
    expect(page.locator(".js-plotly-plot .gtitle")).to_have_count(1)
    expect(piece(page, 2)).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(f"{server}/tokens?token=2")


def test_the_tokens_are_reached_with_the_keyboard(page: Page, server: str) -> None:
    page.goto(f"{server}/tokens?token=3")
    expect(piece(page, 3)).to_have_attribute("aria-pressed", "true")
    expect(page.locator("button.chip[tabindex='0']")).to_have_count(1)
    piece(page, 3).focus()
    page.keyboard.press("ArrowRight")
    expect(piece(page, 4)).to_be_focused()
    page.keyboard.press("Enter")
    expect(title(page, '"pet"')).to_have_count(1)
    expect(piece(page, 4)).to_be_focused()
    page.keyboard.press("End")
    expect(piece(page, 7)).to_be_focused()
    expect(piece(page, 7)).to_have_accessible_name("position 7, [SEP], id 102, special token")


def test_nothing_in_a_text_is_ever_markup(page: Page, server: str) -> None:
    page.goto(f"{server}/tokens?text={quote(EVIL)}&pair={quote(EVIL)}")
    expect(piece(page, 1)).to_be_visible()
    expect(page.locator(".js-plotly-plot .gtitle")).to_be_visible()
    assert page.locator("img[src='x'], img[src*=evil], a[href*=evil]").count() == 0
    assert page.locator(".chip img, .chip b, .chip a, .gap *").count() == 0
    assert "text=" not in page.url
    shown = page.get_by_role("toolbar", name="The text in tokens").inner_text()
    assert "\u202e" not in shown
    assert "U+202E" in shown


@pytest.mark.parametrize("width", [1400, 900])
def test_a_long_text_stays_in_its_place(page: Page, server: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    try:
        page.goto(f"{server}/tokens?text={quote('unbelievable embeddings ' * 100 + 'a' * 300)}")
        expect(page.locator("button.chip")).to_have_count(503)
        box = page.get_by_role("toolbar", name="The text in tokens").bounding_box()
        assert box is not None
        assert box["height"] < 400
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        edges = page.locator("button.chip").evaluate_all("all => all.map((each) => each.getBoundingClientRect().right)")
        assert max(edges) <= box["x"] + box["width"]
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})
