"""Links between places in the drawing of the Journey and the pages that show them in full, in both directions.

A page without a row is linked from the drawing as a whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from bertviz_core.figures.pages import FIRST, PAGES
from ui.address.registry import ROWS

Part = Literal["text", "model", "answer", "cause", "embeddings", "layer", "head", "cell"]
"""A place in the drawing: the text, the model, what comes out, what that depends on, or an opened part."""
Default = Literal["first", "last", "longest"]
JOURNEY = "journey"
PLACE = {"token": "query", "layer": "layer", "head": "head", "key": "key"}
"""Field of the drawing's selection -> its name in the address of the Journey."""


class Name(NamedTuple):
    """A name in the address of a page: its value is a place in the drawing, or the same everywhere."""

    name: str
    template: str
    """Its value, with fields of the drawing's selection in braces."""
    default: Default | None = None
    """The layer, head or token that the page shows without it; None if that has no place in the drawing."""


@dataclass(frozen=True, slots=True)
class JourneyLink:
    """A place in the drawing, and a view that shows it in full."""

    part: Part
    page: str
    words: str = ""
    """What the page shows of the part; "" if its title says enough."""
    view: str = ""
    """View of the page; "" for the first one."""
    names: tuple[Name, ...] = ()


_HEAD = (Name("layer", "{layer}", "first"), Name("head", "{head}", "first"))
_ROWS = (
    JourneyLink("text", "tokens", names=(Name("token", "{token}", "longest"),)),
    JourneyLink("model", "overview"),
    JourneyLink("model", "parameters"),
    JourneyLink("model", "architecture"),
    JourneyLink("model", "checkpoint"),
    JourneyLink("answer", "predictions", names=(Name("position", "{token}", "longest"),)),
    JourneyLink("answer", "sentences"),
    JourneyLink("answer", "corpus"),
    JourneyLink("cause", "causes"),
    JourneyLink("cause", "words"),
    JourneyLink("embeddings", "representations", "the sum of every token", "Input"),
    JourneyLink("embeddings", "parameters", "the size of the tables", "Layers", (Name("split", "components"),)),
    JourneyLink("layer", "representations", "all numbers that leave it", "Values", (Name("layer", "{layer}", "last"),)),
    JourneyLink("layer", "architecture", "its modules", "One layer", (Name("layer", "{layer}", "first"),)),
    JourneyLink("layer", "parameters", "how many it has", "Layers"),
    JourneyLink("head", "attention", "its whole map", names=(*_HEAD, Name("query", "{token}"))),
    JourneyLink("head", "heads", "its weights", names=_HEAD),
    JourneyLink("head", "causes", "the answer without it", names=(Name("changed_head", "layer {layer}, head {head}"),)),
    JourneyLink(
        "cell",
        "heads",
        "every number of this cell",
        "One cell",
        (*_HEAD, Name("query", "{token}", "longest"), Name("key", "{key}")),
    ),
)
LINKS: Sequence[JourneyLink] = (
    *_ROWS,
    *(JourneyLink("model", page) for page in PAGES if page not in {JOURNEY, *(row.page for row in _ROWS)}),
)
"""In the order in which they are shown; a view of a page has at most one row with names."""


def drawing_links(layers: int, longest: int) -> list[dict[str, Any]]:
    """The rows for the drawing of one model and text, as JSON.

    Args:
        layers: number of layers.
        longest: position of the token that is selected by default.
    """
    return [
        {
            "part": row.part,
            "title": PAGES[row.page].title,
            "words": row.words,
            "page": "" if row.page == FIRST else row.page,
            "carried": ["model", *shared_names(row.page)],
            **_view(row, layers, longest),
        }
        for row in LINKS
    ]


def page_links(page: str, layers: int | None, longest: int | None) -> list[dict[str, Any]]:
    """Views of a page that have a place in the drawing, as JSON; None for what is unknown of the model or the text."""
    return [_view(row, layers, longest) for row in LINKS if row.page == page and row.names]


def shared_names(page: str) -> list[str]:
    """Names that the addresses of the Journey and of a page share, without those of a place in the drawing."""
    return [
        row.param.key
        for row in ROWS
        if {JOURNEY, page} <= set(row.pages) and row.linked == "shown" and row.param.key not in PLACE.values()
    ]


def _view(row: JourneyLink, layers: int | None, longest: int | None) -> dict[str, Any]:
    names = [(each.name, each.template, _standard(each.default, layers, longest)) for each in row.names]
    return {"view": row.view, "names": names}


def _standard(default: Default | None, layers: int | None, longest: int | None) -> str | None:
    """The number of a default; where it is unknown, a word that the address of the Journey may have, "" for none."""
    if default is None:
        return None
    numbers: Mapping[Default, int | None] = {
        "first": 0,
        "last": None if layers is None else layers - 1,
        "longest": longest,
    }
    number = numbers[default]
    return str(number) if number is not None else default if default != "longest" else ""
