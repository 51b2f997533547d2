"""A visitor without a browser: a websocket client of Streamlit's protocol."""

import asyncio
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter
from urllib.parse import urlencode
from urllib.request import urlopen

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from benchmarks.load.widgets import Widget, clicked, set_by_server, widget
from bertviz_core.figures.pages import FIRST

ANSWER_S = 60.0
"""Seconds after which an unanswered click counts as an error."""


@dataclass(slots=True)
class VisitResult:
    """Result of one click."""

    what: str = ""
    """The page, and the changed widget."""
    seconds: float = 0.0
    """Seconds from the click until the page was complete."""
    errors: list[str] = field(default_factory=list)
    """Tracebacks, failed runs and lost connections, one line each."""
    refusals: list[str] = field(default_factory=list)
    """Error messages of the dashboard."""
    words: list[str] = field(default_factory=list)
    """All other text on the page, as Markdown."""


class Visitor:
    """One session."""

    def __init__(self, socket: ClientConnection, chance: random.Random) -> None:
        self._socket, self._chance = socket, chance
        self._widgets: dict[str, Widget] = {}
        self._states: dict[str, WidgetState] = {}
        self._cached: dict[str, ForwardMsg] = {}
        self._pages: dict[str, str] = {}
        self._page = self._name = ""
        self._query: dict[str, str] = {}

    async def visit(self, page: str, **query: str) -> VisitResult:
        """Open a page of the dashboard by its name, with the parameters of its address."""
        self._page, self._query = self._pages.get(page, ""), query
        self._widgets, self._states, self._name = {}, {}, page or FIRST
        # Like a tab: the first page is requested by its name in the address, and its response lists all pages.
        visit = await self._run(self._page, query, "", page)
        visit.what, self._page = self._name, self._pages.get(page, "")
        return visit

    async def click(self) -> VisitResult | None:
        """Change one of the page's widgets; None if it has none that can be changed."""
        found = list(self._widgets.values())
        self._chance.shuffle(found)
        for each in found:
            state = clicked(each, self._states.get(each.proto.id), self._chance)
            if state is not None:
                self._states[state.id] = state
                visit = await self._run(self._page, self._query, each.fragment)
                visit.what = f"{self._name}, {getattr(each.proto, 'label', '') or each.kind}"
                return visit
        return None

    async def ask(self, page: str = "", **query: str) -> None:
        """Request a page without waiting for it."""
        await self._socket.send(self._question(self._pages.get(page, ""), query, "").SerializeToString())

    async def _run(self, page: str, query: dict[str, str], fragment: str, name: str = "") -> VisitResult:
        visit, started = VisitResult(), perf_counter()
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._socket.send(self._question(page, query, fragment, name).SerializeToString())
                await self._receive(visit, fragment)
        except ConnectionClosed as closed:
            visit.errors.append(f"the connection broke: {closed}")
        except TimeoutError:
            visit.errors.append(f"no answer within {ANSWER_S:.0f} s")
        visit.seconds = perf_counter() - started
        return visit

    def _question(self, page: str, query: dict[str, str], fragment: str, name: str = "") -> BackMsg:
        message = BackMsg()
        message.rerun_script.page_name = name
        message.rerun_script.query_string = urlencode({name: value for name, value in query.items() if value})
        message.rerun_script.page_script_hash = page
        message.rerun_script.fragment_id = fragment
        message.rerun_script.widget_states.widgets.extend(self._states.values())
        message.rerun_script.cached_message_hashes.extend(self._cached)
        return message

    async def _receive(self, visit: VisitResult, fragment: str) -> None:
        """Receive messages until the end of the run; the widgets of a whole page replace earlier ones."""
        before, self._widgets = self._widgets, dict(self._widgets) if fragment else {}
        while True:
            message = self._whole(ForwardMsg.FromString(await self._socket.recv()))
            kind = message.WhichOneof("type")
            if kind == "delta":
                self._take(message.delta, visit)
            elif kind == "navigation":
                pages = message.navigation.app_pages
                self._pages = {"" if page.is_default else page.url_pathname: page.page_script_hash for page in pages}
            elif kind in ("page_not_found", "session_event"):
                visit.errors.append(f"{kind}: {message}"[:300])
            elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    visit.errors.append("the script did not compile")
                if message.script_finished == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY:
                    self._widgets = before | self._widgets
                return

    def _whole(self, message: ForwardMsg) -> ForwardMsg:
        """A message, or the earlier one that it refers to."""
        if message.WhichOneof("type") == "ref_hash":
            return self._cached[message.ref_hash]
        if message.metadata.cacheable and message.hash:
            self._cached[message.hash] = message
        return message

    def _take(self, delta: Delta, visit: VisitResult) -> None:
        if delta.WhichOneof("type") != "new_element":
            return
        element = delta.new_element
        kind = element.WhichOneof("type") or ""
        _note(element, kind, visit)
        found = widget(element, delta.fragment_id)
        if found is not None:
            self._widgets[found.proto.id] = found
        state = set_by_server(element)
        if state is not None:
            self._states[state.id] = state


def _note(element: Element, kind: str, visit: VisitResult) -> None:
    if kind == "exception":
        visit.errors.append(f"{element.exception.type}: {element.exception.message}"[:300])
    elif kind == "alert" and element.alert.format == Alert.ERROR:
        visit.refusals.append(as_read(element.alert.body))
    elif kind in ("alert", "markdown", "heading"):
        visit.words.append(as_read(getattr(element, kind).body))


def as_read(escaped: str) -> str:
    """Visible text of Markdown with escaped punctuation and split addresses."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", escaped).replace("\u2060", "")


@asynccontextmanager
async def visiting(url: str, seed: int = 0) -> AsyncIterator[Visitor]:
    """A session with an instance, which starts and ends like that of a tab, with the page and its cookies."""
    address = url.replace("http://", "ws://", 1) + "/_stcore/stream"
    options = {"origin": url, "max_size": None, "proxy": None, "ping_interval": None}
    cookies = {"Cookie": await asyncio.to_thread(_cookies, url)}
    async with connect(
        address, subprotocols=[Subprotocol("streamlit")], additional_headers=cookies, **options
    ) as socket:
        yield Visitor(socket, random.Random(seed))


def _cookies(url: str) -> str:
    with urlopen(url, timeout=ANSWER_S) as page:
        headers = page.headers.get_all("Set-Cookie") or []
    return "; ".join(each.partition(";")[0] for each in headers)
