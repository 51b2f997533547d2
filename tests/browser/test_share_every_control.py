"""All widgets of a view set to other values: the shared link shows the same in a new browser."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import WAIT_MS, Fresh, until
from tests.browser.test_accessibility import drawn

pytestmark = pytest.mark.browser
VIEWS = [("architecture", "Module tree"), ("attention", "")]
"""Views with every kind of widget; the addresses of all widgets are tested by tests/ui/test_share.py."""
BUSY = (
    "[data-testid=stApp]:not([data-test-script-state=notRunning]), "
    "[data-testid=stSkeleton], [data-testid=stSpinner], [data-stale=true]"
)
SHOWN = """() => {
  const main = document.querySelector("[data-testid=stMain]");
  const all = (selector) => [...main.querySelectorAll(selector)];
  const group = (each) => each.closest("[role=radiogroup]")?.getAttribute("aria-label") ?? "";
  const name = (each) => each.getAttribute("aria-label");
  const near = (ends) => (ends ?? []).map((end) => +(+end).toPrecision(3));
  const axes = (layout) => Object.entries(layout).filter(([name]) => /^[xy]axis/.test(name));
  return {
    chosen: all("[role=radio][aria-checked=true]").map((each) => [group(each), each.textContent]),
    fields: all("input:not([type=checkbox], [type=file]), textarea").map((each) => [name(each), each.value]),
    switches: all("input[type=checkbox]").map((each) => [name(each), each.checked]),
    sliders: all("[role=slider]").map((each) => each.getAttribute("aria-valuenow")),
    folded: all("details").map((each) => [each.querySelector("summary p").textContent, each.open]),
    charts: all(".js-plotly-plot").map((each) => ({
      title: each.layout.title?.text,
      ranges: axes(each.layout).map(([name, axis]) => [name, near(axis.range)]),
      level: each.data.map((trace) => trace.level ?? null),
      shown: each.data.map((trace) => trace.visible ?? true),
      values: each.data.map((trace) => JSON.stringify(trace.z ?? trace.y ?? trace.values).slice(0, 4000)),
    })),
  };
}"""
"""The values of all widgets, the open folded parts, and the data of every chart."""
TYPED = {"Word": "love", "Query": "A river.", "Sentence 1": "I love my old python.", "Search names": "query"}
"""Texts for some fields; in others a word is added."""


def differences(here: Any, there: Any, where: str = "") -> list[str]:
    """Differences between two states, one line each."""
    if isinstance(here, dict) and isinstance(there, dict):
        pairs = [(f"{where} {name}", here.get(name), there.get(name)) for name in {**here, **there}]
    elif isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        pairs = [(f"{where} {place}", *both) for place, both in enumerate(zip(here, there, strict=True))]
    else:
        return [] if here == there else [f"{where}: {str(here)[:200]} became {str(there)[:200]}"]
    return [line for name, one, other in pairs for line in differences(one, other, name)]


def settled(page: Page) -> None:
    """Wait until nothing has been running for some frames."""
    page.evaluate("window.quiet = 0")
    until(page, f"(window.quiet = document.querySelector('{BUSY}') ? 0 : (window.quiet ?? 0) + 1) > 10")


def untouched(main: Locator, selector: str, done: set[str]) -> Iterator[tuple[Locator, str]]:
    """Widgets of a kind that were not changed yet, each with a unique name; they may appear and disappear."""
    while True:
        for each in main.locator(selector).all():
            name = each.evaluate(
                "e => [e.tagName, e.getAttribute('aria-label'), "
                "e.tagName === 'SUMMARY' ? e.querySelector('p').textContent : '', "
                "e.closest('[class*=st-key-]')?.className.match(/st-key-\\S+/)?.[0]].join('|')"
            )
            if name not in done and each.is_visible() and each.is_enabled():
                done.add(name)
                yield each, name
                break
        else:
            return


def unfold(page: Page, box: Locator) -> None:
    """Open the list of a select box, again if a response of the server closes it."""
    for milliseconds in (3_000, 6_000, 12_000):
        box.press("ArrowDown")
        with suppress(AssertionError):
            expect(page.get_by_role("option").first).to_be_visible(timeout=milliseconds)
            return
    raise AssertionError(f"the list of {box} stays folded")


def change_all(page: Page) -> set[str]:
    """Change every widget of the page, like a reader; returns the names of those changed."""
    main, done = page.get_by_test_id("stMain"), set[str]()
    for each, _ in untouched(main, "[role=radiogroup]:not([aria-label='View'])", done):
        each.get_by_role("radio").and_(page.locator("[aria-checked=false]")).last.click()
        settled(page)
    for each, _ in untouched(main, "[role=combobox]:not([type=hidden])", done):
        unfold(page, each)
        for key in ("ArrowDown", "Enter", "Escape"):
            page.keyboard.press(key)
        settled(page)
    for each, _ in untouched(main, "input[type=number], [role=spinbutton]", done):
        most, now = each.get_attribute("max"), each.input_value() or "1"
        each.fill(str(int(now) + (1 if not most or int(now) < int(most) else -1)))
        each.press("Enter")
        settled(page)
    for each, _ in untouched(main, "[role=slider]", done):
        atmost = each.get_attribute("aria-valuenow") == each.get_attribute("aria-valuemax")
        each.focus()
        page.keyboard.press("ArrowLeft" if atmost else "ArrowRight")
        settled(page)
    for each, name in untouched(main, "input[type=text]:not([role=combobox]):not([readonly]), textarea", done):
        label = each.get_attribute("aria-label") or ""
        each.fill(TYPED.get(label, f"{each.input_value()} again".strip()))
        each.press("Control+Enter" if name.startswith("TEXTAREA") else "Enter")
        settled(page)
    for each, _ in untouched(main, "label:has(input[type=checkbox])", done):
        each.click()
        settled(page)
    for each, _ in untouched(main, "summary", done):
        each.click()
        settled(page)
    return done


def seen(page: Page) -> Any:
    """What the page shows, its charts included: they are drawn when they are looked at."""
    for each in page.locator("[data-chart]").all():
        each.scroll_into_view_if_needed()
    settled(page)
    return page.evaluate(SHOWN)


def shared(page: Page) -> str:
    """The link with the text."""
    page.get_by_test_id("stSidebar").get_by_role("button", name="Share").click()
    page.get_by_text("Include the text").click()
    settled(page)
    field = page.get_by_role("textbox", name="Link to this view")
    field.focus()
    return field.input_value()


@pytest.mark.parametrize(("name", "view"), VIEWS)
@pytest.mark.slow
def test_a_link_restores_every_control_of_a_view(fresh: Fresh, server: str, page: Page, name: str, view: str) -> None:
    page.goto(f"{server}/{name}?{name}={quote_plus(view)}" if view else f"{server}/{name}")
    drawn(page, name, view)
    settled(page)
    before = page.evaluate(SHOWN)
    changed = change_all(page)
    settled(page)
    here = seen(page)
    assert changed
    assert here != before
    with fresh() as other:
        other.goto(shared(page))
        settled(other)
        for _ in range(20):
            if seen(other) == here:
                break
        assert differences(here, seen(other)) == []
        expect(other.get_by_test_id("stAlert")).to_have_count(page.get_by_test_id("stAlert").count())


def drag(page: Page, chart: str, *places: tuple[float, float]) -> None:
    """Drag inside a chart; places are shares of its width and height."""
    box = page.locator(f".st-key-{chart} .js-plotly-plot .nsewdrag").first.bounding_box()
    assert box
    for number, (x, y) in enumerate(places):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=3)
        if number == 0:
            page.mouse.down()
    page.mouse.up()


@pytest.mark.slow
def test_a_selection_holds_while_other_controls_change_and_is_no_part_of_a_link(page: Page, server: str) -> None:
    page.goto(f"{server}/sentences?view=Map")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible(timeout=3 * WAIT_MS)
    settled(page)
    drag(page, "sentences_map", (0.02, 0.02), (0.6, 0.02), (0.6, 0.98), (0.02, 0.98), (0.02, 0.02))
    expect(page.get_by_text("sentences chosen")).to_be_visible()
    listed = page.get_by_text("sentences chosen").all_inner_texts()
    page.get_by_text("The numbers as a table").click()
    settled(page)
    assert page.get_by_text("sentences chosen").all_inner_texts() == listed
    assert set(parse_qs(urlsplit(shared(page)).query)) <= {"view", "sentences_map_table"}
