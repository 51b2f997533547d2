"""The heading of a page, and its text fields, whose texts the tab keeps and a lesson replaces for a while."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from secrets import token_hex

import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.figures.pages import PAGES
from bertviz_core.models.sources import resolve
from bertviz_core.questions.views.corpus import CORPUS_QUERY
from bertviz_core.text import escape_controls, escape_markdown, isolated, shortened
from bertviz_core.trace.results import Tokens
from ui.address.navigation import bring_along, is_default, rewrite, show_in_journey, source_of, write, write_brought
from ui.address.registry import TYPED, whole
from ui.address.widgets import BOUND, keep_within
from ui.components.frame import TAB_TEXTS, found_texts, request_tab_texts, store_tab_texts
from ui.session import DEFAULT_TEXT, FIRST_TEXT, HAS_TAB_TEXTS, SECOND_TEXT, TOUR, WORD, settings, store, stored
from ui.widgets.models import model_name, second_name

ABOVE, SUBTITLES = "notices_above", "subtitles"
"""Session keys of the notices below the heading of the page, and of what stood there last for each page and model."""

beside_title: ContextVar[Callable[[], None]] = ContextVar("beside_title", default=lambda: None)
"""Draws something beside the title of the page."""


def heading(page: str, question: str = "") -> Callable[[str, str], None]:
    """Write the title of a page and its question.

    Returns what writes a model's name, and a note on it, behind the question, and the notices about it below.
    """
    entry = PAGES[page]
    question = question or entry.question
    with st.container(horizontal=True, vertical_alignment="bottom", key="page_title"):
        st.title(entry.title, anchor=False, width="content")
        show_in_journey(page)
        beside_title.get()()
    place, known, of = st.empty(), stored(SUBTITLES, {}), (page, question, model_name())
    # What was said of this model last, since a line more or less would move all that is below.
    place.markdown(known.get(of, question))

    def name_model(model: str, note: str) -> None:
        words = f"{question} :gray[{escape_markdown(model)}: {escape_markdown(note)}]"
        store(SUBTITLES, {**known, of: words})
        place.markdown(words)
        store(ABOVE, _notices(model))
        for notice in stored(ABOVE):
            st.warning(escape_markdown(notice), icon=":material/rule:")

    return name_model


def unshown(notices: Iterable[str]) -> list[str]:
    """The notices that do not stand below the heading of the page already, each once."""
    above = stored(ABOVE, ())
    return [notice for notice in dict.fromkeys(notices) if notice not in above]


def _notices(model: str) -> tuple[str, ...]:
    """What of the files of the models of this page decides numbers and is not followed, one sentence each."""
    notices: list[str] = []
    for name in filter(None, (model, second_name())):
        with suppress(BertvizError):  # of a second model, which may be a rounded copy; a page says what it lacks itself
            notices += resolve(name, replace(settings(), allow_hub=False)).notices
    return tuple(dict.fromkeys(notices))


@st.fragment
def panel(label: Callable[[], str], key: str, draw: Callable[[], None], icon: str | None = None) -> None:
    """Show the button; opening it draws the panel alone."""
    with st.popover(label(), type="tertiary", icon=icon, key=key, on_change="rerun") as place:
        if place.open:
            draw()


SECOND_LABEL = "Second text (pair or comparison)"
PAIR_HELP = (
    "Makes a pair: both texts in one input, with a separator between them. A model that was trained on pairs needs "
    "both: a premise, then its hypothesis. A cosine compares the two instead, each read by itself."
)
TEXT_HELP = "What the model reads. On a keyboard, Ctrl + Enter in the field applies it too."
TEXT_ON_PAGE, TEXT_PLACE = "text_on_page", "text_place"
"""Keys of a page's own field for the session's text, and of the container for it."""
MOST_QUOTED, LONGEST_EXAMPLE = 60, 200
"""Most characters of a text on a button, and of an example."""

ANSWERED = "What does the python eat?", "My python sleeps all day. Once a week it eats a mouse."
"""A question, and a text with its answer."""
PAIRS: Mapping[str, tuple[str, str, str]] = {
    "cosine": ("The cosine compares the text with a second one", DEFAULT_TEXT, SECOND_TEXT),
    "late-interaction": ("The second text is the query that the text is scored for", ANSWERED[1], ANSWERED[0]),
    "question-answering": ("The text is a question, and its answer is looked for in a second text", *ANSWERED),
    "sequence-classification": ("The model scores a second text for the text, which is a query", *ANSWERED),
    "next-sentence": (
        "Next-sentence prediction needs two texts",
        DEFAULT_TEXT,
        "It sleeps in a warm corner of the kitchen.",
    ),
}
"""Task or kind of target that reads two texts -> why, as a sentence without a full stop, and an example of both."""


def text_inputs(shown: bool = True) -> None:
    """The session's text and second text in the sidebar, which are never written into the address.

    Their values stay where the view does not read them, and they are not shown.
    """
    st.session_state.setdefault("text", DEFAULT_TEXT)
    st.session_state.setdefault("pair", "")
    if not shown:
        return
    st.text_area("Text", key="text", height=68, persist_state="session", help=TEXT_HELP)
    # Leaving a field applies its text, so the button does nothing itself: it gives readers something to click or tap.
    # It is above the second text, since below it would be out of sight in a window 768 pixels high.
    st.button("Apply the text", key="apply_text", width="stretch")
    st.text_area(SECOND_LABEL, key="pair", height=68, persist_state="session", placeholder="none", help=PAIR_HELP)


def place_for_text(height: int | None = None) -> None:
    """Reserve a place on the page for a field with the session's text, so high that nothing below it moves."""
    st.session_state[TEXT_PLACE] = st.container(height=height or "content", border=False, key="place_for_text")


@contextmanager
def text_on_page() -> Iterator[None]:
    """Draw the field in the place that the page inside the block reserves, if it does.

    The shell draws it and not the page: text typed in a page's own field is lost when a link to another page is
    clicked at once. A place that an interrupted run reserved is forgotten: on another page an element is there, and
    a browser that shall draw inside it ends with an empty page.
    """
    st.session_state.pop(TEXT_PLACE, None)
    yield
    draw_text_on_page()


def draw_text_on_page() -> None:
    """Draw the field in its place; also above a sentence that ends the page, which may be about the text."""
    place = st.session_state.pop(TEXT_PLACE, None)
    if place is None:
        return
    st.session_state[TEXT_ON_PAGE] = page_text()
    with place.container(horizontal=True, vertical_alignment="bottom"):
        st.text_area("Your text", key=TEXT_ON_PAGE, height=68, on_change=_take_text_on_page)
        st.button("Apply", key="apply_text_on_page")


def _take_text_on_page() -> None:
    # It needs its own key: the sidebar's field is another widget, which would start empty.
    st.session_state["text"] = st.session_state[TEXT_ON_PAGE]


def page_text() -> str:
    """The text of the session."""
    return str(st.session_state.get("text", DEFAULT_TEXT))


def page_pair() -> str | None:
    """The second text; None where there is none."""
    second = str(st.session_state.get("pair", ""))
    return second if second.strip() else None


def two_texts(use: str) -> tuple[str, str]:
    """The text and the second text; without a second one an example, which one line marks as such.

    An example belongs to the view that shows it, one of PAIRS: it is written neither into the session nor into the
    address, and no other page reads it.
    """
    if (own := page_pair()) is not None:
        return page_text(), own
    what, first, second = PAIRS[use]
    read = first if page_text() == DEFAULT_TEXT else page_text()
    second = next(each for each in (second, DEFAULT_TEXT) if each != read)
    say_example(second, f"{what}. Write your own under Second text.", read if read != page_text() else None)
    return read, second


def say_example(second: str, words: str, first: str | None = None) -> None:
    """Mark an example of a second text as such, in one line; without a first one it goes with the reader's own."""
    quoted = _quoted(second, LONGEST_EXAMPLE)
    read = f"second text {quoted}" if first is None else f"{_quoted(first, LONGEST_EXAMPLE)} and {quoted}"
    mark_example(read, words)


def mark_example(read: str, words: str) -> None:
    """Mark what is not the reader's own as an example, in one line; `read` is Markdown."""
    st.markdown(f":material/edit_note: **Example:** {read} :gray[{escape_markdown(words)}]")


def put_text_button(second: str) -> None:
    """Show a button that fills in a second text."""
    st.button(f"Second text: {_quoted(second)}", key="put_example", on_click=put_texts, args=(page_text(), second))


def put_texts(first: str, second: str) -> None:
    """Fill in the texts of the sidebar."""
    st.session_state.update(text=first, pair=second)


def _quoted(text: str, most: int = MOST_QUOTED) -> str:
    return f"“{escape_markdown(shortened(text, most))}”"


NARROW, WIDE = 150, 200
"""Pixels of a number field, and of a list of tokens."""
NO_POSITIONS = "none"
HEAD, QUERY, KEY = "head", "query", "key"


def head_select(heads: int) -> int:
    """A head of the layer, counted from 0; no widget where there is only one."""
    most = heads - 1
    if most <= 0:
        return 0
    bring_along(HEAD)
    requested = st.query_params.get(HEAD) or "0"
    if _position(requested, most) is None:
        st.toast(escape_markdown(f"There is no head {requested[:20]} here; the last one is {most}."))
    keep_within(HEAD, 0, most)
    write_brought(HEAD, str(stored(HEAD, 0)) if stored(HEAD, 0) else None)
    return int(st.number_input(f"Head, 0 to {most}", 0, most, 0, step=1, key=HEAD, width=NARROW, **BOUND))


def token_names(tokens: Tokens) -> list[str]:
    """Position and text of every token, for lists."""
    return [f"{place} {isolated(escape_controls(token))}" for place, token in enumerate(tokens.tokens)]


def put_token(key: str, place: int) -> None:
    """Select a position, as a click in a figure does, and update the address."""
    st.session_state[key] = place
    rewrite(key, str(place))


def token_select(label: str, tokens: Tokens, key: str, default: int, help_text: str) -> int:
    """A list of tokens; the address contains only the position, since tokens are the reader's text."""
    widget, of, most = f"{key}_token", (tokens.text, tokens.pair), len(tokens) - 1
    place = st.session_state.get(key, default)
    match source_of(key, of):
        case "address":
            written = st.query_params[key]
            named = _position(written, most)
            if named is None:
                st.toast(escape_markdown(f"There is no token {written[:20]} here; the last one is {most}."))
            place = most if named is None else named
        case "elsewhere" if is_default(key):
            place = default
        case "default":
            place = default
    place = default if place > most else place
    st.session_state[key] = st.session_state[widget] = place
    write(key, None if place == default else str(place), of)
    names = token_names(tokens)
    st.selectbox(
        label,
        range(len(tokens)),
        format_func=names.__getitem__,
        key=widget,
        help=help_text,
        width=WIDE,
        on_change=_take_token,
        args=(key,),
    )
    return int(place)


def several_tokens(label: str, tokens: Tokens, key: str, default: str, allowed: Sequence[int], most: int) -> str:
    """A list of tokens of which several are chosen, such as 2,5, or none; the address contains only the positions."""
    of, places = (tokens.text, tokens.pair), st.session_state.get(key)
    match source_of(key, of):
        case "address":
            written = st.query_params[key]
            places = _positions(written, len(tokens), most)
            if places is None:
                words = f"There is no {key}={written[:20]} here; write up to {most} positions of the text such as 2,5."
                st.toast(escape_markdown(words))
        case "default" | "elsewhere":
            places = None
    if places is None or max(places, default=0) >= len(tokens):
        places = _positions(default, len(tokens), most) or []
    chosen = sorted(set(places).intersection(allowed))
    text = ",".join(map(str, chosen)) or NO_POSITIONS
    st.session_state[key], st.session_state[f"{key}_most"] = chosen, most
    write(key, None if text == default else text, of)
    st.multiselect(
        label,
        allowed,
        format_func=token_names(tokens).__getitem__,
        key=key,
        max_selections=most,
        help=f"Up to {most}. Choosing a token of the text takes it in, or out.",
        placeholder="none",
        select_all=False,
        persist_state="session",
    )
    return text


def toggle_token(key: str, place: int) -> None:
    """Take a position in or out of several; the first click replaces those of the default."""
    chosen, most = set(st.session_state.get(key) or ()), st.session_state.get(f"{key}_most", 1)
    if key not in st.query_params and place not in chosen:
        chosen = set()
    if place not in chosen and len(chosen) >= most:
        st.toast(f"At most {most} tokens are chosen at once; take one away first.")
    else:
        st.session_state[key] = sorted(chosen ^ {place})


def _positions(written: str, count: int, most: int) -> list[int] | None:
    """Parse positions such as 2,5; None for anything else."""
    if written == NO_POSITIONS:
        return []
    places = [whole(part) for part in written.split(",")]
    valid = [place for place in places if place is not None and place < count]
    return valid if len(valid) == len(places) <= most else None


def _take_token(key: str) -> None:
    """Select the token chosen in the list, and update the address."""
    put_token(key, int(st.session_state[f"{key}_token"]))


def _position(written: str, most: int) -> int | None:
    """Parse a whole number from 0 to `most`; None for anything else."""
    place = whole(written)
    return place if place is not None and place <= most else None


DEFAULTS = {
    "corpus_query": CORPUS_QUERY,
    "text": DEFAULT_TEXT,
    "word": WORD,
    "first_text": FIRST_TEXT,
    "second_text": SECOND_TEXT,
}
"""Default texts, which no link needs to include."""
LINKED = "texts_of_a_link"
"""Session key: name -> text in the link that opened the session."""
APPLIED_KEY, OWN_TEXTS_KEY, BROUGHT_KEY = "tour_given", "tour_own", "tour_brought"
"""Session keys: texts written by steps and links, the texts that they replaced, the names of those of links."""
SESSION = "tour_session"
"""Session key: id of the session for the tab."""
RESTORED = "tour_restored"
"""Session key: both, of the lesson that has just ended."""


def apply_texts(texts: Mapping[str, str]) -> None:
    """Fill in the texts of a step by the keys of their fields; the reader's own are restored at the end of the tour."""
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


def take_texts_back(texts: Mapping[str, str]) -> None:
    """Restore the reader's texts in the fields that have still these of a step's link."""
    _restore(texts, st.session_state.get(OWN_TEXTS_KEY, {}))


def bring_texts(texts: Mapping[str, str]) -> None:
    """Note texts that a link brings; those brought within a lesson are gone at its end, unless their view stays."""
    if st.session_state.get(TOUR) is None:
        return
    applied, own = dict(st.session_state.get(APPLIED_KEY, {})), dict(st.session_state.get(OWN_TEXTS_KEY, {}))
    own |= {key: st.session_state[key] for key in texts if st.session_state.get(key) not in (None, applied.get(key))}
    brought = {*st.session_state.get(BROUGHT_KEY, ()), *texts}
    st.session_state.update({APPLIED_KEY: applied | dict(texts), OWN_TEXTS_KEY: own, BROUGHT_KEY: brought})


TakeTexts = Callable[[Mapping[str, str]], None]
"""A function that gets the texts that the browser's tab has stored."""


def read_tab_texts(take: TakeTexts) -> None:
    """Pause the first run of a session until the browser has sent the texts of the tab, if it has any.

    So a reloaded page computes with the reader's text at once, and never with the default one first.
    """
    st.session_state[SESSION] = token_hex(8)
    if st.context.cookies.get(HAS_TAB_TEXTS) == "1" and not st.context.is_embedded:
        request_tab_texts(str(st.session_state[SESSION]), partial(_take_tab_texts, take))
        st.stop()


def keep_texts(others: Mapping[str, str], take: TakeTexts) -> None:
    """Store the reader's texts and others in the browser's tab; after a reload `take` gets them back."""
    store_tab_texts({**_own_texts(), **others}, str(st.session_state[SESSION]), partial(_take_tab_texts, take))


def _own_texts() -> dict[str, str]:
    """The reader's texts, also those replaced by a step; without default texts, and fields as they were filled in."""
    applied, own = st.session_state.get(APPLIED_KEY, {}), st.session_state.get(OWN_TEXTS_KEY, {})
    current = {key: st.session_state.get(key) for key in TYPED}
    written = {
        key: own.get(key) if key in applied and text == applied[key] else text
        for key, text in current.items()
        if key in applied or text not in (DEFAULTS.get(key, ""), st.session_state.get(f"{key}_of"))
    }
    return {key: text for key, text in written.items() if isinstance(text, str)}


def _take_tab_texts(take: TakeTexts) -> None:
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
    take(stored)


def restore_texts(view_stays: bool = False) -> None:
    """Restore the reader's texts, except in fields that the reader has changed since.

    Args:
        view_stays: whether the view of a link that was followed stays, with its texts.
    """
    applied, own = st.session_state.pop(APPLIED_KEY, {}), st.session_state.pop(OWN_TEXTS_KEY, {})
    brought = st.session_state.pop(BROUGHT_KEY, set())
    applied = {key: text for key, text in applied.items() if not (view_stays and key in brought)}
    st.session_state[RESTORED] = {key: text for key, text in applied.items() if st.session_state.get(key) == text}, own
    _restore(*st.session_state[RESTORED])


def restore_texts_again() -> None:
    """Restore them in the run after that, too: a browser whose step was still running has sent its texts once more."""
    _restore(*st.session_state.pop(RESTORED, ({}, {})))


def _restore(applied: Mapping[str, str], own: Mapping[str, str]) -> None:
    for key, text in applied.items():
        if st.session_state.get(key) == text:
            st.session_state.pop(key, None)  # where there was none, its field begins with the default
            if key in own:
                st.session_state[key] = own[key]
