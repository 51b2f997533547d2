"""In the open lists of models every entry can be read whole, in a wide and in a narrow window."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import until

CUT = """entries => entries.filter(entry => {
  const words = entry.firstElementChild, box = entry.getBoundingClientRect();
  const range = document.createRange();
  range.selectNodeContents(words);
  const drawn = range.getBoundingClientRect();
  return drawn.left < 0 || drawn.right > Math.min(box.right, innerWidth) || drawn.height > box.height;
}).map(entry => entry.textContent)"""
"""The entries whose text reaches beyond their row or the window."""
SETTLED = """document.querySelector('.stApp').dataset.testScriptState === 'notRunning'
  && !document.querySelector('[data-testid=stSkeleton]') && document.querySelector('.js-plotly-plot .main-svg')"""


@pytest.mark.sample(1)
@pytest.mark.parametrize("size", [(1400, 900), (900, 900)], ids=["wide", "narrow"])
def test_every_entry_of_the_lists_of_models_is_readable(page: Page, server: str, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{server}/overview")
    expect(page.get_by_role("heading", name="Overview", exact=True)).to_be_visible()
    until(page, SETTLED)
    page.get_by_role("combobox", name="Model", exact=True).click()
    entries = page.get_by_role("option")
    expect(entries.filter(has_text="negations/checkpoint-80")).to_be_visible()
    assert entries.evaluate_all(CUT) == []
    page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Compare with", exact=True).click()
    expect(entries.filter(has_text="splade-tiny")).to_be_visible()
    assert entries.evaluate_all(CUT) == []
    page.keyboard.press("Escape")
