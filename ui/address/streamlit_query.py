"""Remove parameters from the address that are bound to a widget, through an internal API of Streamlit.

`st.query_params` refuses to change a name that a widget of the previous run was bound to, but Back may lead to an
address without it.
"""

from collections.abc import Iterable

from streamlit.runtime.state import get_session_state


def discard(names: Iterable[str]) -> None:
    """Remove names from the address, bound to a widget or not, and from the initial values of widgets.

    The browser gets the new address once. Checked with Streamlit 1.67 by tests/ui/address/test_query.py.
    """
    with get_session_state().query_params() as params:
        *others, last = names
        for name in others:
            params.discard_param_no_forward_msg(name)
        params.remove_param(last)  # notifies the browser
        params.set_initial_query_params_from_current()
