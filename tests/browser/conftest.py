"""Fixtures: a dashboard on a free port, and a Chromium that records everything a quiet page must not do."""

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Playwright, WebSocketRoute, expect, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from tests.helpers.template_corpus import make_corpus, seeded_vectors

ROOT = Path(__file__).parents[2]
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # further tabs of a profile share its compiled code
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
WAIT_MS = 30_000
"""Timeout of every wait in milliseconds; no test asserts a duration."""
COLD_MS = 3 * WAIT_MS
"""Timeout for the first page of a new server, which imports torch."""
expect.set_options(timeout=WAIT_MS)


@contextmanager
def serving(
    home: Path, script: str = "app.py", *, command: Sequence[str | Path] = (), settings: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Serve a dashboard or another script with an empty home and without the Hub; yields its address once it answers.

    Args:
        home: the empty home folder.
        script: the script in the source tree.
        command: command to run in the home instead; it gets the options of Streamlit's server.
        settings: further environment variables.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("INSIDE_BERT_", "STREAMLIT_"))
    }
    environment |= {"INSIDE_BERT_ALLOW_HUB": "0", "INSIDE_BERT_COMPUTE_AHEAD": "0"}
    environment |= {"HOME": str(home), "INSIDE_BERT_MODELS_DIR": str(home / "models")}
    environment |= {"INSIDE_BERT_CORPORA_DIR": str(home / "corpora"), **(settings or {})}
    words = [*(command or (sys.executable, "-m", "streamlit", "run", script)), "--server.port", str(port)]
    with open(home / "server.log", "wb") as log:
        server = subprocess.Popen(
            [*words, "--server.address", "127.0.0.1"],
            cwd=home if command else ROOT,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_for_health(url, server, home / "server.log")
            yield url
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait_for_health(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    pause = threading.Event()
    for _ in range(1_200):
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            pause.wait(0.05)
    pytest.fail(f"The server did not come up:\n{log.read_text(errors='replace')[-2_000:]}")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, shared_tab: Page) -> Iterator[str]:
    """A dashboard with a corpus, shared by most tests; it has run a model, so that no test waits for its imports.

    The shared tab is its first visitor, and compiles the client's code meanwhile.
    """
    home = tmp_path_factory.mktemp("home")
    make_corpus(home / "corpora" / "made", 400, seeded_vectors(0))
    with serving(home) as url:
        shared_tab.goto(url)
        shared_tab.locator(".journey svg").wait_for(timeout=COLD_MS)
        shared_tab.evaluate("localStorage.clear(); sessionStorage.clear()")
        shared_tab.goto("about:blank")
        yield url


@pytest.fixture
def cold_server(tmp_path: Path) -> Iterator[str]:
    """A dashboard without earlier visitors."""
    with serving(tmp_path) as url:
        yield url


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The Chromium named by CHROMIUM, the system's, or the one installed by playwright."""
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium(playwright), args=list(ARGUMENTS))
        yield found
        found.close()


def chromium(playwright: Playwright) -> str:
    """Path of an installed Chromium: CHROMIUM's, the system's, or playwright's own."""
    for path in (os.environ.get("CHROMIUM"), shutil.which("chromium"), playwright.chromium.executable_path):
        if path and Path(path).exists():
            return path
    pytest.fail("No Chromium: set CHROMIUM to its path, or run playwright install chromium.")


def until(page: Page, condition: str) -> None:
    """Wait until a JavaScript expression is true; the page's security policy refuses wait_for_function.

    That compiles its expression again at every poll, which script-src without 'unsafe-eval' forbids after the first.
    """
    page.evaluate(
        f"""() => new Promise((done, fail) => {{
          const end = performance.now() + {WAIT_MS};
          const look = () => ({condition}) ? done() : performance.now() > end ? fail(new Error("never true"))
            : requestAnimationFrame(look);
          look();
        }})"""
    )


def middle(page: Page, selector: str, number: int) -> tuple[float, float]:
    """Scroll to one of the elements matching a selector, and return its centre.

    Both happen in one step: between two steps a chart may be redrawn, which removes the element from the page.
    """
    page.locator(selector).nth(number).wait_for()
    x, y = page.evaluate(
        """([selector, number]) => {
          const element = document.querySelectorAll(selector)[number];
          element.scrollIntoView({ block: "nearest", behavior: "instant" });
          const box = element.getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        }""",
        [selector, number],
    )
    return x, y


def until_clicks_are_heard(page: Page, inside: str = "") -> None:
    """Wait until the chart (the first, or the first inside a selector) sends clicks to the server."""
    page.locator(f"{inside} [data-chart][data-ready]").first.wait_for()


def open_files(page: Page, at: int = 0) -> None:
    """Open the Download of a figure of the page, the first by default."""
    page.get_by_role("button", name="Download", exact=True).nth(at).click()
    expect(page.get_by_role("button", name="as Slide (PNG)").first).to_be_visible(timeout=WAIT_MS)


class Watch:
    """Records forbidden events of a page until it is released."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.noticed: list[str] = []
        self.listeners: dict[str, Callable[[Any], None]] = {
            "request": lambda request: self._requested(request.url),
            "websocket": lambda socket: self._requested(socket.url),
            "console": lambda message: self._said(message.type, message.text),
            "pageerror": lambda error: self.noticed.append(f"page error: {error}"),
        }
        for event, listener in self.listeners.items():
            page.on(event, listener)  # type: ignore[call-overload]  # any event

    def _requested(self, url: str) -> None:
        if not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "file:")):
            self.noticed.append(f"request: {url}")

    def _said(self, kind: str, text: str) -> None:
        if kind == "error":
            self.noticed.append(f"console error: {text}")

    def faults(self) -> list[str]:
        """All recorded faults, and whether the page shows a traceback."""
        shown = [f"exception: {each}" for each in self.page.locator("[data-testid=stException]").all_inner_texts()]
        return [*self.noticed, *shown]

    def release(self) -> None:
        """Stop recording."""
        for event, listener in self.listeners.items():
            self.page.remove_listener(event, listener)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the tab shows to the report of a failed test."""
    report = yield
    tab = getattr(item, "funcargs", {}).get("tab")
    if report.when == "call" and report.failed and tab is not None:
        report.sections.append(("the page at the end", _state(tab)))
    return report


def _state(tab: Page) -> str:
    """Where the connection and the script of the page are, and its text; a page that does not answer says so."""
    try:
        app = tab.locator(".stApp")
        names = ("data-test-connection-state", "data-test-script-state")
        states = [f"{name}: {app.get_attribute(name, timeout=5_000)}" for name in names]
        return "\n".join([tab.url, *states, tab.locator("body").inner_text(timeout=5_000)[:4_000]])
    except PlaywrightError as error:
        return f"{tab.url}\n{error}"


@contextmanager
def new_tab(browser: Browser) -> Iterator[Page]:
    """A tab of 1400 x 900 with a new profile."""
    # Reduced motion means less painting, and no test waits for an animation.
    context = browser.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    found = context.new_page()
    found.set_default_timeout(WAIT_MS)
    yield found
    context.close()


@contextmanager
def another_tab(beside: Page) -> Iterator[Page]:
    """An empty tab of the same profile, which shares the compiled code of the client."""
    found = beside.context.new_page()
    found.set_default_timeout(WAIT_MS)
    yield found
    found.close()


@contextmanager
def hurried_tab(beside: Page, old: str, new: str) -> Iterator[tuple[Page, threading.Event]]:
    """An empty tab of the same profile, and an event after which its messages have the old address for the new one.

    A message has it where a click follows so closely on another that the browser has not taken note of the new one yet.

    Args:
        beside: a tab of the profile.
        old: a part of the address before a click.
        new: the part in its place after it, as long as the old one.
    """
    late = threading.Event()

    def pass_on(socket: WebSocketRoute) -> None:
        onward = socket.connect_to_server()
        socket.on_message(
            lambda sent: onward.send(
                sent.replace(new.encode(), old.encode()) if late.is_set() and isinstance(sent, bytes) else sent
            )
        )

    with another_tab(beside) as found:
        found.route_web_socket(re.compile("_stcore/stream"), pass_on)
        yield found, late


@pytest.fixture(scope="session")
def shared_tab(browser: Browser) -> Iterator[Page]:
    """One tab of 1400 x 900 for all tests, so that the client's code is downloaded and compiled once."""
    with new_tab(browser) as found:
        yield found


@pytest.fixture
def tab(shared_tab: Page) -> Page:
    """The tab of a test: the shared one, unless its file replaces this fixture."""
    return shared_tab


@pytest.fixture(scope="session")
def strangers_tab(browser: Browser) -> Iterator[Page]:
    """A tab of another profile, with its own cookies and storage."""
    with new_tab(browser) as found:
        yield found


Fresh = Callable[[], AbstractContextManager[Page]]
"""Type of the fixture `fresh`."""


@pytest.fixture
def fresh(strangers_tab: Page) -> Fresh:
    """Open a tab like a new visitor's: storage is empty, only files are cached."""

    @contextmanager
    def opened() -> Iterator[Page]:
        watch = Watch(strangers_tab)
        yield strangers_tab
        faults = watch.faults()
        watch.release()
        strangers_tab.evaluate("localStorage.clear(); sessionStorage.clear()")
        strangers_tab.context.clear_cookies()
        strangers_tab.goto("about:blank")
        assert not faults

    return opened


@pytest.fixture
def page(tab: Page, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The empty tab, in the colour scheme of the test; fails at the end if the page was not quiet."""
    tab.emulate_media(color_scheme=getattr(request, "param", "light"))
    tab.set_viewport_size({"width": 1400, "height": 900})
    watch = Watch(tab)
    yield tab
    faults = watch.faults()
    watch.release()
    # The tab keeps typed texts; the next test must start with the default text.
    tab.evaluate("if (origin !== 'null') sessionStorage.clear()")
    tab.goto("about:blank")
    assert not faults
