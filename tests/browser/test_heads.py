"""Heads in a browser: a clicked weight is shown with its head, a clicked bar selects the key."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import WAIT_MS, until_clicks_are_heard

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_a_clicked_cell_names_its_weight_and_its_head(page: Page, server: str) -> None:
    page.goto(f"{server}/heads?cut=pulled+apart")
    page.wait_for_selector(".heatmaplayer image", state="attached", timeout=WAIT_MS)
    assert page.locator(".heatmaplayer image").count() == 12
    until_clicks_are_heard(page)
    last = page.locator(".js-plotly-plot .subplot .heatmaplayer image").last.bounding_box()
    assert last is not None
    page.mouse.move(last["x"] + last["width"] / 2, last["y"] + last["height"] / 2)
    page.wait_for_selector(".hoverlayer .hovertext")
    page.mouse.click(last["x"] + last["width"] / 2, last["y"] + last["height"] / 2)
    expect(page.get_by_text(re.compile(r"Row 3\d\d, column 19\d: .*, row \d+ of head 11\."))).to_be_visible()


@pytest.mark.slow
def test_a_clicked_bar_of_the_row_becomes_the_key(page: Page, server: str) -> None:
    page.goto(f"{server}/heads?view=One+cell&query=5&key=4")
    bars = page.locator(".js-plotly-plot").first.locator(".barlayer .trace.bars").nth(1).locator(".point path")
    expect(bars).to_have_count(8)
    expect(page.get_by_role("combobox", name="Key token")).to_have_value("4 pet")
    first = bars.first.bounding_box()
    assert first is not None
    page.mouse.move(first["x"] + first["width"] / 2, first["y"] + first["height"] - 2)
    page.wait_for_selector(".hoverlayer .hovertext")
    page.mouse.click(first["x"] + first["width"] / 2, first["y"] + first["height"] - 2)
    expect(page.get_by_role("combobox", name="Key token")).to_have_value("0 [CLS]")
    expect(page).to_have_url(re.compile(r"key=0"))
    title = re.compile(r"python \(5\) looks at \[CLS\] \(0\)")
    expect(page.locator(".js-plotly-plot .gtitle").first).to_have_text(title)


@pytest.mark.slow
def test_a_clicked_head_of_all_heads_is_opened(page: Page, server: str) -> None:
    page.goto(f"{server}/heads?weights_of=all+layers")
    page.wait_for_selector(".heatmaplayer image", state="attached", timeout=WAIT_MS)
    until_clicks_are_heard(page)
    first = page.locator(".js-plotly-plot .subplot .heatmaplayer image").first.bounding_box()
    assert first is not None
    spot = (first["x"] + first["width"] * 5.5 / 12, first["y"] + first["height"] * 3.5 / 6)
    page.mouse.move(*spot)
    page.wait_for_selector(".hoverlayer .hovertext")
    page.mouse.click(*spot)
    expect(page.get_by_text("Layer 3, head 5")).to_be_visible()
    page.get_by_role("button", name="Its matrices").click()
    expect(page.locator(".js-plotly-plot .gtitle").first).to_contain_text("of layer 3")
    expect(page).to_have_url(re.compile(r"layer=3&head=5"))
    expect(page).not_to_have_url(re.compile("weights_of"))
