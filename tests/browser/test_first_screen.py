"""The picture first: on every view the figure begins high and ends in the window.

Covers `ui/frame.css`, `ui/views/*/*.py`.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from bertviz_core.figures.registry import PAGES
from tests.browser.conftest import until

pytestmark = pytest.mark.browser
FIGURES = ".stPlotlyChart, .st-key-attention_heads, .st-key-architecture_tree"
"""What answers a page's question: a chart, the view of attention, the tree of modules."""
LOWEST_START = 330
"""Pixels from the top of the window at which the figure begins at the latest."""
WINDOWS = ((1400, 900), (1366, 768))
SETTLED = f"""document.querySelector('.stApp').dataset.testScriptState === 'notRunning'
  && !document.querySelector('[data-testid=stSkeleton]')
  && document.querySelector('{FIGURES}')
  && [...document.querySelectorAll('.stPlotlyChart')].every((each) => each.querySelector('.main-svg'))"""
GONE = """(each) => new Promise((done) => {
  const look = () => (each.isConnected ? requestAnimationFrame(look) : done());
  look();
})"""
PLACE = f"""() => {{ const {{top, bottom}} = document.querySelector('{FIGURES}').getBoundingClientRect();
  return [Math.round(top), Math.round(bottom)]; }}"""


def views(page: Page, address: str) -> Iterator[str]:
    """Names of a page's views, each shown when its name comes."""
    page.goto(address)
    until(page, SETTLED)
    radios = page.get_by_role("radiogroup", name="View").get_by_role("radio")
    names = radios.all_inner_texts() or [""]
    yield names[0]
    for name in names[1:]:
        before = radios.first.element_handle()
        radios.get_by_text(name, exact=True).click()
        # The server's answer draws the names anew.
        before.evaluate(GONE)
        until(page, SETTLED)
        yield name


@pytest.mark.parametrize("name", PAGES)
def test_the_figure_begins_high_and_ends_in_the_window(name: str, page: Page, server: str) -> None:
    late = []
    for view in views(page, f"{server}/{name if name != 'overview' else ''}"):
        for width, height in WINDOWS:
            page.set_viewport_size({"width": width, "height": height})
            top, bottom = page.evaluate(PLACE)
            if top >= LOWEST_START or bottom > height:
                late.append(f"{view} at {width} x {height}: {top} to {bottom}")
        page.set_viewport_size({"width": 1400, "height": 900})
    assert not late
