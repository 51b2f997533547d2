"""From page to page: what an address names, what is carried, and the way back."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qs, urlencode

import streamlit as st
from streamlit.errors import StreamlitAPIException

from bertviz_core.figures.journey.payload import Path
from bertviz_core.figures.pages import FIRST, PAGES
from bertviz_core.settings import DEFAULT_MODEL
from ui import session
from ui.address.registry import NAMES, ROWS, SEVERAL, TYPED, owners, put
from ui.components.frame import ARRIVE, EXACT, LINK, show_link
from ui.session import FIGURE, TOUR

Part = Literal["text", "answer", "embeddings", "layer", "head", "cell"]
"""A place in the drawing: the text, what comes out, or a part that is opened, whose links the drawing shows."""
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
LINKS = (
    JourneyLink("text", "tokens", names=(Name("token", "{token}", "longest"),)),
    JourneyLink("answer", "predictions", names=(Name("position", "{token}", "longest"),)),
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
"""In the order in which they are shown; a view of a page has at most one row with names."""


def drawing_links(layers: int, longest: int) -> list[dict[str, Any]]:
    """The rows of opened parts of one model and text, as JSON; `longest` is the token that is selected by default."""
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
        if row.part not in ("text", "answer")
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


BACK = "back"
MOST_NAMES = 100
VISIT = "address_visit"
"""Key of the session: the current visit."""
LAST_ADDRESSES, RETURN = "last_addresses", "address_return"
"""Session keys: page -> its last query outside a lesson, the latest page last; where the browser returns to."""
MOST_RETURNS = 5
"""Most runs in which the browser is told to return."""
VALUES, BEFORE = "values_of_pages", "values_before_lesson"
"""Session keys: name and the pages that share its value -> the value; the values of all controls before a lesson."""
AGAIN, MOST_AGAIN = "models_brought_back", 2
"""Session key: the models of a lesson that was left, and those from before it."""
EVERYWHERE = frozenset(row.param.key for row in ROWS if row.carried and not row.pages)
"""Names whose value is that of all pages."""
BROUGHT = "values_brought"
"""Session key: names whose values were brought back to the open page, until their widgets have written them."""
Values = dict[tuple[str, tuple[str, ...]], Any]
Action = Literal["draw", "say again", "begin again", "open again"]
"""What a run does: draw the view; first send the address to the browser again; end, so that the script starts again;
or end, so that the browser opens the query with which the view was left."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit to a view, which ends when the reader opens another page, follows a link, or goes back or forward."""

    page: str = ""
    number: int = 0
    """Visits so far in this session."""
    first_run: bool = True
    """Whether the previous run showed another page."""
    complete: bool = False
    """Whether the address describes the whole view: after Back or Forward, or in a step of a lesson."""
    begun: str = ""
    """LINK or BACK in a run that ends before it draws; the next run continues."""


def reached(before: Visit, page: str, carried: str | None) -> tuple[Visit, Action]:
    """Compute the visit of a run, and what the run does; `carried` is the value of ARRIVE in the address."""
    new_page = page != before.page
    number = before.number + (new_page or carried is not None)
    if carried is None:
        first_run = before.first_run if before.begun == LINK else new_page
        action: Action = "say again" if before.begun == LINK else "draw"
        return Visit(page, number, first_run, complete=before.begun == BACK), action
    if carried == LINK:
        return Visit(page, number, new_page, begun=LINK), "begin again"
    if carried == EXACT or not new_page:
        return Visit(page, number, new_page, complete=True), "draw"
    return Visit(page, number, new_page, begun=BACK), "open again"


def left_query(carried: str) -> dict[str, list[str]]:
    """Parse the query with which a view was left; names for embedding are dropped."""
    try:
        names = parse_qs(carried.removeprefix("?"), keep_blank_values=True, max_num_fields=MOST_NAMES)
    except ValueError:  # too many parameters
        return {}
    return {name: values for name, values in names.items() if not name.lower().startswith("embed") and name != FIGURE}


def arrive(page: str) -> str:
    """Start or continue a visit; returns the query that the browser must open before the page is drawn, or ""."""
    carried, before = st.query_params.get(ARRIVE), visit().page
    st.session_state[VISIT], action = reached(visit(), page, carried)
    if before not in ("", page):
        whole = visit().complete or visit().begun == BACK  # what the address leaves out is at its default
        _show_values(page, _values(before), brought=not whole)
    if carried is not None:
        del st.query_params[ARRIVE]
        returns = MOST_RETURNS - st.session_state.get(RETURN, ("", "", MOST_RETURNS))[2]
        # After a click on Leave the browser may still have what carried it to the lesson's step.
        if carried in (LINK, EXACT) and returns > 1 and "lesson" not in st.query_params:  # the reader goes elsewhere
            st.session_state.pop(RETURN, None)
    if action == "begin again":
        st.rerun()
    if action == "say again":  # the previous run ended before its changes to the address were sent
        _send_address()
    if action != "open again" or carried is None:
        return ""
    st.query_params.from_dict(left_query(carried))
    return carried


def _send_address() -> None:
    """Send the address to the browser, which Streamlit does where it changes."""
    st.query_params[ARRIVE] = ""
    del st.query_params[ARRIVE]


def _values(page: str) -> Values:
    """The values of names that have several in this session: those of the open page, and those of all others."""
    values: Values = dict(st.session_state.get(VALUES, {}))
    for name, pages in owners(page).items():
        values.pop((name, pages), None)
        if name in st.session_state:
            values[name, pages] = st.session_state[name]
    return values


def _show_values(page: str, values: Values, brought: bool = True) -> None:
    """Let a page have its own values, and not those of the page that was open before it.

    A widget's key is its name in the address, so it would start with the value of a widget of another page.

    Args:
        brought: whether it has the values that it had before, where the address does not name them.
    """
    own = owners(page)
    for name in SEVERAL:
        st.session_state.pop(name, None)
        if brought and (name, own.get(name, ())) in values:
            st.session_state[name] = values[name, own[name]]
    st.session_state.update({VALUES: values, BROUGHT: SEVERAL & st.session_state.keys()})


def remember_view() -> None:
    """Remember the current view, to which the reader returns after a lesson; nothing within one."""
    if st.session_state.get(TOUR) is None:
        page, addresses = visit().page, dict(st.session_state.get(LAST_ADDRESSES, {}))
        addresses.pop(page, None)
        addresses[page] = {name: st.query_params.get_all(name) for name in st.query_params}
        st.session_state[LAST_ADDRESSES] = addresses


def remember_values() -> None:
    """Remember the values of all controls, which are brought back after a lesson; nothing within one.

    Texts are brought back by `ui/widgets/heading.py`.
    """
    if st.session_state.get(TOUR) is None:
        single = {name: st.session_state[name] for name in _single() if name in st.session_state}
        # A whole address has just replaced those of the page that it opens, which are still among all pages' values.
        values = st.session_state.get(VALUES, {}) if visit().first_run else _values(visit().page)
        st.session_state[BEFORE] = (single, values, session.stored(LEFT))


def bring_values_back() -> None:
    """Bring back the values of all controls from before a lesson."""
    single, values, left = st.session_state.pop(BEFORE, ({}, {}, None))
    session.store(LEFT, left)
    models = EVERYWHERE.difference(TYPED)
    st.session_state[AGAIN] = {name: st.session_state.get(name) for name in models}, single, MOST_AGAIN
    _replace(_single(), single)
    _show_values(visit().page, values)


def bring_models_back_again() -> None:
    """Bring them back until a run comes to its end: the browser may have sent those of the lesson once more."""
    left, before, runs = st.session_state.pop(AGAIN, ({}, {}, 0))
    _replace([name for name, value in left.items() if st.session_state.get(name) == value], before)
    if runs:
        st.session_state[AGAIN] = left, before, runs - 1


def end_return() -> None:
    """Send the address once more after the first whole run after a lesson, whose models the browser may still have."""
    if st.session_state.pop(AGAIN, None) is not None:
        _send_address()


def _replace(names: Iterable[str], values: Mapping[str, Any]) -> None:
    for name in names:
        st.session_state.pop(name, None)
        if name in values:
            st.session_state[name] = values[name]


def _single() -> frozenset[str]:
    return NAMES - SEVERAL - set(TYPED)


def return_to_view(followed: bool) -> None:
    """Return, in the next run, to the page and address where a lesson was opened, with the models of then.

    `followed`: the reader followed a link out of the lesson, or the menu; such a page stays, as it was before the
    lesson if it was open then.
    """
    addresses: dict[str, dict[str, list[str]]] = st.session_state.pop(LAST_ADDRESSES, {})
    here = {name: st.query_params.get_all(name) for name in st.query_params} if followed else {}
    now, last = visit().page, next(reversed(addresses), visit().page)
    page = now if followed else last
    query = {name: value for name, value in addresses.get(page, here).items() if name not in EVERYWHERE}
    query |= {name: value for name, value in addresses.get(last, {}).items() if name in EVERYWHERE}
    st.session_state[RETURN] = page, f"?{urlencode(query, doseq=True)}", MOST_RETURNS


def returning(pages: Mapping[str, Any]) -> str:
    """The query to which the browser returns, "" for none or where it is open; go to its page first.

    Until it is open, the browser may send the address of the lesson once more, as when its window's layout changes.
    """
    page, query, runs = st.session_state.pop(RETURN, (visit().page, "?", 0))
    here = {name: st.query_params.get_all(name) for name in st.query_params}
    is_open = runs < MOST_RETURNS and page == visit().page and here == left_query(query)
    if is_open or not runs:
        return ""
    st.session_state[RETURN] = page, query, runs - 1
    left, before, _ = st.session_state.get(AGAIN, ({}, {}, 0))
    _replace(left, before)  # whatever the browser has sent
    if page != visit().page:
        st.switch_page(pages[page], query_params=[(ARRIVE, query)])
    with suppress(StreamlitAPIException):  # a name is bound to a widget of the last run, which then writes it
        st.query_params.from_dict(left_query(query))
    return str(query)


def is_returning() -> bool:
    """Whether the browser has not opened the address after a lesson yet."""
    return RETURN in st.session_state


def visit() -> Visit:
    """Return the visit of this run; before `arrive` is called, that of the previous run."""
    current = st.session_state.get(VISIT)
    return current if isinstance(current, Visit) else Visit()


DRAWN, WRITTEN = "address_drawn", "address_written"
"""Session keys: name of a widget -> the visit in which it was last drawn; name of a widget -> what it last wrote."""
EMBEDDINGS = "embeddings"
Source = Literal["address", "default", "control", "elsewhere"]
"""Where a value comes from. "address": the address has another value; "default": the address is complete and has none;
"control": the widget has it; "elsewhere": it belongs to another text, and the caller decides."""


@dataclass(frozen=True, slots=True)
class Written:
    """The value that a widget last wrote into the address."""

    text: str | None
    """The value; None for a default, which is not written."""
    of: Hashable
    """What the value belongs to, such as the text of a token's position."""
    visit: int


def source(requested: str | None, before: Written | None, of: Hashable, now: Visit) -> Source:
    """Return where a widget's value comes from.

    The address has `requested`; the widget last wrote `before`, None if it has not been drawn; the value belongs to
    `of`.
    """
    if requested is not None and (before is None or requested != before.text):
        return "address"
    drawn_here = before is not None and before.visit == now.number
    if requested is None and now.complete and not drawn_here:
        return "default"
    if before is None or before.of != of:
        return "elsewhere"
    return "default" if requested is None and before.text is not None and drawn_here else "control"


def source_of(key: str, of: Hashable) -> Source:
    """Where the value of a widget comes from in this run."""
    return source(st.query_params.get(key), st.session_state.get(WRITTEN, {}).get(key), of, visit())


def write(key: str, text: str | None, of: Hashable) -> None:
    """Write a widget's value into the address; None for a default, which is not written."""
    st.session_state[WRITTEN] = {**st.session_state.get(WRITTEN, {}), key: Written(text, of, visit().number)}
    put(key, text)


def is_default(key: str) -> bool:
    """Whether a widget last wrote its default into the address, so that nobody has chosen its value."""
    before: Written | None = st.session_state.get(WRITTEN, {}).get(key)
    return before is not None and before.text is None


def rewrite(key: str, text: str) -> None:
    """Write another value into the address, for the text that the widget was drawn with last."""
    before: Written | None = st.session_state.get(WRITTEN, {}).get(key)
    write(key, text, None if before is None else before.of)


def arrived(control: str) -> bool:
    """Whether a widget is drawn for the first time in this visit; it counts as drawn from now on."""
    before = _drawn_now(control)
    return before is None or before.number != visit().number


def bring_along(key: str) -> None:
    """Keep a number of a widget that is also on another page; call this before the widget is drawn.

    Streamlit removes the parameters of the previous page from the address and resets the widget. A number in the
    address of this page has priority.
    """
    before, value, now = _drawn_now(key), st.session_state.get(key), visit()
    elsewhere = before is not None and before.page != now.page
    if not elsewhere or now.complete or not value or key in st.query_params:
        return
    st.session_state[key] = value
    put(key, str(value))


def write_brought(key: str, text: str | None) -> None:
    """Write a value that was brought back to this page into the address; call this before the widget is drawn.

    None, for the default, is not written.
    """
    brought = st.session_state.get(BROUGHT, frozenset())
    if key not in brought:
        return
    if key not in st.query_params:
        try:
            put(key, text)
        except StreamlitAPIException:  # a widget of the previous run was bound to the name; the next run writes it
            return
    st.session_state[BROUGHT] = brought - {key}


def _drawn_now(control: str) -> Visit | None:
    """Record that a widget is drawn in this visit; returns the visit in which it was last drawn."""
    drawn: dict[str, Visit] = st.session_state.get(DRAWN, {})
    st.session_state[DRAWN] = {**drawn, control: visit()}
    return drawn.get(control)


def view_to_show(named: str | None, remembered: str | None, options: Sequence[str], anew: bool) -> str:
    """Choose the view that a page shows: the one in the address, or the one that was open last.

    The default is the first; `anew`: the page was reached by a link that names no view.
    """
    view = remembered if named is None and anew else named
    return options[0] if view is None or view not in options else view


def layer_to_show(
    options: Sequence[str], default: str, requested: str | None, stored: str | None, anew: bool, complete: bool
) -> tuple[str | None, str | None]:
    """Choose the value of the layer widget.

    The address has the layer `requested`, the widget had `stored`; `anew`: it is drawn for the first time in this
    visit; `complete`: the address describes the whole view. Returned are the value that it is set to, None where it
    keeps its own or the one in the address; and the requested or stored layer, where the model does not have it.
    """
    named = requested if anew else None
    view = str(named or (None if anew and complete else stored) or default)
    if view not in options:
        return nearest(view, options, default), view
    return (view if anew and named is None else None), None


def nearest(view: str, options: Sequence[str], default: str) -> str:
    """The closest option: the last one for a larger number, the first one for absent embeddings."""
    if view in options:
        return view
    digits = view.removeprefix("-")
    is_number = digits.isascii() and digits.isdigit()
    if view == EMBEDDINGS or (is_number and view.startswith("-")):
        return options[0]
    return options[-1] if is_number else default


LEFT = "journey_left"
"""Session key: the Journey as it was drawn last."""


@dataclass(frozen=True, slots=True)
class JourneyLeft:
    """The Journey as it was drawn last."""

    of: tuple[str, str]
    """Model and text."""
    query: tuple[tuple[str, str], ...]
    """Names and values in its address, the selection written out."""
    layers: int
    longest: int
    """Position of the token that is selected by default."""
    word: str = ""
    """The selected token."""
    visit: int = 0


def keep_token(labels: Sequence[str]) -> None:
    """Select the token of the last visit again; after a change of the text the default, unless its word is the same."""
    left, now = session.stored(LEFT), visit()
    if not isinstance(left, JourneyLeft) or now.complete:
        return
    name, here = PLACE["token"], left.visit == now.number
    token, requested = int(dict(left.query)[name]), st.query_params.get(name)
    same_word = labels[token : token + 1] == (left.word,)
    if not here and requested is None and same_word and left.of == _model_and_text() and token != left.longest:
        put(name, str(token))
    elif here and requested == str(token) and not same_word and left.of != _model_and_text():
        put(name, None)
        put(PLACE["key"], None)


def remember_journey(path: Path, layers: int, longest: int, word: str) -> None:
    """Remember the drawing for the way back from other pages."""
    looks = {name: st.query_params[name] for name in shared_names(JOURNEY) if name in st.query_params}
    places = {"token": path.token, "layer": path.open, "head": path.head, "key": path.key}
    shown = {PLACE[field]: str(at) for field, at in places.items() if at not in (None, "")}
    made = tuple({**looks, **shown}.items())
    session.store(LEFT, JourneyLeft(_model_and_text(), made, layers, longest, word, visit().number))


def show_in_journey(page: str) -> None:
    """Show a link to the place of a page in the drawing; nothing on the Journey itself or in a frame."""
    if page == JOURNEY or st.context.is_embedded:
        return
    left = session.stored(LEFT)
    if isinstance(left, JourneyLeft) and left.of == _model_and_text():
        query, layers, longest = left.query, left.layers, left.longest
    else:
        looks = () if left is None else tuple(each for each in left.query if each[0] not in PLACE.values())
        query, layers, longest = looks, None, None
    shared = shared_names(page)  # where a page is about one number, the drawing shows what it rests on
    left = [*query, *([("rests_on", "true")] if shared else [])]
    show_link(PLACE, left=left, views=page_links(page, layers, longest), shared=shared)


def _model_and_text() -> tuple[str, str]:
    return str(session.stored("model") or DEFAULT_MODEL), str(session.stored("text", session.DEFAULT_TEXT))
