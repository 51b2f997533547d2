"""A lecturer's way: views are pinned on two pages, presented by keys, and left by Escape; keys in a field stay there.

Covers `ui/components/frame/__init__.py`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from bertviz_core.figures.pages import PAGES
from tests.browser.conftest import COLD_MS, Fresh, until
from tests.browser.test_accessibility import findings
from tests.browser.test_tokens import click, picture
from ui.lessons.library import parse_lesson
from ui.lessons.tour import GUIDE

pytestmark = pytest.mark.browser
Theme = Literal["light", "dark"]
NOTE = "The head reads the word before: no."
SMALL = """(() => {
  const written = (each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const size = (each) => parseFloat(getComputedStyle(each).fontSize) * each.currentCSSZoom;
  return [...document.querySelectorAll(".stMain *")].filter((each) => each.checkVisibility() && written(each))
    .filter((each) => !each.closest(".js-plotly-plot") && size(each) < 18).map((each) => each.textContent);
})()"""
"""Texts of the page that are smaller than 18 pixels, without those of charts."""
CHART_TEXT = """(() => {
  const box = document.querySelector("[data-picture]");
  const enlarged = box.getBoundingClientRect().width / box.offsetWidth;
  const texts = [...box.querySelectorAll(".main-svg text")].filter((each) => each.textContent);
  return Math.min(...texts.map((each) => parseFloat(getComputedStyle(each).fontSize))) * enlarged;
})()"""
"""Size of the smallest text of the charts in pixels of the screen."""


@pytest.fixture
def lecturer(fresh: Fresh) -> Iterator[Page]:
    """A visitor whose pinned views no other test has."""
    with fresh() as tab:
        yield tab


def card(page: Page) -> Locator:
    return page.locator(".lesson-card .title")


def pin(page: Page, note: str = "") -> None:
    """Pin the current view, and wait until it is in the list."""
    button = page.locator(".st-key-pins_open button").first
    count = int("".join(re.findall(r"\d+", button.inner_text())) or 0)
    button.click()
    if note:
        page.get_by_role("textbox", name="Note", exact=True).fill(note)
    page.locator(".st-key-pin_submit button").click()
    expect(page.get_by_role("button", name=f"Pin this view ({count + 1})")).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()


def pin_head(page: Page, server: str, note: str = "") -> None:
    page.goto(f"{server}/attention?layer=2&head=5")
    expect(page.locator(".stage[data-shown='2.5']")).to_be_visible(timeout=COLD_MS)
    pin(page, note)


def two_pinned(page: Page, server: str) -> None:
    pin_head(page, server, NOTE)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Tokens").click()
    expect(page.locator(".st-key-tokens_text .main-svg").first).to_be_visible()
    pin(page)
    page.locator(".st-key-pins_open button").first.click()
    expect(page.get_by_role("link", name="Present", exact=True)).to_be_visible()


@pytest.mark.slow
def test_two_views_are_pinned_presented_by_keys_and_left_by_escape(lecturer: Page, server: str, tmp_path: Path) -> None:
    page = lecturer
    two_pinned(page, server)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as a lesson").click()
    download.value.save_as(tmp_path / "mine.yaml")
    attention, tokens = parse_lesson((tmp_path / "mine.yaml").read_bytes(), "mine.yaml", sorted(PAGES)).steps
    assert (attention.page, attention.note, tokens.page) == ("attention", NOTE, "tokens")
    page.get_by_role("link", name="Present", exact=True).click()
    expect(card(page)).to_contain_text("step 1 of 2")
    expect(page.locator(".stage[data-shown='2.5']")).to_be_visible()
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(card(page)).to_contain_text("step 2 of 2")
    expect(page.locator(".st-key-tokens_text .main-svg").first).to_be_visible()
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    until(page, f"{SMALL}.length === 0")
    until(page, f"{CHART_TEXT} >= 17.9")
    page.keyboard.press("ArrowRight")  # after the last one is nothing
    expect(card(page)).to_contain_text("step 2 of 2")
    page.keyboard.press("PageUp")
    expect(card(page)).to_contain_text("step 1 of 2")
    expect(page.get_by_text(NOTE)).to_be_visible()
    page.keyboard.press("Escape")  # ends the frame and the lesson at once
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    expect(page.locator(".lesson-card")).to_have_count(0)
    expect(page).to_have_url(re.compile("/tokens"))  # where it began
    until(page, "!/present|lesson|step/.test(location.search)")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Attention").click()
    expect(page.locator(".stage[data-shown='2.5']")).to_be_visible()  # its own head, as before


@pytest.mark.slow
def test_the_chosen_view_stays_chosen_while_the_list_is_closed(lecturer: Page, server: str) -> None:
    page = lecturer
    two_pinned(page, server)
    title = page.get_by_role("textbox", name="Title of the chosen view")
    second = title.input_value()
    page.locator(".st-key-pinned_list label").filter(has_text="1.").click()
    expect(title).not_to_have_value(second)
    first = title.input_value()
    page.keyboard.press("Escape")
    expect(title).to_have_count(0)
    page.locator(".st-key-pins_open button").first.click()
    expect(title).to_have_value(first)


@pytest.mark.slow
def test_what_is_typed_in_the_panel_survives_escape(lecturer: Page, server: str) -> None:
    page = lecturer
    two_pinned(page, server)
    title = page.get_by_role("textbox", name="Title of the lesson")
    page.get_by_text("About the lesson").click()
    title.fill("Heads")
    page.keyboard.press("Escape")
    expect(title).to_have_count(0)
    page.locator(".st-key-pins_open button").first.click()
    page.get_by_text("About the lesson").click()
    expect(title).to_have_value("Heads")


def test_the_summary_of_a_lesson_ends_what_is_presented(page: Page, server: str) -> None:
    page.goto(f"{server}/predictions?model=splade-tiny&lesson=tokens&step=9&present=true")
    expect(card(page)).to_contain_text("step 9 of 9", timeout=COLD_MS)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".lesson-card .note")).to_have_text(re.compile("^In short: A text is normalised"))
    page.keyboard.press("ArrowLeft")
    expect(card(page)).to_contain_text("step 8 of 9")


@pytest.mark.slow
def test_who_leaves_present_has_the_head_that_was_chosen_last(lecturer: Page, server: str) -> None:
    page = lecturer
    pin_head(page, server)
    head = page.get_by_role("spinbutton", name="Head")
    head.fill("7")
    head.press("Enter")
    expect(page.locator(".stage[data-shown='2.7']")).to_be_visible()
    page.locator(".st-key-pins_open button").first.click()
    page.get_by_role("link", name="Present", exact=True).click()
    expect(card(page)).to_contain_text("step 1 of 1")
    expect(page.locator(".stage[data-shown='2.5']")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".lesson-card")).to_have_count(0)
    expect(page.locator(".stage[data-shown='2.7']")).to_be_visible()


@pytest.mark.slow
def test_back_after_a_presented_view_leads_to_its_slide_and_then_to_the_page(lecturer: Page, server: str) -> None:
    page = lecturer
    pin_head(page, server)
    page.locator(".st-key-pins_open button").first.click()
    page.get_by_role("link", name="Present", exact=True).click()
    expect(card(page)).to_contain_text("step 1 of 1")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    expect(page).not_to_have_url(re.compile("lesson|step|present|arrive"))
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile(r"lesson=pinned-views&step=1&present=true"))
    expect(card(page)).to_contain_text("step 1 of 1")
    page.go_back()
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    expect(page).not_to_have_url(re.compile("lesson|step|present"))


@pytest.mark.slow
def test_a_step_has_nothing_of_an_earlier_one_that_it_does_not_name(lecturer: Page, server: str) -> None:
    """The maps of head 2, another page, lines of the first head; and Attention afterwards as the reader had it."""
    page = lecturer
    for address in ("attention?head=2", "tokens", "attention?look=lines"):
        page.goto(f"{server}/{address}")
        expect(page.locator(".stage, .st-key-tokens_text .main-svg").first).to_be_visible(timeout=COLD_MS)
        pin(page)
    page.locator(".st-key-pins_open button").first.click()
    expect(page.get_by_role("textbox", name="Title of the chosen view")).to_have_value("Attention: layer 0, head 0")
    page.get_by_role("link", name="Present", exact=True).click()
    ways = [(1, "head=2", "Right"), (2, "", "Right"), (3, "look=lines", "Left"), (2, "", "Left"), (1, "head=2", "")]
    for step, named, on in ways:
        expect(card(page)).to_contain_text(f"step {step} of 3")
        expect(page.locator(".stage, .st-key-tokens_text .main-svg").first).to_be_visible()
        until(page, "document.querySelector('.stApp').dataset.testScriptState === 'notRunning'")
        whole = set(page.evaluate("[...new URLSearchParams(location.search)].map((each) => each.join('='))"))
        assert whole - {"lesson=pinned-views", f"step={step}", "present=true"} == {named} - {""}
        if on:
            page.keyboard.press(f"Arrow{on}")
    page.keyboard.press("Escape")
    expect(page.locator(".lesson-card")).to_have_count(0)
    expect(page).to_have_url(re.compile("look=lines"))


@pytest.mark.slow
def test_keys_turn_the_step_after_a_click_in_a_picture_and_the_place_is_told(lecturer: Page, server: str) -> None:
    page = lecturer
    two_pinned(page, server)
    page.get_by_role("link", name="Present", exact=True).click()
    place = page.locator(".st-key-presenter p")
    expect(place).to_contain_text("1 / 2")
    cell = page.locator(".stage[data-shown='2.5']")
    cell.click()
    page.locator(".cell").first.focus()
    page.keyboard.press("ArrowRight")
    expect(card(page)).to_contain_text("step 2 of 2")
    expect(place).to_contain_text("2 / 2")
    click(page, 2)
    until(page, "location.search.includes('token=2')")
    page.keyboard.press("PageUp")
    expect(card(page)).to_contain_text("step 1 of 2")
    expect(cell).to_be_visible()
    cell.click()
    for key, number in (("End", 2), ("Home", 1), (" ", 2)):
        page.keyboard.press(key)
        expect(card(page)).to_contain_text(f"step {number} of 2")
    root = "document.querySelector('.st-key-presenter [data-testid^=stBidi]').shadowRoot"
    fades = f"{root}.querySelector('p').getAnimations()"
    page.evaluate(f"{fades}.forEach((each) => each.finish())")
    page.keyboard.press("ArrowRight")  # nothing follows, which the place tells once more
    until(page, f"{fades}[0].playState === 'running'")
    page.reload()  # the tab has the list
    expect(card(page)).to_contain_text("step 2 of 2")
    page.keyboard.press("PageUp")
    expect(page.get_by_text(NOTE)).to_be_visible()


@pytest.mark.slow
def test_escape_from_a_step_that_is_presented_leads_to_the_step_and_leave_to_the_view_of_before(
    page: Page, server: str
) -> None:
    page.goto(f"{server}/attention?layer=3&head=7")
    own = page.locator(".stage[data-shown='3.7']")
    expect(own).to_be_visible(timeout=COLD_MS)
    page.locator(".st-key-lessons_open button").first.click()
    page.get_by_role("link", name="Attention, and what it is not").click()
    page.get_by_role("link", name="Present", exact=True).click()
    expect(page.get_by_test_id("stSidebar")).to_be_hidden(timeout=COLD_MS)
    expect(page.locator(".stage").first).to_be_visible(timeout=COLD_MS)
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    expect(card(page)).to_contain_text("step 1 of ")
    page.get_by_role("button", name="Leave").click()
    expect(page.locator(".lesson-card")).to_have_count(0)
    expect(own).to_be_visible(timeout=COLD_MS)
    until(page, "!/present|lesson|step/.test(location.search)")


@pytest.mark.slow
def test_escape_leaves_the_frame_of_a_single_view_at_that_view(page: Page, server: str) -> None:
    page.goto(f"{server}/attention?layer=2&head=5&present=true")
    expect(page.locator(".stage[data-shown='2.5']")).to_be_visible(timeout=COLD_MS)
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    expect(page.locator(".stage[data-shown='2.5']")).to_be_visible()
    until(page, "!location.search.includes('present')")


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_panel_and_presenters_frame_are_accessible(lecturer: Page, server: str, theme: str) -> None:
    page = lecturer
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    two_pinned(page, server)
    assert not findings(page)
    page.get_by_role("link", name="Present", exact=True).click()
    expect(page.locator(".stage[data-shown='2.5']")).to_be_visible()
    way_out = page.get_by_role("button", name="Leave Esc")
    assert not findings(page)
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.keyboard.press("ArrowRight")
    expect(page.locator(".st-key-tokens_text .main-svg").first).to_be_visible()
    expect(way_out).to_be_in_viewport()
    assert not findings(page)
    page.set_viewport_size({"width": 1400, "height": 900})
    way_out.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()


@pytest.mark.slow
def test_a_click_in_an_enlarged_figure_is_where_the_pointer_is(page: Page, server: str) -> None:
    page.goto(f"{server}/tokens?present=true")
    expect(picture(page)).to_contain_text("[SEP]")
    until(page, f"{CHART_TEXT} >= 17.9")
    click(page, 2)
    until(page, "location.search.includes('token=2') && location.search.includes('present=true')")


FITTED = """(() => {
  const shown = (each) => each.checkVisibility() && each.getBoundingClientRect().height > 0;
  const bars = "[data-testid=stSidebar], [data-testid=stHeader]", fields = ".stMain :is(input, select, textarea)";
  const frame = `${bars}, ${fields}, .stMain button:not(.lesson-card *, .modebar *)`;
  const place = document.querySelector("[data-picture]");
  if (!place || [...document.querySelectorAll(frame)].some(shown)) return false;
  const roots = [place, ...place.querySelectorAll("*")].flatMap((each) => each.shadowRoot ?? []);
  const inside = roots.map((each) => each.querySelector(".sheet svg, .halves")).find(Boolean);
  const drawn = place.querySelector(".main-svg, canvas") ?? inside;
  if (!drawn) return false;
  const box = drawn.getBoundingClientRect();
  const head = [...document.querySelectorAll(".stMain :is(h1, .lesson-card .note)")].filter(shown);
  return box.height >= 0.3 * innerHeight && box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight
    && head.length > 0 && head.every((each) => each.getBoundingClientRect().bottom <= box.top)
    && document.querySelector("[data-testid=stMain]").scrollHeight <= innerHeight;
})()"""
"""Whether title or note stand above one picture, which is whole in the window; nothing of the page around is seen.

The buttons of plotly are seen under the pointer alone."""


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "view",
    [
        "journey?",
        "journey?layer=2&head=5&key=1&",
        f"journey?lesson={GUIDE}&step=4&layer=most&",
        "attention?",
        "parameters?",
        "sentences?",
        "representations?",
        "corpus?",
    ],
)
def test_presented_each_kind_of_view_fits_the_window(browser: Browser, server: str, view: str, theme: Theme) -> None:
    tab = browser.new_page(viewport={"width": 1280, "height": 720}, color_scheme=theme)
    tab.goto(f"{server}/{view}present=true")
    until(tab, FITTED)
    tab.set_viewport_size({"width": 1920, "height": 1080})
    until(tab, FITTED)
    tab.close()
