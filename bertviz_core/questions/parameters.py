"""Declare the parameters of questions, and parse and validate their values."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, overload

from bertviz_core.errors import Named, TextError
from bertviz_core.text import escape_controls

ChoiceT = TypeVar("ChoiceT", bound=str)
Kind = Literal["choice", "whole", "span", "text", "layer", "head", "position", "target"]
COMMON = ("layer", "head", "form", "depth", "first", "window", "map", "words", "pooling")
"""Parameters that every figure accepts; those that its question does not declare have no effect."""
MOST_DIGITS = 9
"""Maximum number of digits of an integer."""
MOST_NAMED = 100_000
"""Maximum length of a comma-separated list of names; csv would accept a third more."""
NONE_OF = "{!r} has no {}s, so there is none to show."
EMBEDDING_OUTPUT = " (the embedding output)"
"""Explanation of index 0 in error messages about the hidden states."""


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a question; its key is its name in query strings, on the command line and in Python."""

    key: str
    kind: Kind
    help: str
    """Description, without a full stop."""
    options: tuple[str, ...] = ()
    """Permitted values of a choice; the first is the default."""
    label: str = ""
    """Label of its control on a page; "" where a page has none for it."""
    values: "Callable[[Any, Options], Sequence[str] | Mapping[str, str]] | None" = None
    """Values that depend on the opened model and the options, the default first: all of a choice, some of a "model".

    A mapping has their words, too. Without a value there is nothing to choose."""
    bounds: "Callable[[Any, Options], tuple[int, int, int]] | None" = None
    """Least, greatest and default value of a whole number with the opened model and the options."""
    shown: Callable[[str], str] = str
    """How a control shows a value."""
    applies: "Callable[[Any, Options], bool]" = lambda opened, options: True
    """Whether it has an effect with the opened model and the options; otherwise it has no control."""
    first: int = 0
    """How many of several values are chosen to begin with."""
    most: int = 0
    """Most of them that can be chosen at once; 0 for all."""
    listed: bool = False
    """Whether a position is chosen from the list of the tokens of the text."""
    parts: bool = False
    """Whether its value decides which parts a view has."""
    control: Literal["", "few", "several", "names", "model", "models", "lines", "edited"] = ""
    """Of a choice: its values side by side; of a "text": several of them, those of a popover, the name of a model or of
    several, a text on each line, or an edited version."""


def choice(key: str, options: Sequence[str], help_text: str, label: str = "", parts: bool = False) -> Param:
    """Declare a parameter with a few permitted values."""
    return Param(key, "choice", help_text, tuple(options), label, parts=parts)


def flag(key: str, help_text: str, label: str = "") -> Param:
    """Declare a boolean parameter."""
    return choice(key, ("false", "true"), help_text, label)


@dataclass(frozen=True, slots=True)
class Options:
    """Texts and parameter values of a question; values are unparsed."""

    texts: tuple[str, ...] = ()
    """Texts, sentences, or names of further models."""
    pair: str | None = None
    """A second text of the same input."""
    task: str | None = None
    """Task of the model class."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Key of a parameter -> unparsed value; missing parameters have their default."""

    def key(self) -> tuple[object, ...]:
        """Cache key of the options."""
        return self.texts, self.pair, self.task, tuple(sorted(self.values.items()))

    def get(self, key: str, default: str = "") -> str:
        """The unparsed value of a parameter, or the default."""
        return self.values.get(key, default)

    def only(self, *params: Param, task: str | None = None) -> "Options":
        """The same texts with the values of these parameters only, for a task."""
        keys = {param.key for param in params}
        values = {key: value for key, value in self.values.items() if key in keys}
        return Options(self.texts, self.pair, task, values)

    def text(self) -> str:
        """The text of a question about a single text."""
        if len(self.texts) != 1:
            raise TextError(f"This figure shows one text, and {len(self.texts) or 'none'} came; give one, in quotes.")
        return self.texts[0]

    @overload
    def choice(self, param: Param) -> str: ...

    @overload
    def choice(self, param: Param, allowed: Sequence[ChoiceT]) -> ChoiceT: ...

    def choice(self, param: Param, allowed: Sequence[str] = ()) -> str:
        """Parse a choice; defaults to the first permitted value.

        Args:
            allowed: values that this model or text permits; defaults to all of the parameter.
        """
        options = allowed or param.options
        value = self.values.get(param.key, options[0])
        if value not in options:
            raise TextError(
                "There is no ", Named(param.key), f"={escape_controls(value[:30])}; choose {', '.join(options)}."
            )
        return value

    def names(self, key: str) -> list[str]:
        """Parse comma-separated names; names that contain commas are quoted."""
        line = io.StringIO(self.get(key)[:MOST_NAMED], newline="")
        return [name for name in next(csv.reader(line, skipinitialspace=True), []) if name]

    def flag(self, param: Param) -> bool:
        """Parse a boolean."""
        return self.choice(param) == "true"

    def numbered(self, key: str, count: int, default: int, model: str, first: str = "") -> int:
        """Parse the zero-based index of a layer or head.

        Args:
            key: "layer" or "head"; "other_layer" or "other_head" for those of a second model.
            default: value if none is given.
        """
        value = self.get(key).strip()
        if not count:
            raise TextError(NONE_OF.format(model, key.removeprefix("other_")))
        if not value:
            return default
        if value not in map(str, range(count)):
            noun = key.removeprefix("other_")
            what = f"There is no {noun} {escape_controls(value[:20])!r} in {model!r}; give "
            raise TextError(what, Named(key), f" 0{first} to {count - 1}.")
        return int(value)

    def whole(self, key: str, count: int, default: int) -> int:
        """Parse an integer between 0 and count - 1."""
        value = self.get(key, str(default))
        plain = value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS and value == str(int(value))
        if not plain or int(value) >= count:
            what = f"={escape_controls(value[:20])} here; give 0 to {count - 1}."
            raise TextError("There is no ", Named(key), what)
        return int(value)

    def span(self, key: str, count: int, shown: int) -> tuple[int, int]:
        """Parse FIRST:LAST as a half-open range; defaults to the first `shown` positions."""
        value = self.get(key, f"0:{min(shown, count) - 1}")
        first, _, last = value.partition(":")
        short = max(len(first), len(last)) <= MOST_DIGITS
        if not (short and first.isdecimal() and last.isdecimal() and int(first) <= int(last) < count):
            what = f"={escape_controls(value[:20])} here; give FIRST:LAST, from 0 to {count - 1}."
            raise TextError("There is no ", Named(key), what)
        return int(first), int(last) + 1


def joined_names(names: Iterable[str]) -> str:
    """Join names for `Options.names`."""
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL, lineterminator="").writerow(names)
    return line.getvalue()


def numbered(key: str, typed: str, count: int, model: str, first: str = "") -> int:
    """Parse the zero-based index of a layer or head, which is required.

    Args:
        key: "layer" or "head".
        typed: the unparsed value.
    """
    if typed.strip() in map(str, range(count)):
        return int(typed)
    if not count:
        raise TextError(NONE_OF.format(model, key))
    reason = f"There is no {key} {escape_controls(typed[:20])!r} in {model!r}" if typed else f"No {key} was named"
    most = f" to {count - 1}" if count > 1 else ", the only one"
    raise TextError(f"{reason}; give ", Named(key), f" 0{first}{most}.")
