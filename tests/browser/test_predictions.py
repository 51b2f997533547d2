"""The predictions page in a browser: masking tokens by mouse and keyboard, clicking the lens, also on a phone."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import middle, until, until_clicks_are_heard

pytestmark = pytest.mark.browser
ADDRESS = "predictions?model=splade-tiny"
A_CLICK_OF_ITS_OWN = """(({ _mouseDownTime: last, _context: { doubleClickDelay: delay } }) =>
  !last || Date.now() - last > delay)(document.querySelector(".st-key-predictions_text .js-plotly-plot"))"""
"""Whether plotly would count a click as a new one, not as the second of a double click."""


def box(page: Page, position: int) -> tuple[float, float]:
    """The centre of a token's box, once only its chart is on the page."""
    expect(page.locator(".st-key-predictions_text .js-plotly-plot")).to_have_count(1)
    return middle(page, ".st-key-predictions_text .js-plotly-plot .textpoint", position)


def click(page: Page, position: int) -> None:
    """Click a token of the text; a click on a chart that is being drawn anew would be lost."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    x, y = box(page, position)
    page.mouse.move(x, y)
    click_again(page, position)


def click_again(page: Page, position: int) -> None:
    """Click the token on which the mouse rests, also of a chart that was drawn anew meanwhile."""
    expect(page.locator(".st-key-predictions_text .hovertext")).to_contain_text(f"position {position},")
    until(page, A_CLICK_OF_ITS_OWN)
    page.mouse.down()
    page.mouse.up()


def titled(page: Page, words: str) -> None:
    """Wait for the bars of a position."""
    expect(page.locator(".st-key-predictions_words .gtitle", has_text=words)).to_have_count(1)


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
@pytest.mark.sample(1)
def test_a_click_masks_a_token_and_another_takes_the_mask_away(page: Page, server: str) -> None:
    page.goto(f"{server}/{ADDRESS}")
    titled(page, 'Words at position 5 ("python", masked)')
    picture = page.locator(".st-key-predictions_text .js-plotly-plot").bounding_box()
    assert picture is not None
    assert picture["y"] < 330
    click(page, 2)
    titled(page, 'Words at position 2 ("love", masked)')
    until(page, 'new URLSearchParams(location.search).get("mask") === "2"')  # in the place of the first one
    click(page, 5)
    titled(page, 'Words at position 5 ("python", masked)')
    until(page, 'new URLSearchParams(location.search).get("mask") === "2,5"')
    click(page, 2)
    titled(page, 'Words at position 2 ("love", not masked)')
    until(page, '!new URLSearchParams(location.search).has("mask")')
    click_again(page, 2)
    titled(page, 'Words at position 2 ("love", masked)')
    page.get_by_role("combobox", name="Position").press("ArrowDown")
    page.get_by_role("option", name="3 my").click()
    titled(page, 'Words at position 3 ("my", not masked)')
    page.get_by_role("textbox", name="A word of your own").fill("snake")
    page.get_by_role("textbox", name="A word of your own").press("Enter")
    expect(page.locator(".st-key-predictions_words .ytick", has_text="snake (your word)")).to_have_count(1)


@pytest.mark.slow
def test_a_cell_of_the_lens_is_clicked(page: Page, server: str) -> None:
    page.goto(f"{server}/{ADDRESS}&view=Lens")
    chart = page.locator(".st-key-predictions_lens .js-plotly-plot")
    expect(chart.locator(".heatmaplayer image")).to_have_count(1)
    until_clicks_are_heard(page, ".st-key-predictions_lens")
    spot = chart.locator(".heatmaplayer image").bounding_box()
    assert spot is not None
    page.mouse.move(spot["x"] + spot["width"] * 2.5 / 8, spot["y"] + spot["height"] / 6)
    expect(chart.locator(".hovertext")).to_contain_text("embeddings:")
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_text("embeddings, position 2 love")).to_be_visible()
    until(page, 'new URLSearchParams(location.search).get("position") === "2"')


@pytest.mark.parametrize("view", ["Masked+words", "Surprise", "Lens", "Expanded+terms"])
@pytest.mark.sample(1)
def test_a_phone_has_no_scroll_to_the_side(page: Page, server: str, view: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server}/{ADDRESS}&view={view}")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    until(page, "document.querySelector('[data-testid=stMain]').scrollWidth <= innerWidth")
