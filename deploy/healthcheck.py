"""Exit code 0 when this container's dashboard can serve: it answers, hands out its page, and has drawn one.

The first time, a session is opened as a browser would and the Overview is run to its end; after that, asking for the
page is enough, so that a check costs next to nothing.
"""

import asyncio
import os
import re
import sys
import tempfile
import urllib.request
from pathlib import Path

PORT = os.environ.get("STREAMLIT_SERVER_PORT", "8501")
BASE = os.environ.get("STREAMLIT_SERVER_BASE_URL_PATH", "").strip("/")
ADDRESS = f"127.0.0.1:{PORT}/{BASE}".rstrip("/")
PAGE = "overview"
"""The page that is run: it shows the bundled model without loading its weights."""
ANSWER_S = 3.0
DRAWING_S = 25.0
MARK = re.compile(r"\\([!-/:-@\[-`{-~])")
"""A mark that ui.widgets.heading.plain has escaped."""


def main() -> int:
    """Check, and say on stderr what failed."""
    try:
        _answers("/_stcore/health", b"ok")
        _answers("/", b"<title>Inside BERT</title>")
        drawn = _mark()
        if not drawn.exists():
            asyncio.run(asyncio.wait_for(_draw(), DRAWING_S))
            drawn.touch()
    except (OSError, RuntimeError) as error:
        sys.stderr.write(f"not serving: {type(error).__name__}: {error}\n")
        return 1
    return 0


def _answers(path: str, expected: bytes) -> None:
    """The body of an answer contains what is expected.

    Raises:
        OSError: no answer, or one that is not 200.
        RuntimeError: another body.
    """
    with urllib.request.urlopen(f"http://{ADDRESS}{path}", timeout=ANSWER_S) as answer:
        if expected not in answer.read():
            raise RuntimeError(f"{path} answers without {expected.decode()}")


def _mark() -> Path:
    """The file that says that this very start of the container has drawn a page: /tmp may outlive a restart."""
    started = Path("/proc/1/stat").read_text().rpartition(")")[2].split()[19]
    return Path(tempfile.gettempdir()) / f"inside-bert-drawn-{started}"


async def _draw() -> None:
    """One session that runs the Overview to its end.

    Raises:
        RuntimeError: the run ended otherwise, or drew an error.
    """
    from streamlit.proto.Alert_pb2 import Alert
    from streamlit.proto.BackMsg_pb2 import BackMsg
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
    from websockets.asyncio.client import connect
    from websockets.exceptions import WebSocketException
    from websockets.typing import Origin, Subprotocol

    ask = BackMsg()
    ask.rerun_script.page_name = PAGE
    ask.rerun_script.query_string = ""
    try:
        async with connect(
            f"ws://{ADDRESS}/_stcore/stream",
            subprotocols=[Subprotocol("streamlit")],
            origin=Origin(f"http://127.0.0.1:{PORT}"),
            max_size=None,
            proxy=None,
        ) as session:
            await session.send(ask.SerializeToString())
            async for data in session:
                message = ForwardMsg.FromString(data if isinstance(data, bytes) else data.encode())
                shown = message.delta.new_element
                if shown.HasField("exception"):
                    raise RuntimeError(f"the Overview shows {shown.exception.type}")
                if shown.HasField("alert") and shown.alert.format == Alert.ERROR:
                    raise RuntimeError("the Overview says: " + MARK.sub(r"\1", shown.alert.body))
                if message.WhichOneof("type") == "script_finished":
                    if message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                        continue
                    if message.script_finished != ForwardMsg.FINISHED_SUCCESSFULLY:
                        raise RuntimeError("the Overview did not run to its end")
                    return
    except WebSocketException as error:
        raise RuntimeError(f"no session: {error}") from error
    raise RuntimeError("the session was closed before the Overview was drawn")


if __name__ == "__main__":
    sys.exit(main())
