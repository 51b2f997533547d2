"""The tour and the share button in a browser: links restore views in a new one, and steps keep the page loaded."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Fresh
from ui.lessons.library import Step, read_lesson

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
PAGES = [path.stem for path in (ROOT / "pages").glob("[a-z]*.py")]
LESSON = read_lesson(ROOT / "ui" / "lessons" / "shipped" / "bert-from-the-outside-in.yaml", PAGES)
BASE, OURS = "bert-base-uncased", "all-MiniLM-L6-v2"
SHOWN = [
    ("Overview", BASE, "109,482,240", None),
    ("Parameters", BASE, "5 tensors, 23,837,184 parameters", "Tree"),
    ("Parameters", BASE, "109,482,240", "Layers"),
    ("Tokens", OURS, "has the id 8,254; its row has the norm", "id"),
    ("Representations", OURS, "gives the embeddings that layer 0 reads: largest difference", "Input"),
    ("Representations", OURS, "The plane holds 36.7% of the variance", "Paths"),
    ("Heads", OURS, "12 heads of 32", "Matrices"),
    ("Attention", OURS, "8 tokens", "attention"),
    ("Representations", OURS, "of shape (1, 384), all between −1 and 1", "Values"),
    ("Sentences", OURS, "8 sentences", "Similarity"),
]
"""Title, model, some text and view of every step."""


def address(server: str, number: int) -> str:
    step = LESSON.steps[number - 1]
    named = [(name, value) for name, values in step.query.items() for value in values]
    return f"{server}/{step.page}?{urlencode([*named, ('lesson', LESSON.name), ('step', str(number))])}"


def expect_step(page: Page, number: int) -> None:
    """Assert that the step's view is as described in its note, however it was opened."""
    step: Step = LESSON.steps[number - 1]
    title, model, words, view = SHOWN[number - 1]
    main, sidebar = page.get_by_test_id("stMain"), page.get_by_test_id("stSidebar")
    expect(main.get_by_text(f"step {number} of 10")).to_be_visible()
    expect(main.get_by_text(step.title, exact=True).first).to_be_visible()
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(main.get_by_text(words).first).to_be_visible()
    expect(sidebar.get_by_role("combobox", name="Model")).to_have_value(re.compile(f"^{re.escape(model)} · "))
    if view:
        expect(main.get_by_role("radio", name=view, exact=True).first).to_be_checked()
    text = sidebar.get_by_role("textbox", name="Text", exact=True)
    if step.text:
        expect(text).to_have_value(step.text)
    else:
        expect(text).to_have_count(0)
    if number == 2:
        expect(main.get_by_role("combobox", name="Module")).to_have_value("embeddings")
    if number == 7:
        expect(main.get_by_role("combobox", name="Drawn")).to_have_value("pulled apart")
    if number == 8:
        expect(main.get_by_role("slider", name="Layer")).to_have_value("1")
        expect(main.get_by_role("spinbutton", name="Head")).to_have_value("8")
        expect(page.locator(".stage[data-shown='1.8'][data-full='true']")).to_be_visible()
    if number == 10:
        main.get_by_role("button", name="Sentences", exact=True).click()
        box = page.get_by_role("textbox", name="Sentences, one per line")
        expect(box).to_have_value("\n".join(_paraphrases()))
        page.keyboard.press("Escape")
        expect(box).to_be_hidden()


def _paraphrases() -> list[str]:
    from ui.examples import EXAMPLES

    return EXAMPLES["paraphrases"][1].split("\n")


@pytest.mark.parametrize("number", range(1, 11))
@pytest.mark.slow
def test_the_link_of_a_step_restores_its_view_in_a_fresh_browser(fresh: Fresh, server: str, number: int) -> None:
    with fresh() as page:
        page.goto(address(server, number))
        expect_step(page, number)


@pytest.mark.slow
def test_next_and_back_walk_the_lesson_without_loading_the_page_anew(page: Page, server: str) -> None:
    page.goto(f"{server}/tokens")
    text = page.get_by_test_id("stSidebar").get_by_role("textbox", name="Text", exact=True)
    text.fill("My own words.")
    text.press("Control+Enter")
    expect(page.get_by_text("13", exact=True).first).to_be_visible()  # number of characters
    page.evaluate("window.notLoadedAnew = true")
    page.get_by_role("link", name="Overview").first.click()
    page.get_by_role("link", name="Guide: BERT").click()
    for number in range(1, 10):
        expect_step(page, number)
        following = page.get_by_role("link", name="Next", exact=True)
        following.focus()
        page.keyboard.press("Enter")
    expect_step(page, 10)
    page.get_by_role("link", name="Back", exact=True).click()
    expect_step(page, 9)
    page.go_back()
    expect_step(page, 10)
    page.get_by_role("button", name="All steps").click()
    page.get_by_role("link", name="3 Twelve equal layers").click()
    expect_step(page, 3)
    assert page.evaluate("window.notLoadedAnew") is True
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_text("step 3 of 10")).to_have_count(0)
    expect(page).to_have_url(f"{server}/overview")  # where the lesson was opened
    page.get_by_test_id("stSidebar").get_by_role("link", name="Tokens").click()
    expect(text).to_have_value("My own words.")


@pytest.mark.slow
def test_away_from_its_page_a_step_leads_back_to_it(page: Page, server: str) -> None:
    page.goto(address(server, 8))
    expect_step(page, 8)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Heads", exact=True).click()
    expect(page.get_by_text("This step is on the page Attention.")).to_be_visible()
    assert "lesson" not in parse_qs(urlsplit(page.url).query)
    page.get_by_role("link", name="Show this step").click()
    expect_step(page, 8)


@pytest.mark.slow
def test_a_shared_link_restores_the_view_with_the_text_only_when_asked(fresh: Fresh, server: str, page: Page) -> None:
    page.goto(f"{server}/heads?view=One+cell&layer=2&head=5&text=The+bank+lends&pair=and+saves.")
    expect(page.get_by_role("spinbutton", name="Head")).to_have_value("5")
    page.get_by_test_id("stSidebar").get_by_role("button", name="Share").click()
    field = page.get_by_role("textbox", name="Link to this view")
    expect(field).to_have_value(f"{server}/heads?view=One+cell&layer=2&head=5")
    plain = field.input_value()
    page.get_by_text("Include the text").click()
    expect(field).to_have_value(f"{plain}&text=The+bank+lends&pair=and+saves.")
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="The link is")).to_be_visible()
    for link, text, pair in (
        (plain, "I love my pet python.", ""),
        (field.input_value(), "The bank lends", "and saves."),
    ):
        with fresh() as other:
            other.goto(link)
            sidebar = other.get_by_test_id("stSidebar")
            expect(sidebar.get_by_role("textbox", name="Text", exact=True)).to_have_value(text)
            expect(sidebar.get_by_role("textbox", name="Second text (pair or comparison)")).to_have_value(pair)
            expect(other.get_by_role("radio", name="One cell")).to_be_checked()
            expect(other.get_by_role("slider", name="Layer")).to_have_value("2")
            expect(other.get_by_role("spinbutton", name="Head")).to_have_value("5")
            expect(other).to_have_url(plain)


@pytest.mark.slow
def test_the_shared_link_follows_the_controls(page: Page, server: str) -> None:
    page.goto(f"{server}/parameters")
    page.get_by_text("treemap", exact=True).click()
    page.wait_for_selector(".treemaplayer .slice")
    page.get_by_test_id("stSidebar").get_by_role("button", name="Share").click()
    field = page.get_by_role("textbox", name="Link to this view")
    expect(field).to_have_value(f"{server}/parameters?form=treemap")
