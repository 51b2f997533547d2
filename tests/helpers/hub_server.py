"""A small Hub on loopback: model info, config, range requests for safetensors; and simulated faults."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """Repositories by name: file -> bytes; `served` records the requests."""

    def __init__(self) -> None:
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.status: int | None = None
        self.cut: int | None = None
        """Bytes of a body that are sent before the connection is closed."""
        self.served: list[tuple[str, int]] = []
        self.parameters: dict[str, int] = {}
        """Numbers that the Hub counts in the safetensors files of a repository."""
        self.endpoint = ""


@contextmanager
def running_hub() -> Iterator[Hub]:  # noqa: C901  # a handler is a class inside
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            """Log nothing."""

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, body: bool) -> None:
            status, headers, content = self._found()
            hub.served.append((self.path, len(content) if body else 0))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            if body:
                self.wfile.write(content[: hub.cut])
                self.close_connection = hub.cut is not None and hub.cut < len(content)

        def _found(self) -> tuple[int, dict[str, str], bytes]:
            path = self.path.partition("?")[0]
            if hub.status is not None:
                return hub.status, {}, b"{}"
            if path.startswith("/api/models/"):
                name, tree, _ = path.removeprefix("/api/models/").partition("/tree/")
                name = name.partition("/revision/")[0]
                files = hub.repositories.get(name)
                if files is None:
                    return 404, {"x-error-code": "RepoNotFound"}, b"{}"
                siblings = [{"rfilename": file, "size": len(content)} for file, content in files.items()]
                if tree:
                    entries = [{"type": "file", "path": file, "size": len(files[file]), "oid": file} for file in files]
                    return 200, {}, json.dumps(entries).encode()
                about: dict[str, Any] = {"id": name, "sha": COMMIT, "siblings": siblings, "tags": []}
                if name in hub.parameters:
                    about["safetensors"] = {"parameters": {}, "total": hub.parameters[name]}
                return 200, {}, json.dumps(about).encode()
            name, _, rest = path.removeprefix("/").partition("/resolve/")
            files = hub.repositories.get(name)
            if files is None:
                return 404, {"x-error-code": "RepoNotFound"}, b""
            file = rest.partition("/")[2]
            if file not in files:
                return 404, {"x-error-code": "EntryNotFound", "x-repo-commit": COMMIT}, b""
            content = files[file]
            headers = {"etag": f'"{file}-{len(content)}"', "x-repo-commit": COMMIT}
            byte_range = self.headers.get("range", "")
            if byte_range.startswith("bytes="):
                first, _, last = byte_range.removeprefix("bytes=").partition("-")
                content = content[int(first) : int(last or len(content)) + 1]
                return 206, headers, content
            return 200, headers, content

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
