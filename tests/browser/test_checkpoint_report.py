"""The load report in a browser: drawn, switched to another head, searched, in both colour schemes."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import WAIT_MS

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
@pytest.mark.slow
def test_the_report_is_drawn_and_follows_the_head(page: Page, server: str) -> None:
    page.goto(f"{server}/checkpoint")
    matched = page.locator("[data-testid=stMetric]").first
    expect(matched).to_contain_text("103 of 103", timeout=3 * WAIT_MS)  # the server may still be importing torch
    charts = page.locator(".js-plotly-plot")
    expect(charts).to_have_count(1)
    expect(charts.first.locator(".barlayer .point path").first).to_be_visible()

    task = page.get_by_role("combobox", name="Load it for")
    task.click()
    page.keyboard.type("sequence-cl")
    page.get_by_role("option", name="sequence-classification").click()
    expect(matched).to_contain_text("103 of 105")
    expect(page).to_have_url(re.compile(r"load_task=sequence-classification"))
    expect(page.get_by_text("Train it before you use it")).to_be_visible()
    page.locator(".st-key-checkpoint_head").scroll_into_view_if_needed()
    expect(charts).to_have_count(2)
    expect(charts.nth(1).locator(".gtitle")).to_contain_text("BertForSequenceClassification beside BertModel")

    labels = page.get_by_role("spinbutton", name="Labels")
    labels.fill("5")
    labels.press("Enter")
    expect(page.get_by_text("22,715,141")).not_to_have_count(0)
    expect(page).to_have_url(re.compile(r"labels=5"))


@pytest.mark.slow
def test_no_word_of_the_narrow_figure_lies_on_another(page: Page, server: str) -> None:
    page.set_viewport_size({"width": 900, "height": 900})
    page.goto(f"{server}/checkpoint?load_task=masked-lm")
    chart = page.locator(".js-plotly-plot").first
    expect(chart.locator(".annotation-text").first).to_be_visible(timeout=3 * WAIT_MS)
    boxes = [
        box
        for text in chart.locator(".gtitle, .annotation-text, .legendtext").all()
        if (box := text.bounding_box()) is not None
    ]
    edge = chart.bounding_box()
    page.set_viewport_size({"width": 1400, "height": 900})
    assert edge is not None
    assert all(box["x"] + box["width"] <= edge["x"] + edge["width"] + 1 for box in boxes)
    for place, one in enumerate(boxes):
        for other in boxes[place + 1 :]:
            apart = (
                one["x"] + one["width"] <= other["x"]
                or other["x"] + other["width"] <= one["x"]
                or one["y"] + one["height"] <= other["y"] + 2
                or other["y"] + other["height"] <= one["y"] + 2
            )
            assert apart, (one, other)
