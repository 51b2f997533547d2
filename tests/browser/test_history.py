"""Back and forward restore each view as it was left, the first tap on a link works, a reload keeps typed texts.

Covers `ui/address/navigation.py`, `ui/share.py`.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import WAIT_MS, another_tab
from tests.browser.test_share_every_control import settled

pytestmark = pytest.mark.browser


@pytest.fixture
def tab(shared_tab: Page) -> Iterator[Page]:
    """A tab without history: a browser keeps 50 entries per tab, and the tab shared by most tests has more.

    Its number of entries would stay 50 whatever is opened. It has the profile of the shared tab, whose code is
    compiled.
    """
    with another_tab(shared_tab) as found:
        yield found


def go(page: Page, name: str) -> None:
    page.get_by_test_id("stSidebar").get_by_role("link", name=name, exact=True).click()
    arrived(page, name)


def arrived(page: Page, name: str) -> None:
    expect(page.get_by_role("heading", name=name, exact=True, level=1)).to_be_visible(timeout=WAIT_MS)
    settled(page)


def layer(page: Page) -> str | None:
    return page.get_by_role("slider", name="ayer, 0 to").get_attribute("aria-valuetext")


def move_layer(page: Page, key: str, times: int = 1) -> None:
    page.get_by_role("slider", name="ayer, 0 to").focus()
    for _ in range(times):
        page.keyboard.press(key)
    settled(page)


def head(page: Page) -> Locator:
    return page.get_by_role("spinbutton", name="Head")


def set_head(page: Page, number: int) -> None:
    head(page).fill(str(number))
    head(page).press("Enter")
    settled(page)


def drawn(page: Page, place: str) -> None:
    """Wait for the figure of a layer and head: pending changes are not carried to another page."""
    expect(page.get_by_text(place).first).to_be_visible()
    settled(page)


def entries(page: Page) -> int:
    return int(page.evaluate("history.length"))


@pytest.mark.slow
def test_back_and_forward_find_each_page_as_it_was_left(page: Page, server: str) -> None:
    page.goto(f"{server}/attention")
    arrived(page, "Attention")
    before = entries(page)
    move_layer(page, "ArrowRight", 3)
    drawn(page, "layer 3, head 0")
    assert (layer(page), entries(page)) == ("3", before)
    go(page, "Heads")
    assert (layer(page), entries(page)) == ("3", before + 1)
    move_layer(page, "ArrowRight")
    set_head(page, 4)
    expect(page).to_have_url(re.compile("head=4"))
    settled(page)
    go(page, "Representations")
    go(page, "Tokens")
    left = [page.url]
    for name in ("Representations", "Heads", "Attention"):
        page.go_back()
        arrived(page, name)
        left.append(page.url)
        assert "arrive" not in page.url
        if name != "Representations":
            assert layer(page) == {"Heads": "4", "Attention": "3"}[name]
        if name == "Heads":
            expect(head(page)).to_have_value("4")
    for name, address in zip(("Heads", "Representations", "Tokens"), reversed(left[:3]), strict=True):
        page.go_forward()
        arrived(page, name)
        assert page.url == address


@pytest.mark.slow
def test_a_page_left_while_it_is_drawn_costs_no_entry_and_no_way_forward(tab: Page, server: str) -> None:
    tab.goto(f"{server}/attention")
    arrived(tab, "Attention")
    before = entries(tab)
    for name in ("Heads", "Attention", "Tokens"):
        link = tab.get_by_test_id("stSidebar").get_by_role("link", name=name, exact=True)
        tab.get_by_role("slider", name="ayer, 0 to").press("ArrowRight")
        link.click()  # at once, while the previous page is still running
        arrived(tab, name)
    assert entries(tab) == before + 3
    for name in ("Attention", "Heads", "Attention"):
        tab.go_back()
        arrived(tab, name)
    for name in ("Heads", "Attention", "Tokens"):
        tab.go_forward()
        arrived(tab, name)


@pytest.mark.slow
def test_an_address_of_an_arrival_takes_the_place_of_the_one_before_and_others_are_entries(
    tab: Page, server: str
) -> None:
    tab.goto(f"{server}/tokens")
    arrived(tab, "Tokens")
    before = entries(tab)
    for address in ("/tokens?arrive=", "/heads?layer=1", "/tokens?arrive=link", "/tokens"):  # as created by Streamlit
        tab.evaluate("address => history.pushState({}, '', address)", address)
        assert (entries(tab), tab.url) == (before, f"{server}{address}")
    tab.evaluate("() => history.pushState({}, '', '/tokens?model=bert-base-uncased')")
    assert entries(tab) == before + 1


@pytest.mark.slow
def test_a_link_keeps_what_was_set_on_its_page_and_is_one_entry(page: Page, server: str) -> None:
    page.goto(f"{server}/heads?layer=2&head=5&model=bert-base-uncased")
    arrived(page, "Heads")
    page.goto(f"{server}/heads?layer=2&head=5")
    arrived(page, "Heads")
    before = entries(page)
    go(page, "Tokens")
    go(page, "Heads")
    expect(head(page)).to_have_value("5")
    assert layer(page) == "2"
    assert entries(page) == before + 2
    assert page.url.partition("?")[2] in ("layer=2&head=5", "head=5&layer=2")


@pytest.mark.slow
def test_a_page_left_at_its_defaults_is_found_so(page: Page, server: str) -> None:
    page.goto(f"{server}/heads")
    arrived(page, "Heads")
    go(page, "Tokens")
    go(page, "Heads")
    set_head(page, 7)
    move_layer(page, "ArrowRight", 2)
    page.go_back()
    arrived(page, "Tokens")
    page.go_back()
    arrived(page, "Heads")
    expect(head(page)).to_have_value("0")
    assert layer(page) == "0"


@pytest.mark.slow
def test_the_model_goes_along_and_comes_back(page: Page, server: str) -> None:
    page.goto(f"{server}/parameters?model=bert-base-uncased")
    arrived(page, "Parameters")
    go(page, "Overview")
    expect(page.locator("[data-testid=stMetric]").first).to_contain_text("109,482,240")
    assert page.url == f"{server}/overview?model=bert-base-uncased"
    page.get_by_role("combobox", name="Model").fill("MiniLM-L6")
    page.get_by_role("option", name="all-MiniLM-L6-v2").click()
    expect(page.locator("[data-testid=stMetric]").first).to_contain_text("22,713,216")
    settled(page)
    assert page.url == f"{server}/overview"
    page.go_back()
    expect(page.locator("[data-testid=stMetric]").first).to_contain_text("109,482,240")
    page.go_back()
    arrived(page, "Parameters")
    assert page.url == f"{server}/parameters?model=bert-base-uncased"


@pytest.mark.slow
def test_a_link_within_a_page_is_one_entry_too(tab: Page, server: str) -> None:
    tab.goto(f"{server}/overview?model=all-MiniLM-L6-v2")
    arrived(tab, "Overview")
    before = entries(tab)
    tab.get_by_test_id("stMain").get_by_role("link", name="Tokens: ").click()
    arrived(tab, "Tokens")
    assert entries(tab) == before + 1
    tab.go_back()
    arrived(tab, "Overview")


@pytest.mark.parametrize("name", ["Tokens", "Attention"])
@pytest.mark.slow
def test_the_first_tap_after_a_text_was_written_opens_its_page(browser: Browser, server: str, name: str) -> None:
    context = browser.new_context(viewport={"width": 1366, "height": 768}, has_touch=True, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(f"{server}/representations")
    arrived(page, "Representations")
    expect(page.get_by_role("button", name="Apply the text")).to_be_in_viewport(ratio=1)
    page.get_by_role("textbox", name="Text", exact=True).fill("A tap is enough.")
    page.get_by_test_id("stSidebar").get_by_role("link", name=name, exact=True).tap()
    arrived(page, name)
    expect(page.get_by_role("textbox", name="Text", exact=True)).to_have_value("A tap is enough.")
    context.close()


@pytest.mark.slow
def test_a_click_of_no_time_after_a_text_was_written_opens_its_page(page: Page, server: str) -> None:
    page.goto(f"{server}/tokens")
    arrived(page, "Tokens")
    page.get_by_role("textbox", name="Text", exact=True).fill("One two three.")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Attention").click(delay=0)
    arrived(page, "Attention")
    expect(page.get_by_role("textbox", name="Text", exact=True)).to_have_value("One two three.")
    go(page, "Tokens")
    expect(page.get_by_test_id("stMain").get_by_text("6 tokens").first).to_be_visible()


@pytest.mark.slow
def test_views_of_a_page_are_gone_back_one_at_a_time(page: Page, server: str) -> None:
    page.goto(f"{server}/representations?view=Values")
    arrived(page, "Representations")
    views = ["Values", "Paths", "Change", "Values", "Token similarity"]
    page.get_by_role("radio", name="Values", exact=True).click()
    settled(page)
    before = entries(page)
    for at, name in enumerate(views[1:], start=1):
        page.get_by_role("radio", name=name, exact=True).click()
        expect(page.get_by_role("radio", name=name, exact=True)).to_be_checked()
        settled(page)
        assert entries(page) == before + at
        if name == "Values":
            move_layer(page, "ArrowLeft", 2)
            assert layer(page) == "3"
    for name in reversed(views[:-1]):
        page.go_back()
        expect(page.get_by_role("radio", name=name, exact=True)).to_be_checked()
        settled(page)
    assert layer(page) == "5"
    for name in views[1:4]:
        page.go_forward()
        expect(page.get_by_role("radio", name=name, exact=True)).to_be_checked()
        settled(page)
    assert layer(page) == "3"


def write(page: Page, name: str, text: str) -> None:
    page.get_by_role("textbox", name=name, exact=True).fill(text)
    page.get_by_role("button", name="Apply the text").click()
    settled(page)


@pytest.mark.slow
def test_what_belongs_to_the_text_is_in_sight_in_a_low_window(tab: Page, server: str) -> None:
    tab.set_viewport_size({"width": 1366, "height": 768})
    tab.goto(f"{server}/tokens")
    arrived(tab, "Tokens")
    buttons = [
        tab.get_by_test_id("stSidebar").get_by_role("button", name=name) for name in ("Share", "Lessons", "Glos")
    ]
    assert len({each.evaluate("each => Math.round(each.getBoundingClientRect().top)") for each in buttons}) == 1
    tab.get_by_role("textbox", name="Text", exact=True).fill("The first click counts.")
    expect(tab.get_by_role("button", name="Apply the text")).to_be_in_viewport(ratio=1)
    tab.get_by_role("button", name="Apply the text").click()
    settled(tab)
    expect(tab.get_by_test_id("stMain").get_by_text("counts").first).to_be_visible()


@pytest.mark.slow
def test_a_reload_keeps_texts_and_two_tabs_are_apart(page: Page, server: str) -> None:
    page.goto(f"{server}/tokens")
    arrived(page, "Tokens")
    write(page, "Text", "Kept over a reload.")
    write(page, "Second text (pair or comparison)", "And this one.")
    other = page.context.new_page()
    other.goto(f"{server}/tokens")
    arrived(other, "Tokens")
    expect(other.get_by_role("textbox", name="Text", exact=True)).to_have_value("I love my pet python.")
    # A reload shows only the reader's text, from its first moment on, never the default one.
    write(other, "Text", "Zebras graze near the river.")
    other.add_init_script(
        """window.shownTexts = new Set();
        const note = () => document.querySelectorAll("textarea").forEach((box) => window.shownTexts.add(box.value));
        new MutationObserver(note).observe(document, { subtree: true, childList: true, attributes: true });"""
    )
    other.reload()
    expect(other.get_by_test_id("stMain").get_by_text("zebras").first).to_be_visible()
    settled(other)
    assert set(other.evaluate("[...window.shownTexts]")) <= {"", "Zebras graze near the river."}
    other.close()
    page.reload()
    expect(page.get_by_role("textbox", name="Text", exact=True)).to_have_value("Kept over a reload.")
    expect(page.get_by_role("textbox", name="Second text (pair or comparison)", exact=True)).to_have_value(
        "And this one."
    )
    assert page.url == f"{server}/tokens"
    page.goto(f"{server}/tokens?text=From+a+link.")
    arrived(page, "Tokens")
    expect(page.get_by_role("textbox", name="Text", exact=True)).to_have_value("From a link.")
    page.evaluate("sessionStorage.clear()")
