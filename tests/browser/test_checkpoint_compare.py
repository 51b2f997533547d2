"""Weights and two checkpoints in a browser: a clicked cell selects its tensor; a classifier against its base."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page, expect
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bertviz_core.models.catalog import bundled_folder
from tests.browser.conftest import WAIT_MS, serving, until_clicks_are_heard

pytestmark = pytest.mark.browser
MAPS = ".st-key-checkpoint_weights .heatmaplayer image"


@pytest.fixture(scope="module")
def tuned_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard with a classifier derived from the bundled model, with one tensor changed."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "models" / "tuned"
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(bundled_folder(), num_labels=3)
    with torch.no_grad():
        model.bert.encoder.layer[4].intermediate.dense.weight *= 1.5
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(bundled_folder()).save_pretrained(folder)
    with serving(Path(home)) as url:
        yield url


@pytest.mark.slow
def test_a_clicked_cell_becomes_the_tensor_shown(page: Page, server: str) -> None:
    page.goto(f"{server}/checkpoint?view=Weights")
    page.wait_for_selector(MAPS, state="attached", timeout=WAIT_MS)
    expect(page.get_by_text("Nothing suspicious in 104 tensors.")).to_be_visible()
    until_clicks_are_heard(page, ".st-key-checkpoint_weights")
    cells = page.locator(MAPS).last.bounding_box()
    assert cells is not None
    x, y = cells["x"] + cells["width"] * 3.5 / 6, cells["y"] + cells["height"] * 2.5 / 16
    page.mouse.move(x, y)
    page.wait_for_selector(".hoverlayer .hovertext")
    page.mouse.click(x, y)
    expect(page).to_have_url(re.compile(r"tensor=encoder\.layer\.3\.attention\.self\.key\.weight"))
    page.locator(".st-key-checkpoint_values").scroll_into_view_if_needed()  # it is drawn when it is looked at
    title = "encoder.layer.3.attention.self.key.weight — all-MiniLM-L6-v2"
    expect(page.locator(".st-key-checkpoint_values .gtitle", has_text=title)).to_be_visible()


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
@pytest.mark.slow
def test_a_classifier_in_a_folder_meets_its_base(page: Page, tuned_server: str) -> None:
    page.goto(f"{tuned_server}/checkpoint?view=Compare+with+base")
    title = "Relative change — all-MiniLM-L6-v2 to tuned"
    expect(page.locator(".st-key-checkpoint_changes .gtitle", has_text=title)).to_be_visible()
    page.locator(".st-key-checkpoint_change").scroll_into_view_if_needed()
    changed = "encoder.layer.4.intermediate.dense.weight — all-MiniLM-L6-v2 and tuned"
    expect(page.locator(".st-key-checkpoint_change .gtitle", has_text=changed)).to_be_visible()
    page.get_by_role("radio", name="behaviour with the text").click()
    page.get_by_text(re.compile("largest at layer 5, head")).scroll_into_view_if_needed(timeout=3 * WAIT_MS)
    # The first run of a server imports torch and loads two models.
    expect(page.locator(".st-key-checkpoint_divergences .heatmaplayer image")).to_be_attached(timeout=3 * WAIT_MS)
    expect(page.get_by_text(re.compile("largest at layer 5, head"))).to_be_visible()


@pytest.mark.slow
def test_the_map_is_sorted_by_change(page: Page, tuned_server: str) -> None:
    page.goto(f"{tuned_server}/checkpoint?view=Compare+with+base")
    page.get_by_role("radio", name="both by change").click()
    expect(page).to_have_url(re.compile(r"change_order=both\+by\+change"))
    expect(page.locator(".st-key-checkpoint_changes .y2tick text").first).to_have_text("intermediate.dense.weight")
    expect(page.locator(".st-key-checkpoint_changes .x2tick text").first).to_have_text("4")


@pytest.mark.slow
def test_a_new_head_is_told_at_the_top(page: Page, tuned_server: str) -> None:
    page.goto(f"{tuned_server}/checkpoint?view=Weights&model=tuned")
    expect(page.get_by_text(re.compile(r"The task head appears to be untrained: classifier\.weight"))).to_be_visible()
