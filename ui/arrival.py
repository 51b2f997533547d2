"""How a view is come to: by a link of the dashboard, or by the browser's back and forward, as it was left.

`ui/components/navigation` says in the address how, and the query that the view was left with. Streamlit takes whatever
is no link of its own for the browser's history: it sets what the address does not name to its default, and on another
page it forgets what a control of the page before had a name for. So a link that keeps what the session remembers begins
the script anew, and on the way back the browser opens the whole address once more when the page has changed. A step of
a lesson says all in its address; `ui/lessons/tour.py` has it opened once more where something was forgotten.
"""

from urllib.parse import parse_qs

import streamlit as st

from ui.components.navigation import ARRIVE, EXACT, LINK
from ui.session import FIGURE, PAGE

BEGUN, RETURNED, VISIT = "arrival_begun", "arrival_returned", "arrival_visit"
"""Keys of the session: how the run before said that the view is come to; whether the address says all of this run's
view; number of times that a view was come to so."""
BACK = "back"
MOST_NAMES = 100


def arrive(page: str) -> str:
    """The query that the browser is to open once more, before the page is drawn; "" where the page can be drawn.

    Args:
        page: name of the page that is shown.
    """
    carried, begun = st.query_params.get(ARRIVE), st.session_state.pop(BEGUN, "")
    st.session_state[RETURNED] = begun == BACK
    if carried is None:
        if begun == LINK:  # what the run before said of the address went with it, so it is said again
            st.query_params[ARRIVE] = ""
            del st.query_params[ARRIVE]
        return ""
    st.session_state[VISIT] = visit() + 1
    if carried == LINK:
        del st.query_params[ARRIVE]
        st.session_state[BEGUN] = LINK
        st.rerun()
    if carried == EXACT or st.session_state.get(PAGE) == page:
        del st.query_params[ARRIVE]
        st.session_state[RETURNED] = True
        return ""
    st.query_params.from_dict(left_query(carried))
    st.session_state[BEGUN] = BACK
    return carried


def left_query(carried: str) -> dict[str, list[str]]:
    """The query that a view was left with; nothing of what no view is left with."""
    try:
        names = parse_qs(carried.removeprefix("?"), keep_blank_values=True, max_num_fields=MOST_NAMES)
    except ValueError:  # too many
        return {}
    return {name: values for name, values in names.items() if not name.lower().startswith("embed") and name != FIGURE}


def visit() -> int:
    """Number of the visit; another one wherever a view is come to by a link of ours or by the browser's history."""
    return int(st.session_state.get(VISIT, 0))


def returned() -> bool:
    """Whether the address says all of this run's view: one that was left and is come back to, or a step of a lesson."""
    return bool(st.session_state.get(RETURNED))
