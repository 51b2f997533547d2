"""The middleware of the HTML page: policy, headers, content lengths.

Covers `ui/server/start.py`.
"""

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from ui.server.start import FRAME, App, IndexPage, Message, Receive, Send
from ui.session import HAS_TAB_TEXTS, TEXT_STORE, WINDOW_WIDTH

PAGE = (
    b"<!DOCTYPE html><html><head><meta charset=utf-8><title>Streamlit</title>"
    b"<script>\n  window.prerenderReady = false\n</script>"
    b'<script type="module" src="./static/js/index.js"></script></head><body>\xc3\xa9</body></html>'
)
ROOT = Path(__file__).parents[3]
HTML = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(PAGE)).encode())]
Pairs = list[tuple[bytes, bytes]]


class Scripts(HTMLParser):
    """The text of every script without a src, as parsed by a browser."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inline = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inline = tag == "script" and "src" not in dict(attrs)
        if self.inline:
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inline = False

    def handle_data(self, data: str) -> None:
        if self.inline:
            self.found[-1] += data


def answering(*messages: Message) -> App:
    """An app that sends these messages for every request."""

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(dict(message))

    return app


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in a new thread: this one may already have a browser's event loop."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(asyncio.run, coroutine).result()


def answer(app: App, method: str = "GET", headers: Pairs | None = None, base_path: str = "") -> list[Message]:
    """Messages that the middleware sends for one request."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": "/", "headers": headers or [(b"accept", b"text/html")]}
    run(IndexPage(app, base_path)(scope, receive, send))
    return sent


def start(headers: Sequence[tuple[bytes, bytes]], status: int = 200) -> Message:
    return {"type": "http.response.start", "status": status, "headers": list(headers)}


def body(part: bytes, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": part, "more_body": more}


def served(messages: list[Message]) -> bytes:
    """The whole body; asserts that the messages are one well-formed response."""
    assert [message["type"] for message in messages[:1]] == ["http.response.start"]
    assert {message["type"] for message in messages[1:]} == {"http.response.body"}
    assert [bool(message.get("more_body")) for message in messages[1:]] == [True] * (len(messages) - 2) + [False]
    return b"".join(message.get("body", b"") for message in messages[1:])


def values(messages: list[Message], name: bytes) -> list[bytes]:
    return [value for key, value in messages[0]["headers"] if key.lower() == name]


def policy(messages: list[Message]) -> dict[str, list[str]]:
    (text,) = values(messages, b"content-security-policy")
    return {words[0]: words[1:] for words in (part.split() for part in text.decode().split(";"))}


def hash_of(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def test_the_policy_allows_exactly_the_inline_scripts_of_the_page() -> None:
    messages = answer(answering(start(HTML), body(PAGE)))
    inline = Scripts(served(messages).decode()).found
    assert len(inline) == 3
    hashes = [word for word in policy(messages)["script-src"] if word.startswith("'sha256-")]
    assert sorted(hashes) == sorted(map(hash_of, inline))


def test_the_policy_allows_every_inline_script_of_streamlits_own_page() -> None:
    page = files("streamlit").joinpath("static/index.html").read_bytes()
    messages = answer(answering(start(HTML[:1]), body(page)))
    inline = Scripts(served(messages).decode()).found
    assert len(inline) >= 2
    assert {hash_of(script) for script in inline} <= set(policy(messages)["script-src"])


def test_the_policy_lets_no_other_script_or_place_in() -> None:
    found = policy(answer(answering(start(HTML), body(PAGE))))
    assert found["default-src"] == ["'self'"]
    assert not {"'unsafe-inline'", "'unsafe-eval'", "*", "data:", "http:", "https:"} & set(found["script-src"])
    for sources in found.values():
        assert not any(word == "*" or word.startswith(("http", "//")) for word in sources)
    assert found["object-src"] == ["'none'"]
    assert found["frame-ancestors"] == found["base-uri"] == found["form-action"] == ["'self'"]


def asked_by(host: bytes, ancestors: Sequence[str] = ("'self'",)) -> dict[str, list[str]]:
    """The page's policy for a request with this host name."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", host)]}
    run(IndexPage(answering(start(HTML), body(PAGE)), "", ancestors)(scope, receive, send))
    return policy(sent)


def test_the_page_may_be_framed_by_those_of_the_setting_alone() -> None:
    outside = ("'self'", "https://lms.example.org")
    assert asked_by(b"a.example", outside)["frame-ancestors"] == list(outside)


def test_sessions_are_opened_with_the_asked_server_alone() -> None:
    places = asked_by(b"a.example:8501")["connect-src"]
    assert [place for place in places if place.startswith("ws")] == ["ws://a.example:8501", "wss://a.example:8501"]
    for wrong in (b"a; script-src *", b"a b", b"*", b"a\xff", b""):
        assert not any(place.startswith("ws") for place in asked_by(wrong)["connect-src"])
        assert "*" not in asked_by(wrong)["script-src"]


def test_the_length_is_that_of_the_page_sent() -> None:
    messages = answer(answering(start(HTML), body(PAGE)))
    assert values(messages, b"content-length") == [str(len(served(messages))).encode()]


def test_the_page_is_streamlits_with_our_title_address_and_frame() -> None:
    page = served(answer(answering(start(HTML), body(PAGE))))
    assert b"<title>Inside BERT</title>" in page
    found = re.fullmatch(rb"(?s).*?<head><script>(.*?)</script><style>(.*?)</style>(.*)", page)
    assert found is not None
    script, frame, rest = found.groups()
    assert frame == (ROOT / "ui" / "server" / "frame.css").read_bytes()
    assert b"BACKEND_BASE_URL" in script
    before, width, after = re.split(rb"<script>(document\.cookie[^<]*)</script>", rest)
    assert all(name.encode() in width for name in (WINDOW_WIDTH, HAS_TAB_TEXTS, TEXT_STORE))
    assert (before + after).replace(b"Inside BERT", b"Streamlit") == PAGE.partition(b"<head>")[2]


@pytest.mark.parametrize(("base_path", "suffix"), [("", ""), ("/", ""), ("lens", "/lens"), ("/a/lens/", "/a/lens")])
def test_the_server_is_looked_for_below_its_base_path(base_path: str, suffix: str) -> None:
    script = Scripts(served(answer(answering(start(HTML), body(PAGE)), base_path=base_path)).decode()).found[0]
    address = re.search(r"BACKEND_BASE_URL:\s*location\.origin \+ (\"[^\"]*\")", script)
    assert address is not None
    assert json.loads(address[1]) == suffix


@pytest.mark.parametrize("size", [1, 7, 50, len(PAGE) - 1])
def test_a_page_in_pieces_is_the_same_page(size: int) -> None:
    pieces = [PAGE[at : at + size] for at in range(0, len(PAGE), size)]
    chunked = [body(piece, more=True) for piece in pieces] + [body(b"")]
    whole, split = answer(answering(start(HTML), body(PAGE))), answer(answering(start(HTML), *chunked))
    assert served(split) == served(whole)
    assert split[0] == whole[0]


def test_what_names_the_old_page_is_gone() -> None:
    stale = [*HTML, (b"ETag", b'"x"'), (b"Last-Modified", b"Thu, 01 Jan 1970 00:00:00 GMT"), (b"vary", b"Origin")]
    messages = answer(answering(start(stale), body(PAGE)))
    assert not values(messages, b"etag")
    assert not values(messages, b"last-modified")
    assert len(values(messages, b"content-length")) == 1
    assert values(messages, b"vary") == [b"Origin"]
    assert values(messages, b"content-type") == [HTML[0][1]]


NOT_THE_PAGE = [
    (200, b"application/javascript", b"<head><title>Streamlit</title>"),
    (200, b"application/json", b"{}"),
    (404, b"text/html; charset=utf-8", PAGE),
    (304, b"text/html; charset=utf-8", b""),
]


@pytest.mark.parametrize(("status", "kind", "content"), NOT_THE_PAGE)
def test_any_other_answer_keeps_its_body_and_gets_the_headers(status: int, kind: bytes, content: bytes) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(content)).encode()), (b"etag", b'"x"')]
    half = len(content) // 2
    messages = answer(answering(start(headers, status), body(content[:half], more=True), body(content[half:])))
    assert served(messages) == content
    assert messages[0]["status"] == status
    assert messages[0]["headers"][:3] == headers
    assert values(messages, b"x-content-type-options") == [b"nosniff"]
    assert values(messages, b"referrer-policy") == [b"no-referrer"]
    assert not any(word.startswith("'sha256-") for word in policy(messages)["script-src"])


def test_the_page_has_the_security_headers_once() -> None:
    messages = answer(answering(start(HTML), body(PAGE)))
    assert values(messages, b"x-content-type-options") == [b"nosniff"]
    assert values(messages, b"referrer-policy") == [b"no-referrer"]
    assert len(values(messages, b"content-security-policy")) == 1


def test_an_answer_in_pieces_is_passed_on_piece_by_piece() -> None:
    parts = [start([(b"content-type", b"text/css")]), body(b"a", more=True), body(b"b", more=True), body(b"c")]
    assert answer(answering(*parts))[1:] == parts[1:]


def test_a_head_request_has_no_body_and_no_length_but_the_pages() -> None:
    messages = answer(answering(start(HTML), body(b"")), method="HEAD")
    page = served(answer(answering(start(HTML), body(PAGE))))
    assert served(messages) == b""
    # RFC 9110, 8.6: Content-Length in the response to HEAD equals that of GET, or is missing.
    assert values(messages, b"content-length") in ([], [str(len(page)).encode()])
    assert len(values(messages, b"content-security-policy")) == 1


def asked_headers(headers: Pairs) -> Pairs:
    """The request's headers as seen by the wrapped app."""
    recorded: Pairs = []

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        recorded.extend(scope["headers"])
        await send(start([(b"content-type", b"text/plain")]))
        await send(body(b""))

    answer(app, headers=headers)
    return recorded


def test_a_page_is_asked_for_uncompressed_and_nothing_else_is() -> None:
    other = [(b"host", b"localhost"), (b"cookie", b"a=b")]
    zipped = (b"accept-encoding", b"gzip, br")
    page, script = (b"accept", b"text/html,application/xhtml+xml"), (b"accept", b"*/*")
    assert asked_headers([*other, page, zipped]) == [*other, page]
    assert asked_headers([*other, script, zipped]) == [*other, script, zipped]


@pytest.mark.parametrize("kind", ["websocket", "lifespan"])
def test_what_is_no_http_passes_through_untouched(kind: str) -> None:
    scope: Message = {
        "type": kind,
        "path": "/_stcore/stream",
        "headers": [(b"accept", b"text/html"), (b"accept-encoding", b"gzip")],
    }
    recorded: list[Any] = []

    async def app(*handed: Any) -> None:
        recorded.extend(handed)

    async def receive() -> Message:
        return {}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    before = dict(scope)
    run(IndexPage(app)(scope, receive, send))
    assert recorded[0] is scope
    assert scope == before
    assert recorded[1:] == [receive, send]


def test_no_rule_of_the_page_asks_whether_the_page_contains_something() -> None:
    """`.stApp:has(.a) .b` makes a browser restyle every `.b` at each insertion anywhere, dozens of times a chart."""
    app, _, others = re.sub(r"(?s)/\*.*?\*/|@media print \{.*?\n  \}", "", FRAME).partition("\n}\n")
    assert app.count("{") == app.count("}") + 1 > 50
    frame = app + "".join(re.findall(r"(?m)^(?:\.stApp|html|body)\b.*", others))
    assert not re.findall(r"(?:^|[{};,])\s*(?:&|\.stApp|html|body)(?:\.[\w-]+)*:(?:not\()?has\(", frame)
    assert re.search(r"(?:^|[{};,])\s*&:has\(", frame + "&:has(.a) .b {}")
