"""Scripts of components: a message has none of them, and the server sends what it names, for ever.

Covers `ui/components/__init__.py`.
"""

import gzip
import re
from xml.etree import ElementTree

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from bertviz_core.figures.base.style import LIGHT
from tests.pages.opened import opened
from ui.components import FOLDER, OF_COMPONENTS, script
from ui.components.frame import mark
from ui.server.start import badge

MOST_CHARACTERS = 800
"""Of the script that a message has."""
CLIENT = TestClient(Starlette(routes=[Route(f"/{FOLDER}/{{name}}", script), Route("/badge.svg", badge)]))


def test_a_message_has_the_name_of_its_script_alone() -> None:
    sent = [each.proto.js_content for each in opened("parameters").get("bidi_component")]
    named = [re.search(rf"{FOLDER}/[\w.-]+\.js", each) for each in sent]
    assert all(named)
    assert {each[0] for each in named if each} <= set(OF_COMPONENTS)
    assert max(map(len, sent)) < MOST_CHARACTERS


def test_every_script_is_sent_in_full_and_kept() -> None:
    for path in OF_COMPONENTS:
        plain = CLIENT.get(f"/{path}", headers={"accept-encoding": "identity"})
        assert "export default" in plain.text
        assert plain.headers["content-type"].startswith("text/javascript")
        assert "immutable" in plain.headers["cache-control"]
        with CLIENT.stream("GET", f"/{path}", headers={"accept-encoding": "gzip"}) as small:
            assert gzip.decompress(b"".join(small.iter_raw())) == plain.content


def test_a_script_that_is_not_there_is_one_sentence() -> None:
    answer = CLIENT.get(f"/{FOLDER}/../app.py")
    assert answer.status_code == 404
    answer = CLIENT.get(f"/{FOLDER}/other.js")
    assert (answer.status_code, answer.text) == (404, "There is no such script.")


def test_the_badge_has_a_name_and_the_colours_of_the_logo() -> None:
    drawing = ElementTree.fromstring(CLIENT.get("/badge.svg").text)
    bars = re.compile(r'fill="(#\w+)"')
    colours = [each.get("fill") for each in drawing.findall("{*}rect")][1:]
    assert colours == bars.findall(mark(LIGHT))
    assert drawing.findtext("{*}title") == drawing.findtext("{*}text") == drawing.get("aria-label")
