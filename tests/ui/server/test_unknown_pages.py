"""Addresses of missing pages: the middleware's redirect, and one message."""

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.ui.server.test_index_page import HTML, PAGE, answering, body, run, start
from ui.server.access import ABSENT, UnknownPages, absent_words
from ui.server.start import App, Message

PAGES = ("journey", "heads", "attention")


def answer(path: str, app: App, base_path: str = "", query: bytes = b"") -> list[Message]:
    """Messages that the middleware sends for one request."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": query, "headers": []}
    run(UnknownPages(app, PAGES, base_path)(scope, receive, send))
    return sent


@pytest.mark.parametrize("address", ["/headz", "/heads/x", "/a b&c=d", "//example.org", "/nö?", "/" + "x" * 500])
@pytest.mark.parametrize("base", ["", "lens"])
def test_any_other_address_leads_to_the_first_page_with_its_name_and_query(address: str, base: str) -> None:
    prefix = f"/{base}" if base else ""
    page = answering(start(HTML), body(PAGE[:9], more=True), body(PAGE[9:]))
    first, *rest = answer(prefix + address, page, base, b"model=m")
    assert first["status"] == 303
    place = urlsplit(dict(first["headers"])[b"location"].decode("ascii"))
    assert (place.scheme, place.netloc, place.path) == ("", "", f"{prefix}/")
    assert parse_qs(place.query) == {ABSENT: [address.strip("/")[:60]], "model": ["m"]}
    assert rest == [{"type": "http.response.body", "body": b""}]


def test_the_first_page_goes_by_its_name_too() -> None:
    for query, place in ((b"", b"/"), (b"model=m", b"/?model=m")):
        first, _ = answer("/journey", answering(start(HTML), body(PAGE)), query=query)
        assert dict(first["headers"])[b"location"] == place


@pytest.mark.parametrize("address", ["/", "", "/heads", "/heads/", "/media/a.html", "/component/x/index.html"])
def test_pages_and_files_are_served(address: str) -> None:
    parts = [start(HTML), body(PAGE)]
    assert answer(address, answering(*parts)) == parts


def test_what_is_no_page_anyway_stays_as_it_is() -> None:
    parts = [start([(b"content-type", b"image/png")]), body(b"1", more=True), body(b"2")]
    assert answer("/favicon.png", answering(*parts)) == parts


def test_the_sentence_names_what_was_asked_for_and_what_may_have_been_meant() -> None:
    titles = ["Overview", "Heads", "Attention"]
    assert absent_words("Headz", titles) == "There is no page 'Headz'; this is Overview. Did you mean Heads?"
    assert absent_words("admin.php", titles) == "There is no page 'admin.php'; this is Overview."
