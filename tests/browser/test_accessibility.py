"""Accessibility of every page and view: axe-core, names for screen readers, tables of charts, keyboard."""

from typing import Any, NamedTuple

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Locator, Page, expect

from bertviz_core.figures.pages import PAGES as ENTRIES
from bertviz_core.questions.views.predictions import offered
from tests.browser.conftest import WAIT_MS
from tests.pages.opened import views_of

pytestmark = pytest.mark.browser

SERIOUS = ("serious", "critical")
SKIP = "Skip to main content"
"""The first tab stop."""
MOST_STOPS = 120
"""More tab stops than on any page; a page with more has a keyboard trap."""
CHARTS: dict[str, dict[str, list[str]]] = {
    "journey": {"Journey": []},
    "parameters": {
        "Tree": ["parameters_tree"],
        "Layers": ["parameters_layers"],
        "Compare models": ["parameters_compare"],
    },
    "architecture": {
        "Module tree": [],
        "One layer": ["architecture_layer"],
        "Cost": ["architecture_cost", "architecture_memory"],
        "Encoder or decoder": ["architecture_encoder"],
    },
    "checkpoint": {
        "Load report": ["checkpoint_report"],
        "Weights": ["checkpoint_weights", "checkpoint_values"],
        "Fewer bits": ["checkpoint_formats"],
        "Compare with base": ["checkpoint_changes", "checkpoint_change"],
        "Training run": ["checkpoint_training_log", "checkpoint_training_movement"],
    },
    "tokens": {"Tokens": ["tokens_text", "tokens_neighbours", "tokens_second"]},
    "representations": {
        "Change": ["representations_change"],
        "Values": ["representations_values"],
        "Token similarity": ["representations_similarity"],
        "Paths": ["representations_paths"],
        "Input": ["representations_embedding"],
        "One word, two texts": ["representations_word"],
    },
    "heads": {"Matrices": ["heads_matrix"], "One cell": ["heads_cell", "heads_mix"]},
    "attention": {"": []},
    "sentences": {
        "Similarity": ["sentences_similarity"],
        "Two models": ["sentences_compared", "sentences_pair_cosines"],
        "Poolings": ["sentences_poolings", "sentences_pooling_maps"],
        "Token contributions": ["sentences_pair"],
        "Query": ["sentences_query"],
        "Late interaction": ["sentences_late_interaction"],
        "Map": ["sentences_map"],
        "Vocabulary in use": ["sentences_vocabulary", "sentences_coverage"],
    },
    "predictions": {
        "Masked words": ["predictions_text", "predictions_words"],
        "Surprise": ["predictions_surprise"],
        "Lens": ["predictions_lens"],
        "Expanded terms": ["predictions_terms"],
        "Change a word": ["predictions_words_change"],
        "Train a probe": ["predictions_probe", "predictions_classes"],
        "Calibration": ["predictions_calibration", "predictions_coverage"],
        "Several texts": [],
        "Label errors": ["predictions_label_errors"],
        "Word swaps": ["predictions_swaps"],
    },
    "causes": {
        "One head at a time": ["causes_effects"],
        "Several heads": ["causes_removal"],
        "Patch": ["causes_states"],
        "Many sentences": ["causes_spread"],
    },
    "words": {
        "Words": ["words_shares", "words_bars"],
        "Remove word by word": ["words_curves"],
        "Pairs": ["words_pairs"],
    },
    "corpus": {
        "Search": ["corpus_search"],
        "Map": [],
        "Near duplicates": ["corpus_duplicates"],
        "Clusters": ["corpus_clusters"],
        "Heads": ["corpus_heads"],
        "Probes": ["corpus_probe"],
        "Another model": ["corpus_neighbours"],
        "About": [],
    },
}
"""Page -> view -> keys of its charts; a view that is missing here has those that it draws, one at least."""
VIEWS = {page: views_of(page) for page in ENTRIES} | {
    "attention": ("",),  # a long text has views
    "predictions": tuple(view.title for view in offered(("masked-lm",))),
    "words": tuple(view for view in views_of("words") if view != "Classes"),  # of a model with classes
}
PAGES: dict[str, dict[str, list[str] | None]] = {
    page: {view: CHARTS.get(page, {}).get(view) for view in views} for page, views in VIEWS.items()
}
"""Page -> view, in the order of the view links -> keys of its charts; None until they are drawn."""
PAIRED = "?pair=I+love+coding+in+python."
COMPARED = "?other=sre-embedding-model"
QUERY = {
    "predictions": "?model=splade-tiny",
    "causes": PAIRED,
    "words": PAIRED,
    "checkpoint": COMPARED,
    "sentences": COMPARED,
}
"""Page -> query of its address, if its views need another model or text than the defaults."""
TEXTS = ["Text", "Apply the text", "Second text (pair or comparison)"]
"""The fields of the sidebar, and their button."""
READ_TEXT = [
    page
    for page, entry in ENTRIES.items()
    if entry.views_without_text is not None and "" not in entry.views_without_text
]
"""Pages whose first view reads the text; others are shown without its fields."""
CSV_ONLY = ("overview_stack", "sentences_pooling_maps", "predictions_text")
"""Charts whose table is only a file."""
IN_DARK = {"parameters": 3}
"""Page -> number of views checked in the dark theme, if its last has a unique widget; otherwise the first one."""
DRAWN = {
    "journey Journey": ".journey svg .label",
    "architecture Module tree": "tr[data-module='encoder.layer.0-5']",
    "attention ": ".stage[data-shown='0.0'][data-full='true']",
    "predictions Several texts": "[data-testid=stDataFrame]",
    "corpus Map": ".corpus-map .stage[data-mode]",
    "corpus About": "[data-testid=stDataFrame]",
}
"""Selector of a drawn view without a chart."""
KEYS = """charts => charts.map((chart) =>
  [...chart.closest("[class*=st-key-]").classList].find((name) => name.startsWith("st-key-")).slice("st-key-".length)
)"""
"""The keys of charts."""
STOP = """() => {
  let there = document.activeElement;
  const hosts = [];
  while (there.shadowRoot?.activeElement) { hosts.push(there); there = there.shadowRoot.activeElement; }
  if (there === document.body) return null;
  const outer = hosts[0] ?? there;
  const keys = [];
  for (let each = outer.closest("[class*=st-key-]"); each; each = each.parentElement.closest("[class*=st-key-]"))
    keys.push(...[...each.classList].filter((name) => name.startsWith("st-key-")).map((name) => name.slice(7)));
  const group = there.closest("[role=radiogroup]");
  return {
    role: there.getAttribute("role") ?? there.tagName.toLowerCase(),
    name: there.getAttribute("aria-label") ?? there.innerText ?? "",
    group: group?.getAttribute("aria-label") ?? "",
    keys,
  };
}"""
"""The focused element, through shadow roots; null if the focus has left the page."""


class Stop(NamedTuple):
    """One tab stop."""

    role: str
    name: str
    group: str
    keys: list[str]


def opened(page: Page, server: str, name: str) -> None:
    """Open a page in its first view, and wait until it is drawn."""
    page.goto(f"{server}/{name}{QUERY.get(name, '')}")
    drawn(page, name, next(iter(PAGES[name])))


def drawn(page: Page, name: str, view: str) -> None:
    """Wait until only this view is drawn; the first that runs the model imports torch."""
    charts = PAGES[name][view]
    if charts is None:
        for key in (key for keys in PAGES[name].values() for key in keys or ()):
            expect(page.locator(f".st-key-{key} .js-plotly-plot")).to_have_count(0)
        expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible(timeout=3 * WAIT_MS)
        expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
        charts = PAGES[name][view] = page.locator("[data-chart]").evaluate_all(KEYS)
    for key in charts:
        place, begin = page.locator(f".st-key-{key}").first, page.locator(".st-key-start_work button")
        place.or_(begin).first.wait_for(timeout=3 * WAIT_MS)
        if begin.is_visible():
            begin.click()
        place.scroll_into_view_if_needed()  # it is drawn when it is looked at
        chart = page.locator(f".st-key-{key} .js-plotly-plot .main-svg").first
        expect(chart).to_be_visible(timeout=3 * WAIT_MS)
        expect(page.locator(f".st-key-{key}_files button")).to_be_visible()
    if not charts:
        expect(page.locator(DRAWN[f"{name} {view}"]).first).to_be_visible(timeout=3 * WAIT_MS)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    expect(page.locator("[data-chart]")).to_have_count(len(charts))
    expect(page.locator("[data-testid=stSkeleton], [data-testid=stSpinner], [data-stale=true]")).to_have_count(0)


def views_control(page: Page) -> Locator:
    """The links to the views of the page."""
    return page.get_by_test_id("stMain").get_by_role("radiogroup", name="View", exact=True).get_by_role("radio")


def next_view(page: Page, name: str, at: int) -> None:
    """Go from the view at this index to the next, by keyboard."""
    options = views_control(page)
    options.nth(at).focus()
    page.keyboard.press("ArrowRight")
    expect(options.nth(at + 1)).to_be_focused()
    page.keyboard.press("Space")
    expect(options.nth(at + 1)).to_be_checked()
    drawn(page, name, list(PAGES[name])[at + 1])


def findings(page: Page) -> list[str]:
    """Serious or critical findings of axe-core, one line each: rule, element, reason."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found: dict[str, Any] = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{rule['id']} ({rule['impact']}): {node['html'][:160]} | {node['failureSummary']}"
        for rule in found["violations"]
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]


def nameless_charts(page: Page) -> list[str]:
    """Charts without a description for screen readers."""
    charts = page.locator("[data-chart]")
    named = charts.evaluate_all("all => all.map((each) => [each.getAttribute('role'), each.ariaLabel ?? ''])")
    return [f"{role} {name!r}" for role, name in named if role != "figure" or len(name.split()) < 3]


def tableless_charts(page: Page, name: str, view: str) -> list[str]:
    """Charts without a table, open or folded."""
    if page.get_by_test_id("stDataFrame").count():
        return []
    return [
        key
        for key in PAGES[name][view] or ()
        if key not in CSV_ONLY and not page.locator(f".st-key-{key}_table").count()
    ]


def faults(page: Page, name: str, view: str) -> list[str]:
    """All accessibility faults of a view, prefixed by its name."""
    lacking = [
        *findings(page),
        *(f"no alt text: {each}" for each in nameless_charts(page)),
        *(f"no table: {each}" for each in tableless_charts(page, name, view)),
    ]
    return [f"{name} {view}: {each}" for each in lacking]


def stops(page: Page) -> list[Stop]:
    """All tab stops, from the top until the focus leaves the page."""
    page.evaluate("document.activeElement.blur()")
    found: list[Stop] = []
    while len(found) < MOST_STOPS:
        page.keyboard.press("Tab")
        stop = page.evaluate(STOP)
        if stop is None or (found and stop["name"] == SKIP):
            return found  # the browser's own buttons are next, or the page starts again
        found.append(Stop(**stop))
    pytest.fail(f"No end after {MOST_STOPS} stops; the last: {[(stop.role, stop.name[:40]) for stop in found[-5:]]}")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.slow
def test_every_view_is_named_has_contrast_and_its_numbers_and_all_is_reached_by_keyboard(
    page: Page, server: str, name: str
) -> None:
    opened(page, server, name)
    first, *others = PAGES[name]
    expect(views_control(page)).to_have_count(len(PAGES[name]) if others else 0)
    found = faults(page, name, first)
    expect_stops(stops(page), name, first)
    for at, view in enumerate(others):
        next_view(page, name, at)
        found += faults(page, name, view)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("page", ["dark"], indirect=True)
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.slow
def test_in_dark_there_is_contrast_too(page: Page, server: str, name: str) -> None:
    opened(page, server, name)
    found = faults(page, name, next(iter(PAGES[name])))
    for at in range(IN_DARK.get(name, 1) - 1):
        next_view(page, name, at)
        found += faults(page, name, list(PAGES[name])[at + 1])
    assert not found, "\n".join(found)


def expect_stops(found: list[Stop], name: str, view: str) -> None:
    """Assert that every widget of a page is a tab stop and has a name."""
    names = [stop.name for stop in found]
    assert names[0] == SKIP
    links = [stop.name.rpartition("\n")[2] for stop in found if "pages" in stop.keys]
    assert links == [entry.title for entry in ENTRIES.values()]
    assert ("combobox", "Model") in [(stop.role, stop.name) for stop in found]
    texts = TEXTS if name in READ_TEXT else []
    assert [stop.name for stop in found if stop.name in TEXTS] == texts
    if len(PAGES[name]) > 1:
        assert [stop.name for stop in found if stop.group == "View"] == [view]
    for key in PAGES[name][view] or ():
        assert ["Download" in stop.name for stop in found if f"{key}_files" in stop.keys] == [True]
    buttons = ("button", "a", "radio", "combobox", "switch", "gridcell", "application")
    nameless = [stop for stop in found if stop.role in buttons and not stop.name.strip()]
    assert not nameless


@pytest.mark.slow
@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_the_journey_with_a_layer_a_head_and_a_cell_open_has_no_faults(page: Page, server: str) -> None:
    page.goto(f"{server}/journey?query=5&layer=2&head=5&key=4")
    expect(page.get_by_role("link", name="Heads: every number of this cell")).to_be_visible(timeout=3 * WAIT_MS)
    assert findings(page) == []
    found = stops(page)
    names = [stop.name for stop in found]
    assert {"Head 5 of layer 2", "Close layer 2", "Attention: its whole map"} <= set(names)
    assert not [stop for stop in found if not stop.name.strip()]


def test_a_view_with_faults_is_told(page: Page, server: str) -> None:
    opened(page, server, "overview")
    assert findings(page) == []
    page.evaluate(
        """() => {
          const place = document.querySelector("[data-testid=stMain] .stMainBlockContainer");
          place.insertAdjacentHTML("beforeend", "<button></button>");
          place.querySelector("h1").style.color = "rgb(200, 200, 200)";
          document.querySelector("[data-chart]").removeAttribute("aria-label");
        }"""
    )
    rules = {each.partition(" ")[0] for each in findings(page)}
    assert {"button-name", "color-contrast"} <= rules
    assert len(nameless_charts(page)) == 1
