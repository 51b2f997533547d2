"""Every control of every view, found by a crawl: from the click to the last change of the page, and what moved.

A control that a view gains is measured without a line here. Sliders and long lists are measured by one step.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from playwright.sync_api import ElementHandle, Error, Locator, Page, sync_playwright

from benchmarks.pages.browser import RECEIVED
from benchmarks.pages.first_pictures import WITH_PAIR
from benchmarks.pages.server import FLAGS, chromium, served
from benchmarks.report import ROOT
from benchmarks.timing import Row
from bertviz_core.figures.pages import FIRST, PAGES

MOST_MS, CLICK_MS = 60_000, 5_000
P50_MS, P95_MS, MOST_SHIFT = 280.0, 700.0, 0.05
QUIET_MS, LONGEST_MS = 400, 60_000
"""The page has come to rest after so many milliseconds without a change, or is watched no longer."""
REST = f"""() => new Promise((done) => {{
  const app = document.querySelector("[data-testid=stApp]"), main = document.querySelector("[data-testid=stMain]");
  const begun = performance.now();
  let last = begun;
  const seen = new MutationObserver(() => {{ last = performance.now(); }});
  seen.observe(main, {{ childList: true, subtree: true, characterData: true }});
  const look = () => {{
    const busy = app.dataset.testScriptState !== "notRunning" || main.querySelector("[data-testid=stSkeleton]");
    if (busy) last = performance.now();
    const now = performance.now();
    if (now - last < {QUIET_MS} && now - begun < {LONGEST_MS}) return requestAnimationFrame(look);
    seen.disconnect();
    done();
  }};
  look();
}})"""
WATCH = f"""() => {{
  const app = document.querySelector("[data-testid=stApp]"), main = document.querySelector("[data-testid=stMain]");
  window.__changed = new Promise((done) => {{
    const begun = performance.now();
    let start = 0, last = 0, shift = 0;
    const begin = () => {{ start ||= performance.now(); last ||= start; }};
    for (const name of ["pointerup", "keydown"]) addEventListener(name, begin, {{ once: true, capture: true }});
    // What a table keeps inside its canvas is for screen readers; it follows the painted cells by 300 ms.
    const hidden = (each) => (each.target.closest ? each.target : each.target.parentElement)?.closest("canvas");
    const inside = new MutationObserver((records) => {{
      if (!start || records.every(hidden)) return;
      const now = performance.now();
      requestAnimationFrame(() => {{ last = Math.max(last, performance.now()); }});
      last = now;
    }});
    const changes = {{ childList: true, subtree: true, characterData: true }};
    const roots = [main, ...[...main.querySelectorAll("*")].map((each) => each.shadowRoot).filter(Boolean)];
    for (const root of roots) inside.observe(root, changes);
    const shifts = new PerformanceObserver((list) => {{ for (const each of list.getEntries()) shift += each.value; }});
    shifts.observe({{ type: "layout-shift" }});
    const look = () => {{
      const busy = app.dataset.testScriptState !== "notRunning" || main.querySelector("[data-testid=stSkeleton]");
      const now = performance.now();
      const moving = !start || busy || now - Math.max(last, start) < {QUIET_MS};
      if (moving && now - begun < {LONGEST_MS}) return requestAnimationFrame(look);
      inside.disconnect();
      shifts.disconnect();
      done([last - start, shift, Math.max(window.__received - start, 0)]);
    }};
    look();
  }});
  return 0;
}}"""
NAME = """(each) => {
  const group = each.closest("[role=radiogroup]")?.getAttribute("aria-label");
  const words = each.getAttribute("aria-label") || each.innerText || each.closest("label")?.innerText || "";
  return [group, words].filter(Boolean).join(": ").replace(/^Selected .*?\\. /, "").replace(/\\s+/g, " ").trim();
}"""
CHOSEN = "(each) => each.closest('[role=radiogroup]').querySelector('[aria-checked=true]') ?? each"
AT_END = "(each) => each.getAttribute('aria-valuenow') === each.getAttribute('aria-valuemax')"
CONTROLS = (
    "[role=radio][aria-checked=false]",
    "label:has(input[type=checkbox])",
    "[role=slider]",
    "[role=combobox]:not([type=hidden])",
)


@dataclass(frozen=True, slots=True)
class Change:
    """A control that was changed and set back."""

    name: str
    """View and control."""
    first_ms: float
    """Milliseconds until the other value was painted, which may need a computation."""
    again_ms: float
    """Milliseconds until the former value was painted again, which the server knows."""
    shift: float
    """The larger sum of layout shifts of the two."""
    received_ms: float
    """Milliseconds until the server's last message of the second; what is painted later is the browser's work."""


def rows() -> list[Row]:
    """Rows of the table: one for each page, and one for all."""
    pages: dict[str, list[Change]] = {}
    with served(ROOT / "app.py") as (url, _), sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium(), args=FLAGS)
        for name in PAGES:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.add_init_script(RECEIVED)
            pair = "?pair=I+love+coding+in+python." if name in WITH_PAIR else ""
            page.goto(f"{url}/{'' if name == FIRST else name}{pair}", timeout=MOST_MS)
            page.wait_for_selector("h1", timeout=MOST_MS)
            # A list at its end, or a control that waits for a file, changes nothing: there is nothing to time.
            pages[PAGES[name].title] = [each for each in _changes(page) if each.again_ms > 0]
            page.close()
        browser.close()
    every = [each for found in pages.values() for each in found]
    return [*(_row(title, found) for title, found in pages.items() if found), _row("all pages", every)]


def _row(title: str, changes: Sequence[Change]) -> Row:
    times = sorted(each.again_ms for each in changes)
    middle, high = statistics.median(times), times[max(0, round(len(times) * 0.95) - 1)]
    slowest, shifted = max(changes, key=lambda each: each.again_ms), max(changes, key=lambda each: each.shift)
    longest = max(changes, key=lambda each: each.first_ms)
    received = statistics.median(each.received_ms for each in changes)
    words = (
        f"the server's last message after {received:.0f} ms; slowest {slowest.name} {slowest.again_ms:.0f} ms "
        f"({slowest.received_ms:.0f} ms), with a computation {longest.name} {longest.first_ms:.0f} ms"
    )
    if shifted.shift > MOST_SHIFT:
        words += f"; {shifted.name} shifts the page by {shifted.shift:.2f}"
    met = middle <= P50_MS and high <= P95_MS and shifted.shift <= MOST_SHIFT
    found = f"{middle:.0f} ms, p95 {high:.0f} ms"
    return Row(f"{len(changes)} controls of {title}, painted", found, words, f"<= {P50_MS:.0f}, {P95_MS:.0f} ms", met)


def _changes(page: Page) -> Iterator[Change]:
    """Change every control of every view of a page, and set it back."""
    views = page.get_by_role("radiogroup", name="View").get_by_role("radio")
    page.evaluate(REST)
    for place in range(max(views.count(), 1)):
        view = views.nth(place).inner_text() if views.count() else ""
        if place:
            other = views.nth(place - 1)
            first, one, _ = _watched(page, views.nth(place).click)
            _watched(page, other.click)
            again, two, received = _watched(page, views.nth(place).click)
            yield Change(f"view {view}", first, again, max(one, two), received)
        done = set[str]()
        for selector in CONTROLS:
            while found := _next(page.get_by_test_id("stMain"), selector, done):
                control, name = found
                with suppress(Error):  # a control that another one has taken away
                    there, back = _ways(page, control)
                    (first, one, _), (again, two, received) = _watched(page, there), _watched(page, back)
                    yield Change(f"{view}, {name}" if view else name, first, again, max(one, two), received)


def _watched(page: Page, change: Callable[[], object]) -> tuple[float, float, float]:
    """Milliseconds until the last change of the page, the sum of layout shifts, and until the server's last message."""
    page.evaluate(WATCH)
    change()
    milliseconds, shift, received = page.evaluate("window.__changed")
    return float(milliseconds), float(shift), float(received)


def _ways(page: Page, control: ElementHandle) -> tuple[Callable[[], object], Callable[[], object]]:
    """How a control is changed, and how it is set back."""
    role = control.get_attribute("role")
    if role == "radio":
        chosen = control.evaluate_handle(CHOSEN).as_element() or control
        return partial(control.click, timeout=CLICK_MS), partial(chosen.click, timeout=CLICK_MS)
    if role is None:
        return partial(control.click, timeout=CLICK_MS), partial(control.click, timeout=CLICK_MS)
    control.focus()
    if role == "slider":
        first, second = ("ArrowLeft", "ArrowRight") if control.evaluate(AT_END) else ("ArrowRight", "ArrowLeft")
        return partial(page.keyboard.press, first), partial(page.keyboard.press, second)
    return partial(_choose, page, control, "ArrowDown"), partial(_choose, page, control, "ArrowUp")


def _choose(page: Page, control: ElementHandle, key: str) -> None:
    """Choose the next or the previous option of a list, which opens with the one that is chosen, and close the list.

    A list of several choices stays open, and hides the other controls from the accessibility tree.
    """
    control.focus()
    for each in ("ArrowDown", key, "Enter"):
        page.keyboard.press(each)
    if control.get_attribute("aria-expanded") == "true":
        page.keyboard.press("Escape")


def _next(main: Locator, selector: str, done: set[str]) -> tuple[ElementHandle, str] | None:
    """A control that was not changed yet, and its name; None if there is none."""
    for each in main.locator(selector).element_handles():
        with suppress(Error):
            name = each.evaluate(NAME)
            if name not in done and not name.startswith("View") and each.is_visible() and each.is_enabled():
                done.add(name)
                return each, name
    return None
