"""Check that the description of a colour scale agrees with its bar: each number is at the tick of this value."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import plotly.graph_objects as go

HOW = r"logarithmic|log\(1 \+ x\)|by the square root|one scale for all heads|a fixed scale|a scale of its own"
SENTENCE = re.compile(rf"(?P<unit>.+), (?P<low>.+?) to (?P<high>.+?)(?:, (?P<how>{HOW}))?")
SPACED: Mapping[str, Callable[[float], float]] = {
    "logarithmic": math.log10,
    "log(1 + x)": math.log1p,
    "by the square root": math.sqrt,
}
CLOSE = 0.02
"""Tolerance of a tick's position, as a share of the bar: the ends are written with four digits."""


def scale_faults(figure: go.Figure, sentences: str) -> list[str]:
    """Errors in the descriptions of a figure's scales, separated by "; "; empty if each bar has a correct one.

    Args:
        figure: the drawn figure.
        sentences: descriptions of colours in a caption or a table.
    """
    output, found = [each for each in sentences.split("; ") if each], []
    bars = list(drawn_bars(figure))
    for bar, low, high in bars:
        mine = [each for each in output if _fits(each, bar, low, high)]
        if not mine:
            found.append(f"no sentence of {output} says a bar {bar['ticktext']} at {bar['tickvals']}, {low} to {high}")
    if len(output) > len(bars):
        found.append(f"{output} are more than the {len(bars)} bars")
    return found


def drawn_bars(figure: go.Figure) -> Iterator[tuple[dict[str, Any], float, float]]:
    """Every drawn colour bar that has its own ticks, and the drawn numbers of its ends."""
    drawn = figure.to_plotly_json()
    layout = drawn["layout"]
    used = {trace.get("coloraxis") or trace.get("marker", {}).get("coloraxis") for trace in drawn["data"]}
    for name in used - {None}:
        axis = layout[name]
        if axis.get("colorbar") and axis.get("showscale") is not False:
            yield axis["colorbar"], axis["cmin"], axis["cmax"]
    for trace in drawn["data"]:
        for holder, ends in ((trace, ("zmin", "zmax")), (trace.get("marker", {}), ("cmin", "cmax"))):
            if holder.get("colorbar") and holder.get("showscale") is not False and not holder.get("coloraxis"):
                yield holder["colorbar"], holder[ends[0]], holder[ends[1]]


def _fits(sentence: str, bar: Mapping[str, Any], low: float, high: float) -> bool:
    match = SENTENCE.fullmatch(sentence)
    title = re.sub(r"<[^<>]*>|\u00a0| ", "", bar["title"]["text"])
    unit = re.sub(" ", "", match["unit"]) if match else ""
    if match is None or (unit not in title and not (title and unit.endswith(title))):  # a phone's bar has the last word
        return False
    ticks = [_number(word) for word in bar["ticktext"]]
    ends = _number(match["low"]), _number(match["high"])
    if None in (*ticks, *ends):  # text, such as names of layers, or sizes with units
        first, last = str(bar["ticktext"][0]), str(bar["ticktext"][-1])
        return (match["low"], match["high"]) in ((first, last), (f"less than {first}", f"more than {last}"))
    spaced = SPACED.get(match["how"] or "", float)
    if match["how"] == "logarithmic" and ends[0] == 0:  # 0 is below all other values
        return ticks[0] == 0 and bar["tickvals"][0] <= low + CLOSE * (high - low)
    start, stop = spaced(float(ends[0] or 0)), spaced(float(ends[1] or 0))
    return all(
        abs((place - low) / (high - low) - (spaced(float(number or 0)) - start) / (stop - start)) < CLOSE
        for place, number in zip(bar["tickvals"], ticks, strict=True)
    )


def _number(word: str) -> float | None:
    try:
        return float(str(word).replace("−", "-").replace(",", ""))
    except ValueError:
        return None
