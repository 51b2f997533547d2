"""The page on words that matter in a browser: another method changes the numbers, no overflow on a phone."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import until

pytestmark = pytest.mark.browser


@pytest.mark.slow
@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_another_method_draws_other_numbers(page: Page, server: str) -> None:
    page.goto(f"{server}/words?pair=I+love+coding+in+python.")
    titles = page.locator(".st-key-words_shares .js-plotly-plot .gtitle")
    expect(titles.filter(has_text="one word taken away at a time")).to_have_count(1, timeout=60_000)
    python = page.locator(".st-key-words_shares .js-plotly-plot text", has_text="python")
    expect(python.first).to_be_visible()
    page.get_by_role("button", name="Change").focus()
    page.keyboard.press("Enter")
    page.get_by_role("radio", name="integrated gradients").click()
    expect(titles.filter(has_text="error")).to_have_count(1, timeout=60_000)
    until(page, 'new URLSearchParams(location.search).get("method") === "integrated gradients"')
    expect(page.get_by_text("In its place", exact=True)).to_have_count(0)


@pytest.mark.parametrize("view", ["Words", "Remove+word+by+word", "Pairs"])
@pytest.mark.slow
def test_a_phone_has_no_scroll_to_the_side(page: Page, server: str, view: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server}/words?view={view}&pair=I+love+coding+in+python.")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible(timeout=60_000)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    until(page, "document.querySelector('[data-testid=stMain]').scrollWidth <= innerWidth")
