"""Words of the glossary on the pages: explained by pointer, tap and key; and the list of all words on every page."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import until

pytestmark = pytest.mark.browser
PLACES = """(word) => {
  for (const range of CSS.highlights.get("glossary") ?? []) {
    if (range.toString().toLowerCase() !== word) continue;
    const box = range.getBoundingClientRect();
    if (box.width) return [box.left + box.width / 2, box.top + box.height / 2];
  }
  return null;
}"""
"""Position of a marked word on the page."""


def place(page: Page, word: str) -> tuple[float, float]:
    until(page, f"({PLACES})({word!r}) !== null")
    x, y = page.evaluate(PLACES, word)
    return x, y


def meaning(page: Page) -> Locator:
    return page.locator(".glossary-meaning")


@pytest.mark.slow
def test_a_word_is_explained_where_it_stands(page: Page, server: str) -> None:
    page.goto(f"{server}/parameters")
    expect(page.get_by_role("heading", name="Parameters", exact=True)).to_be_visible()
    page.mouse.move(*place(page, "header"))
    expect(meaning(page)).to_be_visible()
    expect(meaning(page)).to_contain_text("the beginning of a safetensors file")
    page.keyboard.press("Escape")
    expect(meaning(page)).to_be_hidden()
    page.mouse.move(*place(page, "checkpoint"))
    expect(meaning(page)).to_contain_text("the files in which a model's numbers are stored")
    page.mouse.move(5, 5)
    expect(meaning(page)).to_be_hidden()


@pytest.mark.slow
def test_a_tap_explains_a_word_and_the_next_tap_closes(page: Page, server: str) -> None:
    page.goto(f"{server}/parameters")
    x, y = place(page, "checkpoint")
    tap = "([x, y]) => document.elementFromPoint(x, y).dispatchEvent(new PointerEvent('pointerdown', {" + (
        "bubbles: true, pointerType: 'touch', clientX: x, clientY: y}))"
    )
    page.evaluate(tap, [x, y])
    expect(meaning(page)).to_be_visible()
    page.evaluate(tap, [5, 5])
    expect(meaning(page)).to_be_hidden()


@pytest.mark.parametrize("name", ["", "architecture", "checkpoint", "tokens", "attention", "sentences"])
@pytest.mark.sample(1)
def test_the_glossary_is_on_every_page_and_begins_with_the_words_there(page: Page, server: str, name: str) -> None:
    page.goto(f"{server}/{name}")
    until(page, "CSS.highlights.get('glossary')?.size > 0")
    button = page.get_by_role("button", name="Glossary")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".glossary-list")).to_be_visible()
    expect(page.locator(".glossary-list h2").first).to_have_text("On this page")
    page.keyboard.press("Escape")
    expect(page.locator(".glossary-list")).to_be_hidden()


@pytest.mark.slow
def test_the_words_of_a_lesson_are_explained_too(page: Page, server: str) -> None:
    page.goto(f"{server}/parameters?model=bert-base-uncased&view=Layers&lesson=bert-from-the-outside-in&step=3")
    page.mouse.move(*place(page, "layer norms"))
    expect(meaning(page)).to_contain_text("normalises a vector to mean 0 and variance 1")


@pytest.mark.slow
def test_after_a_task_head_a_head_is_not_one_of_the_attention(page: Page, server: str) -> None:
    page.goto(f"{server}/journey?lesson=your-text-through-the-model&step=10")
    until(page, f"({PLACES})('task head') !== null")
    marked = "[...CSS.highlights.get('glossary')].filter((each) => each.startContainer.data.includes('task head'))"
    assert "head" not in page.evaluate(f"{marked}.map((each) => each.toString())")


@pytest.mark.slow
def test_the_list_is_searched_by_words_and_by_meanings(page: Page, server: str) -> None:
    page.goto(f"{server}/tokens")
    until(page, "CSS.highlights.get('glossary')?.size > 0")
    page.get_by_role("button", name="Glossary").click()
    field = page.get_by_role("searchbox", name="Search the glossary")
    expect(field).to_be_focused()
    field.fill("Pooler")
    words = page.locator(".glossary-list dt")
    expect(words.first).to_have_text("pooler")
    expect(words.filter(has_text="next-sentence head")).to_be_visible()
    expect(words.filter(has_text="dendrogram")).to_have_count(0)
    for written in ("value-zeroing", "value zeroing"):
        field.fill(written)
        expect(words.first).to_have_text("value zeroing")
    field.fill("no such word")
    expect(page.locator(".glossary-list")).to_contain_text("No word of the glossary")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator(".glossary-list")).to_be_hidden()
