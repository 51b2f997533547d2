"""What the command `figure` was asked for, read with the refusals that a wrong option gets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from bertviz_core.errors import TextError
from bertviz_core.text import escape_controls

T = TypeVar("T", bound=str)


@dataclass(frozen=True, slots=True)
class FigureRequest:
    """What was asked for on the command line."""

    model: str
    """Name of the model."""
    texts: tuple[str, ...]
    """Texts, or sentences."""
    pair: str | None
    """A second text of the same input."""
    layer: str
    """As it was typed; "" for the page's own."""
    head: str
    """As it was typed."""
    form: str
    """Of the tree of parameters."""
    depth: int
    """Levels of that tree."""
    first: int
    """First dimension of the hidden states."""
    window: int
    """Dimensions drawn; 0 for the page's own."""
    measure: str
    """What one number per token and layer is."""
    words: bool
    """Whether pieces become words."""
    pooling: str
    """Of sentences; "" for the checkpoint's own."""
    task: str | None
    """Task whose class is counted."""
    more: Mapping[str, str] = field(default_factory=dict)
    """Settings by the names that they have in the address of the page."""

    def text(self) -> str:
        """The one text of a figure that shows one.

        Raises:
            TextError: there is none, or more than one.
        """
        if len(self.texts) != 1:
            raise TextError(f"This figure shows one text, and {len(self.texts) or 'none'} came; give one, in quotes.")
        return self.texts[0]

    def number(self, option: str, given: str, count: int, default: int, first: str = "") -> int:
        """A layer or head, read here so that a wrong one is told its range.

        Raises:
            TextError: there is none of this number.
        """
        if not given.strip():
            return default
        if given.strip() not in map(str, range(count)):
            what = f"There is no {option} {escape_controls(given[:20])!r} in {self.model!r}"
            raise TextError(f"{what}; give --{option} 0{first} to {count - 1}.")
        return int(given)

    def setting(self, name: str, options: Sequence[T]) -> T:
        """One of a few words; the first of them where none was given.

        Raises:
            TextError: another word was given.
        """
        given = self.more.get(name)
        if given is not None and given not in options:
            raise TextError(f"There is no {name}={escape_controls(given[:30])}; choose {', '.join(options)}.")
        return next((each for each in options if each == given), options[0])

    def flag(self, name: str) -> bool:
        """Whether something is switched on."""
        return self.setting(name, ("false", "true")) == "true"

    def place(self, name: str, count: int, default: int) -> int:
        """A whole number from 0.

        Raises:
            TextError: there is none of this number.
        """
        given = self.more.get(name, str(default))
        if given not in map(str, range(count)):
            raise TextError(f"There is no {name}={escape_controls(given[:20])} here; give 0 to {count - 1}.")
        return int(given)

    def span(self, name: str, count: int, shown: int) -> tuple[int, int]:
        """First position and the one behind the last, of FIRST:LAST; the first positions where none was given.

        Raises:
            TextError: there is no such part.
        """
        given = self.more.get(name, f"0:{min(shown, count) - 1}")
        first, _, last = given.partition(":")
        if not (first.isdecimal() and last.isdecimal() and int(first[:9]) <= int(last[:9]) < count):
            raise TextError(
                f"There is no {name}={escape_controls(given[:20])} here; give FIRST:LAST, from 0 to {count - 1}."
            )
        return int(first), int(last) + 1
