"""The fixture that watches browser tests detects faults."""

from contextlib import nullcontext
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import Watch

pytestmark = pytest.mark.browser


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("content", "fault", "event"),
    [
        ("<img src='http://evil.example/x.png'>", "request: http://evil.example/x.png", "request"),
        ("<script>new WebSocket('ws://evil.example/')</script>", "request: ws://evil.example/", "websocket"),
        ("<script>console.error('wrong')</script>", "console error: wrong", "console"),
        ("<script>throw new Error('wrong')</script>", "page error: wrong", "pageerror"),
        ("<div data-testid='stException'>Traceback</div>", "exception: Traceback", None),
    ],
    ids=["request", "websocket", "console", "page error", "exception"],
)
def test_the_guard_sees_a_fault(browser: Browser, content: str, fault: str, event: Any) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        watch = Watch(page)
        with page.expect_event(event) if event else nullcontext():
            page.set_content(f"<!DOCTYPE html><html><body>{content}</body></html>")
        assert fault in watch.faults()


def test_the_guard_lets_a_quiet_page_be(browser: Browser) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        watch = Watch(page)
        page.set_content("<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='><script>console.log('fine')</script>")
        assert not watch.faults()
