"""Long work: started after confirmation, one run for all readers, cached once, restarted after an error.

Covers `ui/widgets/run_model.py`.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from bertviz_core.errors import TextError
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer, AnswerCost, AnswerJob, Question, long_question
from tests.pages.opened import visible_text
from ui.cache.figures import results
from ui.cache.jobs import board
from ui.widgets import run_model as answers
from ui.widgets.run_model import answer, progress_words

SLOW = "It takes long."
COMPUTED: list[str] = []


class Thing:
    """The subject of questions, with answers in the shared cache."""

    def key(self, key: Hashable) -> Hashable:
        return "thing", key

    def notices_of(self, models: Iterable[str]) -> tuple[str, ...]:
        return ()

    def cached(self, key: Hashable) -> Any:
        return results().get(self.key(key))

    def get_or_compute(self, key: Hashable, make: Callable[[], Any]) -> Any:
        return results().get_or_compute(self.key(key), make)


def cost(opened: Thing, options: Options) -> AnswerCost:
    return AnswerCost(len(options.text()), slow=SLOW if "slow" in options.text() else "")


def spelled(opened: Thing, options: Options, job: AnswerJob[Answer[str]]) -> Answer[str]:
    """Return the text in capitals."""
    COMPUTED.append(options.text())
    job(1, len(options.text()))
    if "no" in options.text():
        raise TextError("There is no such text.")
    return Answer(options.text().upper())


CAPITALS: Question[Thing, str] = long_question(cost)(spelled)


def page(text: str) -> None:
    import streamlit as st

    from tests.ui.widgets.test_answers import CAPITALS, Thing, computed
    from ui.widgets.run_model import shown_to_user

    with shown_to_user():
        st.text(computed(CAPITALS, Thing(), text))


def computed(question: Any, opened: Any, text: str) -> str:
    found: Answer[str] = answer(question, opened, Options((text,)))
    return found.result


def shown(text: str) -> AppTest:
    at = AppTest.from_function(page, args=(text,), default_timeout=60)
    return at.run()


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    st.cache_resource.clear()
    COMPUTED.clear()
    monkeypatch.setattr(answers, "PATIENCE_S", 60.0)
    yield
    st.cache_resource.clear()


def test_an_answer_is_computed_once_for_all_sessions_and_kept_once() -> None:
    for _ in range(2):
        assert shown("quick").text[0].value == "QUICK"
    assert COMPUTED == ["quick"]
    key = Thing().key(CAPITALS.key(Options(("quick",))))
    assert results().get(key).result == "QUICK"
    assert board().find(key) is None
    assert len(results()) == 1


def test_what_takes_long_begins_when_one_reader_agrees() -> None:
    at = shown("slow")
    assert at.info[0].value == SLOW
    assert not at.text
    assert not COMPUTED
    at.button(key="start_work").click().run()
    assert at.text[0].value == "SLOW"
    assert shown("slow").text[0].value == "SLOW"
    assert COMPUTED == ["slow"]


def test_what_fails_is_said_and_computed_anew_for_the_next() -> None:
    for _ in range(2):
        assert [visible_text(each.value) for each in shown("no").error] == ["There is no such text."]
    assert COMPUTED == ["no", "no"]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"state": "waiting"}, "Waiting for another list to be finished."),
        ({"done": 0, "seconds_left": None}, "0 of 20,000 rows"),
        ({"done": 900, "rate": 300.0, "seconds_left": 63.7}, "900 of 20,000 rows, 300 per second, about 64 s left"),
        ({"done": 19_999, "rate": 4.25, "seconds_left": 0.2}, "19,999 of 20,000 rows, 4.2 per second, less than a"),
    ],
)
def test_a_rate_is_told_once_there_is_one(facts: dict[str, Any], words: str) -> None:
    job: Any = SimpleNamespace(**{"state": "running", "done": 0, "total": 20_000, "rate": 0.0, **facts})
    assert progress_words(job, "rows").startswith(words)
