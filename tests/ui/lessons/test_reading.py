"""Lessons: valid content of a file, and one message for every invalid file.

Covers `ui/lessons/library.py`, too."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from bertviz_core.errors import LessonError
from bertviz_core.settings import Settings
from ui.lessons.library import MAX_FILE_BYTES, MAX_STEPS, Lesson, lesson_file, lesson_names, misnamed, read_lesson

PAGES = ("overview", "tokens")
STEP = {"title": "One", "page": "tokens", "note": "Look."}
LINK = {"label": "Here"}


def read(tmp_path: Path, content: Any, name: str = "mine.yaml") -> Lesson:
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return read_lesson(path, PAGES)


def with_step(**fields: Any) -> dict[str, Any]:
    return {"title": "Mine", "steps": [STEP, {**STEP, **fields}]}


def test_a_lesson_is_read_as_it_is_written(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "title: Mine\nauthor: Me\nsteps:\n"
        "- title: One\n  page: tokens\n  note: >-\n    Two\n    lines.\n  question: Why?\n"
        "  query: {layer: 5, words: true, tokens: [0, 7], scale: 0.5}\n  text: |\n    First.\n    Second.\n"
        "  pair: Other\n  sentences: [a b, c]\n  answer: So.\n  try:\n"
        "  - {label: Here, query: {layer: 4}}\n  - {label: There, page: overview, text: Third., pair: Fourth.}\n"
        "summary: Seen.\nnext: tokens\n",
    )
    (step,) = found.steps
    assert (found.name, found.title, found.author) == ("mine", "Mine", "Me")
    assert (step.note, step.question) == ("Two lines.", "Why?")
    assert step.query == {"layer": ("5",), "words": ("true",), "tokens": ("0", "7"), "scale": ("0.5",)}
    assert (step.text, step.pair, step.sentences) == ("First.\nSecond.", "Other", ("a b", "c"))
    assert (step.answer, found.summary, found.following) == ("So.", "Seen.", "tokens")
    here, there = step.trials
    assert (here.label, here.page, here.query, here.text) == ("Here", "tokens", {"layer": ("4",)}, None)
    assert (there.label, there.page, there.query) == ("There", "overview", {})
    assert (there.text, there.pair) == ("Third.", "Fourth.")


NUMBERS = {
    "decimal": "9" * 5_000,
    "hexadecimal": "0x" + "f" * 30_000,
    "binary": "0b" + "1" * 60_000,
    "octal": "0" + "7" * 30_000,
    "sexagesimal": "1" + ":59" * 15_000,
    "sexagesimal float": "1" + ":59" * 15_000 + ".5",
    "exponent": "1.0e+999",
    "date": "2026-99-99",
    "time": "2001-12-14t21:59:43.10+99:99",
    "none that there is": ".nan",
}
"""Values that YAML parses as numbers and times, and cannot or should not build."""


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_a_number_is_what_is_written_and_has_a_length(number: str, tmp_path: Path) -> None:
    content = f"title: T\nsteps:\n- title: One\n  page: tokens\n  note: N\n  query:\n    layer: {number}\n"
    if len(number) > 200:
        with pytest.raises(LessonError, match="step 1, field query, layer: write a word, a number"):
            read(tmp_path, content)
    else:
        assert read(tmp_path, content).steps[0].query == {"layer": (number,)}


def test_words_stay_words(tmp_path: Path) -> None:
    written = "title: 1984\nsteps:\n- {title: 0x1f, page: tokens, note: '1:30', query: {layer: 1_000, words: yes}}\n"
    (step,) = (lesson := read(tmp_path, written)).steps
    assert (lesson.title, step.title, step.note) == ("1984", "0x1f", "1:30")
    assert step.query == {"layer": ("1_000",), "words": ("true",)}


def test_what_a_step_leaves_out_is_left_alone(tmp_path: Path) -> None:
    lesson = read(tmp_path, {"title": "Mine", "steps": [STEP]})
    (step,) = lesson.steps
    assert (step.query, step.text, step.pair, step.sentences, step.question) == ({}, None, None, None, None)
    assert (step.answer, step.trials, lesson.author, lesson.summary, lesson.following) == (None, (), None, None, None)


def test_characters_that_act_on_the_text_around_them_are_named(tmp_path: Path) -> None:
    assert read(tmp_path, with_step(note="a\u202eb")).steps[1].note == "aU+202Eb"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"page": "secrets"}, "step 2, field page: 'secrets' is no page; write one of overview, tokens"),
        ({"page": "../app"}, "step 2, field page"),
        ({"note": ""}, "step 2, field note: write a text"),
        ({"note": ["a"]}, "step 2, field note: write a text"),
        ({"note": "a" * 2_001}, "step 2, field note: it has 2,001 characters"),
        ({"query": "view=Layers"}, "step 2, field query: write at most"),
        ({"query": {"embed": "true"}}, "step 2, field query: 'embed' is no name of a control"),
        ({"query": {"lesson": "other"}}, "step 2, field query: 'lesson'"),
        ({"query": {"text": "a"}}, "step 2, field query: 'text'"),
        ({"query": {"a&b": "c"}}, "step 2, field query: 'a&b'"),
        ({"query": {7: "c"}}, "step 2, field query: '7'"),
        ({"query": {"view": {"a": 1}}}, "step 2, field query, view: write a word"),
        ({"query": {"view": []}}, "step 2, field query, view: write 1 to"),
        ({"query": {"view": [None]}}, "step 2, field query, view: write a word"),
        ({"title": None}, "step 2, field title: write a text"),
        ({"title": True}, "step 2, field title: write a text"),
        ({"query": {"view": "a" * 501}}, "step 2, field query, view: write a word"),
        ({"query": {f"a{n}": 1 for n in range(41)}}, "step 2, field query: write at most 40"),
        ({"text": "a" * 20_001}, "step 2, field text: it has 20,001 characters"),
        ({"sentences": "a"}, "step 2, field sentences: write a list"),
        ({"sentences": ["a", None]}, "step 2, field sentences: write a text"),
        ({"figure": "a b"}, "step 2, field figure: 'a b' is no name of a control"),
        ({"html": "<b>"}, "step 2 has the unknown field 'html'; the fields are title, page"),
        ({"query": {"try": "1"}}, "step 2, field query: 'try' is no name of a control"),
        ({"answer": "So."}, "step 2, field answer: it belongs to a question; add question"),
        ({"try": [LINK]}, "step 2, field try: it belongs to a question; add question"),
        ({"question": "Why?", "answer": []}, "step 2, field answer: write a text"),
        ({"question": "Why?", "answer": "a" * 2_001}, "step 2, field answer: it has 2,001 characters"),
        ({"question": "Why?", "try": []}, "step 2, field try: write a list of 1 to 6 links"),
        ({"question": "Why?", "try": LINK}, "step 2, field try: write a list of 1 to 6 links"),
        ({"question": "Why?", "try": [dict(LINK) for _ in range(7)]}, "step 2, field try: write a list of 1 to 6"),
        ({"question": "Why?", "try": ["x"]}, "step 2, link 1 has no fields; write label: and query:"),
        ({"question": "Why?", "try": [LINK, {"page": "tokens"}]}, "step 2, link 2, field label: write a text"),
        ({"question": "Why?", "try": [{**LINK, "page": "x"}]}, "step 2, link 1, field page: 'x' is no page"),
        ({"question": "Why?", "try": [{**LINK, "note": "x"}]}, "step 2, link 1 has the unknown field 'note'"),
        ({"question": "Why?", "try": [{**LINK, "query": {"step": 1}}]}, "step 2, link 1, field query: 'step'"),
    ],
)
def test_a_bad_field_is_named_with_file_and_step(fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(LessonError) as refused:
        read(tmp_path, with_step(**fields))
    assert str(refused.value).startswith(f"The lesson mine.yaml, {message}")
    assert str(refused.value).count("\n") == 0
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no fields"),
        ("- a\n- b\n", "has no fields"),
        ("title: Mine\n", "field steps: write a list of 1 to"),
        ("title: Mine\nsteps: []\n", "field steps: write a list of 1 to"),
        ({"title": "Mine", "steps": [dict(STEP) for _ in range(MAX_STEPS + 1)]}, "field steps: write a list of 1 to"),
        ("title: Mine\nsteps: [1]\n", "step 1 has no fields"),
        ({"steps": [STEP]}, "field title: write a text"),
        ({"title": "Mine", "steps": [STEP], "summary": ["a"]}, "field summary: write a text"),
        ({"title": "Mine", "steps": [STEP], "next": "../app"}, "field next: '../app' is no lesson's name; write that"),
        ({"title": "Mine", "steps": [STEP], "next": "a" * 81}, "field next: 'aaaaaaaaaaaaaaaaaaaaaaaa"),
        ({"title": "Mine", "steps": [STEP], "run": "x"}, "has the unknown field 'run'"),
        ("title: 'Mine\nsteps: [\n", "is not YAML that can be read in line"),
        (
            "title: !!python/object/apply:os.system ['true']\n",
            "has the tag '!!python/object/apply:os.system' in line 1",
        ),
        ("title: !!int ''\n", "has the tag '!!int' in line 1"),
        ("title: !!bool maybe\n", "has the tag '!!bool' in line 1"),
        ("title: !!timestamp soon\n", "has the tag '!!timestamp' in line 1"),
        ('title: "\\ud800"\n', "is not YAML that can be read in line 1"),
        ('title: "\\UFFFFFFFF"\n', "is not YAML that can be read in line 1"),
        ("title: \0\n", "is not YAML that can be read"),
        ("a: &a [x]\nb: *a\n", "has the alias *'a' in line 2"),
        ("a: &a {x: 1}\nb: {<<: *a}\n", "has the alias *'a' in line 2"),
        ("[" * 30_000, "is nested more than 8 deep in line 1"),
        (b"title: \xff\xfe\n", "is not text in UTF-8"),
        ("# " + "a" * MAX_FILE_BYTES, "has more than 65,536 bytes"),
    ],
    ids=range(24),
)
def test_a_bad_file_is_refused_in_one_sentence(content: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(LessonError) as refused:
        read(tmp_path, content)
    assert str(refused.value).startswith("The lesson mine.yaml")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LessonError, match=r"The lesson gone.yaml cannot be read: No such file"):
        read_lesson(tmp_path / "gone.yaml", PAGES)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A shipped and an own folder with a file of the same name, and files that are not lessons."""
    shipped, own = tmp_path / "shipped", tmp_path / "own"
    for folder, names in ((shipped, ("b", "a")), (own, ("a", "c", ".hidden", "with blank", "-x"))):
        folder.mkdir()
        for name in names:
            (folder / f"{name}.yaml").write_text("title: T")
    (own / "d.yml").write_text("title: T")
    (tmp_path / "secret.yaml").write_text("title: T")
    return shipped, own


def test_names_are_those_of_the_folders_shipped_first(folders: tuple[Path, Path], tmp_path: Path) -> None:
    assert lesson_names(folders) == ("a", "b", "c")
    assert lesson_names([tmp_path / "no folder"]) == ()
    assert lesson_file("a", folders) == folders[0] / "a.yaml"
    assert lesson_file("c", folders) == folders[1] / "c.yaml"


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "..",
        "",
        ".hidden",
        "with blank",
        "-x",
        "c.yaml",
        "own/c",
        "/etc/passwd",
        "c\x00",
        "a" * 81,
        "d",
        "é",
    ],
)
def test_a_name_cannot_leave_the_folders(name: str, folders: tuple[Path, Path]) -> None:
    with pytest.raises(LessonError, match=r"There is no lesson .*; the lessons here are: a, b, c\."):
        lesson_file(name, folders)


def test_a_link_cannot_leave_the_folder(folders: tuple[Path, Path], tmp_path: Path) -> None:
    (folders[1] / "leak.yaml").symlink_to(tmp_path / "secret.yaml")
    with pytest.raises(LessonError, match="link out of its folder"):
        lesson_file("leak", folders)


def test_what_is_no_file_is_named_and_never_opened(tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "endless.yaml").symlink_to("/dev/zero")
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    assert lesson_names([tmp_path]) == ("endless", "folder", "loop", "pipe")
    for name in lesson_names([tmp_path]):
        with pytest.raises(LessonError, match=rf"^The lesson {name}\.yaml is no ordinary file"):
            lesson_file(name, [tmp_path])


def test_a_file_that_no_address_can_name_is_named(tmp_path: Path) -> None:
    for name in ("with blank", "a" * 100, "\u202eabc", ".hidden", "fine"):
        (tmp_path / f"{name}.yaml").write_text("title: T")
    messages = misnamed([tmp_path])
    assert len(messages) == 3
    assert "The lesson 'with blank.yaml' has a name that no address can have" in " ".join(messages)
    assert "\u202e" not in " ".join(messages)


def test_a_folder_that_is_none_has_no_lessons(tmp_path: Path) -> None:
    (tmp_path / "itself").symlink_to("itself")
    folders = [tmp_path / "itself", tmp_path / ("a" * 300), tmp_path / "a\0", tmp_path / "itself" / "in it"]
    assert lesson_names(folders) == misnamed(folders) == ()
    with pytest.raises(LessonError, match="There is no lesson 'x'; the lessons here are: none"):
        lesson_file("x", folders)


def test_the_folder_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INSIDE_BERT_LESSONS_DIR", raising=False)
    assert Settings.from_environment().lessons_dir is None
    monkeypatch.setenv("INSIDE_BERT_LESSONS_DIR", str(tmp_path))
    assert Settings.from_environment().lessons_dir == tmp_path
