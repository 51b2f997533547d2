"""Internal APIs of Streamlit that the server uses.

tests/ui/server/test_streamlit_internals.py checks them after an upgrade. Those for the address are in
`ui/address/registry.py`, which is imported by lower layers.
"""

import logging
from collections.abc import Mapping

from google.protobuf.message import DecodeError
from streamlit import config
from streamlit.logger import update_formatter
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.stats import ACTIVE_SESSIONS_FAMILY, GaugeStat
from streamlit.web.server.starlette import starlette_websocket
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME


def signed_in_user(cookies: Mapping[str, str]) -> bytes | None:
    """Return the signed-in user as JSON from a request's cookies; None without a sign-in or with an invalid signature.

    Streamlit itself checks this cookie only when a session begins.
    """
    payload: bytes | None = starlette_websocket._get_signed_cookie_with_chunks(dict(cookies), USER_COOKIE_NAME)
    return payload


def uploaded_nbytes() -> dict[str, int]:
    """Session -> bytes of its uploaded files; empty if no server is running."""
    files = getattr(Runtime.instance().uploaded_file_mgr, "file_storage", {}) if Runtime.exists() else {}
    return {name: sum(len(file.data) for file in list(own.values())) for name, own in list(files.items())}


def log_bare_messages() -> None:
    """Write Streamlit's log records as their message alone, without time or level; requests are not logged.

    Streamlit leaves out the log of requests, which has addresses with texts; a new format would bring it in.
    """
    config.set_option("logger.messageFormat", "%(message)s")
    update_formatter()
    logging.getLogger("uvicorn.access").disabled = True


def connected_sessions() -> int:
    """Number of sessions with a connected browser; 0 if no server is running."""
    if not Runtime.exists():
        return 0
    gauges = Runtime.instance().stats_mgr.get_stats([ACTIVE_SESSIONS_FAMILY])[ACTIVE_SESSIONS_FAMILY]
    return sum(gauge.value for gauge in gauges if isinstance(gauge, GaugeStat))


def is_from_a_tab(raw: bytes | None) -> bool:
    """Whether these bytes are a message of the browser client."""
    try:
        return raw is not None and BackMsg.FromString(raw).WhichOneof("type") is not None
    except DecodeError:
        return False
