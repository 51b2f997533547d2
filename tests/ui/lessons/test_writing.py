"""A lesson that is written is read back to the same lesson, whatever its texts contain."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_core.errors import LessonError
from ui.lessons.library import (
    MAX_FILE_BYTES,
    NAME,
    NOTE,
    TEXT,
    TITLE,
    VALUE,
    Lesson,
    Step,
    file_name,
    lesson_yaml,
    parse_lesson,
    read_step,
    step_yaml,
)

PAGES = ("attention", "sentences", "tokens")
TRAPS = [
    *("no", "Yes", "true", "NULL", "~", "null", "1e3", "0x1F", "007", "1:30", ".5", "-", "?", ":", "<<", "="),
    *("a: b", "a #b", "# a", "- a", "[a", "{a}", "a, b", "& a", "*a", "!a", "| a", "> a", "%a", "@a", "`a`", "a:"),
    *("'", '"', "it's", '"it"', "\\n", "a\\", "  a", "a  ", "2026-01-01", "---", "...", "\t", "\u00e9\u200b"),
    *("\U0001f40d python", "\u202eabc", "a\u0085b", "a\u2028b", "\ufeffa", "a\x00b", "a\x1bb", "\U0010ffff", "\ud7ff"),
    *("first\nsecond", "\n a\n\n  b", "a\n", " \n a", "x" * 300, ("word " * 60).strip(), "a\r\nb", "a\rb"),
]
"""Texts that YAML takes for something else, or changes in one of its styles."""
WORDS = st.one_of(st.sampled_from(TRAPS), st.text(max_size=60))
NAMES = st.sampled_from(("view", "layer", "tokens", "no", "y", "null", "on"))


def fields(draw: st.DrawFn, title: str) -> dict[str, object]:
    """Fields of a view as they stand in a file."""
    text = st.one_of(st.none(), WORDS.filter(lambda each: each.strip()))
    values = st.one_of(
        WORDS.filter(lambda each: len(each) <= VALUE), st.lists(WORDS.map(lambda e: e[:VALUE]), min_size=1, max_size=3)
    )
    content = {
        title: draw(WORDS.filter(lambda each: each.strip()))[:TITLE] or "a",
        "page": draw(st.sampled_from(PAGES)),
        "query": draw(st.dictionaries(NAMES, values, max_size=3)),
        "text": draw(text),
        "sentences": draw(
            st.one_of(st.none(), st.lists(WORDS.filter(lambda each: each.strip()), min_size=1, max_size=3))
        ),
        "figure": draw(st.sampled_from((None, "words_compared", "no"))),
    }
    pair = draw(text)
    content |= {"pair": pair} if content["text"] is not None else {}
    return {name: value for name, value in content.items() if value is not None}


@st.composite
def steps(draw: st.DrawFn) -> Step:
    """Steps as the reader returns them."""
    note = WORDS.filter(lambda each: each.strip())
    step = fields(draw, "title") | {"note": draw(note)}
    if draw(st.booleans()):
        trial = fields(draw, "label")
        trial["label"] = trial["label"] if str(trial["label"]).strip() else "a"
        step |= {"question": draw(note), "answer": draw(note), "try": [trial]}
    if not str(step["title"]).strip():
        step["title"] = "a"
    return read_step(step, PAGES, "The step")


@pytest.mark.slow
@given(st.lists(steps(), min_size=1, max_size=3), WORDS, WORDS)
def test_what_is_written_is_read_back_to_the_same_lesson(several: list[Step], title: str, summary: str) -> None:
    plain = " ".join("".join(each for each in title if each.isprintable()).split())[:TITLE].strip() or "Mine"
    long = " ".join("".join(each for each in summary if each.isprintable()).split()) or None
    lesson = Lesson(
        name="mine", title=plain, author=long, steps=tuple(several), summary=long, following="no", keeps=("model", "y")
    )
    lesson = replace(lesson, author=None if long is None else long[:TITLE].strip() or None)
    written = lesson_yaml(lesson)
    assert parse_lesson(written.encode(), "mine.yaml", PAGES) == lesson


@pytest.mark.parametrize("trap", TRAPS)
def test_a_step_with_a_trap_of_yaml_is_read_back(trap: str) -> None:
    words = trap if trap.strip() else "a"
    value = {"query": {"view": trap[:VALUE]}, "text": words, "pair": words, "sentences": [words]}
    step = read_step({"title": words[:TITLE], "page": "tokens", "note": words, **value}, PAGES, "The step")
    content = f"title: Mine\nsteps:\n{step_yaml(step)}"
    assert parse_lesson(content.encode(), "mine.yaml", PAGES).steps == (step,)


def test_numbers_stand_plain_and_only_what_is_no_text_is_quoted() -> None:
    query = {"layer": "5", "tokens": ["0", "7"], "view": "no", "words": True}
    step = read_step({"title": "One", "page": "tokens", "query": query, "note": "Look: here."}, PAGES, "The step")
    assert step_yaml(step) == (
        "- title: One\n  page: tokens\n  query:\n    layer: 5\n    tokens:\n    - 0\n    - 7\n    view: 'no'\n"
        "    words: 'true'\n  note: 'Look: here.'\n"
    )


def test_a_lesson_larger_than_the_reader_takes_is_one_sentence() -> None:
    step = read_step({"title": "One", "page": "tokens", "text": "x" * TEXT, "note": "y" * NOTE}, PAGES, "The step")
    lesson = Lesson(name="a", title="A", author=None, steps=(step,) * 3, summary=None, following=None)
    with pytest.raises(LessonError, match=r"would have 66,\d{3} bytes, more than the 65,536 that a lesson may have"):
        lesson_yaml(lesson)
    assert len(lesson_yaml(replace(lesson, steps=lesson.steps[:2])).encode()) <= MAX_FILE_BYTES


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("What a negation does", "what-a-negation-does.yaml"),
        ("  ../../etc/passwd ", "etc-passwd.yaml"),
        ("Кириллица", "my-lesson.yaml"),
        ("", "my-lesson.yaml"),
        ("a" * 200, f"{'a' * 60}.yaml"),
    ],
)
def test_the_name_of_a_file_is_a_name_of_a_lesson(title: str, name: str) -> None:
    assert file_name(title) == name
    assert NAME.fullmatch(name.removesuffix(".yaml"))
