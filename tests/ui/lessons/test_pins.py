"""The list of pinned views is a valid lesson at any time: order, texts and limits."""

from dataclasses import replace

import pytest

from bertviz_core.errors import LessonError
from bertviz_core.figures.pages import PAGES
from ui import session
from ui.lessons.library import (
    MAX_STEPS,
    NOTE,
    PINNED,
    TITLE,
    Step,
    lesson_yaml,
    open_lesson,
    parse_lesson,
    read_step,
    session_lessons,
)
from ui.lessons.pins import (
    MOST_PINS,
    UNTITLED,
    PinnedViews,
    latest_views,
    pinned_views,
    store_pinned_views,
    tab_texts,
    take_tab_texts,
)


def step(title: str, **fields: object) -> Step:
    return read_step({"title": title, "page": "tokens", "note": "Look.", **fields}, sorted(PAGES), "The step")


def pinned(*titles: str) -> PinnedViews:
    views = PinnedViews()
    for title in titles:
        views = views.with_step(step(title))
    return views


def titles(views: PinnedViews) -> list[str]:
    return [pin.step.title for pin in views.pins]


@pytest.fixture(autouse=True)
def stored(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The values of a session, without a browser."""
    values: dict[str, object] = {}
    monkeypatch.setattr(session, "stored", lambda key, default=None: values.get(key, default))
    monkeypatch.setattr(session, "store", values.__setitem__)
    return values


def test_views_move_and_go_and_the_others_keep_their_order() -> None:
    views = pinned("a", "b", "c")
    assert titles(views.moved(2, 0)) == ["c", "a", "b"]
    assert titles(views.moved(0, 1)) == ["b", "a", "c"]
    assert views.moved(0, -1) == views.moved(2, 3) == views
    assert {pin.token for pin in views.moved(2, 0).pins} == {pin.token for pin in views.pins}
    assert len({pin.token for pin in views.pins}) == 3
    assert titles(views.without(views.pins[1].token)) == ["a", "c"]


def test_a_view_gets_another_title_and_note_and_keeps_its_page_and_figures() -> None:
    views = pinned("a", "b").with_texts(1, "  New  title ", "no: 1e3")
    (_, changed) = views.pins
    assert (changed.step.title, changed.step.note) == ("New title", "no: 1e3")
    assert changed.token == views.pins[1].token
    empty = views.with_texts(1, " ", "").pins[1].step
    assert (empty.title, empty.note) == ("New title", PAGES["tokens"].question)


def test_a_view_that_is_replaced_keeps_its_texts_and_a_title_of_the_readers_own() -> None:
    texts = {"note": "Look: no.", "question": "What?", "answer": "That.", "try": [{"label": "So", "page": "tokens"}]}
    views = PinnedViews().with_step(step("Tokens: layer 1", **texts)).with_step(step("Mine")).with_step(step("c"))
    shown = step("Tokens: layer 2", query={"token": "2"}, text="New.", note="The page's question.")
    usual, own, other = views.replaced(views.pins[0].token, shown).replaced(views.pins[1].token, shown).pins
    assert (usual.step.title, usual.step.query, usual.step.text) == ("Tokens: layer 2", {"token": ("2",)}, "New.")
    assert (usual.step.note, usual.step.question, usual.step.answer) == ("Look: no.", "What?", "That.")
    assert [each.label for each in usual.step.trials] == ["So"]
    assert (own.step.title, own.step.note, own.step.text) == ("Mine", "Look.", "New.")
    assert usual.token != views.pins[0].token, "its figures are drawn anew"
    assert other == views.pins[2]


def test_figures_of_one_view_are_left_out() -> None:
    views = pinned("a", "b")
    chosen = views.with_figures(views.pins[1].token, frozenset(["view-c"]))
    assert [pin.left_out for pin in chosen.pins] == [frozenset(), frozenset(["view-c"])]
    assert chosen.replaced(chosen.pins[1].token, step("c")).pins[1].left_out == frozenset()


@pytest.mark.parametrize(
    ("title", "note", "sentence"),
    [
        ("x" * (TITLE + 1), "y", "The pinned view, field title: it has 121 characters, more than the 120 allowed"),
        ("x", "y" * (NOTE + 1), "The pinned view, field note: it has 2,001 characters, more than the 2,000 allowed"),
    ],
    ids=["title", "note"],
)
def test_a_text_too_long_for_a_lesson_is_one_sentence(title: str, note: str, sentence: str) -> None:
    with pytest.raises(LessonError, match=sentence):
        pinned("a").with_texts(0, title, note)


def test_the_stored_list_is_a_lesson_of_the_session_and_its_file_has_the_same_steps() -> None:
    views = replace(pinned("no", "1e3: \U0001f40d"), title="Mine", author="Me", summary="All.", following="tokens")
    latest = latest_views()
    store_pinned_views(views)
    lesson = open_lesson(PINNED)
    assert pinned_views() == views
    assert latest == [views]  # a file that is made later has it
    assert lesson == views.lesson()
    assert (lesson.title, lesson.author, lesson.summary, lesson.following) == ("Mine", "Me", "All.", "tokens")
    assert parse_lesson(lesson_yaml(lesson).encode(), "pinned-views.yaml", sorted(PAGES)) == lesson
    store_pinned_views(PinnedViews())
    assert PINNED not in session_lessons()


def test_the_tab_gives_the_list_back_to_a_session_without_one(stored: dict[str, object]) -> None:
    store_pinned_views(replace(pinned("no", "1e3: \U0001f40d"), author="Me"))
    lesson, kept = open_lesson(PINNED), tab_texts()
    stored.clear()
    with pytest.raises(LessonError, match="The pinned views ended with the session that held them; open their"):
        open_lesson(PINNED)
    take_tab_texts({"pinned_views": "steps: 3"})
    assert (pinned_views().pins, tab_texts()) == ((), {})
    take_tab_texts(kept)
    assert (open_lesson(PINNED), pinned_views().title) == (lesson, "")
    store_pinned_views(pinned("other"))
    take_tab_texts(kept)
    assert titles(pinned_views()) == ["other"]


def test_more_views_than_steps_of_a_lesson_are_refused_and_nothing_is_stored() -> None:
    views = PinnedViews().with_lesson(pinned(*map(str, range(MOST_PINS))).lesson())
    store_pinned_views(views)
    assert len(open_lesson(PINNED).steps) == MOST_PINS == MAX_STEPS <= 100
    with pytest.raises(LessonError, match="61 views would be pinned, more than the 60 steps of a lesson; remove some"):
        store_pinned_views(views.with_step(step("one more")))
    assert len(pinned_views().pins) == MOST_PINS


def test_views_that_are_too_long_together_are_refused() -> None:
    views = PinnedViews().with_step(step("a", text="x" * 20_000)).with_step(step("b", text="x" * 20_000))
    store_pinned_views(views)
    with pytest.raises(LessonError, match=r"The lesson would have \d\d,\d{3} bytes, more than the 65,536"):
        store_pinned_views(views.with_step(step("c", text="x" * 20_000)).with_step(step("d", text="x" * 20_000)))
    assert titles(pinned_views()) == ["a", "b"]


def test_an_opened_lesson_brings_its_texts_to_an_empty_list_alone() -> None:
    lesson = replace(pinned("a").lesson(), title="Theirs", author="Them", summary="So.", following="tokens")
    brought = PinnedViews().with_lesson(replace(lesson, keeps=("model",)))
    assert (brought.title, brought.author, brought.keeps) == ("Theirs", "Them", ("model",))
    assert brought.lesson() == replace(lesson, keeps=("model",))
    added = pinned("mine").with_lesson(lesson)
    assert (added.title, titles(added), added.lesson().title) == ("", ["mine", "a"], UNTITLED)


def test_the_file_of_the_pinned_views_adds_what_the_list_lacks() -> None:
    views = pinned("a", "b", "a")
    read = parse_lesson(lesson_yaml(views.lesson()).encode(), "mine.yaml", sorted(PAGES))
    assert titles(views.with_lesson(read)) == ["a", "b", "a"]
    assert titles(pinned("b", "c").with_lesson(read)) == ["b", "c", "a", "a"]
