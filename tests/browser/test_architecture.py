"""Architecture in a real browser: the tree folds, is searched and walked by keyboard; a click names its module."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_the_tree_folds_and_a_click_is_told(page: Page, server: str) -> None:
    page.goto(f"{server}/architecture")
    layers = page.locator("tr[data-module='encoder.layer.0-5']")
    inside = page.locator("tr[data-module='encoder.layer.0-5.attention']")
    expect(layers).to_have_attribute("aria-expanded", "true")
    expect(inside).to_have_attribute("aria-expanded", "false")
    expect(inside).to_be_visible()
    layers.locator(".fold").click()
    expect(layers).to_have_attribute("aria-expanded", "false")
    expect(inside).to_be_hidden()
    layers.locator(".fold").click()
    expect(inside).to_be_visible()
    page.get_by_role("button", name="Fold all", exact=True).click()
    expect(layers).to_be_hidden()
    page.get_by_role("button", name="Unfold all").click()
    query = page.locator("tr[data-module='encoder.layer.0-5.attention.self.query']")
    expect(query).to_contain_text("6 × 147,840")
    query.click()
    expect(page.get_by_text("Linear with 887,040 parameters")).to_be_visible()
    expect(query).to_have_attribute("aria-selected", "true")
    expect(query).to_be_visible()


@pytest.mark.parametrize("page", ["dark"], indirect=True)
def test_the_tree_is_walked_by_keyboard_and_searched(page: Page, server: str) -> None:
    page.goto(f"{server}/architecture?find=pooler")
    expect(page.get_by_text("3 found")).to_be_visible()
    page.get_by_label("Search modules").fill("query")
    page.keyboard.press("Enter")
    expect(page.get_by_text("6 found")).to_be_visible()  # one row, six layers
    root = page.locator("tr[data-module='']")
    root.focus()
    page.keyboard.press("ArrowLeft")
    expect(root).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowRight")
    expect(page.locator("tr[data-module='embeddings']")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_text("BertEmbeddings with 11,918,592 parameters")).to_be_visible()


@pytest.mark.parametrize("view", ["One+layer", "Encoder+or+decoder", "Cost"])
@pytest.mark.slow
def test_drawings_are_painted(page: Page, server: str, view: str) -> None:
    page.goto(f"{server}/architecture?view={view}")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    expect(page.locator(".js-plotly-plot .annotation").first).to_be_visible()


@pytest.mark.parametrize("width", [900, 390])
def test_the_tree_shows_all_of_its_shapes_and_no_word_in_two_in_a_narrow_window(
    page: Page, server: str, width: int
) -> None:
    whole = page.viewport_size
    assert whole is not None
    page.set_viewport_size({"width": width, "height": 900})
    try:
        page.goto(f"{server}/architecture")
        words = page.locator("tr[data-module='embeddings.word_embeddings']")
        expect(words).to_contain_text("(1, 8) \u2192 (1, 8, 384)")
        room = page.locator(".scroll").evaluate("(each) => [each.scrollWidth, each.clientWidth]")
        assert room[0] <= room[1]
        names = page.locator("tr:not([hidden]) .words .name")
        assert names.count() > 9
        assert names.evaluate_all("(all) => Math.max(...all.map((each) => each.getClientRects().length))") == 1
    finally:
        page.set_viewport_size(whole)
