"""The look of the attention view as one short word of the address, such as lines_order-entropy_heads-0.1-3.5.

Only what differs from the view as it begins is written, so that a plain address stays plain. Letters, digits and -._
alone: nothing of it is escaped in an address.
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
    """How the view is drawn, and what of it is looked at; without arguments, as it begins."""

    lines: bool = False
    """Whether the opened heads are drawn as lines, not as a map."""
    order: str = ""
    """Measure by which the heads are ordered, with hyphens for spaces; "" for the order of the model."""
    frame: str = ""
    """Measure that frames the heads; "" for none."""
    scale: Scale = ""
    """Where the colours end: "" at the largest weight of all heads, "own" at that of each head, "fixed" at 1."""
    shades: Shades = ""
    """How weights become shades; "" leaves that to the length of the text."""
    hide: int | None = None
    """Share of the largest weight, in percent, below which no line is drawn; None leaves it to the text's length."""
    heads: tuple[Head | None, ...] = ()
    """(layer, head) of the selected heads, each in the place of its hue, None where a hue is free; () for the opened
    head alone."""
    zoom: Range | None = None
    """(first query, end, first key, end) of the part that is looked at, ends excluded; None for the whole."""
    cell: tuple[int, int] | None = None
    """(query, key) of the clicked cell of the opened head."""
    pins: tuple[str, ...] = ()
    """Pinned tokens: q or k and the entry of the axis."""


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
    """The look that this word describes; the plain one where any part of it is malformed, unknown or said twice.

    Whether its numbers exist in the model and the text at hand is not known here.
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
    """The word for a look, "" for the plain one; pins are left out where they make it too long."""
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
