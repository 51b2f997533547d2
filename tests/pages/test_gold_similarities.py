"""The pairs with gold similarities of the page: typed, from a file, in one model and two.

Covers `ui/views/sentences.py`.
"""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from streamlit.testing.v1 import AppTest

from bertviz_core.models.catalog import FINE_TUNED
from tests.pages.opened import opened, page_text, visible_text
from tests.pages.snippets import chart, printed
from tests.pages.test_sentences_of_two_models import MODEL, vectors

PAIRS = (
    ("A man is playing a guitar.", "A person plays the guitar.", 4.5),
    ("A cat sleeps on the sofa.", "The dog barks at night.", 1.0),
    ("Stocks fell on Monday.", "Shares dropped at the start of the week.", 4.0),
    ("The river is deep.", "My account is at the bank.", 0.0),
    ("She cuts an onion.", "A woman is slicing an onion.", 4.8),
)
TEXT = "\n".join(f"{one}\t{other}\t{score}" for one, other, score in PAIRS)
GOLD = [score for _, _, score in PAIRS]


pytestmark = pytest.mark.usefixtures("patience")


def page(**query: str) -> AppTest:
    return opened("sentences", view="Two models", other=FINE_TUNED, two_models_of="pairs with gold similarity", **query)


def cosines(name: str) -> np.ndarray:
    one, other = (vectors(name, tuple(pair[side] for pair in PAIRS)) for side in (0, 1))
    return np.sum(one * other, axis=1)


@pytest.mark.slow
def test_both_models_are_beside_the_gold_similarity_and_the_code_gives_the_same() -> None:
    at = page(gold_pairs=TEXT, sentences_gold_explained="true")
    assert not at.exception
    assert not at.error
    expected = [cosines(name) for name in (MODEL, FINE_TUNED)]
    plots = chart(at, "sentences_gold")
    for trace, values in zip(plots, expected, strict=True):
        assert trace["x"] == GOLD
        assert np.array(trace["y"]) == pytest.approx(values, abs=1e-5)
    ranks = [spearmanr(values, GOLD).statistic for values in expected]
    assert f"Over 5 pairs Spearman's correlation with the gold similarity is {ranks[0]:.3f} in the first" in page_text(
        at
    )
    worst = at.dataframe[-1].value
    assert set(worst["pair"]) == {1, 2, 3, 4, 5}
    assert worst["rank error second"].abs().is_monotonic_decreasing
    numbers = printed(at.code[-1].value)
    assert numbers[1:3] == pytest.approx([ranks[0], pearsonr(expected[0], GOLD).statistic], abs=1e-4)


def test_without_pairs_the_page_says_what_to_do_and_a_wrong_line_is_refused() -> None:
    at = page()
    assert not at.exception
    assert "Under **Pairs**, write pairs" in at.info[0].value
    at = page(gold_from="file")
    assert "This view reads a file" in at.info[0].value
    at = page(gold_pairs="one sentence")
    assert not at.exception
    assert "Line 1 is no pair with its similarity" in visible_text(at.error[0].value)


@pytest.mark.slow
def test_a_file_is_read_by_its_columns_on_the_page() -> None:
    at = page(gold_from="file")
    rows = "\n".join(f'"{one}","{other}",{score}' for one, other, score in PAIRS)
    at.file_uploader[0].upload("sts.csv", f"sentence1,sentence2,score\n{rows}\n".encode(), "text/csv").run()
    assert not at.exception
    assert not at.error
    assert chart(at, "sentences_gold")[0]["x"] == GOLD
    assert (at.selectbox(key="gold_second").value, at.selectbox(key="gold_score").value) == ("sentence2", "score")
