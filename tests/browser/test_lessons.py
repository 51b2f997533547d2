"""Lessons in a browser: the card is whole and sticky, its figure is visible, and folded content is reachable."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from bertviz_core.models.catalog import example_texts
from tests.browser.conftest import COLD_MS, until
from tests.browser.test_share_every_control import settled
from tests.ui.lessons.shipped import lesson
from ui.lessons.tour import ORDER, RUN_LESSON, WRONG

pytestmark = pytest.mark.browser
FIGURES = "[data-chart], [data-testid^=stBidiComponent]"
WHOLE = """(() => {
  const card = document.querySelector(".lesson-card"), bottom = card.getBoundingClientRect().bottom;
  const texts = [...card.querySelectorAll(".title, .note, .panel")];
  const cut = texts.some((each) => each.scrollHeight > each.clientHeight + 1);
  return !cut && document.querySelector("h1").getBoundingClientRect().top >= bottom;
})()"""
"""Whether the card cuts none of its text and covers nothing of a page that is not scrolled."""
IN_SIGHT = f"""(() => {{
  const card = document.querySelector(".lesson-card");
  const figures = [...document.querySelectorAll(".stMainBlockContainer :is({FIGURES})")]
    .filter((each) => !each.contains(card) && each.getBoundingClientRect().height >= 100);
  if (!card || !figures.length) return false;
  const roots = [...figures[0].querySelectorAll("*"), figures[0]].map((each) => each.shadowRoot).filter(Boolean);
  const stage = roots.map((root) => root.querySelector(".stage, .journey .sheet:has(svg)")).find(Boolean);
  if (!stage && !document.querySelector(".js-plotly-plot .main-svg")) return false;
  const box = (stage ?? figures[0]).getBoundingClientRect();
  const top = card.getBoundingClientRect().bottom;
  return box.top >= top && (box.bottom <= innerHeight || box.height > innerHeight - top);
}})()"""
"""Whether the first figure, or the open head, is entirely between the card and the bottom of the window; of a drawing
that is higher than this, its upper part."""
NAMED_IN_SIGHT = """(() => {{
  const figure = document.querySelector(".st-key-{} .main-svg")?.getBoundingClientRect();
  const card = document.querySelector(".lesson-card").getBoundingClientRect();
  return Boolean(figure) && figure.top >= card.bottom - 2 && figure.bottom <= innerHeight + 2;
}})()"""
"""Whether a figure is entirely between the card and the bottom of the window."""
RUN_MS = 3 * COLD_MS
"""Timeout for what several checkpoints compute."""
LOWEST = 105
"""Most pixels of the folded card, with its whole note, on a page of usual width."""
LOWEST_NARROW = 145
"""The same beside the sidebar of a narrow window."""


def address(server: str, name: str, number: int) -> str:
    step = lesson(name).steps[number - 1]
    named = [(key, value) for key, values in step.query.items() for value in values]
    return f"{server}/{step.page}?{urlencode([*named, ('lesson', name), ('step', number)])}"


def height(page: Page) -> float:
    box = page.locator(".st-key-tour_bar").bounding_box()
    assert box
    return box["height"]


@pytest.mark.parametrize("name", [name for name in ORDER if name not in (RUN_LESSON, WRONG)])
@pytest.mark.slow
def test_the_figure_that_a_step_speaks_of_is_in_sight(page: Page, server: str, name: str) -> None:
    try:
        for number in range(1, len(lesson(name).steps) + 1):
            page.set_viewport_size({"width": 1400, "height": 900})
            page.goto(address(server, name, number))
            until(page, IN_SIGHT)
            assert height(page) <= LOWEST
            page.set_viewport_size({"width": 1366, "height": 768})
            until(page, IN_SIGHT)
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})


@pytest.mark.slow
def test_a_low_figure_at_the_top_stays_in_sight_below_the_card(page: Page, server: str) -> None:
    page.set_viewport_size({"width": 1366, "height": 768})
    try:
        page.goto(address(server, "tokens", 1))
        until(
            page, "document.querySelectorAll('.st-key-tokens_text .main-svg, .st-key-tokens_neighbours .main-svg')[5]"
        )
        card, strip = (
            page.locator(each).bounding_box() for each in (".lesson-card", ".st-key-tokens_text .main-svg >> nth=0")
        )
        assert card
        assert strip
        assert card["y"] + card["height"] <= strip["y"]
        assert strip["y"] + strip["height"] <= 768
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})


@pytest.mark.slow
def test_the_card_is_low_at_every_width_and_stays_while_the_page_is_read(page: Page, server: str) -> None:
    page.goto(address(server, ORDER[0], 3))
    until(page, IN_SIGHT)
    for width, lowest in ((1400, LOWEST), (900, LOWEST_NARROW)):
        page.set_viewport_size({"width": width, "height": 900})
        assert height(page) <= lowest
        until(
            page,
            "(main => main.scrollHeight > main.clientHeight + 300)(document.querySelector('[data-testid=stMain]'))",
        )
        page.mouse.move(width - 200, 600)
        page.mouse.wheel(0, 700)
        until(page, "document.querySelector('[data-testid=stMain]').scrollTop > 300")
        expect(page.get_by_role("link", name="Next", exact=True)).to_be_in_viewport()
        box = page.locator(".lesson-card").bounding_box()
        assert box
        assert 0 <= box["y"] < 60
    page.set_viewport_size({"width": 1400, "height": 900})


@pytest.mark.slow
def test_what_may_be_tried_folds_out_with_its_answer_and_a_link_that_does_it(page: Page, server: str) -> None:
    page.goto(address(server, ORDER[0], 8))
    until(page, IN_SIGHT)
    page.locator(".lesson-card button[data-opens=more]").click()
    page.locator("[data-testid=stMain]").evaluate("main => main.scrollTo(0, 0)")
    until(page, WHOLE)
    expect(page.get_by_text("In which direction does it look?")).to_be_visible()
    expect(page.get_by_text("Back: ##an gives 0.95")).to_be_hidden()
    page.locator(".lesson-card summary").click()
    expect(page.get_by_text("Back: ##an gives 0.95")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("In which direction does it look?")).to_be_hidden()
    page.get_by_role("button", name="Try").click()
    page.get_by_role("link", name="Layer 1, head 9").click()
    expect(page.locator(".stage[data-shown='1.9']")).to_be_visible()
    expect(page.get_by_text("step 8 of 10")).to_be_visible()
    page.get_by_role("link", name="Back to the step").click()
    expect(page.locator(".stage[data-shown='1.8']")).to_be_visible()


@pytest.mark.slow
def test_a_lesson_that_begins_on_the_open_page_leads_from_the_open_panel_to_the_next_page(
    page: Page, server: str
) -> None:
    page.goto(f"{server}/causes")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible(timeout=COLD_MS)
    page.get_by_role("button", name="Lessons").click()
    page.get_by_role("link", name="Which heads and words matter").click()
    expect(page.locator(".lesson-card .count")).to_have_text("step 1 of 8")
    page.locator(".lesson-card").get_by_role("link", name="Next", exact=True).click()
    expect(page.locator(".lesson-card .count")).to_have_text("step 2 of 8")
    expect(page.get_by_role("heading", name="Attention", exact=True)).to_be_visible()
    expect(page.locator(".stage[data-shown='0.2']")).to_be_visible()


@pytest.mark.slow
def test_the_end_sums_up_and_leads_to_the_next_lesson(page: Page, server: str) -> None:
    page.goto(address(server, ORDER[0], 10))
    page.get_by_role("button", name="Sum up").click()
    expect(page.get_by_text("A tokenizer cuts a text into pieces")).to_be_visible()
    page.get_by_role("link", name="Next lesson: Your text through the model, 10 steps").click()
    title = "Your text through the model, step 1 of 10A lane for each token"
    expect(page.locator(".lesson-card .title")).to_have_text(title)
    expect(page.locator(".journey svg").first).to_be_visible()


def test_the_guide_goes_by_keys_alone_and_gives_the_reader_back_their_view(page: Page, server: str) -> None:
    page.goto(f"{server}/journey?query=2&colour=entropy&rests_on=true&target=state&pair=A+river.")
    ending = page.locator("[data-name='show the entropy again']")
    ending.wait_for(timeout=COLD_MS)
    page.get_by_role("link", name="Guide: ").click()
    for number in range(1, 11):
        expect(page.get_by_text(f"step {number} of 10")).to_be_visible(timeout=COLD_MS)
        if number < 10:
            expect(page.get_by_role("link", name="Next", exact=True)).to_be_focused()
            page.keyboard.press("ArrowRight")
    expect(page.get_by_text("Target: cosine to 'A river.'")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("A token begins as a row of a table.")).to_be_visible()
    page.get_by_role("button", name="Leave").click()
    expect(page.locator(".lesson-card")).to_have_count(0)
    expect(ending).to_be_visible(timeout=COLD_MS)
    expect(page.get_by_text("Target: value of dimension 0 of token 2")).to_be_visible()
    until(page, "!location.search.includes('lesson') && location.search.includes('query=2')")


@pytest.mark.slow
def test_on_a_phone_everything_of_the_card_can_be_reached(page: Page, server: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(address(server, ORDER[0], 4))
    expect(page.locator(".lesson-card .title")).to_be_visible()
    for name in ("Back", "Next"):
        expect(page.get_by_role("link", name=name, exact=True)).to_be_in_viewport()
    page.get_by_role("button", name="Try", exact=True).click()
    expect(page.get_by_role("link", name="With Siobhan")).to_be_visible()
    page.get_by_role("button", name="All steps").click()
    expect(page.get_by_role("link", name="10 Vectors of whole sentences")).to_be_visible()
    page.set_viewport_size({"width": 1400, "height": 900})


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_the_lesson_of_a_run_goes_by_clicks_and_shows_the_figure_that_each_step_names(page: Page, server: str) -> None:
    steps = lesson(RUN_LESSON).steps
    page.goto(f"{server}/?lesson={RUN_LESSON}")
    for number, step in enumerate(steps, start=1):
        title = page.locator(".lesson-card .title")
        expect(title).to_contain_text(f"step {number} of {len(steps)}", timeout=COLD_MS)
        if step.figure:
            page.wait_for_selector(f".st-key-{step.figure} .main-svg", state="attached", timeout=RUN_MS)
            until(page, NAMED_IN_SIGHT.format(step.figure))
        elif number == 2:
            slices = page.locator(".st-key-checkpoint_slices")
            slices.scroll_into_view_if_needed(timeout=RUN_MS)  # it is drawn when it is looked at
            expect(slices.locator(".main-svg").first).to_be_attached(timeout=RUN_MS)
            expect(page.get_by_text(re.compile("clearest difference is in the slice yes"))).to_be_attached()
        if number < len(steps):
            page.get_by_role("link", name="Next", exact=True).click()


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_the_guide_for_a_wrong_classifier_goes_by_clicks_alone_on_a_fresh_machine(page: Page, server: str) -> None:
    steps = lesson(WRONG).steps
    page.goto(f"{server}/predictions?view=Several+texts")
    page.get_by_role("link", name="Guide: My classifier is wrong").click()
    card, onward = page.locator(".lesson-card .title"), page.get_by_role("link", name="Next", exact=True)
    expect(card).to_contain_text(f"step 1 of {len(steps)}", timeout=COLD_MS)
    take_example(page, 1)
    link = page.get_by_role("link", name="Open in Words that matter")
    expect(link).to_be_visible(timeout=RUN_MS)
    expect(page.locator(".st-key-predictions_confusion .main-svg").first).to_be_attached()
    link.click()
    expect(page.locator(".st-key-words_shares .main-svg").first).to_be_attached(timeout=RUN_MS)
    text = page.get_by_role("textbox", name="Text", exact=True).input_value()
    assert " not " in text
    assert text in example_texts().decode()
    for number, step in enumerate(steps[1:], start=2):
        onward.click()
        expect(card).to_contain_text(f"step {number} of {len(steps)}", timeout=COLD_MS)
        if step.figure not in (None, "page_title"):
            expect(page.locator(f".st-key-{step.figure} .main-svg").first).to_be_attached(timeout=RUN_MS)
        if step.page in ("words", "causes"):
            expect(page.get_by_role("textbox", name="Text", exact=True)).to_have_value(text)
        if "base" in step.title:
            take_example(page, number)
            expect(page.get_by_text("McNemar").first).to_be_attached(timeout=RUN_MS)
            expect(page.get_by_text(re.compile("clearest difference is in the slice yes"))).to_be_attached()
        elif step.title == "Since which step":
            take_example(page, number)
            expect(page.locator(".st-key-checkpoint_training_scores")).to_be_attached(timeout=RUN_MS)
            for label, name in (("First checkpoint", "checkpoint-40"), ("Second checkpoint", "checkpoint-60")):
                field = page.get_by_test_id("stSelectbox").filter(has_text=label).locator("input")
                expect(field).to_have_value(name, timeout=RUN_MS)
    expect(page).to_have_url(re.compile("model=negations%2Fcheckpoint-80"))
    page.get_by_test_id("stSidebar").get_by_role("button", name="Share").click()
    expect(page.get_by_text("Include the text")).to_be_visible()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", ["example", "link", "presented"])
def test_who_leaves_the_guide_has_page_and_models_of_before(page: Page, server: str, way: str) -> None:
    page.goto(f"{server}/predictions?view=Several+texts&model=negations%2Fcheckpoint-60")
    page.get_by_role("link", name="Guide: My classifier is wrong").click(timeout=COLD_MS)
    page.locator(".lesson-card button[data-opens=steps]").click()
    page.get_by_role("link", name="6 Was the base any better").click()
    expect(page.locator(".lesson-card .title")).to_contain_text("step 6 of", timeout=COLD_MS)
    take_example(page, 6)
    expect(page.get_by_text("McNemar").first).to_be_attached(timeout=RUN_MS)
    if way == "link":
        page.get_by_role("link", name="Next", exact=True).click()
        page.get_by_role("link", name="Compare these two checkpoints").click(timeout=RUN_MS)
        expect(page).to_have_url(re.compile("model=negations%2Fcheckpoint-(20|40)"))
    if way == "presented":
        page.get_by_role("link", name="Present", exact=True).click()
        expect(page.locator(".st-key-presenter [aria-keyshortcuts]")).to_be_visible()
        settled(page)
        page.keyboard.press("Escape")
        expect(page.get_by_test_id("stSidebar")).to_be_visible()
    page.get_by_role("button", name="Leave").click()
    expect(page).to_have_url(re.compile(r"/predictions\?(?=.*view=Several).*model=negations%2Fcheckpoint-60"))
    expect(page).not_to_have_url(re.compile("other="))
    sidebar = page.get_by_test_id("stSidebar")
    for label, name in (("Model", "negations/checkpoint-60"), ("Compare with", "none")):
        field = sidebar.get_by_test_id("stSelectbox").filter(has_text=label).locator("input")
        expect(field).to_have_value(re.compile(f"^{name}"))
    expect(sidebar.get_by_test_id("stCaptionContainer")).to_have_text(["negations/checkpoint-60"])
    expect(page.get_by_text("What does the model answer? negations/checkpoint-60")).to_be_visible()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_model_without_classes_leads_to_the_example_with_one_click(page: Page, server: str) -> None:
    page.goto(f"{server}/predictions?view=Several+texts&answered_by=probe&model=splade-tiny")
    page.get_by_role("button", name="Open it with negations.csv").click(timeout=COLD_MS)
    expect(page.locator(".st-key-predictions_confusion .main-svg").first).to_be_attached(timeout=RUN_MS)
    expect(page.get_by_text("Of 80 texts with a gold label")).to_be_visible()


def take_example(page: Page, number: int) -> None:
    """Follow the link of a step of the guide to the example."""
    page.locator(".lesson-card button[data-opens=more]").click()
    page.get_by_role("link", name=lesson(WRONG).steps[number - 1].trials[0].label).click()


FRAMED = """() => {
  const traces = document.querySelector(".st-key-tokens_text .js-plotly-plot")?.data;
  if (!traces) return -1;
  const edge = [...traces.find((each) => each.mode === "lines" && each.line.width === 3).x].filter((x) => x !== null);
  const words = traces.find((each) => each.mode === "text");
  const inside = (x) => x > Math.min(...edge) && x < Math.max(...edge);
  return [...words.text].findIndex((_, at) => inside(words.x[at]) && words.y[at] !== null);
}"""


@pytest.mark.slow
def test_the_token_of_the_next_step_is_the_one_that_is_framed(page: Page, server: str) -> None:
    title = page.locator(".st-key-tokens_neighbours .gtitle")
    page.goto(f"{server}/tokens?token=5&lesson=tokens&step=1")
    expect(title).to_contain_text("python")
    until(page, f"({FRAMED})() === 5")
    page.get_by_role("link", name="Next", exact=True).click()
    expect(title.filter(has_text="##ization")).to_be_visible()
    expect(title).to_have_count(1)
    until(page, f"({FRAMED})() === 2")
