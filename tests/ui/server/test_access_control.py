"""The access control middleware: names, origins, metrics, uploads and downloads before sign-in, and upload limits."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

from bertviz_core.settings import Settings
from ui.server import access as entrance
from ui.server import streamlit_internals
from ui.server.access import FILES_OF_SESSION, Entrance

HOST = "bert.example.org"
MEGABYTES, FILE = 5, 5 * 1024**2
UPLOAD = "/_stcore/upload_file/one/file"
SECRET = "for this test"


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """The server's uploaded files by session; sets its upload limit and cookie secret."""
    state: dict[str, dict[str, Any]] = {}
    runtime = SimpleNamespace(uploaded_file_mgr=SimpleNamespace(file_storage=state))
    there = SimpleNamespace(exists=lambda: True, instance=lambda: runtime)
    monkeypatch.setattr(streamlit_internals, "Runtime", there)
    monkeypatch.setattr(entrance.config, "get_option", lambda name: MEGABYTES)
    monkeypatch.setattr(streamlit_internals.starlette_websocket, "get_cookie_secret", lambda: SECRET)
    return state


def response(
    path: str = "/",
    method: str = "GET",
    headers: dict[str, str] | None = None,
    client: str = "203.0.113.7",
    closed: bool = False,
    base_path: str = "",
    **settings: Any,
) -> tuple[int, dict[str, str], dict[str, str]]:
    """Status, headers of the response, and headers seen by the app; 101 for an accepted session."""
    kind = "websocket" if path.endswith("/stream") else "http"
    names = {"host": HOST, **(headers or {})}
    scope = {
        "type": kind,
        "path": path,
        "method": method,
        "client": (client, 5),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in names.items()],
    }
    sent: list[Any] = []
    seen: dict[str, str] = {}

    async def app(inner: Any, receive: Any, send: Any) -> None:
        seen.update((name.decode(), value.decode("latin-1")) for name, value in inner["headers"])
        if kind == "websocket":
            await send({"type": "websocket.accept"})
            return
        cookie = (b"set-cookie", b"_streamlit_user=x; Path=/; HttpOnly")
        await send({"type": "http.response.start", "status": 200, "headers": [cookie]})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Any:
        return {"type": f"{kind}.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    chosen = replace(Settings.from_environment(), **settings)
    gate = Entrance(app, chosen, base_path, closed)
    with ThreadPoolExecutor(max_workers=1) as pool:  # this thread may have a browser's event loop
        pool.submit(asyncio.run, gate(scope, receive, send)).result()
    assert not gate.coming
    if kind == "websocket":
        return {"websocket.accept": 101, "websocket.close": 403}[sent[0]["type"]], {}, seen
    answer = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answer, seen


STREAM, OWN = "/_stcore/stream", f"https://{HOST}"
FOREIGN = [
    "https://evil.example",
    f"https://{HOST}.evil.example",
    f"https://evil.example/{HOST}",
    f"https://{HOST}@evil.example",
    f"https://evil.example@{HOST}",
    f"https://{HOST}:1",
    f"ftp://{HOST}",
    "null",
    HOST,
    "https://",
    "https://[",
    "https://a:b",
]


@pytest.mark.parametrize("origin", [*FOREIGN, None])
@pytest.mark.parametrize(("path", "method"), [(STREAM, "GET"), (UPLOAD, "PUT"), (UPLOAD, "DELETE"), ("/x", "POST")])
def test_a_foreign_page_opens_no_session_and_changes_nothing(path: str, method: str, origin: str | None) -> None:
    headers = {} if origin is None else {"origin": origin}
    assert response(path, method, headers)[0] == 403


@pytest.mark.parametrize("origin", [OWN, f"http://{HOST}", f"https://{HOST}:443", f"https://{HOST.upper()}"])
def test_the_dashboards_own_page_may(origin: str) -> None:
    assert response(STREAM, headers={"origin": origin})[0] == 101
    assert response(UPLOAD, "PUT", {"origin": origin})[0] == 200
    assert response("/", headers={"origin": "https://evil.example"})[0] == 200  # browsers themselves refuse reading


def test_an_origin_that_is_allowed_is_the_name_that_streamlit_sees() -> None:
    outside = "https://bert.example.com"
    assert response(STREAM, headers={"origin": outside})[0] == 403
    status, _, seen = response(STREAM, headers={"origin": f"{outside}:443"}, allowed_origins=(outside,))
    assert (status, seen["host"]) == (101, "bert.example.com:443")


@pytest.mark.parametrize(
    ("host", "words"),
    [
        (
            "192.168.1.5:8501",
            "the name '192.168.1.5'. To reach it so, add the name to INSIDE_BERT_ALLOWED_HOSTS (INSIDE",
        ),
        ("<script>", "add the name to INSIDE_BERT_ALLOWED_HOSTS where it is started"),
    ],
)
def test_the_page_under_another_name_says_what_to_set(host: str, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Such as http://192.168.1.5:8501 after make run; the page and the log have the same sentence."""
    status, headers, _ = response("/", headers={"host": host}, allowed_hosts=("localhost",))
    message = capfd.readouterr().err.partition("Refused '/': ")[2].removesuffix("\n")
    assert (status, headers["content-length"]) == (421, str(len(message)))
    assert words in message


@pytest.mark.parametrize("host", ["evil.example", "xbert.example.org", "", "bert.example.org.evil.example", "[", "a@b"])
def test_a_name_that_was_rebound_is_not_answered(host: str) -> None:
    allowed = (HOST, "*.inside.example")
    for path in ("/", "/media/x.csv", "/_stcore/metrics", "/_stcore/health/../x"):
        assert response(path, headers={"host": host}, allowed_hosts=allowed)[0] == 421
    same = {"host": host, "origin": f"http://{host}"}
    assert response(STREAM, headers=same, allowed_hosts=allowed)[0] == 403
    assert response("/", headers={"host": host})[0] == 200  # without the setting, any name
    assert response("/_stcore/health", headers={"host": host}, allowed_hosts=allowed)[0] == 200


@pytest.mark.parametrize(
    "host", [HOST, f"{HOST}:8501", "BERT.Example.org.", "a.inside.example", "localhost:8501", "[::1]"]
)
def test_the_names_of_the_setting_and_loopback_are_answered(host: str) -> None:
    assert response("/", headers={"host": host}, allowed_hosts=(HOST, "*.inside.example"))[0] == 200


def test_metrics_are_told_on_the_machine_itself_alone() -> None:
    local = {"host": "localhost:8501"}
    for path, base in (("/_stcore/metrics", ""), ("/_stcore/metrics/", ""), ("/lens/_stcore/metrics", "/lens/")):
        assert response(path, headers=local, client="127.0.0.1", base_path=base)[0] == 200
        assert response(path, headers=local, base_path=base)[0] == 404
        assert response(path, client="127.0.0.1", base_path=base)[0] == 404  # DNS rebinding
        for proxied in entrance.FORWARDED:
            assert response(path, headers={**local, proxied: "x"}, client="127.0.0.1", base_path=base)[0] == 404


def cookie(secret: str = SECRET, name: str = "_streamlit_user", **user: Any) -> dict[str, str]:
    value = create_signed_value(secret, "_streamlit_user", json.dumps({"origin": OWN, **user})).decode()
    return {"origin": OWN, "cookie": f"a=b; {name}={value}"}


IN = cookie(is_logged_in=True)
OUT = {
    "no cookie": {"origin": OWN},
    "another's signature": cookie("another", is_logged_in=True),
    "another cookie": cookie(name="_streamlit_xsrf", is_logged_in=True),
    "not signed in": cookie(is_logged_in=False),
    "changed": {"origin": OWN, "cookie": IN["cookie"][:-1]},
    "noise": {"origin": OWN, "cookie": "_streamlit_user=\xff\x80"},
}


@pytest.mark.parametrize(("path", "method"), [(UPLOAD, "PUT"), (UPLOAD, "DELETE"), ("/media/0123.csv", "GET")])
def test_uploads_and_downloads_wait_for_sign_in(path: str, method: str) -> None:
    for why, headers in OUT.items():
        assert response(path, method, headers, closed=True)[0] == 401, why
        assert response(path, method, headers)[0] == 200, why
    assert response(path, method, IN, closed=True)[0] == 200
    assert response("/", closed=True)[0] == 200  # the page for signing in
    assert response(STREAM, headers={"origin": OWN}, closed=True)[0] == 101


def test_the_files_of_a_session_and_of_all_are_limited(server: dict[str, dict[str, Any]]) -> None:
    own = {"origin": OWN}
    file = SimpleNamespace(data=bytes(FILE))
    server["one"] = {str(number): file for number in range(FILES_OF_SESSION - 1)}
    assert response(UPLOAD, "PUT", own)[0] == 200
    server["one"]["last"] = SimpleNamespace(data=b"x")
    assert response(UPLOAD, "PUT", own)[0] == 413
    assert response(UPLOAD, "PUT", {**own, "content-length": "1"})[0] == 200
    assert response(UPLOAD, "PUT", {**own, "content-length": "-1"})[0] == 413
    other = UPLOAD.replace("one", "two")
    assert response(other, "PUT", own)[0] == 200
    assert response(other, "PUT", own, max_cache_bytes=FILES_OF_SESSION * FILE)[0] == 413
    assert response(UPLOAD, "DELETE", own)[0] == 200


def test_uploads_on_their_way_count(server: dict[str, dict[str, Any]]) -> None:
    async def app(*_: Any) -> None: ...

    gate = Entrance(app, Settings.from_environment())
    scope = {"type": "http", "method": "PUT", "path": UPLOAD}
    gate.coming["one"] = FILES_OF_SESSION * FILE
    with pytest.raises(entrance.Refused, match="too many uploaded files"):
        gate._upload(scope, UPLOAD, entrance.Headers())


def test_requests_that_overlap_are_counted_and_end_each_for_itself() -> None:
    inside: list[int] = []

    async def together() -> None:
        everyone = asyncio.Event()

        async def app(*_: Any) -> None:
            inside.append(gate.coming.total())
            if len(inside) == 4:
                everyone.set()
            await everyone.wait()

        gate = Entrance(app, Settings.from_environment())
        headers = [(b"host", HOST.encode()), (b"origin", OWN.encode())]
        scopes = [
            {"type": "http", "method": method, "path": path, "headers": headers}
            for method, path in (("GET", "/"), ("GET", "/"), ("PUT", UPLOAD), ("PUT", UPLOAD))
        ]
        await asyncio.gather(*(gate(scope, None, None) for scope in scopes))  # type: ignore[arg-type]
        assert not gate.coming

    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(asyncio.run, together()).result()
    assert inside == [0, 0, FILE, 2 * FILE]


def test_a_message_that_is_none_of_a_tab_ends_its_session_and_a_tabs_own_goes_through() -> None:
    own = BackMsg(rerun_script=ClientState(query_string="layer=2")).SerializeToString()
    noise: list[dict[str, object]] = [
        {"text": "x"},
        *({"bytes": each} for each in (b"", b"\xff" * 100, b"\x0a\x05hello")),
    ]
    coming = iter([{"type": "websocket.receive", **each} for each in ({"bytes": own}, *noise)])

    async def all_of_them() -> list[Any]:
        async def receive() -> Any:
            return next(coming)

        receiving = entrance._readable(receive)
        return [await receiving() for _ in range(1 + len(noise))]

    with ThreadPoolExecutor(max_workers=1) as pool:
        first, *others = pool.submit(asyncio.run, all_of_them()).result()
    assert first == {"type": "websocket.receive", "bytes": own}
    assert others == [{"type": "websocket.disconnect", "code": 1003}] * len(noise)


def test_cookies_are_for_tls_alone_where_it_is_spoken() -> None:
    plain = response()[1]["set-cookie"]
    assert plain.endswith("HttpOnly")
    assert response(headers={"x-forwarded-proto": "https"})[1]["set-cookie"] == f"{plain}; Secure"


def test_no_cache_on_the_way_keeps_a_download() -> None:
    assert response("/media/0123.csv")[1]["cache-control"] == "private, no-store"
    assert "cache-control" not in response("/static/js/x.js")[1]
