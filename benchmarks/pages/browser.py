"""A browser without a debugger, controlled by a few commands of the DevTools protocol.

Playwright listens to the page's console. V8 then records for every exception, even a caught one, the location of each
function in its stack, for which it parses plotly's module of 4.7 MB four times: 0.8 s more until the first chart, which
readers do not experience.
"""

import contextlib
import itertools
import json
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

WAIT_S = 60.0
LOOK_EVERY_S = 0.02
SETTLE_S = 2.0
"""Seconds for a browser's own work after its start, on the processors that the server needs next."""
RECEIVED = """{
  const Native = WebSocket;
  window.__received = 0;
  window.WebSocket = class extends Native {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", () => { window.__received = performance.now(); });
    }
  };
}"""
"""Run before the scripts of a page: keeps when the last message of its server came, by the browser's clock.

What is painted later than that is the browser's own work.
"""


class Tab:
    """The only tab of a browser."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.numbers = itertools.count(1)

    def open(self, url: str) -> None:
        """Open a page; returns when the navigation has started."""
        self._told("Page.navigate", url=url)

    def run_first(self, script: str) -> None:
        """Run a script in every page before its own scripts."""
        self._told("Page.enable")
        self._told("Page.addScriptToEvaluateOnNewDocument", source=script)

    def wait_for(self, selector: str) -> None:
        """Wait until an element exists.

        Raises:
            TimeoutError: it does not exist after a minute.
        """
        self.wait_until(f"!!document.querySelector({json.dumps(selector)})")

    def wait_until(self, expression: str) -> Any:
        """Wait until an expression of JavaScript is true, and return its value.

        Raises:
            TimeoutError: it is not true after a minute.
        """
        return _wait(
            lambda: self._told("Runtime.evaluate", expression=expression).get("result", {}).get("value"), expression
        )

    def _told(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self.numbers)
        self.connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.connection.recv(WAIT_S))
            if answer.get("id") == number:
                result: dict[str, Any] = answer.get("result", {})
                return result


@contextlib.contextmanager
def plain_tab(program: str, flags: Sequence[str]) -> Iterator[Tab]:
    """An empty, idle tab of a new browser with a new profile, 1400 x 900."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        port = Path(profile) / "DevToolsActivePort"
        own = ["--headless=new", "--remote-debugging-port=0", f"--user-data-dir={profile}", "--window-size=1400,900"]
        command = [program, *flags, *own, "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait(lambda: port.exists() and port.read_text().strip(), "the browser")
            with urllib.request.urlopen(f"http://127.0.0.1:{port.read_text().split()[0]}/json/list") as answer:
                tabs = [each for each in json.load(answer) if each["type"] == "page"]
            threading.Event().wait(SETTLE_S)
            with connect(tabs[0]["webSocketDebuggerUrl"], max_size=None, proxy=None) as connection:
                tab = Tab(connection)
                tab.run_first(RECEIVED)
                yield tab
        finally:
            process.terminate()
            process.wait(10)


def _wait(there: Callable[[], Any], name: str) -> Any:
    end = time.monotonic() + WAIT_S
    pause = threading.Event()
    while not (found := there()):
        if time.monotonic() > end:
            raise TimeoutError(f"{name} has not come within {WAIT_S:.0f} s")
        pause.wait(LOOK_EVERY_S)
    return found
