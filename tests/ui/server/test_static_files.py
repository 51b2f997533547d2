"""The middleware that hands out Streamlit's files: whole, and nothing but them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

import pytest

from ui.server.static_files import StaticFiles

STATIC = files("streamlit") / "static" / "static"


def asked(path: str, method: str = "GET", headers: tuple[tuple[bytes, bytes], ...] = (), base: str = "") -> Any:
    """What is answered: (headers, body), or "the app" where the request goes on to it."""
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        sent.append("the app")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": list(headers)}
    with ThreadPoolExecutor(1) as thread:  # this thread may have a browser's event loop
        thread.submit(lambda: asyncio.run(StaticFiles(app, base)(scope, None, send))).result()  # type: ignore[arg-type]  # none receives
    if sent == ["the app"]:
        return "the app"
    start, body = sent
    assert start["status"] == 200
    return dict(start["headers"]), body["body"]


@pytest.mark.parametrize(
    ("folder", "ending", "kind"),
    [("js", "js", "text/javascript"), ("css", "css", "text/css"), ("media", "woff2", "font/woff2")],
)
def test_every_file_is_the_one_on_disk(folder: str, ending: str, kind: str) -> None:
    found = [path for path in (STATIC / folder).iterdir() if path.name.endswith(f".{ending}")]
    assert found
    for path in found:
        headers, body = asked(f"/static/{folder}/{path.name}")
        assert body == path.read_bytes()
        assert headers[b"content-type"].split(b";")[0] == kind.encode()
        assert int(headers[b"content-length"]) == len(body)
        assert b"immutable" in headers[b"cache-control"]


def name() -> str:
    return min(path.name for path in (STATIC / "js").iterdir())


@pytest.mark.parametrize(
    "path",
    [
        "/static/js/none.js",
        "/static/js/",
        "/static/js",
        "/static/index.html",
        "/static/js/../js/NAME",
        "/static/js/..%2fNAME",
        "/static/js/.hidden.js",
        "/static/js/a\0.js",
        "/static/js/NAME/",
        "/app/static/js/NAME",
        "//static/js/NAME",
        "/overview",
    ],
)
def test_any_other_path_goes_on_to_the_app(path: str) -> None:
    assert asked(path.replace("NAME", name())) == "the app"


def test_a_request_that_wants_less_goes_on_to_the_app() -> None:
    path = f"/static/js/{name()}"
    assert asked(path, "HEAD") == asked(path, "POST") == "the app"
    for header in (b"range", b"if-none-match", b"If-Modified-Since"):
        assert asked(path, headers=((header, b"x"),)) == "the app"


def test_a_dashboard_below_a_path_has_its_files_there() -> None:
    path = f"/static/js/{name()}"
    assert asked(path, base="team/bert") == "the app"
    assert asked(f"/team/bert{path}", base="/team/bert/") == asked(path)
