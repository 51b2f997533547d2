"""Running a text for a reader: long runs need confirmation, and unwanted runs are cancelled."""

import threading
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from bertviz_core.settings import DEFAULT_MODEL
from tests.helpers.charts import sent_charts
from tests.pages.opened import SHELL, opened, visible_text
from ui import session
from ui.cache import models
from ui.widgets import run_model

TEXT = "A text that no other test has run, so that no trace of it is at hand."


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are run from here on; earlier traces are dropped."""
    st.cache_resource.clear()
    texts: list[str] = []
    real = models.trace_unlocked

    def kept(loaded: Any, tokens: Any, progress: Any, **more: Any) -> Any:
        texts.append(tokens.text)
        return real(loaded, tokens, progress, **more)

    monkeypatch.setattr(models, "trace_unlocked", kept)
    return texts


def load_model() -> None:
    """Load the model and compare it with its own attention, so that only the run remains."""
    opened("representations")
    assert models.checked(models.loaded(DEFAULT_MODEL))


def test_a_long_run_says_what_it_needs_and_waits_to_be_asked(
    counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_model, "CONFIRM_ABOVE_SECONDS", -1.0)
    at = opened("representations", text=TEXT)
    assert "tokens" in at.info[0].value
    assert "of memory" in at.info[0].value
    assert counted == []
    assert not sent_charts(at)
    at.button(key="start_run").click().run()
    assert counted == [TEXT]
    assert sent_charts(at)
    assert not at.exception


def test_what_one_reader_asked_for_another_is_not_asked_again_until_it_is_stopped(
    counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_model, "CONFIRM_ABOVE_SECONDS", -1.0)
    at = opened("representations", text=TEXT)
    at.button(key="start_run").click().run()
    run = at.session_state["long_run"]
    models.traces.clear()
    assert not [each for each in opened("representations", text=TEXT).button if each.key == "start_run"]
    models.traces.clear()
    session.forget_run(run)
    assert opened("representations", text=TEXT).button(key="start_run")
    assert counted == [TEXT, TEXT]


def test_another_text_asks_again(counted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_model, "CONFIRM_ABOVE_SECONDS", -1.0)
    at = opened("representations", text=TEXT)
    at.button(key="start_run").click().run()
    at.text_area(key="text").set_value("Another text.").run()
    assert counted == [TEXT]
    assert at.button(key="start_run")


def test_a_reader_who_goes_leaves_the_queue_and_nothing_is_run(counted: list[str]) -> None:
    load_model()
    counted.clear()
    with models.RUN_LOCK.place():
        waiting = AppTest.from_file(str(SHELL), default_timeout=3)
        waiting.switch_page("../pages/representations.py")
        waiting.query_params["text"] = TEXT
        with pytest.raises(RuntimeError, match="timed out"):
            waiting.run()
        for thread in threading.enumerate():
            if thread.name == "ScriptRunner.scriptThread":
                thread.join(20)
                assert not thread.is_alive()
    assert counted == []


def test_a_reader_who_waits_is_told_how_many_are_ahead(monkeypatch: pytest.MonkeyPatch, counted: list[str]) -> None:
    load_model()
    messages: list[str] = []
    queue = models.RUN_LOCK
    monkeypatch.setattr(run_model, "QUIET_S", 0.0)
    with queue.place() as running, queue.place() as second:
        held = [running, second]  # a model that an earlier test has run may be checked meanwhile, behind them

        def word(ahead: int) -> str:
            messages.append(waiting_words(ahead))
            if held:
                held.pop(0).leave()
            return messages[-1]

        waiting_words = run_model.waiting_words
        monkeypatch.setattr(run_model, "waiting_words", word)
        at = opened("representations", text=f"{TEXT} Again.")
    assert not at.exception
    seen = list(dict.fromkeys(messages))
    assert [sentence for sentence in seen if "ahead" in sentence][-2:] == [
        "Waiting for the model: 2 runs are ahead of this one.",
        "Waiting for the model: one run is ahead of this one.",
    ]
    assert counted[-1] == f"{TEXT} Again."


def test_more_than_may_wait_are_told_so_in_one_sentence(monkeypatch: pytest.MonkeyPatch, counted: list[str]) -> None:
    load_model()
    counted.clear()
    monkeypatch.setenv("INSIDE_BERT_MAX_QUEUED_RUNS", "1")
    queue = models.RUN_LOCK
    with queue.place(), queue.place():
        at = opened("representations", text=f"{TEXT} Another.")
    assert [visible_text(error.value) for error in at.error] == [
        "The model is busy: 1 run waits for it already, and no more may wait here; try again in a moment."
    ]
    assert counted == []
