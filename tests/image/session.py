"""Streamlit sessions without a browser, for the checks of the image and of the proxy."""

from collections.abc import Mapping

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

WAIT_S = 120


def opened(url: str, headers: Mapping[str, str]) -> ClientConnection:
    """Open a session at an address such as http://127.0.0.1:8080, without requesting a page."""
    return connect(
        url.replace("http://", "ws://", 1) + "/_stcore/stream",
        subprotocols=[Subprotocol("streamlit")],
        additional_headers=dict(headers),
        origin=url,
        max_size=None,
        proxy=None,
    )


def drawn(session: ClientConnection, query: str = "", page: str = "") -> list[str]:
    """Run a page, such as "attention", to its end; returns the kinds of its elements.

    Raises:
        AssertionError: there is an exception on the page, or the run failed.
    """
    ask = BackMsg()
    ask.rerun_script.query_string = query
    ask.rerun_script.page_name = page
    session.send(ask.SerializeToString())
    kinds = []
    while True:
        message = ForwardMsg.FromString(session.recv(WAIT_S))
        kind = message.WhichOneof("type")
        if kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            kinds.append(message.delta.new_element.WhichOneof("type") or "")
        elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            assert message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
            assert "exception" not in kinds
            return kinds
