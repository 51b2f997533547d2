"""A view in a frame on another site: the code from Share, working widgets, and refused sites.

Covers `ui/components/frame/__init__.py`.
"""

import re
import threading
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from tests.browser.conftest import COLD_MS, new_tab, serving

pytestmark = pytest.mark.browser
HOSTILE = "A \"bank\" & a 'river' </iframe><script>alert(1)</script> &amp;"


class Host(ThreadingHTTPServer):
    """Another site for browsers, since another port is another origin."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.body = ""
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    server: Host

    def do_GET(self) -> None:
        """Respond with the page to every request."""
        body = f"<!doctype html><title>Course</title><body>{self.server.body}".encode()
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    site = Host()
    thread = threading.Thread(target=site.serve_forever)
    thread.start()
    yield site
    site.shutdown()
    thread.join()
    site.server_close()


@pytest.fixture(scope="module")
def embedded(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard that the other site may embed."""
    with serving(tmp_path_factory.mktemp("home"), settings={"INSIDE_BERT_FRAME_ANCESTORS": host.origin}) as url:
        yield url


class Tags(HTMLParser):
    def __init__(self, code: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(code)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def code_of(page: Page, of: str = "this view") -> str:
    field = page.get_by_role("textbox", name=f"Code of a frame with {of}")
    if not field.is_visible():
        page.get_by_test_id("stSidebar").get_by_role("button", name="Share").click()
    expect(field).to_have_value(re.compile("^<iframe "))
    return field.input_value()


def shown(page: Page, host: Host, code: str) -> FrameLocator:
    host.body = code
    page.goto(host.origin)
    return page.frame_locator("iframe")


def query(address: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(address).query)


@pytest.mark.slow
def test_the_code_is_one_frame_whatever_is_typed(page: Page, embedded: str, host: Host) -> None:
    page.goto(f"{embedded}/tokens")
    box = page.get_by_test_id("stSidebar").get_by_role("textbox", name="Text", exact=True)
    box.fill(HOSTILE)
    box.press("Control+Enter")
    plain = code_of(page)
    page.get_by_text("Include the text").click()
    field = page.get_by_role("textbox", name="Code of a frame with this view")
    expect(field).not_to_have_value(plain)
    expect(page.get_by_text("The frame works on pages of http")).to_be_visible()
    parts = Tags(field.input_value())
    ((tag, attributes),) = parts.found
    assert (tag, parts.text, attributes["title"]) == ("iframe", "", "Inside BERT: Tokens")
    assert query(str(attributes["src"])) == {"embed": ["true"], "text": [HOSTILE]}
    page.get_by_role("button", name="Copy the code", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="The code is")).to_be_visible()


@pytest.mark.slow
def test_a_badge_of_a_model_card_opens_the_dashboard_with_the_model(page: Page, embedded: str) -> None:
    page.goto(f"{embedded}/tokens?model=org/na)me")
    code_of(page)
    words = page.get_by_role("textbox", name="Badge for a model card").input_value()
    badge = re.fullmatch(r"\[!\[Open in Inside BERT\]\(([^()]+)\)\]\(([^()]+)\)", words)
    assert badge
    image, link = badge.groups()
    answer = page.request.get(image)
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    page.goto(link)
    expect(page.get_by_text("No model 'org/na)me' found").first).to_be_visible(timeout=COLD_MS)


@pytest.mark.slow
def test_a_frame_shows_the_view_with_its_controls_and_a_way_to_all_of_it(page: Page, embedded: str, host: Host) -> None:
    page.goto(f"{embedded}/attention?layer=2&head=5")
    expect(page.locator(".stage[data-shown='2.5']")).to_be_visible(timeout=COLD_MS)
    code, alone = code_of(page), code_of(page, "the figure alone")
    frame = shown(page, host, alone)
    expect(frame.locator(".stage[data-shown='2.5']")).to_be_visible()
    expect(frame.get_by_role("button")).to_have_count(0)
    expect(frame.locator("h1")).to_be_hidden()
    assert query(page.frames[1].url) == {"embed": ["true"], "figure": ["only"], "layer": ["2"], "head": ["5"]}
    frame = shown(page, host, code)
    expect(frame.locator(".stage[data-shown='2.5']")).to_be_visible()
    expect(frame.get_by_role("heading", name="Attention", exact=True)).to_be_visible()
    expect(frame.get_by_test_id("stSidebar")).to_have_count(0)
    expect(frame.get_by_role("link", name="Parameters")).to_have_count(0)
    head = frame.get_by_role("spinbutton", name="Head")
    head.fill("3")
    head.press("Enter")
    expect(frame.locator(".stage[data-shown='2.3']")).to_be_visible()
    inside = page.frames[1]
    assert query(inside.url) == {"embed": ["true"], "layer": ["2"], "head": ["3"]}
    with page.expect_popup() as opened:
        frame.get_by_role("link", name="Open in Inside BERT").click()
    whole = opened.value
    expect(whole.locator(".stage[data-shown='2.3']")).to_be_visible()
    expect(whole.get_by_test_id("stSidebar").get_by_role("link", name="Parameters")).to_be_visible()
    assert query(whole.url) == {"layer": ["2"], "head": ["3"]}
    whole.close()


@pytest.mark.slow
def test_the_way_out_of_a_frame_carries_the_text_of_its_link_and_none_that_was_typed(
    page: Page, embedded: str, host: Host
) -> None:
    frame = shown(page, host, f'<iframe src="{embedded}/tokens?embed=true&amp;text=A+bank." width="700" height="500">')
    link = frame.get_by_role("link", name="Open in Inside BERT")
    expect(link).to_have_attribute("href", f"{embedded}/tokens?text=A+bank.")
    frame.get_by_role("button", name="Model and text").click()
    box = frame.get_by_role("textbox", name="Text", exact=True)
    expect(box).to_have_value("A bank.")
    box.fill("My own words.")
    box.press("Control+Enter")
    expect(link).to_have_attribute("href", f"{embedded}/tokens")


@pytest.mark.parametrize("name", sorted(path.stem for path in (Path(__file__).parents[2] / "pages").glob("[a-z]*.py")))
@pytest.mark.slow
def test_every_page_stands_in_a_frame(page: Page, embedded: str, host: Host, name: str) -> None:
    frame = shown(page, host, f'<iframe src="{embedded}/{name}?embed=true" width="700" height="500">')
    expect(frame.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    expect(frame.locator("h1")).to_be_visible()
    expect(frame.get_by_test_id("stSidebar")).to_have_count(0)
    expect(frame.get_by_test_id("stException")).to_have_count(0)
    assert page.frames[1].evaluate("document.documentElement.scrollWidth <= innerWidth")
    code = f'<iframe src="{embedded}/{name}?embed=true&amp;figure=only&amp;pair=A+river." width="900" height="560">'
    frame = shown(page, host, code)
    figure = frame.locator(
        "[data-chart], .st-key-attention_heads, .st-key-journey, .st-key-architecture_tree, .stAlert"
    ).first
    expect(figure).to_be_visible(timeout=COLD_MS)
    expect(frame.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    box, around = figure.bounding_box(), page.locator("iframe").bounding_box()
    assert box is not None
    assert around is not None
    assert box["y"] - around["y"] < 10
    if name in ("overview", "parameters"):  # figures without rows of words have the whole height
        assert box["height"] == pytest.approx(560, abs=2)
    expect(frame.locator("h1")).to_be_hidden()
    expect(frame.get_by_role("combobox").filter(visible=True)).to_have_count(0)
    assert page.frames[1].evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.slow
def test_who_is_not_named_is_refused_by_the_browser(browser: Browser, server: str, host: Host) -> None:
    with new_tab(browser) as page:
        output: list[str] = []
        page.on("console", lambda message: output.append(message.text))
        page.goto(f"{server}/tokens")
        code = code_of(page)
        expect(page.get_by_text("No other site may show the frame of this server")).to_be_visible()
        frame = shown(page, host, code)
        page.wait_for_load_state("load")
        expect(frame.locator("h1")).not_to_have_text("Tokens")
        assert any("frame-ancestors 'self'" in unescape(each) for each in output), output
