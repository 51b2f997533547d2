"""Opened parts of the drawing of the Journey: where the focus goes, scales, models that are not run, a phone."""

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from bertviz_core.figures.pages import ENTRIES
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.journey import layer_opening
from bertviz_core.settings import Settings
from tests.browser.conftest import COLD_MS
from tests.browser.test_journey import LYING, opened
from ui.session import DEFAULT_TEXT

pytestmark = pytest.mark.browser
FORTY = "The bank of the river was steep. " * 6
LONG = "The bank of the river was steep, and the bank that lends us money was closed all day long."
ON_RIBBONS = """(labels) => {
  const ribbons = [...labels[0].ownerSVGElement.querySelectorAll(".ribbon")];
  const shares = [0.1, 0.3, 0.5, 0.7, 0.9];
  const lies = (box, ribbon) => shares.some((across) => [0.3, 0.5, 0.7].some((down) => {
    const point = new DOMPoint(box.left + across * box.width, box.top + down * box.height);
    return ribbon.isPointInFill(point.matrixTransform(ribbon.getScreenCTM().inverse()));
  }));
  const laid = labels.filter((each) => ribbons.some((ribbon) => lies(each.getBoundingClientRect(), ribbon)));
  return laid.map((each) => each.textContent);
}"""
"""Words that lie on a ribbon."""
ENDS = "(all) => all.map((each) => each.getAttribute('d').match(/-?[0-9.]+/g).map(Number)).map((n) => [n[1], n[7]])"
"""Where ribbons begin at the keys, and where they end at the chosen token."""


def test_escape_folds_part_after_part_with_the_focus_on_what_is_left(page: Page, server: str) -> None:
    opened(page, server, layer=2, head=5)
    page.locator("[data-name='Switch off head 5 of layer 2']").focus()  # it goes with the head
    page.keyboard.press("Escape")
    expect(page.locator("[data-name='Head 5 of layer 2']")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("[data-name='Open layer 2']")).to_be_focused()
    expect(page.locator("[data-name^='Close']")).to_have_count(0)


@pytest.mark.slow
def test_the_strips_of_an_opened_layer_name_the_end_of_their_scale(page: Page, server: str) -> None:
    opened(page, server, layer=2, query=5)
    options = Options((DEFAULT_TEXT,), values={"layer": "2", "query": "5"})
    part = layer_opening(OpenedModel("all-MiniLM-L6-v2", Settings.from_environment()), options).result
    vectors = {
        "attention adds": part.attention_output,
        "inside f": part.activations,
        "feed-forward adds": part.feed_forward,
    }
    page.locator(".ribbon").first.wait_for(timeout=COLD_MS)
    labels = page.locator(".journey svg .label").all_text_contents()
    for name, vector in vectors.items():
        assert vector is not None
        (label,) = [each for each in labels if each.startswith(name) and "±" in each]
        assert float(label.rpartition("±")[2]) == pytest.approx(np.abs(vector).max(), abs=6e-4)
    assert len([each for each in labels if re.match("(goes in|comes out).*±", each)]) == 2
    assert part.attention_output is not None
    assert part.feed_forward is not None
    assert part.head_norms is not None
    lengths = [float(np.linalg.norm(each)) for each in (part.attention_output, part.feed_forward)]
    message = re.search(
        r"of length ([\d.]+), the longest part of it by head (\d+) \(([\d.]+)\); the .* of ([\d.]+)\.", " ".join(labels)
    )
    assert message is not None
    assert [float(message[1]), float(message[4])] == pytest.approx(lengths, abs=6e-3)
    assert int(message[2]) == int(part.head_norms.argmax())
    assert float(message[3]) == pytest.approx(part.head_norms.max(), abs=6e-3)


def test_a_screen_reader_hears_of_what_a_number_is(page: Page, server: str) -> None:
    opened(page, server)
    cell = page.locator(".cell[data-layer='2'][data-token='5']")
    shown = cell.locator("text").text_content()
    assert shown
    named = re.compile(f"^Layer 2, token 5 “python”: .*{re.escape(shown)}")
    expect(cell).to_have_role("img")
    expect(cell).to_have_accessible_name(named)


def test_a_word_that_stands_twice_is_told_by_its_place(page: Page, server: str) -> None:
    opened(page, server, text="The bank of the river bank.", layer=2, query=2)
    page.locator(".ribbon").first.wait_for(timeout=COLD_MS)
    drawn = " ".join(page.locator(".journey svg .label").all_text_contents())
    assert "turns “bank” (token 2) by" in drawn
    assert "“river” (token" not in drawn
    assert page.locator(".journey svg .label").evaluate_all(LYING) == []


@pytest.mark.slow
def test_a_layer_of_a_model_that_is_not_run_is_drawn_as_it_is_built(page: Page, server: str) -> None:
    opened(page, server, model="bert-base-uncased", layer=3)
    expect(page.locator(".journey rect.unrun")).to_have_count(12)
    counts = page.locator(".journey .step").evaluate_all("(all) => all.map((each) => Number(each.dataset.numel ?? 0))")
    assert sum(counts) == 7_087_872  # of the paper's 12 layers of width 768
    sentence = " ".join(page.locator(".journey text.unrun").all_text_contents())
    assert sentence.endswith("which is always here.")
    labels = page.locator(".journey svg .label").all_text_contents()
    assert not [each for each in labels if each.rstrip().endswith(":")]
    assert not [each for each in labels if each.endswith("…") and each.startswith(("p", "l"))]
    page.locator("[data-name='Close layer 3']").click()
    expect(page.locator(".journey svg")).to_contain_text(re.compile("12 layers built alike"))
    labels = page.locator(".journey svg .label").all_text_contents()
    assert not [each for each in labels if each.rstrip().endswith((":", "…"))]


@pytest.mark.slow
def test_on_a_phone_keys_are_large_and_a_long_text_has_a_list_of_its_tokens(page: Page, server: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, server, text=FORTY, layer=2, head=1, query=2)
    keys = page.locator(".journey [data-name^='Key ']")
    keys.first.wait_for(timeout=COLD_MS)
    heights = keys.evaluate_all("(all) => all.map((each) => each.getBoundingClientRect().height)")
    assert min(heights) >= 44
    assert page.locator(".journey svg .label").evaluate_all(LYING) == []
    chosen = page.get_by_role("combobox", name="Choose a token")
    expect(chosen).to_have_value("2")
    chosen.focus()
    chosen.select_option("20")
    expect(page).to_have_url(re.compile("query=20"))
    expect(page.locator(".journey svg")).to_contain_text("token 20 (0 to")
    expect(chosen).to_be_focused()


SMALLEST_TEXT = """(journey) => {
  const written = (each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const drawn = (each) => each.ownerSVGElement?.getScreenCTM().a ?? 1;
  const texts = [...journey.querySelectorAll("*")].filter((each) => each.checkVisibility() && written(each));
  return Math.min(...texts.map((each) => parseFloat(getComputedStyle(each).fontSize) * drawn(each)));
}"""
"""Size of the smallest text of the drawing in pixels of the screen."""


@pytest.mark.slow
@pytest.mark.parametrize(("part", "least"), [({}, 17.9), ({"layer": 2, "head": 5, "key": 3}, 14)])
def test_in_a_lecture_hall_every_text_is_large(page: Page, server: str, part: dict[str, int], least: float) -> None:
    opened(page, server, present="true", query=5, **part)
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    expect(page.locator(".journey .ribbon" if part else ".journey svg").first).to_be_attached()
    assert page.locator(".journey").first.evaluate(SMALLEST_TEXT) >= least


@pytest.mark.parametrize("query", [6, 18, 23])
def test_no_word_lies_on_a_ribbon_and_no_ribbon_on_another(query: int, page: Page, server: str) -> None:
    opened(page, server, text=LONG, layer=1, query=query)
    page.locator(".ribbon.rest").wait_for(timeout=COLD_MS)
    labels = page.locator(".journey svg .label")
    assert [each for each in labels.all_text_contents() if re.fullmatch(r"\d+ others", each)]
    assert labels.evaluate_all(ON_RIBBONS) == []
    assert labels.evaluate_all(LYING) == []
    ends = page.locator(".ribbon").evaluate_all(ENDS)
    assert [each for each, _ in sorted(ends)] == [each for each, _ in sorted(ends, key=lambda both: both[1])]


def meaning(word: str) -> str:
    """The word's row of docs/glossary.md."""
    (entry,) = [each for each in ENTRIES if word in each.forms]
    return f"{entry.word}: {entry.meaning}."


def test_words_of_the_drawing_have_the_glossarys_meaning_at_the_pointer_and_for_a_screen_reader(
    page: Page, server: str
) -> None:
    opened(page, server)
    texts, tip = page.locator(".journey svg .label"), page.locator(".journey .tip")
    closed = {"tokens": "token", "what comes out": "hidden state", "384 numbers": "hidden size", "pooler": "pooler"}
    closed |= {
        "layers built alike: turn": "turn of the vector",
        "mask “python”": "mask token",
        "embeddings": "embedding",
    }
    for shown, word in closed.items():
        texts.filter(has_text=shown).first.hover()
        expect(tip).to_contain_text(meaning(word))
    described = page.locator("[aria-description]").filter(has_text="pooler")
    facts = "pooler: 147,840 parameters, unused. Sentences use the mean of all tokens."
    expect(described).to_have_accessible_description(f"{facts} {meaning('pooler')}")
    page.get_by_label("Cells show").select_option("entropy")
    texts.filter(has_text="nats, mean over the heads").hover()
    expect(tip).to_contain_text(meaning("entropy"))
    expect(tip).to_contain_text(meaning("nat"))


@pytest.mark.slow
def test_words_of_an_opened_head_are_explained_too_and_tokens_are_not(page: Page, server: str) -> None:
    opened(page, server, text="The head of a layer.", layer=2, head=5, query=2)
    texts, tip = page.locator(".journey svg .label"), page.locator(".journey .tip")
    words = {"query of": "query vector", "key of": "key vector", "value of": "value vector", "softmax": "softmax"}
    words |= {"mix of": "attention", "12 heads": "head", "where “head” looks": "ribbon"}
    texts.filter(has_text="query of").wait_for(timeout=COLD_MS)
    for shown, word in words.items():
        texts.filter(has_text=shown).first.hover()
        expect(tip).to_have_text(re.compile(re.escape(meaning(word))))
    page.locator("[data-name='Token 2: head']").hover()
    expect(tip).to_be_hidden()
