"""Rewrite Streamlit's single HTML page: content security policy, address of the server, and styles of the frame.

The page has a small inline script of its own; the policy contains its hash, so that no other inline script runs. An
added script tells the client the server's address: without it the client first requests /PAGE/_stcore, which fails.
Another one, at the end of the head, stores the window's width in a cookie, so that the first figures have the right
size. It also stores whether the tab has texts of its reader, which are then read before anything is computed.
"""

import base64
import hashlib
import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from ui.session import HAS_TAB_TEXTS, TEXT_STORE, WINDOW_WIDTH

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
POLICY = (
    "default-src 'self'; script-src 'self' blob:{scripts}; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'{sockets} data: blob:; worker-src 'self' blob:; "
    "frame-ancestors {ancestors}; base-uri 'self'; form-action 'self'; object-src 'none'"
)
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
HOST = re.compile(rb"[\w.:\[\]-]+", re.ASCII)
FRAME = Path(__file__).with_name("frame.css").read_text(encoding="utf-8")
STALE = (b"content-length", b"etag", b"last-modified")


class IndexPage:
    """ASGI middleware that adds security headers to every response, and rewrites the page itself.

    Args:
        app: the wrapped application.
        base_path: path of the server's addresses.
        frame_ancestors: sites that may embed the page, as in a content security policy.
    """

    def __init__(self, app: App, base_path: str = "", frame_ancestors: Sequence[str] = ("'self'",)) -> None:
        self.app, self.ancestors = app, " ".join(frame_ancestors)
        base = f"/{base_path.strip('/')}".rstrip("/")
        script = f'<script>window.__streamlit = {{BACKEND_BASE_URL: location.origin + "{base}"}}</script>'
        self.head = f"<head>{script}<style>{FRAME}</style>".encode()
        scope = f'"; path={base or "/"}; SameSite=Lax"'
        script = f'document.cookie = "{WINDOW_WIDTH}=" + Math.min(innerWidth, screen.width) + {scope};'
        # A frame on another site may have no storage at all; reading it then throws.
        script += (
            f'try {{ document.cookie = "{HAS_TAB_TEXTS}=" + Number((sessionStorage.getItem("{TEXT_STORE}") ?? "{{}}")'
        )
        script += f' !== "{{}}") + {scope} }} catch {{}}'
        self.end = f"<script>{script}</script></head>".encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start: Message = {}
        body = bytearray()
        sockets = _sockets(scope)

        async def rewriting(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                if is_page(message):
                    start = message
                    return
                message["headers"] = [*message["headers"], *HEADERS, self._policy(sockets)]
            elif start:
                body.extend(message.get("body", b""))
                if message.get("more_body"):
                    return
                page = self._rewritten(bytes(body))
                fresh = [pair for pair in start["headers"] if pair[0].lower() not in STALE]
                # The response to HEAD has no body, so its length is unknown.
                length = [(b"content-length", str(len(page)).encode())] if page else []
                policy = self._policy(sockets, INLINE_SCRIPT.findall(page))
                await send({**start, "headers": [*fresh, *HEADERS, policy, *length]})
                message = {"type": "http.response.body", "body": page}
            await send(message)

        await self.app(_uncompressed(scope), receive, rewriting)

    def _rewritten(self, page: bytes) -> bytes:
        page = page.replace(b"<head>", self.head, 1).replace(b"</head>", self.end, 1)
        return page.replace(b"<title>Streamlit<", b"<title>Inside BERT<")

    def _policy(self, sockets: str, scripts: Sequence[bytes] = ()) -> tuple[bytes, bytes]:
        hashes = "".join(
            f" 'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" for script in scripts
        )
        policy = POLICY.format(scripts=hashes, sockets=sockets, ancestors=self.ancestors)
        return b"content-security-policy", policy.encode()


def _sockets(scope: Message) -> str:
    """WebSocket sources for the policy: the host of the request, since in some browsers 'self' excludes sockets."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) != 1 or not HOST.fullmatch(hosts[0]):
        return ""
    return f" ws://{hosts[0].decode()} wss://{hosts[0].decode()}"


def _uncompressed(scope: Message) -> Message:
    """Request a page without compression, since it is rewritten."""
    headers = dict(scope["headers"])
    if b"text/html" not in headers.get(b"accept", b""):
        return scope
    return {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]}


def is_page(message: Message) -> bool:
    """Whether a response is an HTML page, by its start message."""
    return message["status"] == 200 and any(
        name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in message["headers"]
    )
