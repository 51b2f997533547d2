"""Make links that restore a view in another browser, with the reader's own texts on request.

Bound widgets are in the address anyway. Typed texts are not, since servers log the addresses of requests.
"""

from collections.abc import Sequence
from urllib.parse import urlencode

import streamlit as st

from bertviz_core.text import escape_markdown
from ui import session
from ui.address.registry import NUMBERS, TYPED, link_query, names_read_once, take, whole
from ui.components.frame import share_link, whole_view_link
from ui.examples import EXAMPLES
from ui.widgets.downloads import FILES, chosen_theme, take_theme
from ui.widgets.heading import DEFAULTS, LINKED, bring_texts
from ui.widgets.models import model_name
from ui.widgets.uploads import LINKED as LINKED_FILE
from ui.widgets.uploads import short_name

FILE_LISTS = {
    "sentences": (("source", "sentence_file", ()),),
    "predictions": (
        ("texts_from", "many_file", ("Several texts",)),
        ("labelled", "labelled_file", ("Train a probe", "Several texts")),
    ),
}
"""Page -> for each list that may come from a file: keys of source and file, and the views that read it; () for all."""
MOST_CHARACTERS = 1_600
"""Most characters of texts in a link; the whole address stays below 2,000, which every browser and proxy accepts."""
INCLUDE = "share_text"

READ_ONCE = (*names_read_once(), LINKED_FILE, FILES)
"""Names that are removed from an address once read."""


def take_from_address() -> None:
    """Read and remove texts in the address, and names that are only meaningful with them."""
    brought = take(READ_ONCE)
    typed = {key: brought[key] for key in TYPED if key in brought}
    bring_texts(typed)
    session.store(LINKED, {**session.stored(LINKED, {}), **typed})
    if LINKED_FILE in brought:
        session.store(LINKED_FILE, short_name(brought.pop(LINKED_FILE)))
    if FILES in brought:
        take_theme(brought.pop(FILES))
    for key, text in brought.items():
        value = whole(text) if key in NUMBERS else text
        if value is not None:
            session.store(key, value)


def whole_view(page: str) -> None:
    """Show the link from a frame to the whole dashboard, with the texts of the frame's own link.

    Texts typed in the frame are left out, since the reader did not ask to put them into an address.
    """
    brought = session.stored(LINKED, {})
    without = carried_texts(page, False)
    texts = [(key, value) for key, value in carried_texts(page, True) if brought.get(key) == value]
    whole_view_link([*without, *(each for each in texts if each not in without)], "whole_view")


def share_panel(page: str, title: str) -> None:
    """Offer a link to the view."""
    st.markdown("This link shows the same page, model and settings in another browser.")
    with_text = st.toggle("Include the text", key=INCLUDE, help="Also the second text, and what is typed on this page.")
    read, names = files_read(page)
    named = [(LINKED_FILE, name) for name in names[:1]]
    carried = [*carried_texts(page, with_text), *(named if with_text else ())]
    size = len(urlencode(carried))
    if size > MOST_CHARACTERS:
        st.warning(
            f"The text would make the address {size:,} characters longer. Some browsers, mail programs and proxies cut "
            "addresses at about 2,000 characters, so this link is without the text: send it separately."
        )
        carried = carried_texts(page, False)
    files = chosen_theme()
    share_link([*([(FILES, files)] if files else []), *carried], f"Inside BERT: {title}", model_name(), "share_link")
    st.caption(frame_words(session.settings().frame_ancestors))
    if with_text:
        st.caption("Servers and browsers log addresses: do not include confidential text.")
    else:
        st.caption("The text is left out, because servers and browsers log addresses.")
    if read:
        what = " and ".join(f"The file {escape_markdown(name)}" for name in names) or "An uploaded file"
        verb = "are" if names[1:] else "is"
        st.caption(f"{what} {verb} not part of the link: readers need to upload the file, and then see the same view.")


def files_read(page: str) -> tuple[bool, list[str]]:
    """Whether the current view of a page reads a file, and the names of the uploaded files."""
    view = session.stored("view")
    read = [
        session.stored(key)
        for source, key, views in FILE_LISTS.get(page, ())
        if session.stored(source) == "file"
        and (not views or view in views)
        and (key != "labelled_file" or view != "Several texts" or session.stored("answered_by") == "probe")
    ]
    return bool(read), [str(file[0]) for file in read if file]


def frame_words(ancestors: Sequence[str]) -> str:
    """Describe which sites may embed the dashboard (`INSIDE_BERT_FRAME_ANCESTORS`), in Markdown."""
    others = [escape_markdown(each) for each in ancestors if each not in ("'self'", "'none'")]
    if others:
        return f"The frame works on pages of {', '.join(others)}."
    return (
        "No other site may show the frame of this server; its administrator can allow some in "
        "`INSIDE_BERT_FRAME_ANCESTORS`."
    )


def carried_texts(page: str, typed: bool) -> list[tuple[str, str]]:
    """Parameters added to a link to the page, with or without the reader's own texts, as (name, value)."""
    values = {str(key): st.session_state[key] for key in st.session_state}
    example = EXAMPLES.get(str(values.get("example")), ("", ""))[1]
    edited = {key: str(values.get(f"{key}_of")) for key in ("edited", "edited_pair")}
    from_file = page == "sentences" and values.get("source", "typed") != "typed"
    return list(link_query(page, values, {**DEFAULTS, **edited, "sentences": example}, typed, from_file))
