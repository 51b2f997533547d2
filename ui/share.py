"""Make links that restore a view in another browser, with the reader's own texts on request.

Bound widgets are in the address anyway. Typed texts are not, since servers log the addresses of requests.
"""

from collections.abc import Mapping, Sequence
from secrets import token_hex
from urllib.parse import urlencode

import streamlit as st

from bertviz_core.questions.views.corpus import CORPUS_QUERY
from bertviz_core.text import escape_markdown
from ui import session
from ui.address.registry import NUMBERS, TYPED, link_query, names_read_once, take, whole
from ui.components.frame import TAB_TEXTS, found_texts, request_tab_texts, share_link, store_tab_texts, whole_view_link
from ui.examples import EXAMPLES
from ui.session import FIRST_TEXT, HAS_TAB_TEXTS, SECOND_TEXT, WORD
from ui.widgets.files import FILES, chosen_theme, take_theme
from ui.widgets.lists import LINKED as LINKED_FILE
from ui.widgets.lists import short_name

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
DEFAULTS = {
    "corpus_query": CORPUS_QUERY,
    "text": session.DEFAULT_TEXT,
    "word": WORD,
    "first_text": FIRST_TEXT,
    "second_text": SECOND_TEXT,
}
"""Default texts, which no link needs to include."""

READ_ONCE = (*names_read_once(), LINKED_FILE, FILES)
"""Names that are removed from an address once read."""
LINKED = "texts_of_a_link"
"""Session key: name -> text in the link that opened the session."""


def take_from_address() -> None:
    """Read and remove texts in the address, and names that are only meaningful with them."""
    brought = take(READ_ONCE)
    session.store(LINKED, {**session.stored(LINKED, {}), **{key: brought[key] for key in TYPED if key in brought}})
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
    share_link([*([(FILES, files)] if files else []), *carried], f"Inside BERT: {title}", "share_link")
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
    """Describe which sites may embed the dashboard, in Markdown.

    Args:
        ancestors: sources of `INSIDE_BERT_FRAME_ANCESTORS`.
    """
    others = [escape_markdown(each) for each in ancestors if each not in ("'self'", "'none'")]
    if others:
        return f"The frame works on pages of {', '.join(others)}."
    return (
        "No other site may show the frame of this server; its administrator can allow some in "
        "`INSIDE_BERT_FRAME_ANCESTORS`."
    )


def carried_texts(page: str, typed: bool) -> list[tuple[str, str]]:
    """Parameters added to a link to the page, with or without the reader's own texts, as (name, value)."""
    values = session.all_stored()
    example = EXAMPLES.get(str(values.get("example")), ("", ""))[1]
    edited = {key: str(values.get(f"{key}_of")) for key in ("edited", "edited_pair")}
    from_file = page == "sentences" and values.get("source", "typed") != "typed"
    return list(link_query(page, values, {**DEFAULTS, **edited, "sentences": example}, typed, from_file))


APPLIED_KEY, OWN_TEXTS_KEY, SESSION = "tour_given", "tour_own", "tour_session"
"""Session keys: texts written by steps, the reader's texts that they replaced, id of the session for the tab."""


def apply_texts(texts: Mapping[str, str]) -> None:
    """Fill in the texts of a step; the reader's own are restored at the end of the tour.

    Args:
        texts: key of a text field -> its text in the step.
    """
    applied, own = dict(st.session_state.get(APPLIED_KEY, {})), dict(st.session_state.get(OWN_TEXTS_KEY, {}))
    beside = applied.get("pair") if "text" not in applied else None
    if beside is not None and not {"text", "pair"} & texts.keys() and st.session_state.get("pair") == beside:
        texts = {**texts, "pair": own.get("pair", "")}  # a step put a second text beside the reader's own
    for key, text in texts.items():
        now = st.session_state.get(key)
        if now is not None and now != applied.get(key):
            own[key] = now
        if key not in st.query_params:
            st.session_state[key] = text
        applied[key] = text
    st.session_state.update({APPLIED_KEY: applied, OWN_TEXTS_KEY: own})


def read_tab_texts() -> None:
    """Pause the first run of a session until the browser has sent the texts of the tab, if it has any.

    So a reloaded page computes with the reader's text at once, and never with the default one first.
    """
    st.session_state[SESSION] = token_hex(8)
    if st.context.cookies.get(HAS_TAB_TEXTS) == "1" and not st.context.is_embedded:
        request_tab_texts(str(st.session_state[SESSION]), _take_tab_texts)
        st.stop()


def keep_texts() -> None:
    """Store the reader's texts in the browser's tab, for a reload."""
    store_tab_texts(_own_texts(), str(st.session_state[SESSION]), _take_tab_texts)


def _own_texts() -> dict[str, str]:
    """The reader's texts, also those replaced by a step, without default texts."""
    applied, own = st.session_state.get(APPLIED_KEY, {}), st.session_state.get(OWN_TEXTS_KEY, {})
    current = {key: st.session_state.get(key) for key in TYPED}
    written = {
        key: own.get(key) if key in applied and text == applied[key] else text
        for key, text in current.items()
        if key in applied or text != DEFAULTS.get(key, "")
    }
    return {key: text for key, text in written.items() if isinstance(text, str)}


def _take_tab_texts() -> None:
    """Restore the texts of the tab unless a link contains texts; those replaced by a step are restored at its end."""
    linked, stored = st.session_state.get(LINKED, ()), found_texts(st.session_state.get(TAB_TEXTS))
    applied, own = st.session_state.get(APPLIED_KEY, {}), dict(st.session_state.get(OWN_TEXTS_KEY, {}))
    for key, text in stored.items():
        if key not in TYPED or key in linked:
            continue
        if key in applied and st.session_state.get(key) == applied[key]:
            own[key] = text
        else:
            st.session_state[key] = text
    st.session_state[OWN_TEXTS_KEY] = own


def restore_texts() -> None:
    """Restore the reader's texts, except in fields that the reader has changed since."""
    applied, own = st.session_state.pop(APPLIED_KEY, {}), st.session_state.pop(OWN_TEXTS_KEY, {})
    for key, text in applied.items():
        if st.session_state.get(key) == text:
            st.session_state.pop(key, None)  # where there was none, its field begins with the default
            if key in own:
                st.session_state[key] = own[key]
