"""Profiles of heads over a corpus equal mean and spread of single traces, in total and per value of a column."""

from pathlib import Path

import numpy as np
import pytest

from bertviz_core.attention.atlas import PROFILE_MEASURES, head_profile
from bertviz_core.corpus.analysis import profiles as profiles_module
from bertviz_core.corpus.analysis.profiles import head_profiles
from bertviz_core.corpus.folder import Corpus
from bertviz_core.errors import CorpusError, SupersededError
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.sources import DEFAULT_MODEL, resolve
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize
from tests.helpers.made_corpora import ROWS, made_columns, made_corpus

SAMPLE, SEED = 12, 5


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return made_corpus(tmp_path_factory.mktemp("corpora") / "mine")


@pytest.fixture(scope="module")
def model() -> tuple[LoadedModel, TextTokenizer]:
    settings = Settings.from_environment()
    source = resolve(DEFAULT_MODEL, settings)
    return load_model(source, settings), load_tokenizer(source, settings)


@pytest.mark.slow
def test_means_and_spreads_are_those_of_single_traces(corpus: Corpus, model: tuple[LoadedModel, TextTokenizer]) -> None:
    loaded, tokenizer = model
    calls: list[tuple[int, int]] = []
    found = head_profiles(
        corpus, loaded, tokenizer, SAMPLE, "kind", SEED, lambda done, total: calls.append((done, total))
    )
    columns = made_columns()
    single = np.array(
        [head_profile(trace(loaded, tokenize(tokenizer, columns["text"][row]))) for row in found.rows.tolist()]
    )
    assert found.overall.mean.shape == (len(PROFILE_MEASURES), 6, 12)
    np.testing.assert_allclose(found.overall.mean, single.mean(axis=0), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found.overall.spread, single.std(axis=0), rtol=1e-3, atol=1e-6)
    kinds = np.array([columns["kind"][row] or "no value" for row in found.rows.tolist()])
    assert {part.name for part in found.parts} == set(kinds.tolist())
    assert sum(part.sentences for part in found.parts) == found.overall.sentences == SAMPLE
    for part in found.parts:
        own = single[kinds == part.name]
        assert part.sentences == len(own)
        np.testing.assert_allclose(part.mean, own.mean(axis=0), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(part.spread, own.std(axis=0), rtol=1e-3, atol=1e-6)
    assert calls == [(done, SAMPLE) for done in range(1, SAMPLE + 1)]
    assert (found.corpus, found.model, found.seed, found.column) == ("mine", DEFAULT_MODEL, SEED, "kind")


@pytest.mark.slow
def test_rows_without_a_text_are_left_out_and_counted(
    corpus: Corpus, model: tuple[LoadedModel, TextTokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles_module, "texts_of", lambda _, rows: ["A bank.", " ", "word " * 600])
    found = head_profiles(corpus, *model, 3)
    assert found.overall.sentences == len(found.rows) == 2
    assert any("1 row without a text" in notice for notice in found.notices)
    assert any("1 text cut off at the end" in notice for notice in found.notices)
    monkeypatch.setattr(profiles_module, "texts_of", lambda _, rows: ["", " ", "\n"])
    with pytest.raises(CorpusError, match="None of the 3 rows"):
        head_profiles(corpus, *model, 3)


def test_it_can_be_left(corpus: Corpus, model: tuple[LoadedModel, TextTokenizer]) -> None:
    def leave(done: int, total: int) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        head_profiles(corpus, *model, 3, progress=leave)


def test_what_cannot_be_sampled_is_refused(
    corpus: Corpus, model: tuple[LoadedModel, TextTokenizer], tmp_path: Path
) -> None:
    with pytest.raises(CorpusError, match="give 1 to 5,000"):
        head_profiles(corpus, *model, 0)
    with pytest.raises(CorpusError, match="no column 'colour'"):
        head_profiles(corpus, *model, 2, "colour")
    with pytest.raises(CorpusError, match="keeps no texts"):
        head_profiles(made_corpus(tmp_path / "bare", text_column=None), *model, 2)
    assert corpus.rows == ROWS
