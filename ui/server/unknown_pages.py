"""Redirect an address that names no page to the first page, which shows a message.

Streamlit serves its one HTML page for every address, and reports a missing page in a dialog meant for developers.
"""

from collections.abc import Collection
from difflib import get_close_matches
from urllib.parse import quote

from bertviz_core.figures.pages import FIRST
from bertviz_core.text import quoted
from ui.server.index_page import App, Message, Receive, Send, is_page

ABSENT = "no_page"
"""Name in the address of the first page: the requested page that does not exist."""
MOST_CHARACTERS = 60
NOT_PAGES = ("_stcore", "app", "component", "media", "static")
"""Paths of the server's own files, some of them HTML."""


class UnknownPages:
    """ASGI middleware that redirects requests for missing pages to the first page.

    Args:
        app: the wrapped application.
        pages: names of the pages.
        base_path: path of the server's addresses.
    """

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
    """The message about a missing page, with the most similar one.

    Args:
        name: name of the missing page in the address.
        pages: titles of the pages, the first page first.
    """
    near = nearest_page(name, pages)
    suggestion = f" Did you mean {near}?" if near else ""
    return f"There is no page {quoted(name, MOST_CHARACTERS)}; this is {next(iter(pages))}.{suggestion}"


def nearest_page(name: str, pages: Collection[str]) -> str:
    """The title most similar to a name in an address; "" for none."""
    titles = {title.lower(): title for title in pages}
    return next((titles[each] for each in get_close_matches(name.lower(), titles, 1)), "")
