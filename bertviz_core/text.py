"""Format text: escape control characters, quote names, repair surrogates, format counts and numbers."""

import json
import re
import string
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f") | {chr(code) for code in range(0xE0020, 0xE0080)}
"""Joiners, variation selectors and tags, which are invisible alone."""
FORMULA_SIGNS = tuple("=+-@\t\r\n＝＋－＠")
"""Spreadsheets evaluate a cell that starts with one of these."""
CODE_WORDS = re.compile(
    r"has no attribute|NoneType|' object|object is|subscriptable|unhashable|not iterable|cannot unpack|Field '"
    r"|(keyword|positional) argument|expected (one of|str|int|float|bool)\b|indices must|ndex .*(range|bounds)"
    r"|literal for|(modulo|division) by zero|raised to a|storage object|ACT2FN|Padding_idx|could not convert"
    r"|not supported between"
)
"""Words of Python about itself, which say nothing about a file."""
OF_ANOTHER_KIND = "one of its values is of another kind than it should be"
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
LFS_NBYTES = 1_024
"""Maximum size of a pointer of Git LFS (its specification)."""
NO_TEXT = {code: f"U+{code:04X}" for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160))}
"""Control characters besides tabs and line ends -> their codes."""
ESCAPED_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")


def escape_controls(text: str) -> str:
    """The text with control and direction characters replaced by codes such as U+202E."""
    only_joiners = all(character in JOINERS for character in text)
    return "".join(
        f"U+{ord(character):04X}" if _is_hidden(character) and (only_joiners or character not in JOINERS) else character
        for character in text
    )


def json_escaped(text: str) -> str:
    r"""JSON with the control and direction characters that it may contain raw as escapes such as \u202e."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(
        character
        if character == "\n" or character in JOINERS or not _is_hidden(character)
        else json.dumps(character)[1:-1]
        for character in text
    )


def shortened(text: str, most: int) -> str:
    """The text, or its beginning and the number of omitted characters."""
    rest = len(text) - most
    return text if rest <= 0 else f"{text[:most]}… ({rest:,} more characters)"


def counted(count: int, noun: str) -> str:
    """The count and its noun: "1 token", "1,200 tokens"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def all_of(count: int, noun: str) -> str:
    """All that are counted: "all 1,200 tokens", or "the only token"."""
    return f"the only {noun}" if count == 1 else f"all {counted(count, noun)}"


def ordinal(number: int) -> str:
    """The ordinal number: 1st, 22nd, 113th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{'th' if number % 100 in (11, 12, 13) else ending}"


def tied(values: Iterable[float]) -> str:
    """What follows the name of the largest number where others are as large: " (and 2 others)"; "" where none is."""
    known = [value for value in values if value == value]
    others = known.count(max(known)) - 1 if known else 0
    return "" if others < 1 else f" (and {counted(others, 'other')})"


def digits(value: float, count: int = 4) -> str:
    """A number with at most `count` significant digits and a minus sign (U+2212): −0.001234, 7e−8."""
    word, _, power = f"{value:.{count}g}".partition("e")
    return (f"{word}e{int(power)}" if power else word).replace("-", "−")


def decimals(value: float, places: int = 4) -> str:
    """A number with fixed decimals, or in scientific notation if they would all be 0: 6.4e−7."""
    word = f"{value:.{places}f}"
    if value and not float(word):
        digits, _, power = f"{value:.1e}".partition("e")
        word = f"{digits}e{int(power)}"
    return word.replace("-", "−")


def measured(value: float, unit: str) -> str:
    """A number with fixed decimals and its unit, if it has one."""
    return decimals(value) if unit in ("cosine", "(no unit)") else f"{decimals(value)} {unit}"


def formula_safe(text: str) -> str:
    """The text, with a leading apostrophe if a spreadsheet would evaluate it as a formula."""
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text


def is_right_to_left(text: str) -> bool:
    """Whether the first character with a direction is right-to-left."""
    directions = (unicodedata.bidirectional(character) for character in text)
    return next((direction != "L" for direction in directions if direction in ("L", "R", "AL")), False)


def isolated(text: str) -> str:
    """The text so that its direction changes nothing around it: set off where any of it is written right to left.

    The marks U+2068 and U+2069 have no width (Unicode Standard Annex 9); escape_controls must come before them.
    """
    right_to_left = any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)
    return f"\u2068{text}\u2069" if right_to_left else text


def quoted(name: str, limit: int = 120) -> str:
    """A name from an untrusted source, quoted, its control characters escaped, cut to a readable length."""
    representation = repr(name if len(name) <= limit else f"{name[:limit]}...")
    return representation.encode("utf-8", "backslashreplace").decode("utf-8")


def pointer_message(name: str, beginning: bytes) -> str:
    """Why a file with these first bytes is not read, and what to do, if it is a pointer of Git LFS; "" if it is not."""
    if not beginning.removeprefix(b"\xef\xbb\xbf").startswith(LFS_POINTER):
        return ""
    return (
        f"{quoted(name)} is a pointer of Git LFS and not the file itself; fetch that with git lfs pull in its "
        "repository, or download it from the Hub."
    )


def tensors_not_finite(names: Sequence[str]) -> str:
    """The beginning of a sentence about tensors with NaN or infinity, the first by its name; there is at least one."""
    more = ", ..." if len(names) > 1 else ""
    return f"{counted(len(names), 'tensor')} hold{'' if more else 's'} NaN or infinity ({quoted(names[0])}{more})"


def tensors_not_scaled(names: Sequence[str], dtype: str) -> str:
    """A sentence about weights in whole numbers or fewer than 16 bits, the first by its name; there is at least one."""
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return (
        f"The file stores {quoted(names[0])}{more} as {dtype}, and no scale is applied: the numbers are taken "
        "as they are. If they were quantized, give the checkpoint in float32 or bfloat16."
    )


def repair_surrogates(text: str) -> str:
    """The text as valid Unicode: surrogate pairs joined, each lone surrogate replaced by U+FFFD."""
    if text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def first_line(error: Exception, names: Mapping[str, str] | None = None) -> str:
    """The first line of another library's message, with the next one where it ends in a colon; at most 200 characters.

    Python's words about its own values are replaced by OF_ANOTHER_KIND.

    Args:
        error: what the library raised.
        names: words of the message that mean nothing to a reader -> their replacements.
    """
    message = str(error).strip()
    for word, replacement in (names or {}).items():
        message = message.replace(word, replacement)
    first, *others = message.splitlines() or [type(error).__name__]
    line = f"{first} {others[0].strip()}" if others and first.rstrip().endswith(":") else first
    is_name = isinstance(error, KeyError) and " " not in line  # whose message is the name alone
    return OF_ANOTHER_KIND if is_name or CODE_WORDS.search(line) else line[:200]


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in ESCAPED_CATEGORIES


_WORD_JOINER = "\u2060"
_ADDRESS = re.compile(r"(?<=[a-z0-9+.-]):(?=//)|www(?=\.)|\S(?=@)", re.IGNORECASE)
"""The start of a URL; no alternative repeats anything, so matching takes linear time."""
LONGEST_TEXT = 20_000
"""Most characters of a text on a page."""
_MARKS = {ord(mark): f"\\{mark}" for mark in string.punctuation}
_TURNS = {code: f"U+{code:04X}" for code in (*range(0x202A, 0x202F), 0x2066, 0x2067)}
"""Control characters that change the direction of the text after them."""


def escape_markdown(text: str) -> str:
    """Escape a text for Markdown: no links, images, emphasis, formulas or icons.

    Characters that change the direction of text are shown as their codes. URLs become links even when every mark is
    escaped, so they are split by a word joiner, which has no width. A text beyond LONGEST_TEXT characters is cut.
    """
    parted = _ADDRESS.sub(lambda found: f"{found[0]}{_WORD_JOINER}", " ".join(shortened(text, LONGEST_TEXT).split()))
    return parted.translate(_MARKS | _TURNS)


UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def count(value: int | None) -> str:
    """A count with separators; a dash for None."""
    return "–" if value is None else f"{value:,}"


def short_count(value: int) -> str:
    """A count in short form: 109.5 M."""
    for size, unit in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K")):
        if value >= size * 0.99995 and value >= 1000:  # rounded to one decimal, it reaches this unit
            return f"{value / size:.1f} {unit}"
    return str(value)


def bytes_text(value: float) -> str:
    """Bytes in the largest suitable unit: 86.6 MiB."""
    power = 0
    while round(value, 1 if power else 0) >= 1024 and power < len(UNITS) - 1:
        value /= 1024
        power += 1
    return f"{value:,.0f} bytes" if power == 0 else f"{value:,.1f} {UNITS[power]}"


def class_words(saved: str, counted: str) -> str:
    """The class named by a checkpoint and the class that is counted, where they differ."""
    return counted if saved in ("", counted) else f"saved as {saved}, counted as {counted}"


def with_notices(subject: Sequence[str], answer: Sequence[str]) -> tuple[str, ...]:
    """The notices of a subject before those of an answer, which may repeat them; each is there once."""
    return tuple(dict.fromkeys((*(each for each in subject if each not in answer), *answer)))
