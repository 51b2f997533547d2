"""Who may open the dashboard, and what unknown pages answer."""

import ipaddress
import json
import logging
import re
import sys
from collections import Counter
from collections.abc import Collection
from difflib import get_close_matches
from typing import Any
from urllib.parse import quote, urlsplit

import streamlit as st
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from streamlit import config

from bertviz_core.errors import BertvizError
from bertviz_core.figures.pages import FIRST
from bertviz_core.settings import Settings
from bertviz_core.text import quoted
from ui.server.start import App, Message, Receive, Send, is_page
from ui.server.streamlit_internals import is_from_a_tab, signed_in_user, uploaded_nbytes
from ui.session import NEEDED, has_sign_in, secrets_files, secrets_read, sign_in_providers

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
DEFAULT_PORTS = {"http": 80, "https": 443}
FILES_OF_SESSION = 4
"""Most bytes of uploads per session, as a multiple of the largest upload."""
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")
LOG = logging.getLogger(__name__)


class Refused(Exception):  # noqa: N818  # an answer, no failure
    """A refused request, with its status and message."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Entrance:
    """ASGI middleware that refuses requests with a short message, before Streamlit handles them.

    It is `closed` where uploads and downloads need a sign-in.
    """

    def __init__(self, app: App, settings: Settings, base_path: str = "", closed: bool = False) -> None:
        self.app, self.settings, self.closed = app, settings, closed
        self.base = f"/{base_path.strip('/')}".rstrip("/")
        self.coming: Counter[str] = Counter()
        """Session -> bytes of uploads in progress."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        path, headers = scope["path"].removeprefix(self.base), Headers(scope=scope)
        try:
            self._check(scope, path, headers)
            session, nbytes = self._upload(scope, path, headers)
        except Refused as refused:
            LOG.warning("Refused %s: %s", ascii(path[:80]), refused)
            await _refuse(scope, receive, send, refused)
            return
        self.coming[session] += nbytes
        try:
            await self.app(self._with_browser_host(scope, headers), _readable(receive), _marked(send, path, headers))
        finally:
            self.coming[session] -= nbytes
            self.coming += Counter()  # drops finished uploads

    def _check(self, scope: Message, path: str, headers: Headers) -> None:
        """Raise Refused if host, origin, path or visitor is not allowed."""
        host = hostname(headers)
        allowed = self.settings.allowed_hosts
        # A monitor of replicas may check the health of each of them, and nothing else.
        if allowed and path != "/_stcore/health" and not is_allowed(host, allowed):
            is_plain = re.fullmatch(r"[a-z0-9.-]{1,60}", host) is not None
            raise Refused(
                421,
                f"This server does not answer under the name {_shown(host)}. To reach it so, add the name to "
                f"INSIDE_BERT_ALLOWED_HOSTS{f' (INSIDE_BERT_ALLOWED_HOSTS={host})' * is_plain} where it is "
                "started, and start it again.",
            )
        changes = scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS
        origin = headers.get("origin", "")
        if changes and not (_is_same(origin, headers) or _named(origin) in self.settings.allowed_origins):
            page = f"from a page of {_shown(origin)}" if origin else "without the header Origin, which browsers send,"
            raise Refused(403, f"A session or an upload {page} is not taken here (INSIDE_BERT_ALLOWED_ORIGINS).")
        if path.strip("/") == "_stcore/metrics" and not _is_local(scope, host, headers):
            raise Refused(404, "The server's metrics are available on its own machine only.")
        if self.closed and path.startswith(("/media/", "/_stcore/upload_file/")) and not has_signed_in(headers):
            raise Refused(401, "Sign in first.")

    def _with_browser_host(self, scope: Message, headers: Headers) -> Message:
        """Restore the host name that the browser used, where a proxy has replaced it.

        Streamlit compares both again, and would query an external service for its own address if they differ.
        """
        origin = headers.get("origin", "")
        if _named(origin) not in self.settings.allowed_origins:
            return scope
        others = [pair for pair in scope["headers"] if pair[0] != b"host"]
        return {**scope, "headers": [*others, (b"host", urlsplit(origin).netloc.encode("latin-1"))]}

    def _upload(self, scope: Message, path: str, headers: Headers) -> tuple[str, int]:
        """Return the session and the bytes of an upload; ("", 0) for anything else."""
        parts = path.strip("/").split("/")
        if parts[:2] != ["_stcore", "upload_file"] or len(parts) != 4 or scope["method"] != "PUT":
            return "", 0
        largest = int(config.get_option("server.maxUploadSize")) * 1024**2
        length = headers.get("content-length", "")
        nbytes = min(int(length), largest) if length.isascii() and length.isdigit() and len(length) < 19 else largest
        uploaded = uploaded_nbytes()
        own = uploaded.get(parts[2], 0) + self.coming[parts[2]] + nbytes
        most = self.settings.max_cache_bytes
        if own > FILES_OF_SESSION * largest or sum(uploaded.values()) + self.coming.total() + nbytes > most:
            raise Refused(413, "There are too many uploaded files on this server; remove some, or come back later.")
        return parts[2], nbytes


def hostname(headers: Headers) -> str:
    """The host name of a request, in lower case and without port; "" if there is none or several."""
    hosts = headers.getlist("host")
    try:
        return (urlsplit(f"//{hosts[0]}").hostname or "").rstrip(".") if len(hosts) == 1 else ""
    except ValueError:
        return ""


def is_allowed(host: str, allowed: tuple[str, ...]) -> bool:
    """Whether a host name is allowed; loopback names always are."""
    named = any(host == each.strip("[]") or (each[:2] == "*." and host.endswith(each[1:])) for each in allowed)
    return named or is_loopback(host)


def is_loopback(host: str) -> bool:
    """Whether a name or address is loopback."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def has_signed_in(headers: Headers) -> bool:
    """Whether a request has Streamlit's signed cookie of a signed-in user."""
    cookies = cookie_parser("; ".join(headers.getlist("cookie")))
    try:
        user = json.loads(signed_in_user(cookies) or b"null")
    except ValueError:
        return False
    return isinstance(user, dict) and user.get("is_logged_in") is True


def _is_same(origin: str, headers: Headers) -> bool:
    """Whether an origin has the host of the request; the scheme is not compared, since a proxy may terminate TLS."""
    hosts, named = headers.getlist("host"), _named(origin)
    return len(hosts) == 1 and named != "" and named == _named(f"{named.partition(':')[0]}://{hosts[0]}")


def _named(origin: str) -> str:
    """Normalize an origin as the setting does: lower case, without the default port; "" for none."""
    try:
        parts = urlsplit(origin.lower())
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or "@" in parts.netloc or parts.path or parts.query:
        return ""
    usual = port == DEFAULT_PORTS[parts.scheme]
    return f"{parts.scheme}://{parts.netloc.removesuffix(f':{port}') if usual else parts.netloc}"


def _is_local(scope: Message, host: str, headers: Headers) -> bool:
    """Whether a request comes from this machine, and not through a proxy."""
    client = scope.get("client") or ("",)
    return is_loopback(client[0]) and is_loopback(host) and not any(name in headers for name in FORWARDED)


def _readable(receive: Receive) -> Receive:
    """Receive the messages of a session; a malformed one ends it without a traceback."""

    async def receiving() -> Message:
        message = await receive()
        if message["type"] == "websocket.receive" and not is_from_a_tab(message.get("bytes")):
            return {"type": "websocket.disconnect", "code": 1003}
        return message

    return receiving


def _marked(send: Send, path: str, headers: Headers) -> Send:
    """Add headers that Streamlit leaves out: Secure for cookies behind TLS, no-store for downloads."""
    tls = headers.get("x-forwarded-proto", "").lower() == "https"

    async def marking(message: Message) -> None:
        if message["type"] == "http.response.start":
            pairs = [
                (name, value + b"; Secure")
                if tls and name == b"set-cookie" and b"; secure" not in value.lower()
                else (name, value)
                for name, value in message["headers"]
            ]
            cache_headers = [(b"cache-control", b"private, no-store")] if path.startswith("/media/") else []
            message = {**message, "headers": [*pairs, *cache_headers]}
        await send(message)

    return marking


async def _refuse(scope: Message, receive: Receive, send: Send, refused: Refused) -> None:
    if scope["type"] == "websocket":
        await receive()  # the connect event that must be answered; closing before accepting sends a 403
        await send({"type": "websocket.close", "code": 1008, "reason": str(refused)[:120]})
    else:
        await PlainTextResponse(str(refused), refused.status)(scope, receive, send)


def _shown(text: str) -> str:
    return ascii(text[:60])


OF_ALL, OF_PROVIDER = ("redirect_uri", "cookie_secret"), ("client_id", "client_secret", "server_metadata_url")
"""Required keys of [auth], and of a provider in it or in [auth.NAME]."""


def check_sign_in(current: Settings) -> bool:
    """Check at startup whether sign-in is on and can work; log a warning if there are secrets and it is off."""
    if not current.require_sign_in and sign_in_providers() is None:
        if secrets_files():
            sys.stderr.write("Sign-in is off: the secrets have no section [auth]. Everyone who reaches this is in.\n")
        return False
    lacks = _lacks()
    if lacks:
        raise BertvizError(
            f"Sign-in is required (INSIDE_BERT_REQUIRE_SIGN_IN or a section [auth]) and cannot work: {lacks}. "
            "docs/deployment.md shows a complete section; without sign-in, unset the one and remove the other."
        )
    return True


def _lacks() -> str:
    """What sign-in lacks, as part of a sentence; "" for nothing."""
    files = " or ".join(str(path) for path in st.get_option("secrets.files"))
    if not secrets_files():
        return f"there is no secrets file ({files})"
    if not secrets_read():
        return f"the secrets file ({files}) cannot be read as TOML"
    if "auth" not in st.secrets:
        others = ", ".join(f"[{name}]" for name in st.secrets) or "nothing"
        return f"the secrets have no section [auth], spelled like that, but {others}"
    section: Any = st.secrets["auth"]
    if not hasattr(section, "items"):
        return "auth is a value in the secrets where a section [auth] is expected"
    lacking = [name for name in OF_ALL if not _filled(section, name)]
    providers = {name: value for name, value in section.items() if hasattr(value, "items")} or {"": section}
    for provider, value in providers.items():
        lacking += [f"{provider}.{name}".lstrip(".") for name in OF_PROVIDER if not _filled(value, name)]
    if lacking:
        return f"[auth] does not say {', '.join(lacking)}"
    return "" if has_sign_in() else f"the package {NEEDED} is not installed"


def _filled(section: Any, name: str) -> bool:
    return name in section and isinstance(section[name], str) and bool(section[name].strip())


ABSENT = "no_page"
"""Name in the address of the first page: the requested page that does not exist."""
MOST_CHARACTERS = 60
NOT_PAGES = ("_stcore", "app", "component", "media", "static")
"""Paths of the server's own files, some of them HTML."""


class UnknownPages:
    """ASGI middleware that redirects requests for missing pages to the first page."""

    def __init__(self, app: App, pages: Collection[str], base_path: str = "") -> None:
        self.app, self.pages = app, frozenset(pages) - {FIRST}
        self.base = f"/{base_path.strip('/')}".rstrip("/")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle a request."""
        name = scope["path"].removeprefix(self.base).strip("/") if scope["type"] == "http" else ""
        if not name or name in self.pages or name.partition("/")[0] in NOT_PAGES:
            await self.app(scope, receive, send)
            return
        led = False

        async def leading(message: Message) -> None:
            nonlocal led
            if message["type"] == "http.response.start" and is_page(message):
                led = True
                words = b"" if name == FIRST else f"{ABSENT}={quote(name[:MOST_CHARACTERS], safe='')}".encode()
                query = b"&".join(filter(None, (words, scope["query_string"])))
                place = f"{self.base}/".encode() + b"?" * bool(query) + query
                headers = [(b"location", place), (b"content-length", b"0"), (b"cache-control", b"no-cache")]
                await send({"type": "http.response.start", "status": 303, "headers": headers})
            elif not led:
                await send(message)
            elif not message.get("more_body"):
                await send({"type": "http.response.body", "body": b""})

        await self.app(scope, receive, leading)


def absent_words(name: str, pages: Collection[str]) -> str:
    """The message about a missing page, with the most similar one; of the titles the first page's is the first."""
    near = nearest_page(name, pages)
    suggestion = f" Did you mean {near}?" if near else ""
    return f"There is no page {quoted(name, MOST_CHARACTERS)}; this is {next(iter(pages))}.{suggestion}"


def nearest_page(name: str, pages: Collection[str]) -> str:
    """The title most similar to a name in an address; "" for none."""
    titles = {title.lower(): title for title in pages}
    return next((titles[each] for each in get_close_matches(name.lower(), titles, 1)), "")
