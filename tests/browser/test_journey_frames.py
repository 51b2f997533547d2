"""The drawing of a journey for long texts, on a phone, on a projector, in a frame of another page and on paper."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from bertviz_core import open_model
from tests.browser.conftest import COLD_MS
from tests.browser.test_journey import LYING, opened, sentence
from ui.session import DEFAULT_TEXT

pytestmark = pytest.mark.browser
FEW = "The bank of the river was steep, and the bank that lends us money was closed all day long."
SEVERAL = f"{FEW} We walked along the water to the old bridge, and nobody was there but a boat."
MANY = f"{SEVERAL} {SEVERAL} {FEW}"
"""24, 42 and 104 tokens; of the last 3 are the end of a word."""
TRACED = {"rests_on": "true", "pair": "I love coding in python."}
TYPE = """(labels) => Math.min(...labels.map((label) => {
  return parseFloat(label.getAttribute("font-size")) * label.ownerSVGElement.getScreenCTM().a;
}))"""
"""Smallest size of the drawing's letters on the screen, in pixels."""
UNTIL_LARGE = f"""(root) => new Promise((done) => {{
  const look = () => (({TYPE})([...root.querySelectorAll("svg .label")]) >= 18 ? done() : requestAnimationFrame(look));
  look();
}})"""
"""Wait until the letters have 18 pixels: the drawing is made anew for its new room, a frame or two after the button."""
SENTENCE = "root => root.view.sentence()"
INSIDE = """(svg) => {
  const { left, top, right, bottom } = svg.getBoundingClientRect();
  return left >= 0 && top >= 0 && right <= window.innerWidth && bottom <= window.innerHeight;
}"""


def test_the_way_into_the_guide_covers_no_word_of_the_question(page: Page, server: str) -> None:
    page.set_viewport_size({"width": 1366, "height": 768})
    opened(page, server, pair="I love coding in python.")
    words = page.get_by_text("both texts in one run")
    expect(words).to_be_visible()
    ends = words.evaluate(
        "(node) => { const all = document.createRange(); all.selectNodeContents(node.closest('p')); "
        "return Math.max(...[...all.getClientRects()].map(({ right }) => right)); }"
    )
    assert ends < page.locator(".st-key-tour_entry").evaluate("(node) => node.getBoundingClientRect().left")


@pytest.mark.slow
def test_cells_have_numbers_up_to_24_tokens_and_tell_them_at_the_pointer_beyond(page: Page, server: str) -> None:
    way = open_model("all-MiniLM-L6-v2").journey
    for text, numbers in ((FEW, True), (SEVERAL, False)):
        turns = way(text).to_pandas().set_index(["layer", "token"])["turn"]
        assert (len(turns) == 6 * 24) == numbers
        opened(page, server, text=text)
        cells = page.locator(".journey .cell")
        written = [each for each in cells.all_text_contents() if each]
        assert len(written) == numbers * len(turns)
        cell = page.locator(".journey .cell[data-layer='3'][data-token='11']")
        cell.hover()
        expect(page.locator(".journey .tip")).to_contain_text(f"turn of the vector {turns[3, 11]:.3f}")
    assert "Point at a cell for its numbers." in page.locator(".journey").evaluate(SENTENCE)


@pytest.mark.slow
def test_a_long_text_says_what_it_hides_and_how_much_attention_that_holds(page: Page, server: str) -> None:
    opened(page, server, text=MANY, layer=2, query=20)
    page.locator(".journey .ribbon").first.wait_for()
    named = page.locator(".journey svg [font-family^='Source Code']").count()
    hidden = re.search(
        r"(\d+) of (\d+) lanes are drawn without their words", page.locator(".journey").evaluate(SENTENCE)
    )
    assert hidden is not None
    assert int(hidden[1]) + named == int(hidden[2]) == 101
    ribbons = page.locator(".journey .ribbon:not(.rest)").evaluate_all(
        "(all) => all.map((each) => Number(each.dataset.share))"
    )
    page.locator("[data-name='Head 1 of layer 2']").click()
    expect(page.locator(".journey .live")).to_contain_text("The grey ribbon holds")
    page.locator("[data-name='Head 1 of layer 2']").click()
    expect(page.locator(".journey .live")).to_contain_text("Its heads together")
    memory = re.search(r"The grey ribbon holds (0\.\d+) of the attention, on (\d+) other lanes", sentence(page))
    assert memory is not None
    assert float(memory[1]) == pytest.approx(1 - sum(ribbons), abs=6e-4)
    assert int(memory[2]) + len(ribbons) == 101
    assert page.locator(".journey svg .label").evaluate_all(LYING) == []


@pytest.mark.slow
@pytest.mark.parametrize("query", [0, 1, 103])
def test_no_word_lies_on_another_at_the_edges_of_a_long_text(query: int, page: Page, server: str) -> None:
    for head in (None, 1):
        opened(page, server, text=MANY, layer=2, query=query, **({} if head is None else {"head": head}))
        page.locator(".journey .ribbon").first.wait_for()
        assert page.locator(".journey svg .label").evaluate_all(LYING) == []


@pytest.mark.slow
def test_a_bin_tells_its_dimension_and_the_products_sum_to_the_score(page: Page, server: str) -> None:
    opened(page, server, layer=2, head=1, query=5)
    expect(page.locator(".journey svg")).to_contain_text("their products")
    total = re.search(r"up to ±(\d+\.\d+); sum (\d+\.\d+)", page.locator(".journey svg").text_content() or "")
    assert total is not None
    strip = page.locator(".journey .strip").nth(-4)
    strip.scroll_into_view_if_needed()
    box = strip.bounding_box()
    assert box is not None
    products = []
    for at in range(32):
        page.mouse.move(box["x"] + box["width"] * (at + 0.5) / 32, box["y"] + 8)
        expect(page.locator(".journey .tip")).to_contain_text(f"dimension {at} of 32:")
        words = (page.locator(".journey .tip").text_content() or "").replace("−", "-")
        product, query, key = map(float, re.findall(r"-?\d+\.\d+", words))
        assert product == pytest.approx(query * key, abs=5e-3)
        products.append(product)
    assert sum(products) == pytest.approx(float(total[2]), abs=32 * 5e-4)
    assert max(map(abs, products)) == float(total[1]), "the words above a strip give the end of its colours"


@pytest.mark.slow
def test_the_menu_of_cells_rests_while_effects_are_shown(page: Page, server: str) -> None:
    opened(page, server, **TRACED)
    menu = page.get_by_label("Cells show")
    expect(menu).to_be_hidden()
    page.locator("[data-name='show the turn again']").click()
    expect(menu).to_be_visible()


@pytest.mark.slow
def test_an_undone_change_leaves_the_drawing_at_what_the_answer_rests_on(page: Page, server: str) -> None:
    opened(page, server, **TRACED)
    back = page.locator("[data-name='show the turn again']")
    expect(back).to_be_visible(timeout=COLD_MS)
    page.locator("[data-name^='Mask token']").click()
    expect(page.locator(".journey .banner")).to_be_visible()
    expect(page.locator("[data-name='what it rests on']")).to_be_visible()
    page.locator("[data-name='Undo the change']").click()
    expect(page.locator(".journey .banner")).to_have_count(0)
    expect(back).to_be_visible()


def test_the_pooler_reads_what_comes_out_and_stands_behind_it(page: Page, server: str) -> None:
    opened(page, server)
    out, pooler = (page.locator(".journey .label", has_text=words) for words in ("what comes out", "pooler"))
    (left, right) = (each.bounding_box() for each in (out, pooler))
    assert left is not None
    assert right is not None
    assert left["x"] + left["width"] <= right["x"]


@pytest.mark.slow
def test_a_phone_shows_what_the_answer_rests_on_as_the_wide_drawing_does(page: Page, server: str) -> None:
    opened(page, server, **TRACED)
    back = page.locator(".journey [data-name='show the turn again']")
    expect(back).to_be_visible(timeout=COLD_MS)
    effects = page.locator(".journey .cell").all_text_contents()
    assert len(set(effects)) == len(effects) == 6, "one number for each layer, since it belongs to the whole text"
    assert (
        f"Of all layers, layer 5 changes the number most: without it the number is {effects[5].lstrip('−-')} lower."
        in page.locator(".journey").evaluate(SENTENCE)
    )
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".journey svg")).to_contain_text("change −0.2268")
    for layer, effect in enumerate(effects):
        expect(page.locator(f".journey [data-name='Open layer {layer}, change without it {effect}']")).to_have_count(1)
    page.locator(".journey [data-name^='Open layer 5']").click()
    expect(page.locator(".journey [data-name^='Head 3 of layer 5, change without it −0.135']")).to_be_visible()
    expect(back.locator("rect")).to_have_attribute("height", "44")
    assert page.locator(".journey svg .label").evaluate_all(LYING) == []
    back.click()
    expect(page.locator(".journey [data-name^='Close layer 5, turn of the vector']")).to_be_visible()
    page.locator(".journey [data-name='what it rests on']").click()
    expect(page.locator(".journey [data-name^='Close layer 5, change without it']")).to_be_visible()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "query", [{}, {"layer": "embeddings"}, {"layer": 2}, {"layer": 2, "head": 1}, {"text": FEW, "layer": 2}]
)
def test_full_screen_has_letters_of_18_pixels_and_the_whole_drawing(
    query: dict[str, object], page: Page, server: str
) -> None:
    page.set_viewport_size({"width": 1600, "height": 900})
    opened(page, server, **query)
    page.get_by_role("button", name="Full screen").click()
    expect(page.get_by_role("button", name="Leave full screen")).to_be_visible()
    page.locator(".journey").evaluate(UNTIL_LARGE)
    bar = page.locator(".journey .bar :is(select, button, span)").evaluate_all(
        "(all) => Math.min(...all.map((each) => parseFloat(getComputedStyle(each).fontSize)))"
    )
    assert bar >= 18
    assert page.locator(".journey svg").evaluate(INSIDE)
    assert page.locator(".journey svg .label").evaluate_all(LYING) == []
    expect(page.locator(".journey")).to_have_css("width", "1600px")


@pytest.mark.sample(1)
@pytest.mark.parametrize("query", [{}, {"layer": 2}, {"layer": 2, "head": 1}, TRACED | {"layer": 5}])
def test_a_frame_of_16_to_9_holds_the_whole_drawing(query: dict[str, object], page: Page, server: str) -> None:
    page.set_viewport_size({"width": 1600, "height": 900})
    opened(page, server, embed="true", figure="only", **query)
    if "layer" in query:
        page.locator(".journey .ribbon").first.wait_for(timeout=COLD_MS)
    assert page.locator(".journey svg").evaluate(INSIDE)
    assert page.locator(".journey svg .label").evaluate_all(TYPE) >= 17.9
    assert page.locator(".journey svg .label").evaluate_all(LYING) == []


@pytest.mark.slow
@pytest.mark.parametrize("query", [{"layer": 2, "head": 1}, {"text": MANY}])
def test_paper_has_the_drawing_on_one_page_in_the_colours_of_print(
    query: dict[str, object], browser: Browser, server: str
) -> None:
    tab = browser.new_page(color_scheme="dark")
    opened(tab, server, **query)
    expect(tab.get_by_text("How this is computed")).to_be_visible()
    expect(tab.locator("[data-test-script-state='notRunning']")).to_have_count(1)
    paper = tab.locator(".journey svg > rect").first
    expect(paper).not_to_have_attribute("fill", "#FFFFFF")
    for landscape in (False, True):
        assert len(re.findall(rb"/Type /Page\b", tab.pdf(landscape=landscape, print_background=True))) == 1
    tab.emulate_media(media="print")
    expect(paper).to_have_attribute("fill", "#FFFFFF")
    expect(tab.locator(".journey .caption").last).to_have_text(re.compile(r"\(revision \w+\)$"))
    for control in (".journey .bar", ".journey .act", ".journey .close", ".journey .links", ".stExpander"):
        for each in tab.locator(control).all():
            expect(each).to_be_hidden()
    tab.emulate_media(media="screen")
    expect(paper).not_to_have_attribute("fill", "#FFFFFF")
    expect(tab.locator(".journey .caption")).to_have_count(0)
    tab.close()


def test_the_buttons_above_stand_in_one_row_of_a_narrow_window(page: Page, server: str) -> None:
    page.set_viewport_size({"width": 900, "height": 900})
    opened(page, server, text=DEFAULT_TEXT)
    tops = page.locator(".journey .bar button:visible").evaluate_all(
        "(all) => all.map((each) => each.getBoundingClientRect().top)"
    )
    assert len(set(tops)) == 1
    select = page.locator(".journey .bar select").first.bounding_box()
    assert select is not None
    assert abs(select["y"] - tops[0]) < 8


@pytest.mark.slow
def test_a_word_that_lowers_the_number_is_told_without_a_sign_and_orange_is_explained(page: Page, server: str) -> None:
    words = open_model("all-MiniLM-L6-v2").words(DEFAULT_TEXT, pair=str(TRACED["pair"]), target="cosine")
    share = words.to_pandas().set_index("word")["share"]["python"]
    assert share > 0  # the number with the word is larger
    opened(page, server, **TRACED)
    expect(page.locator(".journey [data-name='show the turn again']")).to_be_visible(timeout=COLD_MS)
    assert f"“python”: without it the number is {share:.4f} lower." in page.locator(".journey").evaluate(SENTENCE)
    legend = page.locator(".journey svg .label").filter(has_text=re.compile("^(orange|blue): "))
    assert legend.all_text_contents()[0] == "orange: lower"
    assert legend.all_text_contents()[1].startswith("blue: higher  without it")
