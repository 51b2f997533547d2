"""The link that restores a view in another browser: the address as it stands, and the reader's own words when asked.

Every control that is bound to the address is in the link by itself. What a reader typed is not: an address ends in the
logs of every server on its way.
"""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlencode

import streamlit as st

from ui import session
from ui.address.query import whole
from ui.address.registry import NUMBERS, TYPED, linked, names_once_taken
from ui.components.share_link import share_link, whole_view_link
from ui.examples import EXAMPLES
from ui.session import FIRST_TEXT, SECOND_TEXT, WORD
from ui.widgets.files.theme import FILES, chosen_theme, take_theme
from ui.widgets.formatting import escape_markdown
from ui.widgets.lists.uploads import LINKED as LINKED_FILE
from ui.widgets.lists.uploads import short_name

FILE_LISTS = {
    "sentences": (("source", "sentence_file", ()),),
    "predictions": (
        ("texts_from", "many_file", ("Several texts",)),
        ("labelled", "labelled_file", ("Train a head", "Several texts")),
    ),
}
"""Page -> for each list that may come from a file: keys of its source and file, views that read it, () for all."""
MOST_CHARACTERS = 1_600
"""Of an address, for typed words: with the rest it stays below 2,000, which every browser and proxy lets through."""
INCLUDE = "share_text"
DEFAULTS = {
    "corpus_query": session.CORPUS_QUERY,
    "text": session.DEFAULT_TEXT,
    "word": WORD,
    "first_text": FIRST_TEXT,
    "second_text": SECOND_TEXT,
}
"""What everyone begins with, so that no link need carry it."""

LINKED = "texts_of_a_link"
"""Key of the session: the texts that a link brought, by name."""


def take_from_address() -> None:
    """What a link carries of what was typed is taken once; the address keeps none of it after that."""
    brought = {key: st.query_params[key] for key in TYPED if key in st.query_params}
    session.store(LINKED, {**session.stored(LINKED, {}), **brought})
    if LINKED_FILE in st.query_params:
        session.store(LINKED_FILE, short_name(st.query_params[LINKED_FILE]))
        del st.query_params[LINKED_FILE]
    if FILES in st.query_params:
        take_theme(st.query_params[FILES])
        del st.query_params[FILES]
    for key in names_once_taken():
        if key in st.query_params:
            value = whole(st.query_params[key]) if key in NUMBERS else st.query_params[key]
            if value is not None:
                session.store(key, value)
            del st.query_params[key]


@st.fragment
def share_button(page: str, title: str) -> None:
    """The button; what is behind it is made when it is opened.

    Args:
        page: name of the page that is shown.
        title: what it is called.
    """
    with st.popover("Share", type="tertiary", key="share_open", on_change="rerun") as place:
        if place.open:
            _panel(page, title)


def whole_view(page: str) -> None:
    """In a frame: the link that opens what it shows as a page of its own, with the texts that the frame's link brought.

    What was typed in the frame is left out, since no one asked for it to be in an address.

    Args:
        page: name of the page that is shown.
    """
    brought = session.stored(LINKED, {})
    words = [(key, value) for key, value in _words(page) if brought.get(key) == value]
    whole_view_link([*_choices(page), *words], "whole_view")


def _panel(page: str, title: str) -> None:
    st.markdown("This link shows the same page, model and settings in another browser.")
    asked = st.toggle("Include the text", key=INCLUDE, help="Also the second text, and what is typed on this page.")
    read, names = _files(page)
    named = [(LINKED_FILE, name) for name in names[:1]]
    carried = [*_choices(page), *([*_words(page), *named] if asked else ())]
    size = len(urlencode(carried))
    if size > MOST_CHARACTERS:
        st.warning(
            f"The text would make the address {size:,} characters longer, and beyond about 2,000 some browsers, mail "
            "programs and proxies cut it: send the text beside this link, which goes without it."
        )
        carried = list(_choices(page))
    files = chosen_theme()
    share_link([*([(FILES, files)] if files else []), *carried], f"Inside BERT: {title}", "share_link")
    st.caption(frame_words(session.settings().frame_ancestors))
    if asked:
        st.caption("Addresses end in the logs of servers and browsers: include no text that is confidential.")
    else:
        st.caption("The text is left out, since addresses end in logs.")
    if read:
        what = " and ".join(f"The file {escape_markdown(name)}" for name in names) or "An uploaded file"
        verb = "are" if names[1:] else "is"
        st.caption(
            f"{what} {verb} no part of a link: whoever opens it is asked for the file, and then sees the same view."
        )


def _files(page: str) -> tuple[bool, list[str]]:
    """Whether the view reads a file, and the names of those that were handed over."""
    view = session.stored("view")
    read = [
        session.stored(key)
        for source, key, views in FILE_LISTS.get(page, ())
        if session.stored(source) == "file"
        and (not views or view in views)
        and (key != "labelled_file" or view != "Several texts" or session.stored("asked") == "probe")
    ]
    return bool(read), [str(held[0]) for held in read if held]


def frame_words(ancestors: Sequence[str]) -> str:
    """Whose pages may show the dashboard in a frame, in Markdown.

    Args:
        ancestors: `INSIDE_BERT_FRAME_ANCESTORS`, as a content security policy says it.
    """
    others = [escape_markdown(each) for each in ancestors if each not in ("'self'", "'none'")]
    if others:
        return f"The frame works on pages of {', '.join(others)}."
    return (
        "This server lets no other site show the frame; whoever runs it can name some in `INSIDE_BERT_FRAME_ANCESTORS`."
    )


def _choices(page: str) -> Iterator[tuple[str, str]]:
    return _stored(linked("always", page))


def _words(page: str) -> Iterator[tuple[str, str]]:
    """What was typed, and the numbers that go with it."""
    example = EXAMPLES.get(str(session.stored("example")), ("", ""))[1]
    own = {"edited": session.stored("text"), "edited_pair": session.stored("pair")}
    defaults = {**DEFAULTS, **own, "sentences": example}
    from_file = page == "sentences" and session.stored("source", "typed") != "typed"
    for key in linked("asked", "" if from_file else page):
        value = session.stored(key)
        if isinstance(value, str) and value != defaults.get(key, ""):
            yield key, value
    yield from _stored(linked("column" if from_file else "placed", page))


def _stored(keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((key, str(session.stored(key))) for key in keys if session.stored(key))
