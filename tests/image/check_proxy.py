"""Checks of the unchanged deploy/nginx.conf in front of two instances started from this checkout.

python check_proxy.py, by a Python with playwright; needs root, nginx and iproute2. Runs in its own network, where the
name of the replicas has two addresses, so that no line of the configuration is changed. Prints one line per check.
"""

import gzip
import http.client
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import session
import streamlit
from findings import demand

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROXY = "http://127.0.0.1:8080"
REPLICAS = ("127.0.0.2", "127.0.0.3")
COOKIE = "inside_bert_route"
CLIENTS = 16
NOBODY = "65534"
METRICS = ("/_stcore/metrics", "/_stcore/metrics/", "//_stcore//metrics", "/_stcore/%6detrics", "/x/../_stcore/metrics")
LOGGED = re.compile(r'"(\w+) (\S+)" (\d+) .* upstream=(\S+)$')


def ask(path: str, headers: dict[str, str] | None = None, host: str = "127.0.0.1", port: int = 8080):
    """Send one request with an unmodified path; returns the response and its body."""
    connection = http.client.HTTPConnection(host, port, timeout=30)
    connection.putrequest("GET", path, skip_accept_encoding=True)
    for name, value in (headers or {}).items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


class Log:
    """nginx's access log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pause = threading.Event()

    def last(self, path: str, lines: int) -> str:
        """The instance that answered the latest request, which has this path and is line number `lines`."""
        for _ in range(600):
            logged = self.path.read_text().splitlines()
            if len(logged) >= lines:
                match = LOGGED.search(logged[lines - 1])
                assert match, logged[lines - 1]
                assert match[2] == path, logged[lines - 1]
                return match[4]
            self.pause.wait(0.05)
        raise SystemExit(f"FAILED: nginx logged {len(logged)} requests, not {lines}")

    def count(self) -> int:
        return len(self.path.read_text().splitlines())


def stays(log: Log) -> dict[str, str]:
    """Assert that each client's page, files and session use one instance, and all are used; cookie -> instance."""
    homes: dict[str, str] = {}
    for _ in range(CLIENTS):
        before = log.count()
        answer, _body = ask("/")
        given = answer.headers.get("Set-Cookie", "")
        match = re.search(f"{COOKIE}=([0-9a-f]+); Path=/; HttpOnly; SameSite=Lax", given)
        assert match, (answer.status, given)
        homes[match[1]] = log.last("/", before + 1)
        cookie = {"Cookie": f"{COOKIE}={match[1]}"}
        for number, path in enumerate(("/_stcore/health", "/_stcore/host-config", "/favicon.png", "/"), before + 2):
            again, _body = ask(path, cookie)
            assert COOKIE not in again.headers.get("Set-Cookie", "")
            assert log.last(path, number) == homes[match[1]]
        with session.opened(PROXY, cookie) as tab:
            assert session.drawn(tab)
        assert log.last("/_stcore/stream", before + 6) == homes[match[1]]
    spread = {each: list(homes.values()).count(each) for each in sorted(set(homes.values()))}
    demand(len(spread) == len(REPLICAS), f"each of {CLIENTS} clients stays with one instance", spread)
    return homes


def counted(homes: dict[str, str]) -> None:
    """With open sessions of all clients, the instances themselves count as many as the proxy sent them."""
    with ExitStack() as tabs:
        for route in homes:
            tab = tabs.enter_context(session.opened(PROXY, {"Cookie": f"{COOKIE}={route}"}))
            session.drawn(tab)
        found = [_sessions(replica) for replica in REPLICAS]
    expected = [list(homes.values()).count(f"{replica}:8501") for replica in REPLICAS]
    demand(found == expected, "the instances count their sessions alike", found)


def _sessions(replica: str) -> int:
    text = ask("/_stcore/metrics", host=replica, port=8501)[1].decode()
    (count,) = re.findall(r"^active_sessions(?:{.*?})? (\d+)", text, re.MULTILINE)
    return int(count)


def blocked() -> None:
    direct = [ask("/_stcore/metrics", host=replica, port=8501)[0].status for replica in REPLICAS]
    through = [ask(path)[0].status for path in METRICS]
    demand(direct == [200, 200] and set(through) == {404}, "metrics: instances answer, the proxy does not", through)
    header_lists = [ask(path)[0].headers.get_all("X-Content-Type-Options") for path in ("/", METRICS[0])]
    demand(header_lists == [["nosniff"]] * 2, "the proxy's own answers are as strict as theirs", header_lists)


def compressed() -> None:
    (chart,) = (Path(streamlit.__file__).parent / "static" / "static" / "js").glob("PlotlyChart.*.js")
    answer, body = ask(f"/static/js/{chart.name}", {"Accept-Encoding": "gzip"})
    plain, _body = ask(f"/static/js/{chart.name}", {"Accept-Encoding": "gzip"}, REPLICAS[0], 8501)
    demand(plain.headers.get("Content-Encoding") is None, "an instance sends its files as they are")
    demand(
        answer.headers.get("Content-Encoding") == "gzip" and gzip.decompress(body) == chart.read_bytes(),
        "the proxy compresses them",
        f"{chart.stat().st_size:,} -> {len(body):,} bytes",
    )


def in_browser(home: Path, log: Log) -> None:
    """Pages in Chromium, and the address that contained a private text."""
    before = log.count()
    text = "private words of a visitor"
    words = [
        f"{PROXY}/overview",
        "22,713,216",
        f"{PROXY}/attention?text={text.replace(' ', '+')}",
        "each head look at?",
    ]
    environment = os.environ | {"HOME": str(home)}
    answer = subprocess.run(
        [sys.executable, str(HERE / "look.py"), *words], text=True, input="", stdout=subprocess.PIPE, env=environment
    )
    seen = [json.loads(line) for line in answer.stdout.splitlines()]
    clean = len(seen) == 2 and not any(page["beyond"] or page["faults"] for page in seen)
    demand(clean, "Chromium draws Overview and Attention", seen)
    lines = log.path.read_text().splitlines()[before:]
    homes = {match[4] for line in lines if (match := LOGGED.search(line))} - {"-"}
    demand(len(homes) == 1, f"its {len(lines)} requests went to one instance", homes)
    demand("private" not in log.path.read_text(), "a link's text is not in the proxy's log")


def survives(homes: dict[str, str], servers: "list[subprocess.Popen[bytes]]") -> None:
    """A client whose instance has ended is served by the other."""
    lost = f"{REPLICAS[0]}:8501"
    route = next(route for route, home in homes.items() if home == lost)
    servers[0].terminate()
    code = servers[0].wait(30)
    cookie = {"Cookie": f"{COOKIE}={route}"}
    demand(ask("/", cookie)[0].status == 200, f"an instance gone (exit code {code}): its client is answered")
    with session.opened(PROXY, cookie) as tab:
        demand(session.drawn(tab), "  and has its page drawn by the other")


@contextmanager
def served(home: Path) -> Iterator["tuple[Log, list[subprocess.Popen[bytes]]]"]:
    """Two instances and nginx, once they respond."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("INSIDE_", "STREAMLIT_"))}
    environment |= {"STREAMLIT_SERVER_COOKIE_SECRET": secrets.token_hex(32), "HOME": str(home)}
    environment |= {"INSIDE_BERT_ALLOW_HUB": "0", "INSIDE_BERT_VECTOR_STORE_DIR": str(home / "store")}
    with open(home / "instances.log", "wb") as log, open(home / "access.log", "wb") as access:
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", "8501", "--server.address"]
        options = {"cwd": ROOT, "env": environment, "stdout": log, "stderr": log}
        started = [subprocess.Popen([*command, replica], **options) for replica in REPLICAS]
        os.fchown(access.fileno(), int(NOBODY), int(NOBODY))
        try:
            for replica in REPLICAS:
                until_answered(f"http://{replica}:8501", home)
            user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--bounding-set=-all"]
            nginx = [*user, "nginx", "-c", str(ROOT / "deploy" / "nginx.conf"), "-g", "daemon off;"]
            started.append(subprocess.Popen(nginx, stdout=access, stderr=log))
            until_answered(PROXY, home)
            kept = Log(home / "access.log")
            kept.last("/_stcore/health", 1)
            yield kept, started
        finally:
            for each in started:
                each.terminate()
            for each in started:
                each.wait(30)


def until_answered(url: str, home: Path) -> None:
    pause = threading.Event()
    for _ in range(1_200):
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5):
                return
        except OSError:
            pause.wait(0.05)
    raise SystemExit(f"FAILED: {url} does not answer\n{(home / 'instances.log').read_text()[-2_000:]}")


def main() -> None:
    if os.environ.get("OWN_NETWORK") != "1":
        os.environ["OWN_NETWORK"] = "1"
        os.execvp("unshare", ["unshare", "--net", "--mount", sys.executable, *sys.argv])
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "hosts").write_text("".join(f"{address} replica\n" for address in REPLICAS) + "127.0.0.1 localhost\n")
        subprocess.run(["mount", "--bind", str(home / "hosts"), "/etc/hosts"], check=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        home.chmod(0o755)
        with served(home) as (log, started):
            homes = stays(log)
            counted(homes)
            blocked()
            compressed()
            in_browser(home, log)
            survives(homes, started)
        errors = (home / "instances.log").read_text()
        demand("Traceback" not in errors, "no traceback in any log")


if __name__ == "__main__":
    main()
