"""An address that names no page leads to the first one, which says so.

Streamlit gives its one HTML page for every address, and tells of a page that there is none of in a window over another,
in words for those who write pages.
"""

from collections.abc import Collection
from difflib import get_close_matches
from urllib.parse import quote

from bertviz_core.text import quoted
from ui.server.index_page import App, Message, Receive, Send, is_page

ABSENT = "no_page"
"""Name in the address of the first page: what was asked for instead."""
FIRST = "overview"
"""Name of the first page, whose address is the server's own."""
MOST_CHARACTERS = 60
NOT_PAGES = ("_stcore", "app", "component", "media", "static")
"""Where the server's own files are, some of them HTML."""


class UnknownPages:
    """ASGI middleware that sends a browser that asks for no page to the first one.

    Args:
        app: what is behind it.
        pages: names that addresses of pages have, as their last part.
        base_path: where the server's addresses begin.
    """

    def __init__(self, app: App, pages: Collection[str], base_path: str = "") -> None:
        self.app, self.pages = app, frozenset(pages) - {FIRST}
        self.base = f"/{base_path.strip('/')}".rstrip("/")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
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


def absent_words(asked: str, pages: Collection[str]) -> str:
    """What is said of a page that there is none of, and which may have been meant.

    Args:
        asked: its name in the address.
        pages: titles of the pages, the first one first.
    """
    near = nearest_page(asked, pages)
    meant = f" Did you mean {near}?" if near else ""
    return f"There is no page {quoted(asked, MOST_CHARACTERS)}; this is {next(iter(pages))}.{meant}"


def nearest_page(asked: str, pages: Collection[str]) -> str:
    """The title that a name in an address comes nearest to; "" where none is near."""
    titles = {title.lower(): title for title in pages}
    return next((titles[each] for each in get_close_matches(asked.lower(), titles, 1)), "")
