"""The message of the drawing contains the journey's numbers, and its file cannot be injected into.

Covers `bertviz_core/figures/journey/html_file.py`.
"""

import base64
import json
import re
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from bertviz_core.figures.base.style import LIGHT
from bertviz_core.figures.journey.html_file import journey_html, script, style
from bertviz_core.figures.journey.payload import Ending, Path, identity, journey_payload
from bertviz_core.journey.results import Journey
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.journey import journey, layer_opening
from bertviz_core.settings import Settings

HOSTILE = "</script><img src=x onerror=alert(1)> & python"


@pytest.fixture(scope="module")
def opened() -> OpenedModel:
    return OpenedModel("all-MiniLM-L6-v2", Settings.from_environment())


@pytest.fixture(scope="module")
def way(opened: OpenedModel) -> Journey:
    return journey(opened, Options(("I love my pet python.",))).result


def decoded(payload: bytes) -> tuple[Any, Any]:
    """The header, and a function that returns an array by its position."""
    length = int.from_bytes(payload[:4], "little")
    header = json.loads(payload[4 : 4 + length])
    assert (4 + length) % 4 == 0  # the browser reads float32 in place

    def array(place: Any) -> Any:
        kind = np.dtype(place["type"])
        count = int(np.prod(place["shape"]))
        return np.frombuffer(payload, kind, count, 4 + length + place["at"]).reshape(place["shape"])

    return header, array


def test_every_measure_is_sent_as_it_is(way: Journey) -> None:
    header, array = decoded(journey_payload(way, theme=LIGHT, path=Path(5)))
    for measure in header["measures"]:
        assert (array(measure) == getattr(way, measure["key"])).all()
    assert [measure["key"] for measure in header["measures"]] == ["turn", "length", "entropy"]
    assert header["labels"] == list(way.labels)


def test_strips_are_exact_to_half_a_level(way: Journey) -> None:
    header, array = decoded(journey_payload(way, theme=LIGHT, path=Path(5)))
    strips, known = header["strips"], way.strips
    assert known is not None
    values = array(strips) * strips["scale"] / strips["levels"]
    assert np.abs(values - known.values).max() <= strips["scale"] / strips["levels"] / 2 * 1.001


def test_an_opened_layer_and_the_ending_travel_unchanged(opened: OpenedModel, way: Journey) -> None:
    part = layer_opening(opened, Options(("I love my pet python.",), values={"layer": "2", "query": "5"})).result
    ending = Ending("cosine", 0.25, "cosine", np.arange(6, dtype=np.float32), None, None)
    header, array = decoded(journey_payload(way, theme=LIGHT, path=Path(5, "2"), openings=[part], ending=ending))
    (sent,) = header["parts"]
    assert (array(sent["rows"]) == part.rows).all()
    assert (array(sent["output"]) == part.attention_output).all()
    assert array(header["ending"]["layers"]).tolist() == [0, 1, 2, 3, 4, 5]
    assert header["ending"]["value"] == 0.25


def test_another_text_has_another_name(opened: OpenedModel, way: Journey) -> None:
    other = journey(opened, Options(("I love my pet snake.",))).result
    assert identity(other) != identity(way)


def test_a_file_runs_its_own_code_alone(opened: OpenedModel) -> None:
    way = journey(opened, Options((HOSTILE,))).result
    payload = journey_payload(way, theme=LIGHT, path=Path(1))
    page = journey_html(payload, f"Journey of {HOSTILE}", HOSTILE)
    assert "<img" not in page
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    (code,) = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    digest = base64.b64encode(sha256(code.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    (data,) = re.findall(r'id="data">([^<]*)<', page)
    assert base64.b64decode(data) == payload


def test_the_code_is_whole() -> None:
    code = script()
    assert code.count("{") == code.count("}")
    assert all(f"function {name}(" in code for name in ("layoutOf", "journeyView", "startAlone", "drawTall"))
    assert style().count("{") == style().count("}")
