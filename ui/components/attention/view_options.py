"""Encode the options of the attention view as one word in the address, such as lines_order-entropy_heads-0.1-3.5.

Only options that differ from the defaults are written, so that the default view adds nothing. The word consists of
letters, digits and -._ only, so that nothing is escaped in an address.
"""

import re
from dataclasses import dataclass
from typing import Literal, cast

from ui.components.attention.colours import MEASURES

MOST_CHARACTERS = 400
Head = tuple[int, int]
Range = tuple[int, int, int, int]
Scale = Literal["", "own", "fixed"]
Shades = Literal["", "even", "lifted"]


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """How the view is drawn, and what is selected in it; the defaults are those of a new view."""

    lines: bool = False
    """Whether the open heads are drawn as lines, not as maps."""
    order: str = ""
    """Measure that orders the heads, with hyphens for spaces; "" for the order of the model."""
    frame: str = ""
    """Measure that frames the heads; "" for none."""
    scale: Scale = ""
    """End of the colour scale: "" for the largest weight of all heads, "own" for that of each head, "fixed" for 1."""
    shades: Shades = ""
    """How weights are mapped to shades; "" chooses by the length of the text."""
    hide: int | None = None
    """Share of the largest weight, in percent, below which no line is drawn; None chooses by the length of the text."""
    heads: tuple[Head | None, ...] = ()
    """(layer, head) of the selected heads in the order of their hues, None for a free hue; () if only the open head is
    selected."""
    zoom: Range | None = None
    """(first query, end, first key, end) of the visible part, ends excluded; None for the whole."""
    cell: tuple[int, int] | None = None
    """(query, key) of the clicked cell of the opened head."""
    pins: tuple[str, ...] = ()
    """Pinned tokens: q or k and the index on the axis."""


_NUMBER = "(?:0|[1-9][0-9]{0,5})"
_HEAD = rf"(?:{_NUMBER}\.{_NUMBER})?"
_MEASURE = "|".join(name.replace(" ", "-") for name, *_ in MEASURES.values())
_PARTS = {
    "lines": "",
    "order": _MEASURE,
    "frame": _MEASURE,
    "scale": "own|fixed",
    "shades": "even|lifted",
    "hide": "[0-9]|[1-9][0-9]|100",
    "heads": f"{_HEAD}(?:-{_HEAD}){{0,7}}",
    "zoom": rf"{_NUMBER}(?:\.{_NUMBER}){{3}}",
    "cell": rf"{_NUMBER}\.{_NUMBER}",
    "pins": f"[qk]{_NUMBER}(?:-[qk]{_NUMBER})*",
}


def from_query(text: str) -> ViewOptions:
    """Parse the word in the address; the defaults if any part is malformed, unknown or repeated.

    Whether its numbers exist in the current model and text is not checked here.
    """
    parts: dict[str, str] = {}
    for part in text.split("_") if len(text) <= MOST_CHARACTERS else [""]:
        name, _, value = part.partition("-")
        if name in parts or name not in _PARTS or not re.fullmatch(_PARTS[name], value):
            return ViewOptions()
        parts[name] = value
    heads = parts["heads"].split("-") if "heads" in parts else []
    pins = parts["pins"].split("-") if "pins" in parts else []
    for named in ([each for each in heads if each], pins):
        if len(set(named)) < len(named):
            return ViewOptions()
    return ViewOptions(
        lines="lines" in parts,
        order=parts.get("order", ""),
        frame=parts.get("frame", ""),
        scale=cast(Scale, parts.get("scale", "")),
        shades=cast(Shades, parts.get("shades", "")),
        hide=int(parts["hide"]) if "hide" in parts else None,
        heads=tuple(cast(Head, _numbers(each)) if each else None for each in heads),
        zoom=cast(Range, _numbers(parts["zoom"])) if "zoom" in parts else None,
        cell=cast(Head, _numbers(parts["cell"])) if "cell" in parts else None,
        pins=tuple(pins),
    )


def to_query(look: ViewOptions) -> str:
    """Encode options as a word, "" for the defaults; pins are left out if they make it too long."""
    heads = ["" if head is None else _dotted(head) for head in look.heads]
    parts = [
        "lines" if look.lines else "",
        f"order-{look.order}" if look.order else "",
        f"frame-{look.frame}" if look.frame else "",
        f"scale-{look.scale}" if look.scale else "",
        f"shades-{look.shades}" if look.shades else "",
        f"hide-{look.hide}" if look.hide is not None else "",
        f"heads-{'-'.join(heads)}" if heads else "",
        f"zoom-{_dotted(look.zoom)}" if look.zoom else "",
        f"cell-{_dotted(look.cell)}" if look.cell else "",
    ]
    pins = [f"pins-{'-'.join(look.pins)}"] if look.pins else []
    full = "_".join(filter(None, parts + pins))
    return full if len(full) <= MOST_CHARACTERS else "_".join(filter(None, parts))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split("."))


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(str(number) for number in numbers)
