"""Find lessons and open one by its name: the shipped ones, those of the server's folder, and those of the session."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st

from bertviz_core.errors import LessonError
from bertviz_core.figures.pages import PAGES
from bertviz_core.text import counted, escape_markdown
from ui import session
from ui.cache.memoize import cached_by_bytes
from ui.lessons.reading import ENDING, NAME, Lesson, parse_lesson, read_lesson, shown
from ui.lessons.writing import file_name
from ui.widgets.lists.uploads import short_name

SHIPPED = Path(__file__).parent / "shipped"
SESSION_LESSONS = "session_lessons"
"""Session key: name -> lesson that the reader has made or opened from a file; only this session has it."""
MOST_SESSION_LESSONS = 12
"""Most lessons of a session; the oldest is forgotten."""


def open_lesson(name: str) -> Lesson:
    """Read a lesson; one of the session comes before a file of the same name.

    Raises:
        LessonError: there is no such lesson, or its file is invalid.
    """
    if (own := session_lessons().get(name)) is not None:
        return own
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
    """Read a lesson that the reader has brought.

    Args:
        file: name of the file; one that is not valid for a lesson is changed to one that is.
        content: the bytes of the file.

    Raises:
        LessonError: the content is not a valid lesson.
    """
    lesson = parse_lesson(content, short_name(Path(file).name), sorted(PAGES))
    return lesson if NAME.fullmatch(lesson.name) else replace(lesson, name=Path(file_name(lesson.name)).stem)


def file_field(label: str, key: str, take: Callable[[Lesson], None]) -> None:
    """Show a field into which a lesson's file is dropped; it is empty again once the lesson is taken.

    Args:
        label: label of the field.
        key: key of the field, and of the sentence about a file that is refused.
        take: called with the lesson; may raise a LessonError.
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
    """Return the path of a lesson, never outside the folders.

    Raises:
        LessonError: there is no such lesson, or it is not a regular file of its folder.
    """
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
