"""Every view in its window: the figure first on a desktop, no horizontal overflow on a phone.

Covers `ui/server/frame.css`, `ui/views/*/*.py`.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from bertviz_core.figures.pages import PAGES
from tests.browser.conftest import until

pytestmark = pytest.mark.browser
DRAWN = (
    "[data-chart], .st-key-attention_heads, .st-key-journey, .st-key-architecture_tree, .st-key-corpus_plane, "
    ".stDataFrame"
)
FIGURES = f"{DRAWN}, .st-key-checkpoint_no_run, .st-key-start_work"
"""Main content of a view: a chart, the attention view, the journey, the module tree, a corpus map, its rows; the
message of a models folder without a training run; and the button of work that a reader begins."""
LOWEST_START = 450
"""Most pixels from the top of the window to the start of the figure: half of a window, which shows what it is."""
WINDOWS = ((1400, 900), (1366, 768))
SETTLED = f"""document.querySelector('.stApp').dataset.testScriptState === 'notRunning'
  && !document.querySelector('[data-testid=stSkeleton]')
  && document.querySelector('{FIGURES}')
  && [...document.querySelectorAll('[data-chart]')]
    .every((each) => each.querySelector('.main-svg') || each.getBoundingClientRect().top > innerHeight)"""
FOR_A_PHONE = "[...document.querySelectorAll('.js-plotly-plot')].every((each) => each.layout.meta.pixels < 400)"
GONE = """(each) => new Promise((done) => {
  const look = () => (each.isConnected ? requestAnimationFrame(look) : done());
  look();
})"""
PLACE = f"Math.round(document.querySelector('{FIGURES}').getBoundingClientRect().top)"
"""Top of the figure."""


UNEVEN = """() => {
  const labels = [...document.querySelectorAll(".stMain [data-testid=stWidgetLabel]")].map((each) => ({
    words: each.innerText, row: each.closest(".stHorizontalBlock"), ...each.getBoundingClientRect().toJSON(),
  })).filter(({row, width}) => row && width > 2);
  const beside = (one, other) => one.row === other.row && Math.abs(one.top - other.top) < 24;
  return labels.filter((one) => labels.some((other) => beside(one, other) && Math.abs(one.top - other.top) > 1))
    .map(({words}) => words);
}"""
"""Labels of widgets in one row that are not on one line."""
COVERED = """() => {
  const boxes = (names) => [...document.querySelectorAll(names)].map((each) => each.getBoundingClientRect());
  const [title] = boxes(".stMainBlockContainer h1");
  const above = boxes("[data-testid=stHeader] :is(button, img)").filter(({width}) => width);
  return above.some(({left, right, top, bottom}) =>
    left < title.right && title.left < right && top < title.bottom && title.top < bottom);
}"""
MOVED = """() => {
  window.moved = 0;
  new PerformanceObserver((list) => { for (const each of list.getEntries()) moved += each.value; })
    .observe({ type: "layout-shift" });
}"""
"""Sums how far what is seen moves."""
CONTROLS = "button, a, input, canvas, svg, [role=slider], [role=radio]"
SCROLLED = ".stDataFrame *, .stMultiSelect *"
"""What is scrolled within its own box."""
BESIDE = f"""() => [...document.querySelectorAll(".stMain :is({CONTROLS}):not({SCROLLED})")].filter((each) => {{
  const {{left, right, width}} = each.getBoundingClientRect();
  return width && (left < -1 || right > innerWidth + 1) && each.checkVisibility({{visibilityProperty: true}});
}}).map((each) => each.outerHTML.slice(0, 200))"""


def views(page: Page, address: str, settled: str = SETTLED) -> Iterator[str]:
    """Open each view of a page, and yield its name."""
    page.goto(address)
    expect(page.locator("h1")).to_be_visible()
    until(page, settled)
    radios = page.get_by_role("radiogroup", name="View").get_by_role("radio")
    names = radios.all_inner_texts() or [""]
    yield names[0]
    for name in names[1:]:
        before = radios.first.element_handle()
        radios.get_by_text(name, exact=True).click()
        # The server's response redraws the names.
        before.evaluate(GONE)
        until(page, settled)
        yield name


def address(server: str, name: str) -> str:
    """Return the address of a page, with a second text where its first view compares two."""
    pair = "?pair=I+love+coding+in+python." if name in ("causes", "words") else ""
    return f"{server}/{name}{pair}"


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.slow
def test_the_figure_begins_high_below_controls_in_line(name: str, page: Page, server: str) -> None:
    late = []
    for view in views(page, address(server, name)):
        for width, height in WINDOWS:
            page.set_viewport_size({"width": width, "height": height})
            top = page.evaluate(PLACE)
            if top >= LOWEST_START:
                late.append(f"{view} at {width} x {height}: {top}")
            late += [f"{view} at {width}: label {each!r} out of line" for each in page.evaluate(UNEVEN)]
        page.set_viewport_size({"width": 1400, "height": 900})
    assert not late


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.slow
def test_on_a_phone_nothing_lies_beside_the_window_or_on_the_title(name: str, page: Page, server: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    wrong = []
    try:
        for view in views(page, address(server, name), f"{SETTLED} && {FOR_A_PHONE}"):
            wide = page.evaluate("document.querySelector('.stMain').scrollWidth")
            if wide > 390 or page.evaluate(COVERED):
                wrong.append(f"{view}: {wide} px wide, title covered: {page.evaluate(COVERED)}")
            wrong += [f"{view}: {each}" for each in page.evaluate(BESIDE)]
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})
    assert not wrong


@pytest.mark.slow
def test_nothing_moves_at_a_switch_of_view(page: Page, server: str) -> None:
    """Also of a view that is known, whose parts all come in one message."""
    loaded: list[str] = []
    page.goto(f"{server}/checkpoint")
    views = page.get_by_role("radiogroup", name="View")
    until(page, SETTLED)
    page.evaluate(MOVED)
    page.route("**/*.js", lambda route: loaded.append(route.request.url) or route.continue_())
    for view in ("Weights", "Load report", "Weights"):
        views.get_by_role("radio", name=view, exact=True).click()
        until(page, SETTLED)
        expect(page.get_by_text("Keys" if view == "Load report" else "Of each tensor").first).to_be_visible()
    assert page.evaluate("moved") <= 0.05
    assert not [each for each in loaded if "/Html." in each]  # what is loaded first hides a view too late


@pytest.mark.slow
def test_a_tap_beside_the_open_menu_of_a_phone_closes_it_and_presses_nothing(browser: Browser, server: str) -> None:
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = phone.new_page()
    page.goto(server)
    until(page, SETTLED)
    page.get_by_test_id("stExpandSidebarButton").tap()
    menu = page.get_by_test_id("stSidebar")
    expect(menu).to_have_attribute("data-collapsed", "false")
    below = page.locator(".journey [data-name^='Open layer']").first.bounding_box()
    assert below is not None
    page.evaluate(
        "addEventListener('click', ({ target }) => { window.pressed ||= Boolean(target.closest('.stMain')); }, true)"
    )
    page.touchscreen.tap(below["x"] + below["width"] - 8, below["y"] + 8)
    expect(menu).to_have_attribute("data-collapsed", "true")
    assert not page.evaluate("window.pressed")
    phone.close()


@pytest.mark.slow
def test_the_menu_of_a_phone_that_is_held_sideways_is_closed(browser: Browser, server: str) -> None:
    phone = browser.new_context(viewport={"width": 844, "height": 390}, user_agent="Mozilla/5.0 (Android) Mobile")
    page = phone.new_page()
    page.goto(server)
    until(page, SETTLED)
    expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
    page.set_viewport_size({"width": 390, "height": 844})
    page.set_viewport_size({"width": 844, "height": 390})  # turned while it is open
    expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
    phone.close()
