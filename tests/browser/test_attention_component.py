"""The attention view alone in a browser: painted, opened by mouse and keyboard, sent to the server, unmounted."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from bertviz_core.figures.attention.html_file import attention_html, file_payload
from bertviz_core.figures.base.style import DARK, LIGHT, Theme, sequential
from tests.browser.conftest import Watch, serving
from tests.helpers.hand_made_attention import EVIL, atlas_of, map_of

pytestmark = pytest.mark.browser
PAINTED = ".attention[data-painted]"
PLACE = "root => [root.offsetTop, root.offsetLeft, root.offsetWidth, root.offsetHeight]"
"""Position of the view, independent of scrolling."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the small app that shows nothing but the view."""
    with serving(tmp_path_factory.mktemp("attention"), "tests/browser/apps/attention_server.py") as url:
        yield url


def head(page: Page, layer: int, number: int) -> Locator:
    """The cell of one head."""
    return page.locator(f".cell[data-layer='{layer}'][data-head='{number}']")


def wait_for_status(page: Page, text: str) -> None:
    """Wait until the server has printed this text."""
    expect(page.get_by_test_id("stText").filter(has_text=text)).to_have_count(1)


def shown(page: Page, name: str) -> None:
    """Wait until this head is drawn in full."""
    expect(page.locator(f".stage[data-shown='{name}'][data-full='true']")).to_be_visible()


def colour(look: Theme, share: float) -> np.ndarray:
    """Colour of a share on the sequential scale, as red, green and blue, interpolated from its stops."""
    stops = [(float(place), [int(str(each)[i : i + 2], 16) for i in (1, 3, 5)]) for place, each in sequential(look)]
    places = [place for place, _ in stops]
    return np.array([np.interp(share, places, [channels[i] for _, channels in stops]) for i in range(3)])


def pixel(page: Page, query: int, key: int) -> np.ndarray:
    """Red, green and blue near the corner of a cell of the open map."""
    found: list[int] = page.locator(".attention").evaluate(
        """(root, [query, key]) => {
            const { left, top, cell } = root.view.map;
            const x = left + key * cell + 4, y = top + query * cell + 4;
            return [...root.view.parts.map.getContext("2d").getImageData(x, y, 1, 1).data].slice(0, 3);
        }""",
        [query, key],
    )
    return np.array(found)


@pytest.mark.parametrize(("page", "look"), [("light", LIGHT), ("dark", DARK)], indirect=["page"])
def test_a_click_draws_the_weights_of_a_head(page: Page, app: str, look: Theme) -> None:
    page.goto(app)
    expect(page.locator(PAINTED)).to_have_attribute("data-theme", look.name)
    expect(page.locator(".cell")).to_have_count(12)
    head(page, 2, 1).click()
    shown(page, "2.1")
    weights, _ = atlas_of(10, 3, 4)
    for query, key in ((0, 0), (3, 3), (5, 6), (9, 0), (2, 8)):
        expected = colour(look, float(weights[2, 1, query, key] / weights.max()))
        assert np.abs(pixel(page, query, key) - expected).max() <= 4
    wait_for_status(page, "opened (2, 1) heads ((2, 1),) sent []")
    expect(page.get_by_role("heading", name="Attention of layer 2, head 1 — hand-made")).to_be_visible()


@pytest.mark.slow
def test_a_long_text_is_asked_for_once_and_a_cell_is_exact(page: Page, app: str) -> None:
    page.goto(f"{app}/?seq=150&layers=2&heads=3")
    expect(page.locator(PAINTED)).to_be_visible()
    wait_for_status(page, "opened (0, 0) heads ((0, 0),) sent [(0, 1), (0, 2), (1, 0)]")  # once the reader pauses
    head(page, 1, 2).click()
    shown(page, "1.2")
    wait_for_status(page, "opened (1, 2) heads ((1, 2),) sent [(1, 2), (1, 1)]")
    head(page, 0, 1).click()
    wait_for_status(page, "opened (0, 1) heads ((0, 1),) sent []")
    shown(page, "0.1")
    head(page, 1, 2).click()
    shown(page, "1.2")
    wait_for_status(page, "opened (1, 2) heads ((1, 2),) sent []")
    place: dict[str, float] = page.locator(".attention").evaluate("root => root.view.map")
    page.locator(".map-box").click(
        position={"x": place["left"] + 30.5 * place["cell"], "y": place["top"] + 31.5 * place["cell"]}
    )
    wait_for_status(page, "cell (1, 2, 31, 30)")
    weights, _ = atlas_of(150, 2, 3)
    wait_for_status(page, f"weight {weights[1, 2, 31, 30]:.6f}")
    page.keyboard.press("Escape")
    wait_for_status(page, "cell None range None")


def test_a_head_that_was_sent_ahead_is_drawn_before_the_server_hears_of_it(page: Page, app: str) -> None:
    page.goto(f"{app}/?seq=150&layers=2&heads=3")
    wait_for_status(page, "opened (0, 0) heads ((0, 0),) sent [(0, 1), (0, 2), (1, 0)]")
    shown(page, "0.0")
    found = head(page, 0, 2).evaluate(
        "cell => { cell.click(); return {...cell.getRootNode().querySelector('.stage').dataset}; }"
    )
    assert (found["shown"], found["full"]) == ("0.2", "true")
    missing = head(page, 1, 1).evaluate(
        "cell => { cell.click(); return cell.getRootNode().querySelector('.stage').dataset.full; }"
    )
    assert missing == "false"
    shown(page, "1.1")


def test_a_cell_of_the_map_is_reached_and_chosen_with_the_keyboard(page: Page, app: str) -> None:
    page.goto(app)
    head(page, 2, 1).click()
    shown(page, "2.1")
    page.locator(".map-box").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"):
        page.keyboard.press(key)
    weights, _ = atlas_of(10, 3, 4)
    expect(page.locator(".live")).to_contain_text(f"{weights[2, 1, 1, 1]:.3f}")
    page.keyboard.press("Enter")
    wait_for_status(page, "cell (2, 1, 1, 1)")
    wait_for_status(page, f"weight {weights[2, 1, 1, 1]:.6f}")


def test_the_heads_are_reached_with_the_keyboard(page: Page, app: str) -> None:
    page.goto(app)
    expect(page.locator(PAINTED)).to_be_visible()
    expect(page.locator(".cell[tabindex='0']")).to_have_count(1)
    head(page, 0, 0).focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    expect(head(page, 1, 1)).to_be_focused()
    expect(page.locator(".live")).to_contain_text("layer 1, head 1: entropy ")
    numbers = (r"entropy # nats", r"mean distance # tokens", r"on special tokens #%", r"diagonal #%")
    words = ", ".join(numbers).replace("#", r"\d+\.\d+")
    expect(head(page, 1, 1)).to_have_accessible_name(re.compile(f"^layer 1, head 1: {words}$"))
    expect(page.get_by_role("row", name="layer 1", exact=True).get_by_role("gridcell")).to_have_count(4)
    page.keyboard.press("Enter")
    shown(page, "1.1")
    wait_for_status(page, "opened (1, 1)")
    expect(head(page, 1, 1)).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    wait_for_status(page, "opened (1, 2) heads ((1, 2), (1, 1))")
    page.keyboard.press("Escape")
    wait_for_status(page, "opened (1, 2) heads ((1, 2),)")


def test_sorted_heads_stand_in_order(page: Page, app: str) -> None:
    page.goto(app)
    expect(page.locator(PAINTED)).to_be_visible()
    page.get_by_label("Sort heads by", exact=True).select_option(label="mean distance")
    expect(page.locator(".cell .label")).to_have_count(12)
    _, atlas = atlas_of(10, 3, 4)
    order = np.argsort(-atlas.measures.distance.ravel(), kind="stable")
    assert page.locator(".cell .label").all_inner_texts() == [f"{index // 4}.{index % 4}" for index in order]
    page.get_by_role("button", name="Options").click()
    page.get_by_label("Frame colour", exact=True).select_option(label="entropy")
    low, high = atlas.measures.entropy.min(), atlas.measures.entropy.max()
    expect(page.locator(".tint")).to_have_text(f"Frame: entropy{low:.2f} nats{high:.2f} nats")


def test_pinned_tokens_are_summed_and_are_only_text(page: Page, app: str) -> None:
    page.goto(app)
    expect(page.locator(PAINTED)).to_be_visible()
    head(page, 1, 3).click()
    head(page, 2, 0).click(modifiers=["Shift"])
    page.get_by_role("button", name="Lines").click()
    expect(page.locator(".head-chip")).to_have_text(["1.3", "2.0"])
    token = page.locator(".token")
    expect(token).to_have_count(20)
    expect(token.nth(1)).to_have_text(EVIL)
    assert page.locator("img[src='x']").count() == 0
    expect(page.locator(".token.special")).to_have_text(["[CLS]", "[SEP]"] * 2)
    page.locator("[data-token=q2]").click()
    page.locator("[data-token=q5]").click()
    page.mouse.move(5, 5)
    weights, _ = atlas_of(10, 3, 4)
    for key in (0, 4):
        sums = [weights[layer, number, [2, 5], key].sum() for layer, number in ((1, 3), (2, 0))]
        expect(page.locator(".token-row.k", has=page.locator(f"[data-token=k{key}]")).locator(".sum")).to_have_text(
            [f"{each:.3f}" for each in sums]
        )
    drawn = sum(int((weights[layer, number, [2, 5]] >= 0.02).sum()) for layer, number in ((1, 3), (2, 0)))
    expect(page.locator(".stage")).to_have_attribute("data-lines", str(drawn))
    page.keyboard.press("Escape")
    expect(page.locator(".token[aria-pressed=true]")).to_have_count(0)
    expect(page.locator(".head-chip")).to_have_count(0)


@pytest.mark.slow
def test_a_drag_looks_closer(page: Page, app: str) -> None:
    page.goto(f"{app}/?seq=150&layers=2&heads=3")
    expect(page.locator(PAINTED)).to_be_visible()
    shown(page, "0.0")
    place: dict[str, float] = page.locator(".attention").evaluate("root => root.view.map")
    box = page.locator(".map-box").bounding_box()
    assert box is not None
    for key, query, act in ((20.5, 40.5, page.mouse.down), (59.5, 79.5, page.mouse.up)):
        x, y = place["left"] + key * place["cell"], place["top"] + query * place["cell"]
        page.mouse.move(box["x"] + x, box["y"] + y, steps=3)
        act()
    wait_for_status(page, "range (40, 80, 20, 60)")
    page.get_by_role("button", name="Show all").click()
    wait_for_status(page, "range None")


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 900, 780])
def test_nothing_jumps_or_overflows(page: Page, app: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    try:
        page.goto(f"{app}/?seq=150&layers=2&heads=3")
        expect(page.locator(PAINTED)).to_be_visible()
        shown(page, "0.0")
        before = page.locator(".attention").evaluate(PLACE)
        page.get_by_role("button", name="Lines").click()
        expect(page.locator(".token").first).to_be_visible()
        for number in (1, 2):
            head(page, 1, number).click(modifiers=["Shift"])
        shown(page, "0.0 1.1 1.2")
        assert page.locator(".attention").evaluate(PLACE) == before
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})


@pytest.mark.slow
def test_a_file_shows_every_head_without_a_network(browser: Browser, tmp_path: Path) -> None:
    weights, atlas = atlas_of(30, 2, 3, side=10)
    message = file_payload(atlas, [], partial(map_of, weights, atlas), title="hand-made", theme=LIGHT)
    file = tmp_path / "attention.html"
    file.write_text(attention_html(message, f"Attention {EVIL}", "Caption"), encoding="utf-8")
    with browser.new_context(offline=True, viewport={"width": 1400, "height": 900}) as context:
        page = context.new_page()
        watch = Watch(page)
        requests: list[Any] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        expect(page.locator(PAINTED)).to_be_visible()
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Attention {EVIL}")
        head(page, 1, 2).click()
        shown(page, "1.2")
        expected = colour(LIGHT, float(weights[1, 2, 4, 3] / weights.max()))
        assert np.abs(pixel(page, 4, 3) - expected).max() <= 4
        page.get_by_role("button", name="Lines").click()
        expect(page.locator(".token").nth(1)).to_have_text(EVIL)
        assert requests == [file.as_uri()]
        assert not watch.faults()
