"""The installed command, away from the source tree: numbers, a figure, and the dashboard in a browser."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Watch, new_tab, serving
from tests.package.conftest import ran


@pytest.fixture(scope="session")
def command(environment: Path) -> Path:
    return environment / "bin" / "inside-bert"


@pytest.fixture
def served(command: Path, tmp_path: Path) -> Iterator[str]:
    with serving(tmp_path, command=[command]) as url:
        yield url


def test_help_lists_the_commands(command: Path, tmp_path: Path) -> None:
    said = ran([command, "--help"], tmp_path).stdout
    assert "inside-bert" in said
    assert all(f" {name} " in said for name in ("serve", "parameters", "figure", "corpus"))


def test_it_runs_what_is_installed_and_counts(command: Path, environment: Path, tmp_path: Path) -> None:
    where = "import bertviz_core; print(bertviz_core.__file__)"
    place = ran([environment / "bin" / "python", "-c", where], tmp_path).stdout
    assert place.startswith(str(environment))
    counted = json.loads(ran([command, "parameters", "bert-base-uncased", "--json"], tmp_path).stdout)
    assert counted["total"] == 109_482_240


def test_it_draws(command: Path, tmp_path: Path) -> None:
    file = tmp_path / "attention.html"
    ran([command, "figure", "attention", "all-MiniLM-L6-v2", "A bank.", "-o", file], tmp_path)
    assert "plotly" in file.read_text(encoding="utf-8")


@pytest.mark.browser
def test_it_serves_the_dashboard(served: str, browser: Browser) -> None:
    with new_tab(browser) as page:
        watch = Watch(page)
        page.goto(f"{served}/parameters?model=bert-base-uncased")
        expect(page.get_by_role("heading", name="Parameters", exact=True)).to_be_visible()
        expect(page.get_by_text("109,482,240").first).to_be_visible()
        expect(page.locator(".js-plotly-plot").first).to_be_visible()
        # Settings and data that are read from files beside the code: colours, lessons, glossary.
        expect(page.locator(".stApp")).to_have_css("color", "rgb(27, 31, 36)")
        page.get_by_role("button", name="Lessons").click()
        expect(page.get_by_text("BERT from the outside in").first).to_be_visible()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Glossary").click()
        expect(page.get_by_text("Attention", exact=True).first).to_be_visible()
        assert watch.faults() == []
