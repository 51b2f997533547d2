"""A link restores its view on a server without earlier visitors (the server outlives the page's last check)."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import COLD_MS

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_a_cold_link_restores_model_and_view(cold_server: str, page: Page) -> None:
    page.goto(f"{cold_server}/parameters?model=bert-base-uncased&view=Layers")
    expect(page.locator("[data-testid=stMetric]").first).to_contain_text("109,482,240", timeout=COLD_MS)
    expect(page.get_by_role("radio", name="Layers", exact=True)).to_be_checked()
    # 12 layers in 6 parts: query, key, value, attention output, feed-forward, layer norm.
    expect(page.locator(".barlayer .point path")).to_have_count(12 * 6)
    expect(page.get_by_test_id("stSidebar").get_by_role("combobox", name="Model")).to_have_value(
        re.compile("^bert-base-uncased · ")
    )
    expect(page.get_by_test_id("stSidebar").get_by_role("link", name="Overview")).to_be_visible()
    expect(page).to_have_url(f"{cold_server}/parameters?model=bert-base-uncased&view=Layers")


@pytest.mark.slow
def test_a_cold_link_restores_form_and_depth(cold_server: str, page: Page) -> None:
    page.goto(f"{cold_server}/parameters?form=treemap&depth=2")
    # The model, its 3 components, 4 + 6 + 2 modules and tables inside them.
    expect(page.locator(".treemaplayer .slice")).to_have_count(1 + 3 + 4 + 6 + 2, timeout=COLD_MS)
    expect(page.get_by_role("radio", name="treemap")).to_be_checked()
    expect(page.get_by_role("slider", name="Depth")).to_have_value("2")
    expect(page.get_by_test_id("stSidebar").get_by_role("combobox", name="Model")).to_be_visible()
    expect(page.get_by_test_id("stSidebar").get_by_role("link", name="Overview")).to_be_visible()
    expect(page).to_have_url(f"{cold_server}/parameters?form=treemap&depth=2")
