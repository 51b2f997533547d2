"""Parameters of questions: how each is declared, and what was chosen, parsed with the refusals a wrong value gets."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar, overload

from bertviz_core.errors import Named, TextError
from bertviz_core.text import escape_controls

T = TypeVar("T", bound=str)
Kind = Literal["choice", "whole", "span", "text", "layer", "head", "position", "target"]
COMMON = ("layer", "head", "form", "depth", "first", "window", "map", "words", "pooling")
"""Parameters that any figure may be given; those that its question does not have change nothing."""
MOST_DIGITS = 9
"""Of a whole number."""
MOST_NAMED = 100_000
"""Characters of names with commas between them; csv takes a third more."""
EMBEDDING_OUTPUT = " (the embedding output)"
"""Behind entry 0 in the range of a parameter that counts hidden states."""


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a question; its key is its name in an address, on the command line and in Python."""

    key: str
    kind: Kind
    help: str
    """What it means, in one sentence without a full stop."""
    options: tuple[str, ...] = ()
    """Of a choice; the first is the default."""


def choice(key: str, options: Sequence[str], help_text: str) -> Param:
    """A parameter that is one of a few words."""
    return Param(key, "choice", help_text, tuple(options))


def flag(key: str, help_text: str) -> Param:
    """A parameter that is true or false."""
    return choice(key, ("false", "true"), help_text)


@dataclass(frozen=True, slots=True)
class Options:
    """What a question is asked with: values as they were typed, under the keys of the parameters."""

    texts: tuple[str, ...] = ()
    """Texts, or sentences, or names of further models."""
    pair: str | None = None
    """A second text of the same input."""
    task: str | None = None
    """Task whose class is counted or asked."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Key of a parameter -> what was typed; parameters without a value have their default."""

    def key(self) -> tuple[object, ...]:
        """What an answer depends on besides the model."""
        return self.texts, self.pair, self.task, tuple(sorted(self.values.items()))

    def get(self, key: str, default: str = "") -> str:
        """What was typed for a parameter; the default where nothing was."""
        return self.values.get(key, default)

    def text(self) -> str:
        """The one text of a question about one.

        Raises:
            TextError: there is none, or more than one.
        """
        if len(self.texts) != 1:
            raise TextError(f"This figure shows one text, and {len(self.texts) or 'none'} came; give one, in quotes.")
        return self.texts[0]

    @overload
    def choice(self, param: Param) -> str: ...

    @overload
    def choice(self, param: Param, allowed: Sequence[T]) -> T: ...

    def choice(self, param: Param, allowed: Sequence[str] = ()) -> str:
        """One of a parameter's words; the first of them where none was typed.

        Args:
            param: the parameter.
            allowed: words that this model or text allows; all of the parameter's by default.

        Raises:
            TextError: another word was typed.
        """
        options = allowed or param.options
        given = self.values.get(param.key, options[0])
        if given not in options:
            raise TextError(
                "There is no ",
                Named(param.key),
                f"={escape_controls(given[:30])}; choose {', '.join(options)}.",
            )
        return given

    def names(self, key: str) -> list[str]:
        """Names with commas between them; one with a comma in it stands in quotation marks."""
        line = io.StringIO(self.get(key)[:MOST_NAMED], newline="")
        return [name for name in next(csv.reader(line), []) if name]

    def flag(self, param: Param) -> bool:
        """Whether something is switched on."""
        return self.choice(param) == "true"

    def numbered(self, key: str, count: int, default: int, model: str, first: str = "") -> int:
        """A layer or head of a model, from 0.

        Args:
            key: "layer" or "head".
            count: how many there are.
            default: the one that is meant where none was typed.
            model: name of the model, for the message.
            first: what the first of them is, for the message.

        Raises:
            TextError: there is none of this number.
        """
        given = self.get(key).strip()
        if not given:
            return default
        if given not in map(str, range(count)):
            what = f"There is no {key} {escape_controls(given[:20])!r} in {model!r}; give "
            raise TextError(what, Named(key), f" 0{first} to {count - 1}.")
        return int(given)

    def whole(self, key: str, count: int, default: int) -> int:
        """A whole number from 0 that is below count.

        Raises:
            TextError: there is none of this number.
        """
        given = self.get(key, str(default))
        plain = given.isascii() and given.isdigit() and len(given) <= MOST_DIGITS and given == str(int(given))
        if not plain or int(given) >= count:
            what = f"={escape_controls(given[:20])} here; give 0 to {count - 1}."
            raise TextError("There is no ", Named(key), what)
        return int(given)

    def span(self, key: str, count: int, shown: int) -> tuple[int, int]:
        """First position and the one behind the last, of FIRST:LAST; the first positions where none was typed.

        Raises:
            TextError: there is no such part.
        """
        given = self.get(key, f"0:{min(shown, count) - 1}")
        first, _, last = given.partition(":")
        if not (first.isdecimal() and last.isdecimal() and int(first[:9]) <= int(last[:9]) < count):
            what = f"={escape_controls(given[:20])} here; give FIRST:LAST, from 0 to {count - 1}."
            raise TextError("There is no ", Named(key), what)
        return int(first), int(last) + 1


def joined_names(names: Iterable[str]) -> str:
    """Names as `Options.names` takes them."""
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL, lineterminator="").writerow(names)
    return line.getvalue()


def numbered(key: str, typed: str, count: int, model: str, first: str = "") -> int:
    """A layer or head that has to be named, from 0.

    Args:
        key: "layer" or "head".
        typed: as it was typed.
        count: how many there are.
        model: name of the model, for the message.
        first: what the first of them is, for the message.

    Raises:
        TextError: there is none of this number, or none was named.
    """
    if typed.strip() in map(str, range(count)):
        return int(typed)
    reason = f"There is no {key} {escape_controls(typed[:20])!r} in {model!r}" if typed else f"No {key} was named"
    most = f" to {count - 1}" if count > 1 else ", the only one"
    raise TextError(f"{reason}; give ", Named(key), f" 0{first}{most}.")
