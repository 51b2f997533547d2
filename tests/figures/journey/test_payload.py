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

from bertviz_core import open_model
from bertviz_core.figures.base.export import font_face
from bertviz_core.figures.base.style import LIGHT
from bertviz_core.figures.journey.html_file import journey_html, script, style
from bertviz_core.figures.journey.payload import DrawnChange, Ending, Path, identity, journey_payload, parts_payload
from bertviz_core.journey.results import Journey
from bertviz_core.questions.interventions.journey_change import drawn_change
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.journey import journey, layer_opening, next_openings
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


def test_the_words_of_a_long_text_are_the_tokenizers(opened: OpenedModel) -> None:
    text = "Photosynthesis is unbelievably beautiful, isn't it? " * 8
    long = journey(opened, Options((text,))).result
    encoding = opened.tokenizer.tokenizer(text)
    header, _ = decoded(journey_payload(long, theme=LIGHT, path=Path()))
    several = {}
    for word in sorted({each for each in encoding.word_ids() if each is not None}):
        first, end = encoding.word_to_tokens(word)
        if end - first > 1:
            several[first] = (end - first, slice(*encoding.word_to_chars(word)))
    assert len(several) == 16
    assert header["words"] == [[first, count, text[place]] for first, (count, place) in several.items()]
    short = journey(opened, Options((text[:60],))).result
    assert decoded(journey_payload(short, theme=LIGHT, path=Path()))[0]["words"] == []


def test_an_opened_layer_and_the_ending_travel_unchanged(opened: OpenedModel, way: Journey) -> None:
    part = layer_opening(opened, Options(("I love my pet python.",), values={"layer": "2", "query": "5"})).result
    ending = Ending("cosine", 0.25, "cosine", np.arange(6, dtype=np.float32), None, None)
    header, array = decoded(journey_payload(way, theme=LIGHT, path=Path(5, "2"), openings=[part], ending=ending))
    (sent,) = header["parts"]
    assert (array(sent["rows"]) == part.rows).all()
    assert (array(sent["output"]) == part.attention_output).all()
    assert (array(sent["activations"]) == part.activations).all()
    assert (array(sent["feedForward"]) == part.feed_forward).all()
    assert array(header["ending"]["layers"]).tolist() == [0, 1, 2, 3, 4, 5]
    assert header["ending"]["value"] == 0.25


def test_parts_that_may_be_opened_next_travel_under_the_same_name(opened: OpenedModel, way: Journey) -> None:
    options = Options(("I love my pet python.",), values={"layer": "2", "query": "5"})
    heads = next_openings(opened, options).result
    header, array = decoded(parts_payload(way, heads))
    assert header["identity"] == identity(way)
    assert [sent["head"] for sent in header["parts"]] == list(range(12))
    assert (array(header["parts"][7]["products"]) == heads[7].cell.score.products).all()


@pytest.mark.sample(1)
@pytest.mark.parametrize("change", ["head-3.5", "layer-1", "mask-5"])
def test_a_change_travels_as_the_numbers_of_its_run(change: str, opened: OpenedModel, way: Journey) -> None:
    options = Options(("I love my pet python.",), values={"change": change})
    drawn = drawn_change(opened, options)
    header, array = decoded(journey_payload(way, theme=LIGHT, path=Path(5), change=drawn))
    table = open_model("all-MiniLM-L6-v2").journey("I love my pet python.").changed(change)
    for sent, clean in zip(header["change"]["measures"], header["measures"], strict=True):
        assert sent["key"] == clean["key"]
        differences = (array(sent) - array(clean)).ravel()
        expected = table[f"{sent['key']}_difference"].to_numpy()
        assert (np.round(differences, sent["digits"]) == np.round(expected, sent["digits"])).all()
        assert np.abs(differences).max() > 1e-3
    assert drawn is not None
    assert drawn.both is not None
    strips, known = header["change"]["strips"], drawn.both.after.strips
    assert known is not None
    assert strips["scale"] == header["strips"]["scale"]
    values = array(strips) * strips["scale"] / strips["levels"]
    cut = np.clip(known.values, -strips["scale"], strips["scale"])
    assert np.abs(values - cut).max() <= strips["scale"] / strips["levels"] / 2 * 1.001
    assert array(header["change"]["cosine"]) == pytest.approx(drawn.both.cosine)


def test_parts_of_a_changed_run_stand_under_another_name_than_those_without_the_change(
    opened: OpenedModel, way: Journey
) -> None:
    names = {identity(way)}
    for values in ({"change": "layer-1"}, {"change": "layer-1", "removed_for": "its mean"}, {"change": "mask-4"}):
        drawn = drawn_change(opened, Options((way.tokens.text if way.tokens else "",), values=values))
        header, _ = decoded(journey_payload(way, theme=LIGHT, path=Path(5), change=drawn))
        later, _ = decoded(parts_payload(way, (), drawn))
        assert header["identity"] == identity(way)
        assert header["change"]["identity"] == later["identity"]
        names.add(later["identity"])
    assert len(names) == 4


def test_undo_restores_the_message_of_the_unchanged_run(opened: OpenedModel, way: Journey) -> None:
    drawn = drawn_change(opened, Options(("I love my pet python.",), values={"change": "layer-1"}))
    clean = journey_payload(way, theme=LIGHT, path=Path(5))
    assert drawn_change(opened, Options(("I love my pet python.",))) is None
    assert journey_payload(way, theme=LIGHT, path=Path(5), change=None) == clean
    (header, _), (changed, _) = decoded(clean), decoded(journey_payload(way, theme=LIGHT, path=Path(5), change=drawn))
    assert changed.pop("change")
    assert header.pop("change") is None
    assert changed == header, "a change adds to the message, and moves nothing of the unchanged run"


def test_a_refused_change_travels_as_its_sentence(way: Journey) -> None:
    drawn = DrawnChange("head-9.9", refused="There is no <b>.")
    header, _ = decoded(journey_payload(way, theme=LIGHT, path=Path(5), change=drawn))
    assert header["change"] == {"name": "head-9.9", "mean": False, "refused": "There is no <b>."}


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
    assert font_face() in page
    (data,) = re.findall(r'id="data">([^<]*)<', page)
    assert base64.b64decode(data) == payload


def test_the_code_is_whole() -> None:
    code = script()
    assert code.count("{") == code.count("}")
    assert all(f"function {name}(" in code for name in ("layoutOf", "journeyView", "startAlone", "drawTall"))
    assert style().count("{") == style().count("}")
