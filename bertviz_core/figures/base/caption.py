"""Captions of figures in files: model, revision, text and the range of the colours."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.base.colour_bars import scale_words, spacing
from bertviz_core.figures.base.text_width import plain
from bertviz_core.text import digits, escape_controls

LONGEST_TEXT = 120
"""Maximum length of a text in a caption, in characters."""
SPELLED = 2
"""Maximum number of texts quoted in full; of more, the first and their number."""


@dataclass(frozen=True, slots=True)
class Caption:
    """Sources of a figure, as plain text."""

    words: str
    """Description; may be empty."""
    models: tuple[tuple[str, str], ...]
    """(name, revision) of every model; "" for an unknown revision."""
    texts: tuple[str, ...] = ()
    """Texts that the figure depends on."""
    colours: str = ""
    """Unit and range of numeric colours."""

    @property
    def line(self) -> str:
        """Return the caption as one line."""
        words = spelled(self.words).rstrip(". ")
        named = [
            f"{spelled(name)}, revision {spelled(revision)}" if revision else spelled(name)
            for name, revision in self.models
        ]
        models = f"Model{'s' if len(named) > 1 else ''}: {'; '.join(named)}" if named else ""
        colours = f"Colours: {self.colours}" if self.colours else ""
        parts = (words, models, texts_words(self.texts), colours)
        return " ".join(part if part.endswith((".”", "?”", "!”")) else f"{part}." for part in parts if part)


def caption_of(
    figure: go.Figure, words: str, models: Sequence[tuple[str, str]], texts: Sequence[str | None] = ()
) -> Caption:
    """Build the caption of a figure; the colour range is read from the figure.

    Args:
        figure: the drawn figure.
        words: description; the title of the figure and the names of the models are removed from it.
        models: (name, revision) of the models.
        texts: texts of the models; empty ones and None are left out.
    """
    description = _beyond(words, _unescaped(figure.layout.title.text or ""), [name for name, _ in models])
    return Caption(description, tuple(models), tuple(text for text in texts if text), colour_range(figure))


def _beyond(words: str, title: str, models: Sequence[str]) -> str:
    """Remove title and models from a description."""
    bare, end = "".join(title.split()), 0
    for letter in bare:
        end += len(words[end:]) - len(words[end:].lstrip())
        if words[end : end + 1] != letter:
            break
        end += 1
    else:
        if bare and not words[end:]:
            return ""
        if bare and words[end] in ".:;":
            words = words[end:].lstrip(".:; ")
            words = words[:1].upper() + words[1:]
    for name in models:
        words = re.sub(rf" — {re.escape(name)}(?=[.,:;]?(?:\s|$))", "", words)
    return words


def colour_range(figure: go.Figure) -> str:
    """Return the range of every colour scale of a figure, "cosine, −1 to 1"; "" without one."""
    ranges = [
        scale_words(" ".join(_unescaped(unit).split()), low, high, how) for unit, low, high, how in _scales(figure)
    ]
    return "; ".join(dict.fromkeys(ranges))


def spelled(text: str) -> str:
    """Format user text on one line, with unprintable characters escaped."""
    return escape_controls(" ".join(text.split()))


def texts_words(texts: Sequence[str]) -> str:
    """Format the texts of a figure, 'Text: “...”'; "" if it depends on none."""
    if not texts:
        return ""
    if len(texts) > SPELLED:
        return f"{len(texts):,} texts, the first {_quoted(texts[0])}"
    return f"Text{'s' if len(texts) > 1 else ''}: {' and '.join(map(_quoted, texts))}"


def _quoted(text: str) -> str:
    text = spelled(text)
    return f"“{text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1].rstrip() + '…'}”"


def _scales(figure: go.Figure) -> Iterator[tuple[str, str, str, str]]:
    """Yield (unit, low, high, spacing) of every visible colour bar."""
    layout = figure.layout.to_plotly_json()
    for name, axis in layout.items():
        if name.startswith("coloraxis") and axis.get("colorbar"):
            yield _ends(axis["colorbar"], axis.get("cmin"), axis.get("cmax"), None)
    for trace in figure.data:
        if "colorbar" in trace and _shows(trace):
            yield _ends(trace.colorbar.to_plotly_json(), trace.zmin, trace.zmax, trace.z)
        elif "marker" in trace and "colorbar" in trace.marker and _shows(trace.marker):
            marker = trace.marker
            yield _ends(marker.colorbar.to_plotly_json(), marker.cmin, marker.cmax, marker.color)


def _shows(scale: Any) -> bool:
    return bool(scale.colorbar.to_plotly_json()) and scale.showscale is not False


def _ends(bar: dict[str, Any], low: float | None, high: float | None, values: Any) -> tuple[str, str, str, str]:
    """Return the ends of a scale, from the ticks of its bar or as numbers."""
    title = bar.get("title") or {}
    unit = ((title.get("text") if isinstance(title, dict) else str(title)) or "value").strip()
    ticks = bar.get("ticktext")
    if ticks is not None and len(ticks) > 1:
        first, last, how = _ends_of_ticks(ticks, bar.get("tickvals"), low, high)
        return unit.removesuffix(f", {how}"), first, last, how
    if (low is None or high is None) and values is not None:
        numbers = np.asarray(values, dtype=np.float64)
        low = float(np.nanmin(numbers)) if low is None else low
        high = float(np.nanmax(numbers)) if high is None else high
    return unit, _end(low), _end(high), ""


def _ends_of_ticks(words: Sequence[str], places: Any, low: float | None, high: float | None) -> tuple[str, str, str]:
    """Return the ends of a bar from its tick labels, which may be inside the range and may not be numbers."""
    first, last = _minus(words[0]), _minus(words[-1])
    if low is None or high is None or places is None or places[0] == places[-1]:
        return first, last, ""
    if found := spacing(words, places):
        how, number = found
        return _end(number(low)), _end(number(high)), how
    if np.allclose(sorted((places[0], places[-1])), (low, high), rtol=0, atol=1e-6 * (high - low)):
        return first, last, ""
    return f"less than {first}", f"more than {last}", ""  # uneven ticks do not determine the ends


def _end(number: float | None) -> str:
    if number is None:
        return "?"
    return _minus(f"{number:,.0f}") if 1000 <= abs(number) < 1e9 else digits(number)


def _minus(number: str) -> str:
    return str(number).replace("-", "−")


def _unescaped(text: str) -> str:
    """Return the visible text of a label; W<sub>q</sub> becomes W_q."""
    return plain(text.replace("<sub>", "_").replace("<br>", " ").replace("\u2068", "").replace("\u2069", ""))
