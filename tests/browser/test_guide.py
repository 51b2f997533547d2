"""The guide of the Journey in a browser: by keys, with the reader's own text, until it is left."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import COLD_MS, until
from tests.browser.test_journey import opened

pytestmark = pytest.mark.browser


def opened_layer(page: Page) -> int:
    """The one layer that is open; the guide opens the one that turned the token most."""
    close = page.locator("[data-name^='Close layer ']")
    expect(close).to_have_count(1)
    return int(str(close.get_attribute("data-name")).removeprefix("Close layer "))


@pytest.mark.slow
def test_the_guide_goes_by_keys_and_gives_the_drawing_back(page: Page, server: str) -> None:
    opened(page, server, text="The bank of the river was steep.", query=2)
    count = page.locator(".lesson-card .count")
    page.get_by_role("link", name="Guide: ").click()
    expect(count).to_have_text("step 1 of 10")
    page.keyboard.press("Space")
    expect(count).to_have_text("step 2 of 10")
    expect(page.locator("[data-name='Close embeddings']")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(count).to_have_text("step 3 of 10")
    page.keyboard.press("ArrowLeft")
    expect(count).to_have_text("step 2 of 10")
    page.keyboard.press("ArrowRight")
    expect(count).to_have_text("step 3 of 10")
    page.keyboard.press("ArrowRight")
    opened_layer(page)
    page.locator("[data-name='Token 5: river']").click()
    expect(page).to_have_url(re.compile("query=5"))  # another layer may open, which is drawn before the key is pressed
    page.locator("[data-name='Token 5: river']").focus()
    page.keyboard.press("ArrowDown")  # the drawing's own key: the next token, and no step
    expect(page.locator("[data-name='Token 6: was'][aria-pressed='true']")).to_be_visible()
    expect(count).to_have_text("step 4 of 10")
    expect(page).to_have_url(re.compile("query=6"))  # the server keeps the token that it has heard of
    page.get_by_role("link", name="Next", exact=True).click()
    expect(page.locator("[data-name^='Head 0 of layer '][aria-pressed='true']")).to_be_visible()
    layer = opened_layer(page)
    expect(page.locator(f"[data-name='Head 0 of layer {layer}'][aria-pressed='true']")).to_be_visible()
    expect(page.locator("[data-name='Token 6: was'][aria-pressed='true']")).to_be_visible()
    text = page.get_by_role("textbox", name="Text", exact=True)
    text.focus()
    page.keyboard.press("ArrowRight")  # a field has its keys for itself
    expect(text).to_have_value("The bank of the river was steep.")
    page.get_by_role("button", name="Leave").click()
    expect(page.locator(".lesson-card")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"\?query=2$"))
    expect(page.locator("[data-name='Token 2: bank'][aria-pressed='true']")).to_be_visible()


@pytest.mark.slow
def test_leaving_the_guide_opens_again_what_the_reader_had_open(page: Page, server: str) -> None:
    opened(page, server, text="The bank of the river was steep.", query=2, layer=5, head=3)
    page.get_by_role("link", name="Guide: ").click()
    for step in range(1, 5):
        expect(page.locator(".lesson-card .count")).to_have_text(f"step {step} of 10")
        page.get_by_role("link", name="Next", exact=True).click()
    layer = opened_layer(page)
    expect(page.locator(f"[data-name='Head 0 of layer {layer}'][aria-pressed='true']")).to_be_visible()
    page.get_by_role("button", name="Leave").click()
    expect(page.locator("[data-name='Head 3 of layer 5'][aria-pressed='true']")).to_be_visible()
    assert opened_layer(page) == 5


APART = """(() => {
  const card = document.querySelector(".lesson-card .inner")?.getBoundingClientRect();
  const roots = [...document.querySelectorAll(".st-key-journey *")].flatMap((each) => each.shadowRoot ?? []);
  const words = roots.flatMap((root) => [...root.querySelectorAll(".sheet svg text")]);
  if (!card || !words.length) return false;
  const inside = card.left >= 0 && card.top >= 0 && card.right <= innerWidth && card.bottom <= innerHeight;
  const note = document.querySelector(".lesson-card .note");
  const meets = ({ left, right, top, bottom }) =>
    left < card.right && card.left < right && top < card.bottom && card.top < bottom;
  const covered = words.some((each) => meets(each.getBoundingClientRect()));
  const whole = inside && note.scrollHeight <= note.clientHeight + 1;
  const first = (part) => roots.map((root) => root.querySelector(part)).find(Boolean);
  const part = location.search.includes("key=") ? ".journey .asks" : "[data-name^='Close ']";
  const opened = first(part)?.getBoundingClientRect();
  if (innerWidth <= 640 && opened) return whole && opened.top >= card.bottom && opened.bottom < innerHeight;
  const brought = innerWidth <= 640 && location.search.includes("step=10"); // below its controls
  return whole && !covered && (brought || document.querySelector("[data-testid=stMain]").scrollTop === 0);
})()"""
"""Whether the card is whole in the window with its whole note, beside all words of the drawing; nothing is scrolled. On
a phone an opened part, and at the end the drawing, stands below the card."""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1920, 1400, 900, 390])
def test_at_every_step_the_card_is_whole_and_covers_no_word_and_leave_gives_all_back(
    page: Page, server: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    try:
        opened(page, server, query=2, layer=3)
        address = page.url
        text = page.locator("textarea[aria-label='Second text (pair or comparison)']")
        before = text.input_value() if width > 900 else None
        page.get_by_role("link", name="Guide: ").click()
        for step in range(1, 11):
            expect(page.locator(".lesson-card .count")).to_have_text(f"step {step} of 10")
            until(page, APART)
            page.keyboard.press("ArrowRight")
        page.get_by_role("button", name="Leave").click()
        expect(page.locator(".lesson-card")).to_have_count(0)
        expect(page).to_have_url(address)
        expect(page.locator("[data-name='Close layer 3']" if width > 900 else ".journey svg").first).to_be_visible()
        if before is not None:
            expect(text).to_have_value(before)
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})


@pytest.mark.slow
def test_on_a_phone_the_note_stays_above_what_it_speaks_of_until_more_is_unfolded(page: Page, server: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    try:
        page.goto(f"{server}/?lesson=your-text-through-the-model&step=4")
        bars = page.get_by_text("mean of the heads: where").first
        expect(bars).to_be_attached()
        bars.evaluate("(each) => each.scrollIntoView({ block: 'center' })")
        note = page.locator(".lesson-card .note")
        expect(note).to_be_in_viewport(ratio=1)
        expect(bars).to_be_in_viewport(ratio=1)
        page.get_by_role("button", name="Try", exact=True).click()
        bars.evaluate("(each) => each.scrollIntoView({ block: 'center' })")
        expect(note).not_to_be_in_viewport(ratio=0.5)
        expect(page.get_by_role("link", name="Next", exact=True)).to_be_in_viewport(ratio=1)
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "picture"),
    [
        ("lesson=your-text-through-the-model&step=4", "mean of the heads: where"),
        ("lesson=your-text-through-the-model&step=10", "previous token"),
        ("lesson=bert-from-the-outside-in&step=3", "Parameters of each layer"),
    ],
)
def test_on_a_phone_that_is_turned_the_note_stands_beside_the_picture(
    step: str, picture: str, server: str, browser: Browser
) -> None:
    phone = {"viewport": {"width": 844, "height": 390}, "user_agent": "Mozilla/5.0 (Android) Mobile"}
    with browser.new_context(**phone, has_touch=True, is_mobile=True) as context:
        page = context.new_page()
        page.goto(f"{server}/?{step}")
        note, part = page.locator(".lesson-card .note"), page.get_by_text(picture).first
        for each in (part, note, page.get_by_role("link", name="Back", exact=True)):
            expect(each).to_be_in_viewport(ratio=1)
        edges = [each.evaluate("(each) => each.getBoundingClientRect().toJSON()") for each in (part, note)]
        assert edges[0]["right"] <= edges[1]["left"]


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(390, 844), (360, 740)])
def test_on_a_phone_held_upright_what_a_step_speaks_of_is_in_sight(
    browser: Browser, server: str, width: int, height: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height}, has_touch=True, is_mobile=True)
    try:
        page = context.new_page()
        for step, parts in {
            4: ("attention adds", "feed-forward adds", "mean of the heads: where", "[CLS]"),
            9: ("layer 5", "pooler (unused)"),
        }.items():
            page.goto(f"{server}/?lesson=your-text-through-the-model&step={step}")
            labels = [page.locator(".journey svg text").filter(has_text=part).first for part in parts]
            for label in labels:
                expect(label).to_be_in_viewport(ratio=1, timeout=COLD_MS)
            card = page.locator(".lesson-card .inner").bounding_box()
            assert card is not None
            assert min(each["y"] for label in labels if (each := label.bounding_box())) >= card["y"] + card["height"]
    finally:
        context.close()
