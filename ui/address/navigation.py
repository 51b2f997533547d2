"""Track how the reader reached a view: by a link of the dashboard, by Back or Forward, or by a step of a lesson.

`ui/components/navigation` writes into the address how the view is reached, and the query with which it was left.
Streamlit treats every address that is not its own link as browser history: it resets what the address does not name,
and on another page it drops the parameters of the previous page's widgets. So a link that keeps the session's choices
starts the script again, and after Back to another page the browser opens the whole address once more. The address of a
lesson's step is complete; `ui/lessons/tour.py` has it opened again where Streamlit dropped something.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qs, urlencode

import streamlit as st

from ui.components.navigation import ARRIVE, EXACT, LINK
from ui.session import FIGURE, TOUR

BACK = "back"
MOST_NAMES = 100
VISIT = "address_visit"
"""Key of the session: the current visit."""
LAST_ADDRESS, RETURN = "last_address", "address_return"
"""Session keys: page and query of the last view outside a lesson; the query to which the browser returns."""
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
    carried = st.query_params.get(ARRIVE)
    st.session_state[VISIT], action = reached(visit(), page, carried)
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


def remember_view() -> None:
    """Remember the current view, to which the reader returns after a lesson; nothing within one."""
    if st.session_state.get(TOUR) is None:
        query = {name: st.query_params.get_all(name) for name in st.query_params}
        st.session_state[LAST_ADDRESS] = (visit().page, query)


def return_to_view(preserved: Collection[str], place: Collection[str] = ()) -> None:
    """Return, in the next run, to the view before a lesson, if it is on the current page.

    Args:
        preserved: names whose current values are kept.
        place: names of what is open, whose current values are kept where nothing was open before.
    """
    page, query = st.session_state.pop(LAST_ADDRESS, ("", {}))
    if page == visit().page:
        preserved = preserved if any(name in query for name in place) else (*preserved, *place)
        before = {name: value for name, value in query.items() if name not in preserved}
        now = {name: st.query_params.get_all(name) for name in preserved if name in st.query_params}
        st.session_state[RETURN] = f"?{urlencode(before | now, doseq=True)}"


def returning() -> str:
    """Take the query to which the browser returns; "" for none."""
    return str(st.session_state.pop(RETURN, ""))


def visit() -> Visit:
    """Return the visit of this run; before `arrive` is called, that of the previous run."""
    current = st.session_state.get(VISIT)
    return current if isinstance(current, Visit) else Visit()
