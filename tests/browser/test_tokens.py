"""The tokens page in a browser: the text in boxes, accessible by mouse and keyboard."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import middle, until

pytestmark = pytest.mark.browser
EVIL = "<img src=x onerror=alert(1)> <b>bold</b> **stars** ![a](http://evil.example/x.png) \u202egnp"
LAID_OUT = """(([one, ...others]) => one?.layout && !others.length && one.layout.xaxis.range[1] <= one.clientWidth)(
  document.querySelectorAll(".st-key-tokens_text .js-plotly-plot"))"""
"""Whether the figure has the width of its place; the one for a desktop is drawn first."""


def picture(page: Page) -> Locator:
    """The figure of the text and its tokens."""
    return page.locator(".st-key-tokens_text .js-plotly-plot")


def shown(page: Page) -> list[str]:
    """The texts of the boxes, in the order of the tokens."""
    return picture(page).locator(".textpoint").all_text_contents()


def click(page: Page, position: int) -> None:
    """Click the box of one token."""
    page.mouse.move(*middle(page, ".st-key-tokens_text .js-plotly-plot .textpoint", position))
    expect(picture(page).locator(".hovertext")).to_contain_text(f"position {position},")
    page.mouse.down()
    page.mouse.up()


def title(page: Page, token: str) -> Locator:
    """The title of the neighbours' figure of one token; the previous one may still be fading."""
    return page.locator(".js-plotly-plot .gtitle", has_text=f"Tokens nearest to {token}")


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
@pytest.mark.sample(1)
def test_a_click_shows_the_neighbours_of_a_token(page: Page, server: str) -> None:
    page.goto(f"{server}/tokens")
    expect(title(page, '"python"')).to_have_count(1)
    expect(picture(page)).to_contain_text("[SEP]")  # the figure below may be painted earlier
    assert shown(page)[:8] == ["[CLS]", "I", "love", "my", "pet", "python", ".", "[SEP]"]
    assert shown(page)[8:] == ["101", "1045", "2293", "2026", "9004", "18750", "1012", "102"]
    box = picture(page).bounding_box()
    assert box is not None
    assert box["y"] < 330
    click(page, 2)
    expect(title(page, '"love"')).to_have_count(1)
    expect(page.get_by_text("has the id 2,293")).to_be_visible()
    expect(page.locator(".st-key-tokens_neighbours .gtitle")).to_have_count(1)
    expect(page).to_have_url(f"{server}/tokens?token=2")


@pytest.mark.slow
def test_the_tokens_are_reached_with_the_keyboard(page: Page, server: str) -> None:
    page.goto(f"{server}/tokens?token=3")
    expect(title(page, '"my"')).to_have_count(1)
    page.locator(".st-key-token input").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(title(page, '"pet"')).to_have_count(1)
    expect(page.locator(".st-key-token input")).to_be_focused()
    expect(page.locator(".st-key-tokens_text [data-chart]")).to_have_count(1)


def test_nothing_in_a_text_is_ever_markup(page: Page, server: str) -> None:
    page.goto(f"{server}/tokens?text={quote(EVIL)}&pair={quote(EVIL)}")
    expect(picture(page).locator(".textpoint").first).to_be_visible()
    page.locator("[data-chart=tokens_neighbours]").scroll_into_view_if_needed()  # what is not looked at is not drawn
    expect(page.locator(".st-key-tokens_neighbours .gtitle")).to_be_visible()
    assert page.locator("img[src='x'], img[src*=evil], a[href*=evil]").count() == 0
    assert page.locator(".textpoint img, .textpoint a, .textpoint b").count() == 0
    assert "text=" not in page.url
    words = picture(page).text_content() or ""
    assert "\u202e" not in words
    assert "U+202E" in words


@pytest.mark.parametrize("width", [1400, 900, 390])
@pytest.mark.slow
def test_a_long_text_stays_in_its_place(page: Page, server: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    try:
        page.goto(f"{server}/tokens?text={quote('unbelievable embeddings ' * 100 + 'a' * 300)}")
        expect(picture(page).locator(".textpoint")).to_have_count(2 * 503)
        until(page, LAID_OUT)
        place = page.locator("[data-testid=stVerticalBlock]", has=picture(page)).last.bounding_box()
        box = picture(page).bounding_box()
        assert place is not None
        assert box is not None
        assert place["height"] <= 450 < box["height"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        words = picture(page).locator(".textpoint")
        edges = words.evaluate_all("all => all.map((each) => each.getBoundingClientRect().right)")
        assert max(edges) <= box["x"] + box["width"]
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})
