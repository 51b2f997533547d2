"""Mark the words of docs/glossary.md on a page and explain them; list all of them, with a search."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import streamlit as st

_HERE = Path(__file__)
OTHER_SENSE = {
    "checkpoint": ("head", "position"),
    "representations": ("component",),
    "sentences": ("component", "embedding", "position"),
}
"""Page -> words of the glossary that have another meaning there, such as a task's head or a principal component."""
_component = st.components.v2.component(
    "glossary",
    html='<button class="glossary-open" type="button">Glossary</button><div class="glossary-list" popover>'
    '<input class="glossary-search" type="search" aria-label="Search the glossary" placeholder="Search" />'
    '<p class="glossary-count" role="status"></p><div class="glossary-found"></div></div>'
    '<div class="glossary-meaning" popover="manual" role="tooltip"></div>',
    css=_HERE.with_name("glossary.css").read_text(encoding="utf-8"),
    js=_HERE.with_name("glossary.js").read_text(encoding="utf-8"),
    isolate_styles=False,  # it marks words outside of the component
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A word and its meaning, as plain text."""

    word: str
    """The word, or several words with one explanation, separated by commas."""
    meaning: str
    """One sentence, without a full stop."""

    @property
    def forms(self) -> tuple[str, ...]:
        """Forms of the word in a text: singular and plural."""
        return tuple(form for word in self.word.split(", ") for form in (word, _plural(word)))


def glossary_entries(text: str) -> tuple[Entry, ...]:
    """Parse the rows of the glossary's table."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")][2:]
    return tuple(Entry(*(_plain(cell) for cell in row)) for row in rows)


def _plain(cell: str) -> str:
    """A cell of a table without Markdown markup."""
    return re.sub(r"\\(.)|`", lambda mark: mark[1] or "", cell).strip()


def _plural(word: str) -> str:
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word) else f"{word}s"


ENTRIES = glossary_entries((_HERE.parents[3] / "docs" / "glossary.md").read_text(encoding="utf-8"))
"""All entries in the order of the document."""


def glossary(here: str) -> None:
    """Show the button that opens the list, and mark the words on the page."""
    # As text, since Streamlit inspects every value of a list at every click.
    _component(key="glossary_words", data={"words": _words(here)}, width="content", height="content")


@cache
def _words(here: str) -> str:
    """All words for a page, as JSON."""
    unlike = OTHER_SENSE.get(here, ())
    return json.dumps(
        [
            {"word": each.word, "meaning": each.meaning, "forms": () if each.word in unlike else each.forms}
            for each in ENTRIES
        ]
    )
