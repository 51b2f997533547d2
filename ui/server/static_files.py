"""Streamlit's own scripts, styles and fonts, each handed out in one piece.

Starlette opens and reads a file in small pieces in another thread. A first visit asks for over a hundred files while
the server imports what the page needs, and every change of threads then waits its turn.
"""

import re
from pathlib import Path

import streamlit

from ui.server.index_page import App, Message, Receive, Send

FOLDER = Path(streamlit.__file__).parent / "static" / "static"
KINDS = {".js": b"text/javascript; charset=utf-8", ".css": b"text/css; charset=utf-8", ".woff2": b"font/woff2"}
CACHED = b"public, immutable, max-age=31536000"
"""As Streamlit says it: the names hold a digest of the contents."""
IN_PART = frozenset({b"range", b"if-none-match", b"if-modified-since"})
"""Headers of a request that may want less than the whole file."""


class StaticFiles:
    """ASGI middleware: answers a plain request for a file of Streamlit's; all others go on to the app."""

    def __init__(self, app: App, base_path: str = "") -> None:
        self.app = app
        base = f"/{base_path.strip('/')}".rstrip("/")
        self.path = re.compile(rf"{re.escape(base)}/static/(js|css|media)/(\w[\w.-]*(\.\w+))", re.ASCII)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        found = self.path.fullmatch(scope["path"]) if _plain(scope) else None
        kind = KINDS.get(found[3]) if found else None
        content = _content(FOLDER / found[1] / found[2]) if found and kind else None
        if content is None:
            await self.app(scope, receive, send)
            return
        length = str(len(content)).encode()
        headers = [(b"content-type", kind), (b"content-length", length), (b"cache-control", CACHED)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


def _plain(scope: Message) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and not any(name.lower() in IN_PART for name, _ in scope["headers"])
    )


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
