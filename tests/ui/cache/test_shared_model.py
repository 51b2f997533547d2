"""Answers are computed once for all sessions, counted in bytes, and contain no second copy of a run."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import streamlit as st
from safetensors.numpy import load_file, save_file
from streamlit.runtime.scriptrunner_utils.exceptions import RerunException
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from bertviz_core.attention.results import MapOptions
from bertviz_core.errors import TextError
from bertviz_core.journey.changes import masked_tokens
from bertviz_core.questions.interventions.effects import effects, joint_ablation
from bertviz_core.questions.models.checkpoints import OTHER, checkpoint_comparison
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Question
from bertviz_core.questions.texts.attention import WEIGHTS, atlas_of, attention_map
from bertviz_core.questions.texts.hidden_states import run
from bertviz_core.questions.texts.sentences import sentence_vectors
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


def asked_at_once(question: Question[Any, Any], options: Options, readers: int) -> tuple[int, int]:
    """How many times the model runs, and the number of different answers or errors, in a new server."""
    st.cache_resource.clear()
    loaded, calls, at_once = models.loaded("tiny"), [0], Barrier(readers)
    models.checked(loaded)
    loaded.model.register_forward_hook(lambda *_: calls.append(0))

    def ask() -> object:
        reader = SharedModel("tiny")
        at_once.wait()
        try:
            return question(reader, options).result
        except TextError as error:
            return error

    with ThreadPoolExecutor(readers) as sessions:
        answers = [each.result() for each in [sessions.submit(ask) for _ in range(readers)]]
    return len(calls) - 1, len({id(each) for each in answers})


@pytest.mark.parametrize(
    ("question", "options"),
    [
        (run, Options(("a b c",))),
        (attention_map, Options(("a b c",), values={WEIGHTS.key: "value-zeroing"})),
        (effects, Options(("a b c",), "d e")),
        (sentence_vectors, Options(("a b c", "d e"))),
        (joint_ablation, Options(("a b c",), "d e")),  # refused: it names no heads
    ],
)
def test_what_many_readers_ask_at_once_is_computed_once(
    models_dir: Path, question: Question[Any, Any], options: Options
) -> None:
    save_tiny("bert", models_dir / "tiny")
    runs, answers = asked_at_once(question, options, 1)
    assert runs > 0
    assert asked_at_once(question, options, 6) == (runs, answers)


def test_an_answer_stays_when_a_newer_click_ends_the_script_that_made_it(
    made: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def ended_by_a_click(words: str) -> Iterator[None]:
        yield
        raise RerunException(RerunData())

    shared, options, computed = SharedModel(MODEL), Options((TEXT,)), []

    def make() -> str:
        computed.append(1)
        return "rows"

    key = "module", "products", options.key()
    with monkeypatch.context() as patched:
        patched.setattr(st, "spinner", ended_by_a_click)
        with pytest.raises(RerunException):
            shared.get_or_compute(key, make)
    assert SharedModel(MODEL).get_or_compute(key, make) == "rows"
    assert computed == [1]
