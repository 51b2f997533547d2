"""How the reader reached the view that a run draws: by a link of the dashboard, by Back or Forward, by a lesson's step.

`ui/components/navigation` says in the address how, and the query that the view was left with. Streamlit takes whatever
is no link of its own for the browser's history: it sets what the address does not name to its default, and on another
page it forgets what a control of the page before had a name for. So a link that keeps what the session remembers begins
the script anew, and on the way back the browser opens the whole address once more when the page has changed. A step of
a lesson says all in its address; `ui/lessons/tour.py` has it opened once more where something was forgotten.
"""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qs

import streamlit as st

from ui.components.navigation import ARRIVE, EXACT, LINK
from ui.session import FIGURE

BACK = "back"
MOST_NAMES = 100
VISIT = "address_visit"
"""Key of the session: the visit of the run before, and then of this one."""
Action = Literal["draw", "say again", "begin again", "open again"]
"""What a run does: it draws the view; first says the address to the browser once more; ends, and the script begins
anew; ends, and the browser opens the query that the view was left with."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit to a view; it lasts until the reader goes to another page, follows a link, or goes back or forward."""

    page: str = ""
    """Name of the page."""
    number: int = 0
    """Visits so far in this session."""
    first_run: bool = True
    """Whether the page is another one than in the run before."""
    complete: bool = False
    """Whether the address says all of this run's view: one that was left and is reached again, or a lesson's step."""
    begun: str = ""
    """LINK or BACK in a run that ends before it draws; the next run goes on from there."""


def reached(before: Visit, page: str, carried: str | None) -> tuple[Visit, Action]:
    """The visit of a run, and what the run does.

    Args:
        before: the visit of the run before.
        page: name of the page that is shown.
        carried: what the address says under ARRIVE; None for nothing.
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
    """The query that a view was left with; nothing of what no view is left with."""
    try:
        names = parse_qs(carried.removeprefix("?"), keep_blank_values=True, max_num_fields=MOST_NAMES)
    except ValueError:  # too many
        return {}
    return {name: values for name, values in names.items() if not name.lower().startswith("embed") and name != FIGURE}


def arrive(page: str) -> str:
    """The query that the browser is to open once more, before the page is drawn; "" where the page can be drawn.

    Args:
        page: name of the page that is shown.
    """
    carried = st.query_params.get(ARRIVE)
    st.session_state[VISIT], action = reached(visit(), page, carried)
    if carried is not None:
        del st.query_params[ARRIVE]
    if action == "begin again":
        st.rerun()
    if action == "say again":  # what the run before said of the address went with it
        st.query_params[ARRIVE] = ""
        del st.query_params[ARRIVE]
    if action != "open again" or carried is None:
        return ""
    st.query_params.from_dict(left_query(carried))
    return carried


def visit() -> Visit:
    """The visit of this run; before `arrive` of the one before, and of no page where there was none."""
    held = st.session_state.get(VISIT)
    return held if isinstance(held, Visit) else Visit()
