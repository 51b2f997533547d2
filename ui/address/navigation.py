"""Track how the reader reached a view: by a link of the dashboard, by Back or Forward, or by a step of a lesson.

`ui/components/navigation` writes into the address how the view is reached, and the query with which it was left.
Streamlit treats every address that is not its own link as browser history: it resets what the address does not name,
and on another page it drops the parameters of the previous page's widgets. So a link that keeps the session's choices
starts the script again, and after Back to another page the browser opens the whole address once more. The address of a
lesson's step is complete; `ui/lessons/tour.py` has it opened again where Streamlit dropped something.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qs, urlencode

import streamlit as st

from ui.address.registry import NAMES, ROWS, SEVERAL, TYPED, owners
from ui.components.navigation import ARRIVE, EXACT, LINK
from ui.session import FIGURE, TOUR

BACK = "back"
MOST_NAMES = 100
VISIT = "address_visit"
"""Key of the session: the current visit."""
LAST_ADDRESSES, RETURN = "last_addresses", "address_return"
"""Session keys: page -> its last query outside a lesson, the latest page last; where the browser returns to."""
VALUES, BEFORE = "values_of_pages", "values_before_lesson"
"""Session keys: name and the pages that share its value -> the value; the values of all controls before a lesson."""
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
    """Name of the page."""
    number: int = 0
    """Visits so far in this session."""
    first_run: bool = True
    """Whether the previous run showed another page."""
    complete: bool = False
    """Whether the address describes the whole view: after Back or Forward, or in a step of a lesson."""
    begun: str = ""
    """LINK or BACK in a run that ends before it draws; the next run continues."""


def reached(before: Visit, page: str, carried: str | None) -> tuple[Visit, Action]:
    """Compute the visit of a run, and what the run does.

    Args:
        before: the visit of the previous run.
        page: name of the current page.
        carried: value of ARRIVE in the address; None for none.
    """
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
        _show_values(page, _values(before))
    if carried is not None:
        del st.query_params[ARRIVE]
    if action == "begin again":
        st.rerun()
    if action == "say again":  # the previous run ended before its changes to the address were sent
        st.query_params[ARRIVE] = ""
        del st.query_params[ARRIVE]
    if action != "open again" or carried is None:
        return ""
    st.query_params.from_dict(left_query(carried))
    return carried


def _values(page: str) -> Values:
    """The values of names that have several in this session: those of the open page, and those of all others."""
    values: Values = dict(st.session_state.get(VALUES, {}))
    for name, pages in owners(page).items():
        values.pop((name, pages), None)
        if name in st.session_state:
            values[name, pages] = st.session_state[name]
    return values


def _show_values(page: str, values: Values) -> None:
    """Let a page have its own values, and not those of the page that was open before it.

    A widget's key is its name in the address, so it would start with the value of a widget of another page.
    """
    own = owners(page)
    for name in SEVERAL:
        st.session_state.pop(name, None)
        if (name, own.get(name, ())) in values:
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

    Texts are brought back by `ui/own_texts.py`.
    """
    if st.session_state.get(TOUR) is None:
        single = {name: st.session_state[name] for name in _single() if name in st.session_state}
        st.session_state[BEFORE] = (single, _values(visit().page))


def bring_values_back(preserved: Collection[str] = ()) -> None:
    """Bring back the values of all controls from before a lesson.

    Args:
        preserved: names whose current values are kept.
    """
    single, values = st.session_state.pop(BEFORE, ({}, {}))
    for name in _single() - set(preserved):
        st.session_state.pop(name, None)
        if name in single:
            st.session_state[name] = single[name]
    now = {owned: value for owned, value in _values(visit().page).items() if owned[0] in preserved}
    _show_values(visit().page, {**values, **now})


def _single() -> frozenset[str]:
    return NAMES - SEVERAL - set(TYPED)


def return_to_view(preserved: Collection[str]) -> None:
    """Return, in the next run, to the address that the current page had before a lesson, with the models of then.

    Args:
        preserved: names whose current values are kept.
    """
    addresses: dict[str, dict[str, list[str]]] = st.session_state.pop(LAST_ADDRESSES, {})
    query = {name: value for name, value in addresses.get(visit().page, {}).items() if name not in EVERYWHERE}
    last = next(reversed(addresses.values()), {})
    query |= {name: value for name, value in last.items() if name in EVERYWHERE}
    now = {name: st.query_params.get_all(name) for name in preserved if name in st.query_params}
    before = {name: value for name, value in query.items() if name not in preserved}
    st.session_state[RETURN] = f"?{urlencode(before | now, doseq=True)}"


def returning() -> str:
    """Take the query to which the browser returns; "" for none."""
    return str(st.session_state.pop(RETURN, ""))


def visit() -> Visit:
    """Return the visit of this run; before `arrive` is called, that of the previous run."""
    current = st.session_state.get(VISIT)
    return current if isinstance(current, Visit) else Visit()
