"""Task heads in a browser: edited texts, joined tags, marked answers; no horizontal scrolling on a phone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import COLD_MS, serving, until
from tests.pages.labels import CONTEXT, save_heads

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def labelling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard with a tiny model for every head."""
    home = tmp_path_factory.mktemp("labelling")
    save_heads(home / "models")
    with serving(home) as url:
        yield url


def titled(page: Page, key: str, words: str) -> None:
    """Wait for the figure of a chart, which must be visible without scrolling."""
    expect(page.locator(f".st-key-{key} .gtitle", has_text=words)).to_have_count(1, timeout=COLD_MS)
    picture = page.locator(f".st-key-{key} .js-plotly-plot").bounding_box()
    assert picture is not None
    assert picture["y"] < 330


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
@pytest.mark.slow
def test_an_edit_and_an_order_are_answered(page: Page, labelling: str) -> None:
    page.goto(f"{labelling}/predictions?model=classes")
    titled(page, "predictions_classes", "Classes of the text")
    page.get_by_role("radio", name="as in the model").click()
    until(page, 'new URLSearchParams(location.search).get("order") === "as in the model"')
    page.get_by_role("radio", name="Change a word").click()
    titled(page, "predictions_classes_change", "Classes before and after the edit")
    field = page.get_by_role("textbox", name="The edited text")
    field.fill("I love the pet bank.")
    field.press("Control+Enter")
    expect(page.locator("del", has_text="python")).to_be_visible()
    assert "edited=" not in page.url


@pytest.mark.parametrize("model", ["classes", "tags", "answers"])
@pytest.mark.slow
def test_a_phone_has_no_scroll_to_the_side(page: Page, labelling: str, model: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{labelling}/predictions?model={model}&pair={CONTEXT}")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    until(page, "document.querySelector('[data-testid=stMain]').scrollWidth <= innerWidth")
