"""Internal APIs of Streamlit are used in two files: the first tests to fail after an upgrade.

Covers `ui/server/streamlit_internals.py` and `ui/address/registry.py`.
"""

import ast
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.testing.v1 import AppTest

from ui.server import streamlit_internals

UI = Path(streamlit_internals.__file__).parents[1]
INSIDE = ("streamlit.runtime", "streamlit.proto", "streamlit.web", "streamlit.elements")


def test_two_files_reach_into_streamlit() -> None:
    found = set()
    for path in [*UI.rglob("*.py"), *(UI.parent / "pages").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(INSIDE):
                found.add(path.name)
    assert found == {"streamlit_internals.py", "registry.py"}


def test_a_message_of_a_page_is_known_and_nothing_else() -> None:
    message = BackMsg()
    message.rerun_script.query_string = "a=b"
    assert streamlit_internals.is_from_a_tab(message.SerializeToString())
    assert not any(map(streamlit_internals.is_from_a_tab, (None, b"", b"\xff\xff\xff")))


def test_a_cookie_that_no_one_signed_names_no_user() -> None:
    cookies = {streamlit_internals.USER_COOKIE_NAME: '{"is_logged_in": true}'}
    assert not streamlit_internals.signed_in_user(cookies)
    assert not streamlit_internals.signed_in_user({})


def test_without_a_server_nothing_is_uploaded() -> None:
    assert streamlit_internals.uploaded_nbytes() == {}


def test_without_a_server_no_one_is_connected() -> None:
    """tests/ui/server/monitoring/test_log.py counts those of a running one."""
    assert streamlit_internals.connected_sessions() == 0


def test_parameters_leave_the_address_also_where_a_control_is_bound_to_them() -> None:
    def script() -> None:
        import streamlit as st

        from ui.address.registry import discard

        if {"layer", "head"} <= set(st.query_params):
            discard(["layer", "head"])
        st.write(" ".join(sorted(st.query_params)))

    app = AppTest.from_function(script)
    for name in ("layer", "head", "model"):
        app.query_params[name] = "1"
    app.run()
    assert not app.exception
    assert app.markdown[0].value == "model"
