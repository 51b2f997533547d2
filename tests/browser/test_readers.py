"""Work ends when the tabs that wait for it are closed, and not while one of them is open."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import COLD_MS, another_tab, new_tab, serving

pytestmark = pytest.mark.browser


@pytest.fixture
def jobs_server(tmp_path: Path) -> Iterator[str]:
    with serving(tmp_path, "tests/browser/apps/jobs_app.py") as url:
        yield url


def waits(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()


@pytest.mark.slow
def test_work_ends_when_the_last_tab_that_waits_for_it_is_closed(browser: Browser, jobs_server: str) -> None:
    with new_tab(browser) as looking:
        looking.goto(f"{jobs_server}/?look=1")
        with another_tab(looking) as first:
            waits(first, jobs_server)
            with another_tab(looking) as second:
                waits(second, jobs_server)
            expect(looking.get_by_text("jobs: running", exact=True)).to_be_visible()
            first.reload()
            waits(first, jobs_server)
            expect(looking.get_by_text("jobs: running", exact=True)).to_be_visible()
        expect(looking.get_by_text("jobs: left", exact=True)).to_be_visible(timeout=COLD_MS)
        with another_tab(looking) as again:
            waits(again, jobs_server)
            expect(looking.get_by_text("jobs: left running", exact=True)).to_be_visible()
