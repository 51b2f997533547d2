"""Lessons: read, written, and those that are here."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import streamlit as st
import yaml  # type: ignore[import-untyped]  # the package ships no annotations

from bertviz_core.errors import LessonError
from bertviz_core.figures.pages import PAGES
from bertviz_core.text import counted, escape_controls, escape_markdown
from ui import session
from ui.cache.figures import cached_by_bytes
from ui.widgets.uploads import short_name


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(View):
    """A step of a lesson: a view, and texts about it."""

    title: str
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
    author: str | None
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
    """Read a lesson from its file."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise LessonError(f"The lesson {path.name} cannot be read: {error.strerror or error}.") from error
    return parse_lesson(content, path.name, pages)


def parse_lesson(content: bytes, file_name: str, pages: Collection[str]) -> Lesson:
    """Read a lesson from the content of its file, whose name without its ending is the lesson's."""
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
    """Validate one step, as in the file; `where` names it in messages."""
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


LINE = 100
"""Most characters of a line, where a text can be broken."""
LONGEST_NAME = 60
"""Most characters of a file's name without its ending."""
UNNAMED = "my-lesson"
"""Name of a file whose lesson has no title with letters or digits."""


class _PlainDumper(yaml.SafeDumper):  # type: ignore[misc]  # the package ships no annotations
    """Writes plain what the reader takes for text, such as numbers, and quotes the rest, such as true and no."""

    yaml_implicit_resolvers = PlainLoader.yaml_implicit_resolvers


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Escape what YAML does not keep in other styles, such as some line breaks."""
    style = None if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_PlainDumper.add_representer(str, _represent_text)


def lesson_yaml(lesson: Lesson) -> str:
    """The content of a lesson's file.

    Law: `parse_lesson(lesson_yaml(lesson).encode(), ...)` is the lesson again, with the name of the new file.
    """
    fields = {
        "title": lesson.title,
        "author": lesson.author,
        "keeps": list(lesson.keeps),
        "steps": [step_fields(step) for step in lesson.steps],
        "summary": lesson.summary,
        "next": lesson.following,
    }
    content = _dumped({name: value for name, value in fields.items() if value not in (None, [])})
    size = len(content.encode())
    if size > MAX_FILE_BYTES:
        raise LessonError(
            f"The lesson would have {size:,} bytes, more than the {MAX_FILE_BYTES:,} that a lesson may have; shorten "
            "texts and notes, or make two lessons."
        )
    return content


def step_yaml(step: Step) -> str:
    """One step, as an entry of the list `steps` of a lesson's file."""
    return _dumped([step_fields(step)])


def step_fields(step: Step) -> dict[str, Any]:
    """The fields of a step as they are written; empty ones are left out."""
    texts = {"note": step.note, "question": step.question, "answer": step.answer}
    trials = [{"label": trial.label, **_view_fields(trial)} for trial in step.trials]
    return {
        "title": step.title,
        **_view_fields(step),
        **{name: text for name, text in texts.items() if text is not None},
        **({"try": trials} if trials else {}),
    }


def file_name(title: str) -> str:
    """Name of the file of a lesson with this title, which is a valid name in an address."""
    name = "-".join(re.findall(r"[a-z0-9]+", title.lower()))[:LONGEST_NAME].strip("-")
    return f"{name if NAME.fullmatch(name) else UNNAMED}{ENDING}"


def _view_fields(view: View) -> dict[str, Any]:
    query = {name: values[0] if len(values) == 1 else list(values) for name, values in view.query.items()}
    fields = {
        "page": view.page,
        "query": query or None,
        "text": view.text,
        "pair": view.pair,
        "sentences": None if view.sentences is None else list(view.sentences),
        "figure": view.figure,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _dumped(fields: Mapping[str, Any] | list[dict[str, Any]]) -> str:
    # A lone half of a pair of UTF-16 codes, which no file can contain, is written as a question mark.
    written: str = yaml.dump(fields, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=LINE)
    return written.encode("utf-8", "replace").decode("utf-8")


SHIPPED = Path(__file__).parent / "shipped"
SESSION_LESSONS = "session_lessons"
"""Session key: name -> lesson that the reader has made or opened from a file; only this session has it."""
MOST_SESSION_LESSONS = 12
"""Most lessons of a session; the oldest is forgotten."""


PINNED = "pinned-views"
"""Name of the lesson of the pinned views."""


def open_lesson(name: str) -> Lesson:
    """Read a lesson; one of the session comes before a file of the same name."""
    if (own := session_lessons().get(name)) is not None:
        return own
    if name == PINNED:
        raise LessonError(
            "The pinned views ended with the session that held them; open their lesson file under Lessons."
        )
    path = lesson_file(name, _folders())
    try:
        changed_ns = path.stat().st_mtime_ns
    except OSError as error:  # deleted in the meantime
        raise LessonError(f"The lesson {path.name} cannot be read: {error.strerror}.") from error
    return _lesson(path, changed_ns)


def lessons_here() -> tuple[str, ...]:
    """Names of all lessons that can be opened in this session."""
    return tuple(dict.fromkeys((*session_lessons(), *lesson_names(_folders()))))


def misnamed_files() -> tuple[str, ...]:
    """One sentence for every file of the lessons' folders whose name is not valid for a lesson."""
    return misnamed(_folders())


def session_lessons() -> dict[str, Lesson]:
    """Name -> lesson of this session alone."""
    return dict(session.stored(SESSION_LESSONS, {}))


def add_session_lesson(lesson: Lesson) -> None:
    """Make a lesson available in this session, in place of one of the same name."""
    others = {name: each for name, each in session_lessons().items() if name != lesson.name}
    newest = list(others.items())[-(MOST_SESSION_LESSONS - 1) :]
    session.store(SESSION_LESSONS, {**dict(newest), lesson.name: lesson})


def remove_session_lesson(name: str) -> None:
    """Forget a lesson of this session, if there is one of this name."""
    session.store(SESSION_LESSONS, {each: lesson for each, lesson in session_lessons().items() if each != name})


def lesson_from_file(file: str, content: bytes) -> Lesson:
    """Read a lesson that the reader has brought; a name that is not valid for a lesson is changed to one that is."""
    lesson = parse_lesson(content, short_name(Path(file).name), sorted(PAGES))
    return lesson if NAME.fullmatch(lesson.name) else replace(lesson, name=Path(file_name(lesson.name)).stem)


def file_field(label: str, key: str, take: Callable[[Lesson], None]) -> None:
    """Show a field into which a lesson's file is dropped; it is empty again once the lesson is taken.

    `take` may refuse the lesson by a LessonError.
    """
    st.file_uploader(label, key=f"{key}_{_opened(key)}", on_change=_take_file, args=(key, take))
    if fault := session.stored(f"{key}_fault"):
        st.error(escape_markdown(str(fault)), icon=":material/block:")
        session.store(f"{key}_fault", "")
    if message := session.stored(f"{key}_message"):
        st.success(escape_markdown(str(message)), icon=":material/check:")
        session.store(f"{key}_message", "")


def _take_file(key: str, take: Callable[[Lesson], None]) -> None:
    uploaded = session.stored(f"{key}_{_opened(key)}")
    session.store(f"{key}_opened", _opened(key) + 1)
    if uploaded is not None:
        try:
            lesson = lesson_from_file(uploaded.name, uploaded.getvalue())
            take(lesson)
        except LessonError as error:
            session.store(f"{key}_fault", str(error))
        else:
            session.store(f"{key}_message", f"{lesson.title}, {counted(len(lesson.steps), 'step')}, is in the list.")


def _opened(key: str) -> int:
    """How many files were dropped into a field."""
    return int(session.stored(f"{key}_opened", 0))


def lesson_names(folders: Sequence[Path]) -> tuple[str, ...]:
    """Names of all lessons, those of the first folder first; a repeated name belongs to the first folder."""
    names = (path.stem for folder in folders for path in _files(folder) if NAME.fullmatch(path.stem))
    return tuple(dict.fromkeys(names))


def misnamed(folders: Sequence[Path]) -> tuple[str, ...]:
    """One sentence for every file whose name is not valid for a lesson."""
    return tuple(
        f"The lesson {shown(path.name)} has a name that no address can have; use letters, digits, - and _, at most 80."
        for folder in folders
        for path in _files(folder)
        if not NAME.fullmatch(path.stem) and not path.name.startswith(".")
    )


def _files(folder: Path) -> list[Path]:
    """YAML files in a folder; none where the folder cannot be read."""
    try:
        return sorted(folder.glob(f"*{ENDING}"))
    except (OSError, RuntimeError, ValueError):  # a name that is too long or has a null character, a link to itself
        return []


def lesson_file(name: str, folders: Sequence[Path]) -> Path:
    """Return the path of a lesson, never outside the folders."""
    files = (path for folder in folders for path in _files(folder) if path.stem == name and NAME.fullmatch(name))
    for path in files:
        if not path.is_file():
            raise LessonError(f"The lesson {path.name} is no ordinary file that can be read; put the file itself in.")
        if path.resolve().parent != path.parent.resolve():
            raise LessonError(f"The file of lesson {name!r} is a link out of its folder; put the file itself in.")
        return path
    known = ", ".join(lesson_names(folders)[:20]) or "none"
    raise LessonError(f"There is no lesson {shown(name)}; the lessons here are: {known}.")


def _folders() -> list[Path]:
    own = session.settings().lessons_dir
    return [SHIPPED] if own is None else [SHIPPED, own]


@cached_by_bytes()
def _lesson(path: Path, changed_ns: int) -> Lesson:
    return read_lesson(path, sorted(PAGES))
