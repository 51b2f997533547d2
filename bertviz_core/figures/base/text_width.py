"""Estimate the width of text from typical letter widths, without a browser."""

import html
import re
import unicodedata

NARROW, WIDE, USUAL, JOINED = 0.34, 1.0, 0.56, 0.8
"""Widths of letters as shares of the font size, the maximum of Source Sans and Helvetica; JOINED for Arabic letters,
the widest of which are twice as wide as most."""
CAPITAL = 0.76
MARKUP = re.compile(r"<[^<>]*>")


def text_width(text: str, size: float) -> float:
    """Return an upper bound of the width of a line of plain text, in pixels.

    Args:
        text: one line.
        size: font size in pixels.
    """
    return size * sum(_letter(each) for each in text)


def label_width(label: str, size: float) -> float:
    """Return an upper bound of the width of a label in pixels, without markup; the longest of several lines."""
    return max(text_width(plain(line), size) for line in label.split("<br>"))


def plain(label: str) -> str:
    """Return the visible text of a label's line."""
    return html.unescape(MARKUP.sub("", label))


def wrapped(text: str, pixels: float, size: float) -> list[str]:
    """Break text into lines of a width; long words are broken.

    Args:
        text: one line.
        pixels: width of the lines.
        size: font size in pixels.
    """
    lines, room = [""], pixels
    for word in text.split(" "):
        width = text_width(word, size)
        gap = text_width(" ", size) if lines[-1] else 0.0
        if gap + width <= room:
            lines[-1] += f"{' ' if gap else ''}{word}"
            room -= gap + width
            continue
        if lines[-1]:
            lines.append("")
            room = pixels
        for letter in word:
            if room < text_width(letter, size):
                lines.append("")
                room = pixels
            lines[-1] += letter
            room -= text_width(letter, size)
    return lines


def wrapped_label(label: str, pixels: float, size: float, beside: float = 0.0) -> list[str]:
    """Break a label into lines of a width; words are broken only after dots, slashes and underscores.

    Markup is preserved.

    Args:
        label: one line with markup around words or parts of words.
        pixels: width of the lines.
        size: font size in pixels.
        beside: occupied pixels of the first line.
    """
    lines, room = [""], pixels - beside
    for word in re.findall(r"(?:<[^<>]*>|[^ ])+", label):
        long = text_width(plain(word), size) > pixels - beside and "<" not in word and "&" not in word
        for at, part in enumerate(re.findall(r"[^./_]*[./_]*", word)[:-1] if long else [word]):
            width, gap = text_width(plain(part), size), text_width(" ", size) if lines[-1] and not at else 0.0
            if lines[-1] and gap + width > room:
                lines.append("")
                room, gap = pixels, 0.0
            lines[-1] += f"{' ' if gap else ''}{part}"
            room -= gap + width
    return lines


def lined_label(label: str, pixels: float, size: float) -> str:
    """Break a label into at most two lines; the last is cut.

    Args:
        label: one line.
        pixels: width of the lines.
        size: font size in pixels.
    """
    lines = wrapped_label(label, pixels, size)
    lines = lines if len(lines) <= 2 else [lines[0], " ".join(lines[1:])]
    return "<br>".join(shortened_label(line, pixels, size) for line in lines)


def shortened_label(label: str, pixels: float, size: float) -> str:
    """Cut a one-line label to a width; italics and a trailing number are preserved."""
    if label_width(label, size) <= pixels:
        return label
    slanted = label.startswith("<i>") and label.endswith("</i>")
    words = plain(label)
    number = match[0] if (match := re.search(r"  \d+$", words)) else ""
    words, room = words[: len(words) - len(number)], pixels - text_width(f"…{number}", size)
    while words and text_width(words, size) > room:
        words = words[:-1]
    cut = html.escape(f"{words.rstrip()}…{number}", quote=False)
    return f"<i>{cut}</i>" if slanted else cut


def _letter(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return WIDE
    if letter in " \u00a0iljtfrI.,:;'|!()[]":
        return NARROW
    if unicodedata.bidirectional(letter) == "AL":
        return JOINED
    return CAPITAL if letter.isupper() or letter in "mw@%—…" else USUAL
