"""Correlations with gold similarities are SciPy's, and the bundled model's are the published ones of STS-B."""

from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled
from scipy.stats import pearsonr, rankdata, spearmanr

from bertviz_core import open_model
from bertviz_core.errors import TextError
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.sentences.results import GoldPairs
from bertviz_core.sentences.two_models import (
    SCORE_COLUMNS,
    average_ranks,
    check_gold,
    gold_cosines,
    table_pairs,
    typed_pairs,
    usual_column,
)
from bertviz_core.settings import Settings

SETTINGS = Settings.from_environment()


def example(pairs: int, ties: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors of both sentences of pairs, and gold similarities with so many different values."""
    generator = np.random.default_rng(seed)
    first, noise = generator.normal(size=(2, pairs, 6)).astype(np.float32)
    gold = generator.integers(0, ties, pairs).astype(np.float64)
    return first, first * gold[:, None].astype(np.float32) + 2 * noise, gold


@pytest.mark.parametrize(("pairs", "ties"), [(3, 50), (40, 4), (500, 26)])
def test_correlations_and_ranks_are_those_of_scipy(pairs: int, ties: int) -> None:
    first, second, gold = example(pairs, ties, pairs)
    found = gold_cosines("m", first, second, gold)
    exact = np.sum(first * second, axis=1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    assert found.cosines == pytest.approx(exact, abs=1e-6)
    assert found.pearson == pytest.approx(pearsonr(found.cosines, gold).statistic, abs=1e-12)
    assert found.spearman == pytest.approx(spearmanr(found.cosines, gold).statistic, abs=1e-12)
    errors = (rankdata(found.cosines) - rankdata(gold)) / (pairs - 1)
    assert found.rank_errors == pytest.approx(errors, abs=1e-12)
    assert np.abs(found.rank_errors).max() <= 1
    result = GoldPairs(("a",) * pairs, ("b",) * pairs, gold, (found,))
    assert np.abs(errors[result.worst]).tolist() == sorted(np.abs(errors), reverse=True)


def test_equal_values_share_their_mean_rank() -> None:
    values = np.array([2.0, 1.0, 2.0, 2.0, -1.0])
    assert average_ranks(values).tolist() == rankdata(values).tolist() == [4, 2, 4, 4, 1]


def test_a_model_that_finds_all_pairs_equally_alike_has_no_correlation() -> None:
    same = np.ones((4, 3), dtype=np.float32)
    found = gold_cosines("m", same, same, np.arange(4.0))
    assert np.isnan([found.pearson, found.spearman]).all()


def test_pairs_are_read_by_the_names_of_their_columns_and_incomplete_rows_are_counted() -> None:
    text = 'score,id,sentence2,sentence1\n4.5,1,"One, other.",A text.\n,2,b,a\n1,3,,c\n0.5,4,d,e\nx,5,f,g\n'
    table = read_sentences("pairs.csv", text, SETTINGS)
    assert table.column == "sentence1"
    assert usual_column([*map(str, table.frame.columns)], SCORE_COLUMNS) == "score"
    firsts, seconds, gold, notices = table_pairs(table, "sentence2", "score")
    assert (firsts, seconds, gold) == (("A text.", "e"), ("One, other.", "d"), (4.5, 0.5))
    assert notices[-1] == "3 rows without a second sentence or a number left out."
    with pytest.raises(TextError, match="no column 'second' beside its texts; it has: 'score', 'id', 'sentence2'"):
        table_pairs(table, "second", "score")
    with pytest.raises(TextError, match="No row of 'pairs.csv' has a text in 'score' and a number in 'sentence2'"):
        table_pairs(table, "score", "sentence2")


def test_typed_pairs_have_two_tabs() -> None:
    lines = read_sentences("The list", "a\tb\t1\nc c\td\t 2.5 \n", SETTINGS)
    assert typed_pairs(lines) == (("a", "c c"), ("b", "d"), (1.0, 2.5))
    for wrong in ("a\tb", "a\tb\tlow", "a\t\t1", "a\tb\t1\t2", "a\tb\tinf"):
        with pytest.raises(TextError, match="Line 1 is no pair with its similarity"):
            typed_pairs(read_sentences("The list", wrong, SETTINGS))


def test_what_cannot_be_correlated_is_refused_in_one_sentence() -> None:
    for gold, message in (
        (np.arange(2.0), "at least 3 pairs"),
        (np.ones(4), "same gold"),
        (np.arange(5001.0), "at most"),
    ):
        with pytest.raises(TextError, match=message):
            check_gold(gold)
    model = open_model("all-MiniLM-L6-v2")
    for texts, message in (
        (("a", "b"), "one after the other"),
        (("a", "b", "c"), "a number"),
        (("a", "b", "nan"), "finite"),
    ):
        with pytest.raises(TextError, match=message):
            model.compute("gold-cosines", *texts)


def test_the_library_takes_similarities_as_numbers_or_texts() -> None:
    model = open_model("all-MiniLM-L6-v2")
    pairs = (("A cat.", "A dog.", 3.5), ("A cat.", "A bank.", 1), ("A river.", "A bank.", np.float64(2.25)))
    numbers = [cell for pair in pairs for cell in pair]
    found = model.compute("gold-cosines", *numbers)
    assert found.gold.tolist() == [3.5, 1.0, 2.25]
    expected = model.compute("gold-cosines", *map(str, numbers))
    assert found.models[0].cosines.tolist() == expected.models[0].cosines.tolist()
    assert model.figure("gold-cosines", *numbers).data


@pytest.mark.slow
@pytest.mark.network
def test_the_bundled_model_has_its_published_correlations_on_the_sts_benchmark() -> None:
    """Of the test split; both numbers were computed with sentence-transformers and SciPy."""
    try:
        path = hf_hub_download("sentence-transformers/stsb", "data/test-00000-of-00001.parquet", repo_type="dataset")
    except (HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled, OSError) as error:
        pytest.skip(f"the STS benchmark is not on this machine and cannot be fetched: {type(error).__name__}")
    firsts, seconds, gold, _ = table_pairs(read_sentences("sts.parquet", Path(path), SETTINGS), "sentence2", "score")
    assert len(gold) == 1_379
    texts = [
        cell for one, other, score in zip(firsts, seconds, gold, strict=True) for cell in (one, other, repr(score))
    ]
    (found,) = open_model("all-MiniLM-L6-v2").compute("gold-cosines", *texts).models
    assert (found.spearman, found.pearson) == pytest.approx((0.8203, 0.8274), abs=1e-4)


def test_cosines_that_differ_by_rounding_alone_correlate_with_nothing() -> None:
    one = np.random.default_rng(0).normal(size=(1, 6)).astype(np.float32)
    scaled = one * np.array([[1], [3], [7], [11]], dtype=np.float32)
    found = gold_cosines("one", scaled, scaled[::-1], np.arange(4.0))
    assert np.isnan(found.pearson)
    assert np.isnan(found.spearman)
