"""What is used of Streamlit that it does not promise to keep.

An upgrade is checked against tests/ui/server/test_streamlit_internals.py.
"""

from collections.abc import Iterable, Mapping

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.state import get_session_state
from streamlit.web.server.starlette import starlette_websocket
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME


def signed_in_user(cookies: Mapping[str, str]) -> bytes | None:
    """The JSON of who has signed in, from a request's cookies; None where none has, or the signature is not ours.

    Streamlit looks at this cookie only where a session begins.
    """
    payload: bytes | None = starlette_websocket._get_signed_cookie_with_chunks(dict(cookies), USER_COOKIE_NAME)
    return payload


def uploaded_nbytes() -> dict[str, int]:
    """Session -> bytes of its uploaded files; none where no server runs."""
    files = getattr(Runtime.instance().uploaded_file_mgr, "file_storage", {}) if Runtime.exists() else {}
    return {name: sum(len(file.data) for file in list(own.values())) for name, own in list(files.items())}


def is_from_a_tab(raw: bytes | None) -> bool:
    """Whether these are the bytes of one of the messages that a page sends."""
    try:
        return raw is not None and BackMsg.FromString(raw).WhichOneof("type") is not None
    except DecodeError:
        return False


def drop_from_address(names: Iterable[str]) -> None:
    """Leave parameters out of the address, also those that a control of the run before was bound to.

    st.query_params refuses to change the latter; a step back in the browser may bring them.
    """
    *others, last = names
    with get_session_state().query_params() as params:
        for name in others:
            params.discard_param_no_forward_msg(name)
        params.remove_param(last)  # tells the browser, once
        params.set_initial_query_params_from_current()
