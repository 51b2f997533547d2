"""All figures by their names: whatever a module of bertviz_core.figures declares with `figure`."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from bertviz_core import figures
from bertviz_core.errors import TextError
from bertviz_core.figures.base.spec import DECLARED, DeclaredFigure
from bertviz_core.text import escape_controls, quoted

PAGES = (
    "overview",
    "parameters",
    "architecture",
    "checkpoint",
    "tokens",
    "representations",
    "heads",
    "attention",
    "sentences",
    "predictions",
    "causes",
    "words",
    "corpus",
)
"""In the order in which the dashboard has them; figures of any other page come last."""


@cache
def all_figures() -> Mapping[str, DeclaredFigure[...]]:
    """Name -> figure, page by page and then by name, of all that are declared anywhere in bertviz_core.figures."""
    for module in walk_packages(figures.__path__, f"{figures.__name__}."):
        import_module(module.name)
    places = {page: place for place, page in enumerate(PAGES)}
    by_page = sorted(
        DECLARED.values(), key=lambda each: (places.get(each.chart.partition("_")[0], len(PAGES)), each.name)
    )
    return {each.name: each for each in by_page}


def no_figure(name: str, known: Iterable[str], place: str = "") -> TextError:
    """The refusal of a name that no figure has.

    Args:
        name: what was asked for.
        known: names that there are.
        place: what they are figures of, such as " of this result".
    """
    names = list(known)
    near = get_close_matches(name, names, 1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    return TextError(
        f"There is no figure {quoted(escape_controls(name), 40)}{place}.{meant} Choose {', '.join(names)}."
    )
