"""Answers are computed once for all sessions, counted in bytes, and contain no second copy of a run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from safetensors.numpy import load_file, save_file

from bertviz_core.attention.results import MapOptions
from bertviz_core.journey.changes import masked_tokens
from bertviz_core.questions.models.checkpoints import OTHER, checkpoint_comparison
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.attention import atlas_of, attention_map
from bertviz_core.questions.texts.hidden_states import run
from bertviz_core.resources import retained_nbytes
from bertviz_core.trace.results import Trace
from bertviz_core.trace.run import trace
from tests.helpers.tiny_models import save_tiny
from ui.cache import figures as decorator
from ui.cache import models
from ui.cache.shared_model import SharedModel

MODEL, TEXT = "all-MiniLM-L6-v2", "I love my pet python."


@pytest.fixture
def made() -> Iterator[Trace]:
    decorator.results.clear()
    models.traces.clear()
    shared = SharedModel(MODEL)
    yield trace(shared.loaded, shared.tokens(TEXT, None))
    decorator.results.clear()


def test_an_atlas_is_made_once_and_counted(made: Trace) -> None:
    shared, answers = SharedModel(MODEL, made), []
    atlas = atlas_of(shared, made, MapOptions(), lambda done, total: answers.append(done))
    heads = list(answers)
    assert heads
    assert atlas_of(shared, made, MapOptions(), lambda done, total: answers.append(done)) is atlas
    assert answers == heads
    assert decorator.results().nbytes >= retained_nbytes(atlas)
    assert atlas_of(shared, made, MapOptions(hide_special=True)) is not atlas


def test_an_answer_is_kept_without_its_run_and_comes_back_with_it(made: Trace) -> None:
    shared, options = SharedModel(MODEL, made), Options((TEXT,), values={"layer": "3"})
    before = decorator.results().nbytes
    first = attention_map(shared, options)
    assert first.drawn["trace"] is made
    assert len(models.traces()) == 0, "the caller's own run is not made again"
    assert decorator.results().nbytes - before < made.nbytes
    again = attention_map(SharedModel(MODEL, made), options)
    assert again.result is first.result
    assert again.drawn["trace"] is made


def test_what_depends_on_another_model_follows_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    st.cache_resource.clear()
    for name in ("first", "second"):
        save_tiny("bert", tmp_path / name)
    shared, options = SharedModel("first"), Options(values={OTHER.key: "second"})
    assert checkpoint_comparison(shared, options).result.relative_change == 0
    kept = checkpoint_comparison(SharedModel("first"), options).result
    assert checkpoint_comparison(SharedModel("first"), options).result is kept
    weights = tmp_path / "second" / "model.safetensors"
    save_file({name: tensor + 1 for name, tensor in load_file(weights).items()}, weights, {"format": "pt"})
    assert checkpoint_comparison(SharedModel("first"), options).result.relative_change > 0
    st.cache_resource.clear()


def test_a_run_is_kept_with_the_runs_alone(made: Trace) -> None:
    before = decorator.results().nbytes
    answer = run(SharedModel(MODEL), Options((TEXT,)))
    assert models.traces().nbytes == answer.result.nbytes
    assert decorator.results().nbytes - before < answer.result.nbytes
    assert run(SharedModel(MODEL), Options((TEXT,))).result is answer.result


def test_a_run_with_a_masked_token_is_not_that_of_the_text(made: Trace) -> None:
    masked = masked_tokens(SharedModel(MODEL).tokenizer, made.tokens, 5)
    for shared in (SharedModel(MODEL, made), SharedModel(MODEL)):
        clean = shared.trace(made.tokens)
        assert abs(shared.trace(masked).hidden_states[-1] - clean.hidden_states[-1]).max() > 0.01
