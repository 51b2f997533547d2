"""Sentences in a browser: a clicked cell opens the pairs of tokens; a long file is processed in the background."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import until_clicks_are_heard

pytestmark = pytest.mark.browser
MANY = 5_000


@pytest.mark.slow
@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_a_clicked_cell_is_named_and_leads_to_its_pairs_of_tokens(page: Page, server: str) -> None:
    page.goto(f"{server}/sentences?order=clustered")
    until_clicks_are_heard(page)
    area = page.locator(".js-plotly-plot .nsewdrag[data-subplot=xy]").first.bounding_box()
    assert area is not None
    assert area["y"] + area["height"] < 900
    cell = (area["x"] + area["width"] * 1.5 / 8, area["y"] + area["height"] * 0.5 / 8)
    page.mouse.move(*cell)
    page.wait_for_selector(".hoverlayer .hovertext")
    page.mouse.click(*cell)
    page.get_by_role("button", name="Token contributions").last.click()
    expect(page.get_by_text("(the other")).to_be_visible()
    expect(page.locator(".js-plotly-plot .gtitle", has_text="Contributions of token pairs to ")).to_have_count(1)


@pytest.mark.slow
def test_a_long_file_is_counted_can_be_cancelled_and_goes_on(page: Page, server: str) -> None:
    page.goto(f"{server}/sentences?source=file")
    page.get_by_role("button", name="Sentences").click()
    rows = "\n".join(f"This is sentence number {number} of the file." for number in range(MANY))
    file = {"name": "many.csv", "mimeType": "text/csv", "buffer": f"sentence\n{rows}\n".encode()}
    page.locator("input[type=file]").set_input_files([file])  # type: ignore[list-item]  # a dict will do
    expect(page.get_by_text(f"{MANY:,} sentences take a while")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Compute the vectors").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text(re.compile(f"Stopped after [1-9].* of {MANY:,} sentences"))).to_be_visible()
    page.get_by_role("link", name="Overview").first.click()
    expect(page.get_by_text("What BERT is")).to_be_visible()
    page.get_by_role("link", name="Sentences").first.click()
    expect(page.get_by_role("button", name="Continue")).to_be_visible()


@pytest.mark.slow
def test_a_click_on_a_cell_takes_what_is_typed_in_the_open_list(page: Page, server: str) -> None:
    page.goto(f"{server}/sentences")
    until_clicks_are_heard(page)
    area = page.locator(".js-plotly-plot .nsewdrag[data-subplot=xy]").first.bounding_box()
    assert area is not None
    page.get_by_role("button", name="Sentences").click()
    page.get_by_test_id("stPopoverBody").locator("textarea").fill("A cat sleeps.\nA kitten naps.")
    page.mouse.click(area["x"] + area["width"] * 7.5 / 8, area["y"] + area["height"] * 0.5 / 8)
    expect(page.get_by_text("2 sentences on cpu")).to_be_visible()
    expect(page.locator(".js-plotly-plot .gtitle", has_text="How alike are 2 sentences")).to_have_count(1)
