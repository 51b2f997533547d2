"""In the drawing of a long text a lane is a word: weights on its pieces are added up, numbers averaged."""

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from transformers import AutoTokenizer

from bertviz_core import open_model
from bertviz_core.models.catalog import bundled_folder
from tests.browser.conftest import COLD_MS, hurried_tab, serving
from tests.browser.test_journey import LYING, opened, sentence
from tests.helpers.tiny_models import save_tiny

pytestmark = pytest.mark.browser
TEXT = "Photosynthesis transforms electromagnetic radiation, and chlorophyll absorbs photons meticulously. " * 5
LAYER, HEAD, TOKEN = 2, 1, 20
SHARES = "(all) => all.map((each) => Number(each.dataset.share)).sort()"


def words_of(text: str) -> list[list[int]]:
    """Positions of the tokens of each word, as the tokenizer itself counts them."""
    ids = AutoTokenizer.from_pretrained(bundled_folder())(text).word_ids()
    groups: list[list[int]] = []
    for position, word in enumerate(ids):
        if word is None or position == 0 or word != ids[position - 1]:
            groups.append([])
        groups[-1].append(position)
    return groups


def test_an_unknown_token_is_explained_where_it_is_chosen(page: Page, server: str) -> None:
    opened(page, server, text="I love my 👩‍💻 python.", query=4)
    expect(page.locator("[data-name='Token 4: [UNK]'][aria-pressed='true']")).to_be_visible()
    words = "The tokenizer's vocabulary lacks the text here, so the model reads “[UNK]”."
    assert words in page.locator(".journey").evaluate("root => root.view.sentence()")
    page.locator("[data-name='Token 5: python']").click()
    assert words not in page.locator(".journey").evaluate("root => root.view.sentence()")


@pytest.mark.slow
def test_ribbons_cells_and_keys_are_those_of_words_and_of_tokens_when_chosen(page: Page, server: str) -> None:
    groups, model = words_of(TEXT), open_model("all-MiniLM-L6-v2")
    row = model.trace(TEXT).attention(LAYER, HEAD)[TOKEN]
    merged = np.array([row[group].sum() for group in groups])
    opened(page, server, text=TEXT, layer=LAYER, head=HEAD, query=TOKEN)
    ribbons = page.locator(".journey .ribbon:not(.rest)")
    ribbons.first.wait_for()
    strongest = np.sort(merged)[::-1]
    shares = ribbons.evaluate_all(SHARES)
    assert shares == pytest.approx(np.sort(strongest[: len(shares)]), abs=1e-5)
    assert sum(shares) >= 0.9 or len(shares) == 8
    assert page.locator(".journey svg .label").evaluate_all(LYING) == []
    several = [group for group in groups if len(group) > 1]
    expect(page.locator(".journey svg .heading").first).to_be_visible()
    page.locator(f"[data-name='Head {HEAD} of layer {LAYER}']").click()
    page.locator(f"[data-name='Head {HEAD} of layer {LAYER}']").click()
    expect(page.locator(".journey .live")).to_contain_text(f"{len(several)} words of several tokens have one lane each")
    memory = re.search(r"and (0\.\d+) of the attention is on them", sentence(page))
    assert memory is not None
    assert float(memory[1]) == pytest.approx(sum(row[group].sum() for group in several), abs=6e-4)
    turns = model.journey(TEXT).to_pandas().set_index(["layer", "token"])["turn"]
    column = page.locator(".journey svg g.tipped:has(> image)").nth(1)
    height = page.locator(".journey").evaluate("root => root.view.plan.lanes[0].h")
    column.hover(position={"x": 4, "y": (groups.index(several[0]) + 0.5) * height})
    mean = np.mean([turns[0, position] for position in several[0]])
    expect(page.locator(".journey .tip")).to_contain_text(f"turn of the vector {mean:.3f}, mean of the pieces")
    page.get_by_label("A lane is a").select_option("token")
    expect(page).to_have_url(re.compile("lanes=tokens"))
    alone = ribbons.evaluate_all(SHARES)
    assert alone == pytest.approx(np.sort(np.sort(row)[::-1][: len(alone)]), abs=1e-5)
    page.reload()
    ribbons.first.wait_for()
    assert ribbons.evaluate_all(SHARES) == alone
    expect(page.get_by_label("A lane is a")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})  # one token from top to bottom
    expect(page.get_by_label("A lane is a")).to_be_hidden()


def test_arrow_keys_go_from_word_to_word(page: Page, server: str) -> None:
    groups = words_of(TEXT)
    lane = next(at for at, group in enumerate(groups) if len(group) > 1)
    opened(page, server, text=TEXT, query=groups[lane][0])
    page.locator(".journey svg [data-name^='Open layer']").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page).to_have_url(re.compile(f"query={groups[lane + 1][0]}(?!\\d)"))
    page.keyboard.press("ArrowUp")
    expect(page).to_have_url(re.compile(f"query={groups[lane][0]}(?!\\d)"))


def test_a_key_that_follows_closely_on_another_is_in_the_address(page: Page, server: str) -> None:
    first, second = (f"query={group[0]}" for group in words_of(TEXT)[1:3])
    with hurried_tab(page, first, second) as (tab, late):
        opened(tab, server, text=TEXT, query=first.removeprefix("query="))
        tab.locator(".journey svg [data-name^='Open layer']").first.focus()
        tab.keyboard.press("ArrowDown")
        expect(tab).to_have_url(re.compile(f"{second}(?!\\d)"))
        late.set()
        tab.keyboard.press("ArrowUp")
        expect(tab).to_have_url(re.compile(f"{first}(?!\\d)"))


@pytest.mark.slow
def test_keys_that_a_token_cannot_see_are_not_counted(page: Page, tmp_path: Path) -> None:
    save_tiny("gpt2", tmp_path / "models" / "causal")
    with serving(tmp_path) as url:
        page.goto(f"{url}/?model=causal&text=i+love+my+pet+python&layer=0&query=2")
        page.locator(".journey .ribbon").first.wait_for(timeout=COLD_MS)
        ribbons = page.locator(".journey").evaluate("root => root.view.ribbons")
        page.goto("about:blank")  # before its server ends
    assert len(ribbons["keys"]) + ribbons["others"] == 3  # itself and those before it
    assert sum(each["share"] for each in ribbons["keys"]) + ribbons["rest"] == pytest.approx(1, abs=1e-5)
