"""The drawing of a journey in a browser: its layout at every size, clicks that open parts, the keyboard."""

import re
import struct
import xml.etree.ElementTree as ElementTree
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from bertviz_core import open_model
from bertviz_core.figures.journey.html_file import script
from tests.browser.conftest import COLD_MS, open_files
from ui.session import DEFAULT_TEXT

LAYOUT = """([width, tokens, layers, open, head, ends]) => {
  const stage = (kind, steps = 0) => ({ kind, steps: Array(steps) });
  const between = [...(tokens % 2 ? [stage("shared")] : []), ...Array(layers).fill(stage("layer", 7))];
  const stages = [stage("embeddings"), ...between, stage("norm"), stage("pooler")];
  const sizes = { bars: 9, acts: true, changed: true, ends };
  const plan = layoutOf({ width, tokens, stages, heads: 12, open, head, ...sizes });
  if (plan.mode === "tall") {
    return { boxes: plan.rows.map(({ y, h, inner }) => [0, y, width, h + inner]), width, height: plan.height };
  }
  const { inside, top, body } = plan, columns = plan.columns.map(({ x, w }) => [x, top, w, body]);
  const boxes = [[plan.token.x, top, plan.token.w, body], ...columns];
  for (const { x, w } of [plan.out, plan.end].filter(Boolean)) boxes.push([x, top, w, body]);
  const { shared, box } = plan, lowest = box ? box.y : top - 53; // of the words above the layers
  if (Boolean(shared) !== (tokens % 2 === 1) || (shared && shared.y + shared.h > lowest)) boxes.push([0, 0, 0, 0]);
  const { heads, ribbons } = inside ?? {};
  const parts = inside && [heads.x + heads.columns * (heads.size + 10), ribbons.x, ribbons.w];
  return { boxes, width: plan.width, height: plan.height, inside: parts };
}"""
LYING = """(labels) => {
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  const boxes = labels.map((node) => [node.textContent, node.getBoundingClientRect()]);
  return boxes.flatMap(([one, a], at) => boxes.slice(at + 1).filter(([, b]) => over(a, b)).map(([two]) => [one, two]));
}"""
"""Pairs of overlapping words."""


@pytest.fixture(scope="module")
def layouts(browser: Browser) -> Page:
    """A page with only the drawing's code."""
    page = browser.new_page()
    page.set_content("<p>layout</p>")
    page.add_script_tag(content=script())
    return page


@pytest.mark.sample(1)
@pytest.mark.parametrize("width", [360, 768, 1000, 1280, 1600])
def test_no_box_lies_on_another_and_none_leaves_the_drawing(width: int, layouts: Page) -> None:
    for layers in (1, 3, 12, 48):
        for tokens in (1, 3, 24, 80, 512):
            for opened in ("", "0", str(layers - 1), "embeddings"):
                for head in (None, 3) if opened.isdecimal() else (None,):
                    case = (width, tokens, layers, opened, head, tokens != 24)
                    plan = layouts.evaluate(LAYOUT, list(case))
                    boxes = sorted(plan["boxes"])
                    for left, top, wide, high in boxes:
                        assert wide > 0, case
                        assert high > 0, case
                        assert left >= 0, case
                        assert left + wide <= plan["width"] + 0.5, case
                        assert top + high <= plan["height"] + 0.5, case
                    for one, other in zip(boxes, boxes[1:], strict=False):
                        beside = one[0] + one[2] <= other[0] + 0.01
                        below = one[1] + one[3] <= other[1] + 0.01
                        assert beside or below, case
                    if plan.get("inside") and opened != "embeddings":
                        heads_end, ribbons, room = plan["inside"]
                        assert heads_end <= ribbons, case
                        assert room > 40, case


CLOSED = """([width, layers, open]) => {
  const behind = { kind: "pooler", steps: [] };
  const stages = [{ kind: "embeddings", steps: [] }, ...Array(layers).fill({ kind: "layer", steps: [] })];
  const plan = (ends) => layoutOf({ width, tokens: 8, stages: [...stages, behind], heads: 12, open, head: null, ends });
  const closed = ({ columns }) => columns.slice(1).filter((column) => !column.open && !column.behind).map(({ w }) => w);
  return [closed(plan(false)), closed(plan(true))];
}"""


@pytest.mark.parametrize(("width", "layers"), [(1040, 6), (1040, 12), (1230, 24)])
def test_closed_layers_beside_an_opened_one_can_be_read(width: int, layers: int, layouts: Page) -> None:
    for closed in layouts.evaluate(CLOSED, [width, layers, "3"]):  # without a number at the end, and with one
        assert len(closed) == layers - 1
        assert min(closed[0], closed[-1]) > 1.5 * max(closed[1:-1])  # the first and the last are always wide
        assert min(closed) >= 12


def test_without_an_opened_layer_all_are_equally_wide(layouts: Page) -> None:
    for closed in layouts.evaluate(CLOSED, [1040, 12, ""]):
        assert len({round(width, 3) for width in closed}) == 1


OTHERWISE = """(builds) => {
  const layers = builds.map((build) => ({ kind: "layer", build }));
  return [...builtOtherwise({ header: { stages: [{ kind: "embeddings", build: "" }, ...layers] } })];
}"""


def test_layers_that_are_built_otherwise_are_named_with_what_differs(layouts: Page) -> None:
    everywhere, near = "attention over the whole text, 1,104 parameters", "local attention, 1,104 parameters"
    assert layouts.evaluate(OTHERWISE, [everywhere] * 4) == []
    assert layouts.evaluate(OTHERWISE, []) == []
    found = layouts.evaluate(OTHERWISE, [everywhere, near, near])
    assert found == [[1, "built otherwise than layer 1: attention over the whole text"]]
    larger = layouts.evaluate(OTHERWISE, [near, near, "local attention, 1,200 parameters"])
    assert larger == [[3, "built otherwise than layer 0: 1,200 parameters"]]


AGREEING = """(pairs) => pairs.map(([before, now]) => {
  const digits = agreeing(before, now, 3);
  return [before.toFixed(digits), now.toFixed(digits), signed(now - before, digits).replace("−", "-")];
})"""


def test_a_printed_difference_is_that_of_the_printed_numbers(layouts: Page) -> None:
    pairs = [[0.17462, 0.14838], [0.1, 0.1], [0.3005, 0.2995], [0.12345, 0.67891], [0.0004, 0.0009]]
    for (before, now, difference), (first, second) in zip(layouts.evaluate(AGREEING, pairs), pairs, strict=True):
        assert round(float(now) - float(before), 6) == float(difference)
        assert float(difference) == pytest.approx(second - first, abs=5e-4)


LARGEST = """([values, labels, token]) => largestWords(
  { header: { labels, layers: values.length / labels.length }, path: { token, open: "" } },
  values, "x is largest", (at) => values[at],
)"""


@pytest.mark.parametrize("seed", range(6))
def test_the_largest_number_is_of_all_tokens_and_equal_ones_are_counted(layouts: Page, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 6, (4, 3))
    labels, token = ["a", "b", "c"], seed % 3
    words = layouts.evaluate(LARGEST, [values.ravel().tolist(), labels, token])

    def place(numbers: np.ndarray) -> str:
        others = int((numbers == numbers.max()).sum()) - 1
        return f" ({numbers.max()}" + f"; {others} other{'s' * (others > 1)} as large" * bool(others) + ")"

    layer, most = np.argwhere(values == values.max())[0]
    assert f"in layer {layer} for “{labels[most]}”{place(values)}" in words
    own = values[:, token]
    assert (f"of the layers for “{labels[token]}”, in layer {own.argmax()}{place(own)}" in words) == (most != token)


def opened(page: Page, server: str, **query: object) -> Page:
    """Open the journey, and wait for its drawing."""
    page.goto(f"{server}/journey?{urlencode(query)}")
    page.locator(".journey svg").wait_for(timeout=COLD_MS)
    return page


def sentence(page: Page) -> str:
    """The text below the drawing's scale, as read by screen readers."""
    return page.locator(".journey .live").text_content() or ""


def test_the_dashboard_opens_with_it_and_older_links_still_lead_where_they_did(page: Page, server: str) -> None:
    page.goto(server)
    page.locator(".journey svg").wait_for(timeout=COLD_MS)
    expect(page).to_have_url(f"{server}/")
    first = page.get_by_test_id("stSidebar").get_by_role("navigation", name="Pages").get_by_role("link").first
    expect(first).to_have_text(re.compile("Journey$"))
    opened(page, server, layer=2, query=5)
    expect(page.locator("[data-name='Close layer 2']")).to_be_visible()
    page.goto(f"{server}/overview?model=bert-base-uncased")
    expect(page.locator("[data-testid=stMetric]").first).to_contain_text("109,482,240")


def test_the_five_minute_questions_are_answered_by_clicks_alone(page: Page, server: str) -> None:
    opened(page, server, text="The bank of the river was steep.")
    page.locator("[data-name^='Token'][data-name*='bank']").click()
    expect(page.locator(".journey .live")).to_contain_text("of the layers for “bank”")
    layer = re.search(r"of the layers for “bank”, in layer (\d+) \((0\.\d{3})\)", sentence(page))
    assert layer is not None
    page.locator(f"[data-name='Open layer {layer[1]}']").click()
    for words in ("attention adds", "inside feed-forward", "feed-forward adds", "comes out, turned by"):
        expect(page.locator(".journey svg")).to_contain_text(words)
    page.locator("[data-name^='Head 0 of layer']").click()
    expect(page.locator(".journey .live")).to_contain_text("Head 0 looks at")
    weight = re.search(r"looks at “(.+?)” most \((0\.\d{3})\)", sentence(page))
    assert weight is not None
    expect(page.locator(".journey svg")).to_contain_text(f"weight {weight[2]}")
    expect(page.locator(".journey svg")).to_contain_text("their products, number by number")
    expect(page).to_have_url(re.compile(rf"layer={layer[1]}&head=0"))
    page.get_by_role("link", name="Heads: every number of this cell").click()
    expect(page).to_have_url(re.compile(rf"/heads\?.*layer={layer[1]}"))
    expect(page.get_by_text("The outputs of all heads").first).to_be_visible()
    page.go_back()
    expect(page.locator("[data-name^='Head 0 of layer'][aria-pressed='true']")).to_be_visible()


def test_it_is_used_by_keyboard_alone_and_says_where_it_is(page: Page, server: str) -> None:
    opened(page, server)
    page.locator("[data-name='Token 5: python']").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("[data-name^='Token 6'][aria-pressed='true']")).to_be_visible()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".journey .live")).to_contain_text("Layer 1, token 6")
    page.keyboard.press("Enter")
    expect(page.locator("[data-name='Close layer 1']")).to_be_visible()
    expect(page).to_have_url(re.compile("layer=1"))
    page.keyboard.press("Escape")
    expect(page.locator("[data-name='Close layer 1']")).to_have_count(0)


@pytest.mark.slow
def test_each_group_is_one_tab_stop_and_arrows_move_within_heads(page: Page, server: str) -> None:
    opened(page, server, layer=2, head=5, query=5)
    page.locator("[data-name='Head 5 of layer 2']").wait_for()
    for group, stop in (("Token", "Token 5: python"), ("Head", "Head 5 of layer 2")):
        stops = page.locator(f".journey svg [data-name^='{group} '][tabindex='0']")
        expect(stops).to_have_count(1)
        expect(stops).to_have_attribute("data-name", stop)
    expect(page.locator(".journey svg [data-name^='Open '][tabindex='0']")).to_have_count(1)
    page.locator("[data-name='Head 5 of layer 2']").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-name='Head 6 of layer 2']")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("[data-name='Head 6 of layer 2'][aria-pressed='true']")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("[data-name='Head 5 of layer 2']")).to_be_focused()


def test_ribbons_add_up_to_one_and_no_word_lies_on_another(page: Page, server: str) -> None:
    opened(page, server, layer=2, head=1, query=5)
    page.locator(".ribbon").first.wait_for()
    shares = page.locator(".ribbon").evaluate_all("(all) => all.map((each) => Number(each.dataset.share))")
    assert sum(shares) == pytest.approx(1, abs=2e-3)
    assert page.locator(".journey svg .label").evaluate_all(LYING) == []


@pytest.mark.slow
def test_a_saved_picture_says_what_it_is_of(page: Page, server: str) -> None:
    opened(page, server, layer=2)
    page.locator("[data-name^='Head 0 of layer']").wait_for()
    open_files(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="as SVG").click()
    text = saved.value.path().read_text(encoding="utf-8")
    title, line = ["".join(each.itertext()) for each in ElementTree.fromstring(text)][-2:]
    assert title == "Journey of “I love my pet python.” through all-MiniLM-L6-v2"
    assert re.fullmatch(r"Model: all-MiniLM-L6-v2, revision [0-9a-f]{12}\. Text: “I love my pet python\.”", line)


SCREEN_ONLY = re.compile(r"choose|point at|click|esc\b", re.IGNORECASE)
"""Words of instructions for the screen."""


@pytest.mark.slow
def test_a_saved_picture_has_no_instructions_and_a_slide_is_16_to_9(page: Page, server: str) -> None:
    opened(page, server, text=" ".join(f"word{number}" for number in range(20)))
    shown = " ".join(page.locator(".journey svg text").all_text_contents())
    assert SCREEN_ONLY.search(shown), "the page has them"
    open_files(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="as SVG").click()
    assert not SCREEN_ONLY.search(re.sub(r"<[^>]*>", " ", saved.value.path().read_text(encoding="utf-8")))
    assert " ".join(page.locator(".journey svg text").all_text_contents()) == shown
    for name, least in (("as Slide (PNG)", (1600, 900)), ("as PNG", (1600, 1))):
        with page.expect_download() as saved:
            page.get_by_role("button", name=name).click()
        width, height = struct.unpack(">II", saved.value.path().read_bytes()[16:24])
        assert (width, height) == least or (name == "as PNG" and width >= least[0])


CELLS = "(all) => all.map((each) => [each.dataset.layer, each.dataset.token, each.textContent])"


@pytest.mark.slow
def test_a_change_is_made_and_undone_by_clicks_alone(page: Page, server: str) -> None:
    opened(page, server)
    before = page.locator(".journey .cell").evaluate_all(CELLS)
    page.locator("[data-name='Open layer 3']").click()
    page.locator("[data-name^='Head 5 of layer 3']").click()
    page.locator("[data-name='Switch off head 5 of layer 3']").click()
    expect(page.locator(".journey .live")).to_contain_text("Changed: Head 5 of layer 3 is switched off")
    expect(page).to_have_url(re.compile("change=head-3.5"))
    page.locator("[data-name='Close layer 3']").click()
    zero = open_model("all-MiniLM-L6-v2").journey(DEFAULT_TEXT).changed("head-3.5")
    drawn(page, zero["turn_difference"])
    expect(page.locator(".journey svg")).to_contain_text(
        "The cells show now − before: orange is larger now, blue smaller."
    )
    page.locator("[data-name='Replace by the mean']").click()
    mean = open_model("all-MiniLM-L6-v2").journey(DEFAULT_TEXT).changed("head-3.5", mean=True)
    expect(page.locator(".journey svg")).to_contain_text("(mean ablation)", timeout=60_000)
    drawn(page, mean["turn_difference"])
    expect(page).to_have_url(re.compile("removed_for=its"))
    page.locator("[data-name='Undo the change']").click()
    expect(page.locator(".journey .banner")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("change="))
    assert page.locator(".journey .cell").evaluate_all(CELLS) == before


def drawn(page: Page, differences: Any) -> None:
    """Compare the text of every cell with differences, by layer and token."""
    cells = page.locator(".journey .cell").evaluate_all(CELLS)
    assert len(cells) == len(differences)
    for (layer, token, text), difference in zip(cells, differences, strict=True):
        assert float(text.replace("−", "-")) == round(float(difference), 3), (layer, token)


def test_an_opened_layer_has_the_whole_number_of_a_new_token(page: Page, server: str) -> None:
    opened(page, server, change="text", edited="I love my red snake.", layer=5)
    number = page.locator(".journey svg .label", has_text=re.compile(r"^turn.* now \d\.\d{3}$"))
    expect(number).to_be_visible()


def compare(page: Page, edited: str) -> None:
    page.get_by_role("button", name="Compare with an edited text").click()
    page.get_by_role("textbox", name="The edited text").fill(edited)
    page.get_by_role("button", name="Compare", exact=True).click()


@pytest.mark.slow
def test_the_first_new_token_is_chosen_only_where_the_chosen_one_is_gone(page: Page, server: str) -> None:
    opened(page, server)
    compare(page, "I really love my cat snake.")
    expect(page.locator("[data-name='Token 2: really, new'][aria-pressed='true']")).to_be_visible()
    compare(page, "They really love my snake.")
    expect(page.locator("[data-name='Token 1: they, new']")).to_be_visible()
    expect(page.locator("[data-name='Token 2: really, new'][aria-pressed='true']")).to_be_visible()
    compare(page, DEFAULT_TEXT)
    expect(page.locator("[data-name='Token 1: i'][aria-pressed='true']")).to_be_visible()


@pytest.mark.slow
def test_an_edited_text_is_compared_and_undone_by_clicks_alone(page: Page, server: str) -> None:
    edited = "I really love my cat snake."
    opened(page, server)
    before = page.locator(".journey .cell").evaluate_all(CELLS)
    page.locator("[data-name='Token 2: love']").click()
    expect(page).to_have_url(re.compile("query=2"))  # the server knows the choice
    compare(page, edited)
    expect(page.locator(".journey .live")).to_contain_text("Changed: The text is edited: “really” inserted")
    expect(page.locator("[data-name='Token 3: love'][aria-pressed='true']")).to_be_visible()
    table = open_model("all-MiniLM-L6-v2").journey(DEFAULT_TEXT).changed("text", edited=edited)
    cells = page.locator(".journey .cell").evaluate_all(CELLS)
    assert len(cells) == len(table)
    for (_, _, text), difference in zip(cells, table["turn_difference"], strict=True):
        assert text == "" if difference != difference else float(text.replace("−", "-")) == round(difference, 3)
    assert page.locator(".journey .gone title").all_text_contents() == ["gone: pet", "gone: python"]
    assert page.locator(".journey svg .label").evaluate_all(LYING) == []
    assert "edited=" not in page.url, "a reader's text is in no address"
    expect(page.get_by_role("textbox", name="The edited text")).to_have_count(0)
    page.locator("[data-name='Token 7: .']").click()
    page.locator("[data-name='Undo the change']").click()
    expect(page.locator(".journey .banner")).to_have_count(0)
    expect(page.locator("[data-name='Token 6: .'][aria-pressed='true']")).to_be_visible()
    assert page.locator(".journey .cell").evaluate_all(CELLS) == before


@pytest.mark.slow
def test_an_opened_layer_says_what_the_change_does_and_opens_again_with_its_head(page: Page, server: str) -> None:
    opened(page, server, change="layer-1", layer=4, head=2, query=4)
    expect(page.locator("[data-name='Switch off layer 4']")).to_have_text("switch off layer 4")
    expect(page.locator("[data-name='Switch off head 2 of layer 4']")).to_have_text("switch off head 2")
    table = open_model("all-MiniLM-L6-v2").journey(DEFAULT_TEXT).changed("layer-1").query("layer == 4 and token == 4")
    difference = f"{table['turn_difference'].item():+.3f}".replace("-", "−")
    expect(page.locator(".journey svg")).to_contain_text(re.compile(f"turn(, now − before:)? {difference}"))
    page.locator("[data-name='Close layer 4']").click()
    page.locator("[data-name='Open layer 4']").click()
    expect(page.locator("[data-name='Head 2 of layer 4'][aria-pressed='true']")).to_be_visible()


@pytest.mark.slow
def test_the_sentence_is_about_what_the_cells_show(page: Page, server: str) -> None:
    opened(page, server)
    expect(page.locator(".journey svg")).to_contain_text("A turn of 0 keeps the direction")
    table = open_model("all-MiniLM-L6-v2").journey(DEFAULT_TEXT).to_pandas()
    python = table.query("token == 5")
    for measure, digits in (("turn", 3), ("length", 2), ("entropy", 3)):
        page.locator(".journey select").first.select_option(measure)
        most, own = (each.loc[each[measure].idxmax()] for each in (table, python))
        words = f"is largest in layer {most['layer']} for “{most['label']}” ({most[measure]:.{digits}f})"
        if most["token"] != 5:
            words += f"; of the layers for “python”, in layer {own['layer']} ({own[measure]:.{digits}f})"
        expect(page.locator(".journey .live")).to_contain_text(words)


@pytest.mark.slow
def test_a_masked_token_is_struck_and_a_saved_picture_says_so(page: Page, server: str) -> None:
    opened(page, server)
    page.locator("[data-name='Token 4: pet']").click()
    page.locator("[data-name='Mask token 4: pet']").press("Enter")
    expect(page.locator("[data-name='Unmask token 4: pet'][aria-pressed='true']")).to_be_visible()
    expect(page.locator(".journey .live")).to_contain_text("Token 4 “pet” is masked")
    expect(page.locator(".journey [text-decoration='line-through']")).to_have_text("pet")
    expect(page.locator("[data-name='Undo the change']")).to_be_focused()
    assert page.locator(".journey svg .label").evaluate_all(LYING) == []
    open_files(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="as SVG").click()
    assert saved.value.suggested_filename == "journey-all-MiniLM-L6-v2-mask-4.svg"
    text = saved.value.path().read_text(encoding="utf-8")
    assert "Changed: Token 4 “pet” is masked" in text
    assert "undo" not in text
    page.locator("[data-name='Unmask token 4: pet']").click()
    expect(page.locator(".journey .banner")).to_have_count(0)


CLICK_WAITS = """(root, [part, name]) => new Promise((done) => {
  const look = () => {
    if (!root.view.parts.has(`head:${root.view.path.token}:${part}`)) return requestAnimationFrame(look);
    root.querySelector(`[data-name^="${name}"]`).dispatchEvent(new MouseEvent("click", { bubbles: true }));
    done(root.textContent.includes("one moment"));
  };
  look();
})"""
"""Click a part once its details were received; whether the drawing then waits for the server."""


@pytest.mark.slow
def test_a_head_and_a_cell_open_without_waiting_for_the_server(page: Page, server: str) -> None:
    drawing = opened(page, server, layer=2).locator(".journey")
    for part, name in (("2:3:", "Head 3 of layer 2"), ("2:3:0", "Key 0: [CLS]")):
        assert drawing.evaluate(CLICK_WAITS, [part, name]) is False, name
        expect(page.locator(f"[data-name^='{name}'][aria-pressed=true]")).to_be_visible()


def test_a_drawing_that_is_drawn_anew_keeps_the_focus_wherever_it_came_from(page: Page, server: str) -> None:
    opened(page, server)
    page.locator("[data-name='Token 4: pet']").click()
    mask = page.locator("[data-name='Mask token 4: pet']")
    mask.focus()
    page.locator(".journey").evaluate("root => root.view.turn()")
    expect(mask).to_be_focused()


def test_a_change_that_is_not_possible_is_one_sentence_and_goes_by_a_click(page: Page, server: str) -> None:
    opened(page, server, change="head-9.1", layer=2)
    expect(page.locator(".journey svg")).to_contain_text("Not changed: There is no layer 9")
    expect(page.locator("[data-name='Switch off layer 2'][aria-pressed='false']")).to_be_visible()
    page.locator("[data-name='Close the message']").click()
    expect(page.locator(".journey .banner")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("change="))


def test_the_number_of_the_whole_text_is_drawn_as_such_and_every_scale_is_named(page: Page, server: str) -> None:
    opened(page, server, rests_on="true", pair="I love coding in python.", layer=2)
    words = page.locator(".journey svg")
    expect(page.locator(".journey .whole")).to_have_count(1)
    expect(words).to_contain_text("the whole text")
    expect(words).to_contain_text("pooler (not used by this answer)")
    expect(words).to_contain_text(re.compile(r"±0\.\d{4} for heads \(frames\), ±0\.\d{4} for words"))
    assert page.locator(".journey svg .label").evaluate_all(LYING) == []


WEIGHT = re.compile(r"weight \d\.\d{4}")


@pytest.mark.slow
def test_an_opened_head_is_that_of_the_changed_run_and_one_that_is_switched_off_says_so(
    page: Page, server: str
) -> None:
    words = page.locator(".journey svg")
    weights = []
    for change in ({}, {"change": "layer-1"}, {"change": "mask-4"}):
        opened(page, server, layer=4, head=3, query=5, key=4, **change)
        expect(words).to_contain_text(WEIGHT)
        weights.append(WEIGHT.findall(words.text_content() or "")[-1])
    assert len(set(weights)) == 3
    expect(words).to_contain_text("The opened part is of the run with the change.")
    page.locator("[data-name='Undo the change']").click()
    expect(words).to_contain_text(weights[0])
    page.locator("[data-name='Switch off head 3 of layer 4']").click()
    expect(page.locator(".journey .label.off").first).to_contain_text("Head 3 is switched off: zero")
    expect(words).not_to_contain_text(WEIGHT)
    page.locator("[data-name='Switch on head 3 of layer 4']").click()
    expect(words).to_contain_text(weights[0])
    page.locator("[data-name='Switch off layer 4']").click()
    expect(page.locator(".journey .label.off")).to_have_text(
        "Layer 4 is switched off: what enters it leaves it as it is."
    )


@pytest.mark.slow
def test_a_file_shows_the_change_and_offers_none(browser: Browser) -> None:
    tab = browser.new_page()
    tab.set_content(open_model("all-MiniLM-L6-v2").journey(DEFAULT_TEXT).html(change="layer-1"))
    expect(tab.locator(".journey svg")).to_contain_text("Changed: Layer 1 is switched off")
    tab.locator("[data-name='Open layer 2']").click()
    expect(tab.locator("[data-name='Close layer 2']")).to_be_visible()
    expect(tab.locator(".act")).to_have_count(0)
    tab.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 900, 1100, 1400])
def test_no_word_lies_on_another_under_a_change(width: int, page: Page, server: str) -> None:
    page.set_viewport_size({"width": width, "height": 1400})
    opened(page, server, change="head-2.1", layer=2, head=1, query=5)
    expect(page.locator(".journey .label.off").first).to_contain_text("Head 1 is")
    assert page.locator(".journey svg .label").evaluate_all(LYING) == []
    opened(page, server, change="head-2.1", layer=2, head=2, query=5)
    expect(page.locator(".journey svg")).to_contain_text("weight ")
    expect(page.locator(".journey svg")).to_contain_text("Changed: Head 1 of layer 2")
    assert page.locator(".journey svg .label").evaluate_all(LYING) == []
    cut_off = """(all) => all.filter((each) => each.getBoundingClientRect().right
        > each.ownerSVGElement.getBoundingClientRect().right + 1).map((each) => each.textContent)"""
    assert page.locator(".journey svg .label").evaluate_all(cut_off) == []
