"""The dashboard of an installed wheel in a browser; other tests of the installed command are in tests/package."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Watch, new_tab, serving
from tests.package import conftest as package

pytestmark = pytest.mark.browser
wheel, environment = package.wheel, package.environment
"""Fixtures of tests/package: the wheel, and an environment with it and without the source tree."""


@pytest.mark.slow
def test_the_installed_command_serves_the_dashboard(environment: Path, browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path, command=[environment / "bin" / "inside-bert"]) as url, new_tab(browser) as page:
        watch = Watch(page)
        page.goto(f"{url}/parameters?model=bert-base-uncased")
        expect(page.get_by_role("heading", name="Parameters", exact=True)).to_be_visible()
        expect(page.get_by_text("109,482,240").first).to_be_visible()
        expect(page.locator(".js-plotly-plot").first).to_be_visible()
        # Settings and data from files next to the code: colours, lessons, glossary.
        expect(page.locator(".stApp")).to_have_css("color", "rgb(27, 31, 36)")
        page.get_by_role("button", name="Lessons").click()
        expect(page.get_by_text("BERT from the outside in").first).to_be_visible()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Glossary").click()
        expect(page.get_by_text("Attention", exact=True).first).to_be_visible()
        assert watch.faults() == []
