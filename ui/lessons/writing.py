"""Write lessons as YAML files that `ui/lessons/reading.py` reads back to the same lesson."""

import re
from collections.abc import Mapping
from typing import Any

import yaml  # type: ignore[import-untyped]  # the package ships no annotations

from bertviz_core.errors import LessonError
from ui.lessons.reading import ENDING, MAX_FILE_BYTES, NAME, Lesson, PlainLoader, Step, Trial, View

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

    Raises:
        LessonError: the file would be larger than a lesson may be.
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
    trials = [_trial_fields(trial) for trial in step.trials]
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


def _trial_fields(trial: Trial) -> dict[str, Any]:
    return {"label": trial.label, **_view_fields(trial)}


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
