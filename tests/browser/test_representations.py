"""Representations in a browser: a clicked cell is shown exactly, and layers switch without the server."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests.browser.conftest import WAIT_MS, until_clicks_are_heard

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_a_clicked_cell_shows_its_exact_value(page: Page, server: str) -> None:
    page.goto(f"{server}/representations?view=Values")
    page.wait_for_selector(".heatmaplayer image", state="attached", timeout=WAIT_MS)
    until_clicks_are_heard(page)
    area = page.locator(".js-plotly-plot .nsewdrag").first.bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + 40, area["y"] + 30)
    page.wait_for_selector(".hoverlayer .hovertext")
    page.mouse.click(area["x"] + 40, area["y"] + 30)
    expect(page.get_by_text("Token 0 [CLS], dimension")).to_be_visible()


@pytest.mark.sample(1)
def test_cells_are_reached_and_chosen_with_the_keyboard(page: Page, server: str) -> None:
    page.goto(f"{server}/representations?view=Values")
    until_clicks_are_heard(page)
    page.locator("[data-chart=representations_values]").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.locator(".hoverlayer .hovertext")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Token 2 love, dimension 2")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("view", ["Values&window=32", "Token+similarity"])
def test_a_layer_drawn_ahead_of_the_server_is_the_one_that_the_server_draws(page: Page, server: str, view: str) -> None:
    page.goto(f"{server}/representations?view={view}&layer=2")
    _until_layer(page, 2)
    fresh = _chart(page)
    page.goto(f"{server}/representations?view={view}&layer=5")
    _until_layer(page, 5)
    other = _chart(page)
    page.get_by_role("slider", name="After layer").focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    _until_layer(page, 2)
    assert other != fresh
    assert _chart(page) == fresh
    # The server's responses to all three steps leave it unchanged.
    expect(page).to_have_url(re.compile("layer=2"))
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    assert _chart(page) == fresh


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "chosen", "title"),
    [("checkpoint?view=Weights", "largest", "Largest"), ("parameters", "treemap", "all-MiniLM-L6-v2")],
)
def test_a_choice_sent_ahead_is_drawn_without_the_server(
    browser: Browser, server: str, address: str, chosen: str, title: str
) -> None:
    answered = True

    def between(sent: WebSocketRoute) -> None:
        behind = sent.connect_to_server()
        behind.on_message(lambda message: sent.send(message) if answered else None)

    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.route_web_socket("**/_stcore/stream", between)
    page.goto(f"{server}/{address}")
    until_clicks_are_heard(page)
    before = page.locator(".js-plotly-plot").first.evaluate("(chart) => JSON.stringify(chart.data)")
    answered = False
    page.get_by_role("radio", name=chosen, exact=True).click()
    expect(page.locator(".js-plotly-plot .gtitle").first).to_contain_text(title)
    drawn = "([chart, before]) => JSON.stringify(document.querySelector(chart).data) !== before"
    page.wait_for_function(drawn, arg=[".js-plotly-plot", before])
    page.close()


@pytest.mark.sample(1)
def test_an_enlarged_part_stays_when_the_layer_changes(page: Page, server: str) -> None:
    page.goto(f"{server}/representations?view=Values&window=32&layer=2")
    _until_layer(page, 2)
    area = page.locator(".js-plotly-plot .nsewdrag").first.bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + 40, area["y"] + 30)
    page.mouse.down()
    page.mouse.move(area["x"] + 240, area["y"] + 130, steps=4)
    page.mouse.up()
    axes = "(({ xaxis, yaxis }) => [...xaxis.range, ...yaxis.range])(document.querySelector('.js-plotly-plot').layout)"
    enlarged = page.evaluate(axes)
    assert enlarged[1] - enlarged[0] < 16
    page.get_by_role("slider", name="After layer").focus()
    page.keyboard.press("ArrowRight")
    _until_layer(page, 3)
    assert page.evaluate(axes) == enlarged


def _until_layer(page: Page, layer: int) -> None:
    expect(page.locator(".js-plotly-plot .gtitle")).to_contain_text(f"after layer {layer}")
    page.wait_for_selector(".heatmaplayer image", state="attached", timeout=WAIT_MS)


def _chart(page: Page) -> Any:
    """Visible and spoken content of the first chart: pixels, exact cells, scale, title, alternative text."""
    return page.evaluate(
        """() => {
          const chart = document.querySelector('.js-plotly-plot'), { z, zmin, zmax } = chart._fullData[0];
          return [
            document.querySelector('.heatmaplayer image').href.baseVal,
            Array.from(z, (row) => Array.from(row)), zmin, zmax,
            chart.querySelector('.infolayer').textContent,
            Array.from(chart.querySelectorAll('.textpoint'), (each) => each.textContent),
            chart.closest('[data-chart]').getAttribute('aria-label'),
          ];
        }"""
    )
