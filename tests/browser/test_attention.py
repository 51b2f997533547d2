"""The attention page in a browser: a head opened in the atlas, by mouse and by keyboard, and a link to it."""

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser
LONG = "the bank of the river by the old python ".replace(" ", "%20") * 60


def shown(page: Page, name: str) -> None:
    """Wait until this head is drawn in full."""
    expect(page.locator(f".stage[data-shown='{name}'][data-full='true']")).to_be_visible()


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_a_head_opened_in_the_atlas_is_in_the_address_and_its_cell_is_told_exactly(page: Page, server: str) -> None:
    page.goto(f"{server}/attention")
    shown(page, "0.0")
    expect(page.locator(".cell")).to_have_count(72)
    page.locator(".cell[data-layer='3'][data-head='5']").click()
    shown(page, "3.5")
    expect(page).to_have_url(f"{server}/attention?at=3&head=5")
    place: dict[str, float] = page.locator(".attention").evaluate("root => root.view.map")
    middle = {"x": place["left"] + 2.5 * place["cell"], "y": place["top"] + 4.5 * place["cell"]}
    page.locator(".map-box").click(position=middle)
    expect(page.get_by_text("Layer 3, head 5: 4 pet looks at 2 love with 0.")).to_be_visible()


def test_a_link_restores_layer_head_and_reading(page: Page, server: str) -> None:
    page.goto(f"{server}/attention?at=2&head=7&hide_special=true&text=I%20love%20my%20pet&pair=It%20sleeps&part=A+to+B")
    shown(page, "2.7")
    expect(page.get_by_text("Nothing is renormalised")).to_be_visible()


@pytest.mark.parametrize("place", ["attention?layer=3&head=5", "heads?layer=3&head=5"])
def test_an_address_may_say_layer(page: Page, server: str, place: str) -> None:
    page.goto(f"{server}/{place}")
    expect(page.get_by_label("Layer", exact=True)).to_have_value("3")
    expect(page.get_by_label("Head", exact=True)).to_have_value("5")
    expect(page).to_have_url(re.compile(r"(?=.*\bat=3)(?=.*\bhead=5)"))


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
