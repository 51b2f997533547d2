"""Read and validate a lesson from its YAML file (docs/lessons.md).

A lesson may come from a stranger, so the file is small, has no aliases, tags or deep nesting, and every field has a
type and a limit. Its texts are plain text, and numbers are kept as they are written.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml  # type: ignore[import-untyped]  # the package ships no annotations

from bertviz_core.errors import LessonError
from bertviz_core.text import escape_controls


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A view of a page, and its texts."""

    page: str
    """Name of the page's file, without its ending."""
    query: Mapping[str, tuple[str, ...]]
    """Name -> values in the address; missing names have their defaults."""
    text: str | None = None
    """The text; None keeps the current one."""
    pair: str | None = None
    """The second text; None for none. Without a text it is put beside a reader's own that is alone."""
    sentences: tuple[str, ...] | None = None
    """The list of the sentences page; None keeps the current one."""
    figure: str | None = None
    """Name of the figure that is brought into sight; None for the first of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial(View):
    """A view that a step's question leads to."""

    label: str
    """Label of the link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(View):
    """A step of a lesson: a view, and texts about it."""

    title: str
    """Title of the step."""
    note: str
    """What the view shows, and why."""
    question: str | None = None
    """What the reader may try; None for nothing."""
    answer: str | None = None
    """The answer to the question; None for none."""
    trials: tuple[Trial, ...] = ()
    """Views that answer the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A lesson: its steps in order."""

    name: str
    """Name of its file without the extension, and its name in the address."""
    title: str
    """Title of the lesson."""
    author: str | None
    """The author; None for none."""
    steps: tuple[Step, ...]
    """At least one step."""
    summary: str | None
    """Summary at the end; None for none."""
    following: str | None
    """Name of the next lesson; None for none."""
    keeps: tuple[str, ...] = ()
    """Names in the address whose values its steps leave as the reader has set them."""


class PlainLoader(yaml.CSafeLoader):  # type: ignore[misc]  # the package ships no annotations
    """Reads plain scalars as text, except true, false and null."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # the base class's own form
        first: [(tag, words) for tag, words in resolvers if tag.endswith((":bool", ":null"))]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


ENDING = ".yaml"
MAX_FILE_BYTES = 64 * 1024
MAX_DEPTH = 8
"""Most levels of nested mappings and lists; the form of a lesson needs four."""
MAX_STEPS, MAX_TRIALS, MAX_QUERY, MAX_VALUES, MAX_SENTENCES = 60, 6, 40, 24, 200
TITLE, VALUE, NOTE, TEXT = 120, 500, 2_000, 20_000
"""Most characters of a title, of a value in the address, of a note, of a text."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
PARAMETER = re.compile(r"[a-z][a-z0-9_]{0,39}")
RESERVED = frozenset(
    {"lesson", "step", "try", "present", "text", "pair", "sentences", "embed", "embed_options", "figure"}
)
"""Names that a step's query cannot set: they have their own field, or do not belong to lessons."""
LESSON_FIELDS = ("title", "author", "keeps", "steps", "summary", "next")
VIEW_FIELDS = ("page", "query", "text", "pair", "sentences", "figure")
TRIAL_FIELDS = ("label", *VIEW_FIELDS)
STEP_FIELDS = ("title", *VIEW_FIELDS, "note", "question", "answer", "try")


def read_lesson(path: Path, pages: Collection[str]) -> Lesson:
    """Read a lesson from its file.

    Args:
        path: the file, as returned by `ui.lessons.library.lesson_file`.
        pages: names of the dashboard's pages.

    Raises:
        LessonError: the file cannot be read, is too large or not YAML, or a field is missing, unknown or of the wrong
            type; the sentence names file, step and field.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise LessonError(f"The lesson {path.name} cannot be read: {error.strerror or error}.") from error
    return parse_lesson(content, path.name, pages)


def parse_lesson(content: bytes, file_name: str, pages: Collection[str]) -> Lesson:
    """Read a lesson from the content of its file.

    Args:
        content: the bytes of the file.
        file_name: name of the file, for the messages; without its ending it is the lesson's name.
        pages: names of the dashboard's pages.

    Raises:
        LessonError: as `read_lesson`, for the content.
    """
    where = f"The lesson {file_name}"
    fields = _loaded(content, where)
    _known(fields, LESSON_FIELDS, where)
    if not isinstance(steps := fields.get("steps"), list) or not 0 < len(steps) <= MAX_STEPS:
        _refuse(where, "steps", f"write a list of 1 to {MAX_STEPS} steps")
    return Lesson(
        name=Path(file_name).stem,
        title=_words(fields, "title", TITLE, where),
        author=_words(fields, "author", TITLE, where) if "author" in fields else None,
        steps=tuple(read_step(step, pages, f"{where}, step {number}") for number, step in enumerate(steps, start=1)),
        summary=_words(fields, "summary", NOTE, where) if "summary" in fields else None,
        following=_name(fields, "next", where) if "next" in fields else None,
        keeps=_keeps(fields["keeps"], where) if "keeps" in fields else (),
    )


def _loaded(content: bytes, where: str) -> Mapping[str, Any]:
    """Load the file's mapping; its structure is checked before objects are built."""
    if len(content) > MAX_FILE_BYTES:
        raise LessonError(f"{where} has more than {MAX_FILE_BYTES:,} bytes; cut it into several lessons.")
    try:
        text = content.decode("utf-8-sig")
        _look_through(text, where)
        fields = yaml.load(text, PlainLoader)  # noqa: S506  # it builds words, lists and mappings alone
    except UnicodeDecodeError as error:
        raise LessonError(f"{where} is not text in UTF-8; save it as UTF-8.") from error
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        problem = shown(getattr(error, "problem", None) or error, 120)
        raise LessonError(f"{where} is not YAML that can be read{line}: {problem}.") from error
    if isinstance(fields, dict):
        return fields
    raise LessonError(f"{where} has no fields; write title: and steps: (docs/lessons.md).")


def _look_through(text: str, where: str) -> None:
    """Refuse tags, and aliases and deep nesting, which make a small file large."""
    depth = 0
    for event in yaml.parse(text, Loader=PlainLoader):
        line = event.start_mark.line + 1
        if tag := getattr(event, "tag", None):
            written = shown(tag.replace("tag:yaml.org,2002:", "!!"))
            raise LessonError(f"{where} has the tag {written} in line {line}; write the words without it.")
        if isinstance(event, yaml.AliasEvent):
            raise LessonError(f"{where} has the alias *{shown(event.anchor)} in line {line}; write the words out.")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise LessonError(f"{where} is nested more than {MAX_DEPTH} deep in line {line}; a lesson needs four.")


def _keeps(entries: Any, where: str) -> tuple[str, ...]:
    if not isinstance(entries, list) or not 0 < len(entries) <= MAX_QUERY:
        _refuse(where, "keeps", f"write a list of 1 to {MAX_QUERY} names")
    return tuple(_parameter(each, "keeps", where) for each in entries)


def _parameter(name: Any, field: str, where: str) -> str:
    """A name of a control in the address."""
    if not isinstance(name, str) or not PARAMETER.fullmatch(name) or name in RESERVED:
        _refuse(where, field, f"{shown(name)} is no name of a control; take it from the address of the view")
    return name


def read_step(fields: Any, pages: Collection[str], where: str) -> Step:
    """Validate one step.

    Args:
        fields: the fields of the step, as in the file.
        pages: names of the dashboard's pages.
        where: which step it is, for the messages.

    Raises:
        LessonError: a field is missing, unknown, too long or of the wrong type.
    """
    if not isinstance(fields, dict):
        raise LessonError(f"{where} has no fields; write title:, page: and note:.")
    _known(fields, STEP_FIELDS, where)
    title, view = _words(fields, "title", TITLE, where), _view(fields, pages, where)
    for name in ("answer", "try"):
        if name in fields and "question" not in fields:
            _refuse(where, name, "it belongs to a question; add question")
    return Step(
        title=title,
        **view,
        note=_words(fields, "note", NOTE, where),
        question=_words(fields, "question", NOTE, where) if "question" in fields else None,
        answer=_words(fields, "answer", NOTE, where) if "answer" in fields else None,
        trials=_trials(fields["try"], fields["page"], pages, where) if "try" in fields else (),
    )


def _trials(entries: Any, page: str, pages: Collection[str], where: str) -> tuple[Trial, ...]:
    """The links of a question; a link without a page stays on the step's page."""
    if not isinstance(entries, list) or not 0 < len(entries) <= MAX_TRIALS:
        _refuse(where, "try", f"write a list of 1 to {MAX_TRIALS} links")
    trials = []
    for number, fields in enumerate(entries, start=1):
        here = f"{where}, link {number}"
        if not isinstance(fields, dict):
            raise LessonError(f"{here} has no fields; write label: and query:.")
        _known(fields, TRIAL_FIELDS, here)
        label = _words(fields, "label", TITLE, here)
        trials.append(Trial(label=label, **_view({"page": page, **fields}, pages, here)))
    return tuple(trials)


def _view(fields: Mapping[Any, Any], pages: Collection[str], where: str) -> dict[str, Any]:
    """The fields of a view."""
    page = _words(fields, "page", TITLE, where)
    if page not in pages:
        _refuse(where, "page", f"{shown(page)} is no page; write one of {', '.join(pages)}")
    return {
        "page": page,
        "query": _query(fields.get("query", {}), where),
        "sentences": _sentences(fields["sentences"], where) if "sentences" in fields else None,
        "figure": _parameter(fields["figure"], "figure", where) if "figure" in fields else None,
        **{name: _words(fields, name, TEXT, where, as_it_is=True) for name in ("text", "pair") if name in fields},
    }


def _query(entries: Any, where: str) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(entries, dict) or len(entries) > MAX_QUERY:
        _refuse(where, "query", f"write at most {MAX_QUERY} lines such as view: Layers")
    query = {}
    for name, value in entries.items():
        _parameter(name, "query", where)
        values = value if isinstance(value, list) else [value]
        if not 0 < len(values) <= MAX_VALUES:
            _refuse(where, f"query, {name}", f"write 1 to {MAX_VALUES} values")
        query[name] = tuple(_value(each, name, where) for each in values)
    return query


def _value(value: Any, name: str, where: str) -> str:
    """A value as it is written in an address."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and len(value) <= VALUE:
        return value
    return _refuse(where, f"query, {name}", f"write a word, a number, true or false, at most {VALUE} characters")


def _sentences(entries: Any, where: str) -> tuple[str, ...]:
    if not isinstance(entries, list) or not 0 < len(entries) <= MAX_SENTENCES:
        _refuse(where, "sentences", f"write a list of 1 to {MAX_SENTENCES} sentences")
    return tuple(_words({"sentences": each}, "sentences", NOTE, where) for each in entries)


def _words(fields: Mapping[str, Any], name: str, most: int, where: str, as_it_is: bool = False) -> str:
    """A text field; lines are joined and control characters escaped, except in texts for the model."""
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        _refuse(where, name, "write a text (in quotation marks where YAML takes it for something else)")
    if len(value) > most:
        _refuse(where, name, f"it has {len(value):,} characters, more than the {most:,} allowed")
    return value.rstrip("\n") if as_it_is else escape_controls(" ".join(value.split()))


def _name(fields: Mapping[str, Any], name: str, where: str) -> str:
    """A text field that contains the name of a lesson."""
    words = _words(fields, name, TITLE, where)
    if not NAME.fullmatch(words):
        _refuse(where, name, f"{shown(words)} is no lesson's name; write that of a file, without its ending")
    return words


def _known(mapping: Mapping[Any, Any], fields: Sequence[str], where: str) -> None:
    for name in mapping:
        if name not in fields:
            raise LessonError(f"{where} has the unknown field {shown(name)}; the fields are {', '.join(fields)}.")


def _refuse(where: str, field: str, advice: str) -> NoReturn:
    raise LessonError(f"{where}, field {field}: {advice}.")


def shown(value: Any, most: int = 40) -> str:
    """A value, shortened for a sentence."""
    words = escape_controls(" ".join(str(value).split()))
    return f"'{words[:most]}…'" if len(words) > most else f"'{words}'"
