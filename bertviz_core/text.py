"""Text as it may be shown: what has no picture of its own is named, what joins pictures is left alone."""

import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f") | {chr(code) for code in range(0xE0020, 0xE0080)}
"""Join emoji or letters, choose how they look, or spell a flag; alone they have no picture."""
NAMED = ("Cc", "Cf", "Cs", "Zl", "Zp")


def escape_controls(text: str) -> str:
    """The text with control and direction characters as codes such as U+202E, so that they act on nothing."""
    alone = all(character in JOINERS for character in text)
    return "".join(_code(each) if _is_hidden(each) and (alone or each not in JOINERS) else each for each in text)


def shortened(text: str, most: int) -> str:
    """The text, or its beginning and the count of what is left out."""
    rest = len(text) - most
    return text if rest <= 0 else f"{text[:most]}… ({rest:,} more characters)"


def counted(count: int, noun: str) -> str:
    """The count and its noun: "1 token", "1,200 tokens"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def is_right_to_left(text: str) -> bool:
    """Whether the first character that has a direction is written from right to left."""
    directions = (unicodedata.bidirectional(character) for character in text)
    return next((each != "L" for each in directions if each in ("L", "R", "AL")), False)


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in NAMED


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"


def quoted(name: str, limit: int = 120) -> str:
    """A stranger's name, quoted, with control characters escaped and cut to a readable length."""
    quoted = repr(name if len(name) <= limit else f"{name[:limit]}...")
    return quoted.encode("utf-8", "backslashreplace").decode("utf-8")


def repair_surrogates(text: str) -> str:
    """The text as Unicode: halves of a pair joined, lone surrogates, which no encoding knows, as U+FFFD."""
    if text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def first_line(error: Exception, names: Mapping[str, str] | None = None) -> str:
    """The first line of another library's message, cut to a readable length.

    Args:
        error: what the library raised.
        names: words of it that mean nothing to a reader -> what to say instead.
    """
    words = str(error).strip()
    for word, instead in (names or {}).items():
        words = words.replace(word, instead)
    lines = words.splitlines() or [type(error).__name__]
    return lines[0][:200]
