"""Questions: every figure is drawn by one, and an answer is computed once for the same options.

Covers `bertviz_core/questions/question.py`, `bertviz_core/questions/figures.py`.
The questions themselves are tried by tests/cli/test_figure.py, which compares each figure with its page:
`bertviz_core/questions/*/*.py`, `bertviz_core/questions/corpora.py`.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytest

from bertviz_core.errors import TextError
from bertviz_core.models.catalog import DEFAULT_MODEL
from bertviz_core.questions import question as declarations
from bertviz_core.questions.figures import all_figures, drawn_by, subject_of
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import (
    Answer,
    AnswerCost,
    AnswerJob,
    after,
    figure_questions,
    long_question,
    question,
    question_name,
    with_notices,
)
from bertviz_core.settings import Settings


class CachedModel:
    """A subject that caches all values without a limit."""

    def __init__(self) -> None:
        self.values: dict[Hashable, Any] = {}

    def get_or_compute(self, key: Hashable, make: Callable[[], Any]) -> Any:
        if key not in self.values:
            self.values[key] = make()
        return self.values[key]

    def notices_of(self, models: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{name}: a part is not followed." for name in models)


def test_notices_of_the_models_of_an_answer_stand_before_its_own_and_once() -> None:
    answer = question()(doubled)(CachedModel(), Options(("bank",)))
    assert answer.notices == ("m: a part is not followed.",)
    assert with_notices(("a", "b"), ("c", "a", "c")) == ("b", "c", "a")


def test_every_figure_has_its_question() -> None:
    assert set(figure_questions()) == set(all_figures())


@pytest.mark.parametrize("name", ["sentences", "map", "poolings"])
def test_the_caption_of_a_figure_says_what_was_cut_off(name: str) -> None:
    opened = subject_of(name, DEFAULT_MODEL, Settings.from_environment())
    spec, _ = drawn_by(name, opened, Options(("A river.", "A road.", "The bank. " * 200)))
    assert spec.remark.startswith("1 sentence cut off at the end: ")


def test_no_figure_is_drawn_by_two_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declarations, "DECLARED", {})
    declare = question(figures=("new",))
    declare(doubled)
    with pytest.raises(ValueError, match="two questions draw 'new'"):
        declare(doubled)


def doubled(opened: CachedModel, options: Options) -> Answer[str]:
    """Return the text twice."""
    return Answer(2 * options.text(), (("m", "1"),), options.texts)


def test_the_key_of_an_answer_names_its_question_and_no_other_key_does() -> None:
    """Neither a part of a question, nor a key whose second part is a text."""
    first = next(iter(figure_questions().values()))
    assert question_name(first.key(Options(("a zebra",)))) == first.name
    for key in ((first.module, "zebra", ()), (first.module, first.name), (__name__, first.name, ()), "zebra", None):
        assert question_name(key) == ""


def test_an_answer_is_computed_once_for_the_same_options() -> None:
    computed: list[str] = []

    def counted(opened: CachedModel, options: Options) -> Answer[str]:
        """Return the text twice, and count the call."""
        computed.append(options.text())
        return doubled(opened, options)

    letters, opened = question()(counted), CachedModel()
    assert letters.__doc__ == counted.__doc__
    assert letters(opened, Options(("a",))) is letters(opened, Options(("a",)))
    assert letters(opened, Options(("b",))).result == "bb"
    assert letters(CachedModel(), Options(("a",))).result == "aa"
    assert computed == ["a", "b", "a"]


def test_two_questions_of_one_name_keep_their_answers_apart() -> None:
    def first() -> Callable[..., Answer[int]]:
        def letters(opened: CachedModel, options: Options) -> Answer[int]:
            return Answer(1)

        return letters

    def second() -> Callable[..., Answer[int]]:
        def letters(opened: CachedModel, options: Options) -> Answer[int]:
            return Answer(2)

        return letters

    opened = CachedModel()
    assert question()(first())(opened, Options()).result == 1
    assert question()(second())(opened, Options()).result == 2


def test_a_refused_question_keeps_nothing() -> None:
    opened = CachedModel()
    with pytest.raises(TextError):
        question()(doubled)(opened, Options())
    assert not opened.values


def test_what_follows_from_an_answer_keeps_models_texts_and_notices() -> None:
    answer = Answer(1, (("m", "1"),), ("a", None), ("first",), {"one": 1})
    following = answer.of("x", ("second", "first"), two=2)
    assert (following.result, following.models, following.texts) == ("x", answer.models, answer.texts)
    assert following.notices == ("first", "second")
    assert following.drawn == {"two": 2}


class Told:
    """A job that records its reports."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int]] = []
        self.shown: list[str] = []

    def __call__(self, done: int, total: int, /) -> None:
        self.steps.append((done, total))

    def show(self, so_far: Answer[str], /) -> None:
        self.shown.append(so_far.result)


def spelled(opened: CachedModel, options: Options, job: AnswerJob[Answer[str]]) -> Answer[str]:
    """Return the text letter by letter."""
    text = options.text()
    for place, _ in enumerate(text, start=1):
        job.show(Answer(text[:place]))
        job(place, len(text))
    return Answer(text)


def test_a_long_question_tells_a_job_how_far_it_is_and_is_asked_without_one_as_any_other() -> None:
    letters, progress = (
        long_question(lambda opened, options: AnswerCost(len(options.text())), noun="letters")(spelled),
        Told(),
    )
    assert letters(CachedModel(), Options(("abc",))).result == "abc"
    assert letters(CachedModel(), Options(("abc",)), progress).result == "abc"
    assert progress.steps == [(1, 3), (2, 3), (3, 3)]
    assert progress.shown == ["a", "ab", "abc"]
    assert letters.noun == "letters"
    assert letters.cost is not None
    assert letters.cost(CachedModel(), Options(("abc",))).steps == 3
    assert question()(doubled).cost is None


def test_a_part_of_the_work_tells_how_far_the_whole_is() -> None:
    progress = Told()
    for done in (0, 3):
        after(progress, 7, 10)(done, 3)
    assert progress.steps == [(7, 10), (10, 10)]
