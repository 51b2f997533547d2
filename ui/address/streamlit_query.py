"""The one tie to Streamlit's inside that the address needs: names are taken out of it that a control is bound to.

`st.query_params` refuses to change a name that a control of the run before was bound to. Yet a step back may bring an
address that no control can take, and it has to be mended before the controls of this run read it.
"""

from collections.abc import Iterable

from streamlit.runtime.state import get_session_state


def discard(names: Iterable[str]) -> None:
    """Take names out of the address, bound to a control or not, and out of what controls are to begin with.

    The browser is sent the address that is left once. Checked with Streamlit 1.67 by tests/ui/address/test_query.py.
    """
    with get_session_state().query_params() as params:
        *others, last = names
        for name in others:
            params.discard_param_no_forward_msg(name)
        params.remove_param(last)  # tells the browser
        params.set_initial_query_params_from_current()
