"""Write the tables of the documents that follow from the code: `make tables`, or `python -m docs.tables`.

docs/pages.md lists the pages; what a page shows is written there by hand, and for a new one taken from its figures.
docs/lessons.md lists every name that an address may have.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.figures import all_figures
from ui.address.registry import ROWS, AddressName
from ui.lessons.library import RESERVED

DOCS = Path(__file__).parent
PAGES_HEAD = "| page | question | what it shows |"
NAMES_HEAD = "| name | pages | value | what it is |"
VALUES = {"whole": "number", "position": "number", "span": "two numbers", "head": "number", "layer": "layer"}
"""Kind of a parameter -> what its value is called; others are words."""


def pages_table(text: str) -> Iterator[str]:
    """A row for each page; `text` has what is written of them."""
    shows = dict(re.findall(r"(?m)^\| ([^|]+?) \| [^|]+\? \| (.+) \|$", text))
    for name, entry in PAGES.items():
        figures = (each.description for each in all_figures().values() if each.chart.partition("_")[0] == name)
        yield f"| {entry.title} | {entry.question} | {shows.get(entry.title) or '; '.join(figures)} |"


def names_table(text: str) -> Iterator[str]:
    """A row for each name of an address."""
    for row in ROWS:
        if row.param.key not in RESERVED:
            yield f"| `{row.param.key}` | {', '.join(row.pages) or 'all'} | {value_of(row)} | {row.param.help} |"


def value_of(row: AddressName) -> str:
    """Text in the table for a value."""
    if row.param.options == ("false", "true"):
        return "`true`"
    words = ", ".join(f"`{option}`" for option in row.param.options)
    return words or VALUES.get(row.param.kind, "word")


TABLES = {"pages.md": (PAGES_HEAD, pages_table), "lessons.md": (NAMES_HEAD, names_table)}
"""Document -> the head of its table, and its rows."""


def with_table(name: str) -> str:
    """The text of a document with its table as it follows from the code."""
    head, rows = TABLES[name]
    text = (DOCS / name).read_text(encoding="utf-8")
    before, _, after = text.partition(f"{head}\n")
    line, *_ = after.splitlines()
    rest = re.sub(r"\A(?:\|.*\n)+", "", after)
    return "".join((before, head, "\n", line, "\n", *(f"{row}\n" for row in rows(text)), rest))


def main() -> None:
    """Write the tables."""
    for name in TABLES:
        (DOCS / name).write_text(with_table(name), encoding="utf-8")


if __name__ == "__main__":
    main()
