"""What the pages show first is computed in idle time, and nothing where readers wait or it may not be opened."""

import logging
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from threading import Event

import pytest
import streamlit as st

from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer, AnswerCost, Job, long_question
from bertviz_core.settings import DEFAULT_MODEL
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened
from ui.cache import models
from ui.cache.figures import ACTIVITY, in_background, results
from ui.cache.shared_model import SharedModel
from ui.server import ahead
from ui.server.ahead import compute_ahead
from ui.session import is_read, reader_waits
from ui.widgets import run_model

MILLISECONDS = {
    *("tokens", "strongest_keys", "parameter_tree", "cut_text", "token_measures", "head_matrices", "attending_run"),
    *("run", "similarity", "closest_pairs"),
}
"""Questions of what is known by then, which no reader waits for."""


@pytest.fixture(autouse=True)
def _new_server(models_dir: Path) -> Iterator[None]:
    st.cache_resource.clear()
    yield
    in_background.set(False)
    st.cache_resource.clear()


@pytest.fixture
def events() -> Iterator[list[tuple[str, str]]]:
    """Kind and name of all that was computed."""
    recorded: list[tuple[str, str]] = []

    class Seen(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            fields = vars(record)["fields"]
            recorded.append((fields["event"], fields["name"]))

    handler, before = Seen(), ACTIVITY.level
    ACTIVITY.addHandler(handler)
    ACTIVITY.setLevel(logging.INFO)
    yield recorded
    ACTIVITY.removeHandler(handler)
    ACTIVITY.setLevel(before)


@pytest.mark.slow
def test_a_first_look_at_a_page_asks_what_was_computed_ahead(
    events: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_model, "PATIENCE_S", 120.0)
    monkeypatch.setattr(run_model, "CONFIRM_ABOVE_SECONDS", 600.0)  # of a busy machine
    assert f" {len(ahead.ASKED_FIRST)} answers in " in compute_ahead(Event())
    in_background.set(False)
    events.clear()
    in_memory = len(models.loaded_models())
    for page in PAGES:
        if page != "corpus":
            assert not opened(page).exception
    assert {name for kind, name in events if kind == "question"} <= MILLISECONDS
    assert not [kind for kind, _ in events if kind == "run"]
    assert len(models.loaded_models()) == in_memory


def test_nothing_is_computed_while_a_reader_waits() -> None:
    ended = Event()
    ended.set()
    with reader_waits(), reader_waits():
        assert is_read()
        assert compute_ahead(ended) == ""
    assert not is_read()
    assert len(results()) == len(models.loaded_models()) == 0


def test_a_long_answer_is_begun_again_after_a_reader_has_been_served(models_dir: Path) -> None:
    save_tiny("bert", models_dir / "mine")
    begun: list[bool] = []

    def steps(opened: Opened, options: Options, job: Job[int]) -> Answer[int]:
        begun.append(is_read())
        with reader_waits() if len(begun) == 1 else nullcontext():
            job(1, 2)
        return Answer(2)

    question = long_question(lambda opened, options: AnswerCost(2))(steps)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ahead, "ASKED_FIRST", (("mine", question, Options()),))
        assert " 1 answers in " in compute_ahead(Event())
    assert begun == [False, False]
    assert question(SharedModel("mine"), Options()).result == 2
    assert begun == [False, False]


def test_a_model_that_may_not_be_opened_is_not(models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_tiny("bert", models_dir / "mine")
    monkeypatch.setenv("INSIDE_BERT_ALLOWED_MODELS", "mine")
    assert compute_ahead(Event()) == ""
    assert len(models.loaded_models()) == 0


def test_no_model_of_a_reader_makes_room(models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_tiny("bert", models_dir / "mine")
    monkeypatch.setenv("INSIDE_BERT_MAX_LOADED_BYTES", str(4 * 22_713_216))
    mine = models.loaded("mine")
    assert not models.fits(DEFAULT_MODEL)
    monkeypatch.setattr(ahead, "ASKED_FIRST", ahead.ASKED_FIRST[:3])
    assert compute_ahead(Event()) == ""
    assert models.loaded("mine") is mine
    assert models.fits("mine")
