"""Widgets of a notebook: traits follow what the browser says, the drawing follows traits, one sentence a refusal.

Covers `bertviz_core/api/widgets.py`; `tests/browser/test_widgets.py` has the same with a browser.
"""

import json
from typing import Any

import numpy as np
import pytest

pytest.importorskip("anywidget")

import traitlets

from bertviz_core import BertvizError, Model, open_model
from tests.figures.attention.test_payload import assert_near, read
from tests.helpers.notebook import Notebook
from tests.helpers.tiny_models import save_tiny

TEXT, EDIT = "the cat sat", "the cat sat on the mat"
LAYERS, HEADS = 3, 4


@pytest.fixture(scope="module", name="model")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("widgets") / "tiny"
    return open_model(save_tiny("bert", folder, num_hidden_layers=LAYERS, num_attention_heads=HEADS))


def header(notebook: Notebook) -> dict[str, Any]:
    """The header of the message that the browser has."""
    payload = notebook.state["_payload"]
    found: dict[str, Any] = json.loads(payload[4 : 4 + int.from_bytes(payload[:4], "little")])
    return found


def test_a_click_sets_the_traits_at_once_and_is_answered_with_the_weights(model: Model) -> None:
    run = model.trace(TEXT)
    widget, seen = run.widget(hide_special=True), []
    notebook = Notebook(widget)
    widget.observe(lambda change: seen.append((change["name"], change["new"])), ["layer", "head", "mode"])
    look = {"serial": 4, "identity": header(notebook)["identity"], "heads": [[2, 3], [0, 1]], "drawn": "lines"}
    notebook.say(message={**look, "cell": [2, 3, 1, 0], "range": [0, 1, 0, 2]})
    assert seen == [("layer", 2), ("head", 3), ("mode", "lines")]
    assert (widget.heads, widget.cell, widget.zoom) == ([(2, 3), (0, 1)], (1, 0), (0, 1, 0, 2))
    assert len(notebook.updates) == 1, "one message, not one a trait"
    assert header(notebook)["answers"]["heads"] == [[2, 3], [0, 1]], "the view that asked does not start anew"
    described, weights, _ = read(notebook.state["_payload"])
    inner = np.flatnonzero(~run.data.tokens.special)
    for one in described["maps"]:
        found, levels = weights(one, one["offset"], (len(inner), len(inner)))
        assert_near(found, run.attention(one["layer"], one["head"])[np.ix_(inner, inner)], one["scale"], levels)


def test_a_trait_that_is_set_is_drawn_anew(model: Model) -> None:
    widget = model.trace(TEXT).widget(layer=1, head=2)
    notebook = Notebook(widget)
    before = header(notebook)
    assert before["heads"] == [[1, 2]]
    widget.heads = [(2, 0), (0, 3)]
    assert (widget.layer, widget.head) == (2, 0)
    widget.head = 3
    assert widget.heads == [(2, 3)], "a head that was not compared stands alone"
    widget.mode, widget.cell = "lines", (1, 0)
    after = header(notebook)
    assert (after["heads"], after["answers"]["look"]["lines"]) == ([[2, 3]], True)
    assert after["answers"]["look"]["cell"] == [1, 0]
    assert after["answers"]["reads"] > before["answers"]["reads"]
    widget.layer = 0
    assert widget.cell is None, "a cell is one of the head that was open"


def test_an_observer_that_sets_another_head_is_followed(model: Model) -> None:
    widget = model.trace(TEXT).widget()
    notebook = Notebook(widget)
    widget.observe(lambda change: setattr(widget, "head", 1), "layer")
    notebook.say(message={"serial": 1, "heads": [[2, 3]]})
    assert (widget.layer, widget.head, header(notebook)["heads"]) == (2, 1, [[2, 1]])


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("layer", LAYERS, r"no layer '3' in .*; give layer 0 to 2\.$"),
        ("head", -1, r"no head '-1' in .*; give head 0 to 3\.$"),
        ("heads", [(0, 0), (0, HEADS)], "no head '4'"),
        ("heads", [(0, 0), (0, 0)], "heads has 2 entries; give at most 8, each once"),
        ("cell", (0, 99), "cell is .* no part of a map of 5 queries and 5 keys"),
        ("zoom", (2, 2, 0, 1), "zoom is .* no part"),
        ("mode", "<b>", "no mode '<b>'; choose maps, lines"),
        ("theme", "blue", "no theme 'blue'"),
    ],
)
def test_what_a_run_does_not_have_is_refused(model: Model, name: str, value: Any, sentence: str) -> None:
    widget = model.trace(TEXT).widget(layer=1, head=1)
    before = widget.get_state()
    with pytest.raises(BertvizError, match=sentence) as refusal:
        setattr(widget, name, value)
    assert isinstance(refusal.value, traitlets.TraitError)
    assert "\n" not in str(refusal.value)
    assert widget.get_state() == before
    if name in ("layer", "head", "mode"):
        with pytest.raises(BertvizError, match=sentence):
            model.trace(TEXT).widget(**{name: value})


@pytest.mark.parametrize("content", [None, 3, {}, {"message": 1}, {"message": {"heads": [[9, 9]], "drawn": 1}}])
def test_what_is_no_message_changes_nothing(model: Model, content: Any) -> None:
    run, way = model.trace(TEXT).widget(layer=0), model.journey(TEXT).widget()
    for widget in (run, way):
        notebook, layer = Notebook(widget), widget.layer
        notebook.handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})
        assert widget.layer == layer


def test_a_part_of_a_journey_is_computed_when_it_is_opened(model: Model) -> None:
    way, run = model.journey(TEXT), model.trace(TEXT)
    widget = way.widget(token=2)
    notebook = Notebook(widget)
    assert header(notebook)["parts"] == []
    notebook.say(message={"serial": 7, "token": 2, "open": "1", "head": 3, "key": 4, "colour": "length"})
    assert (widget.token, widget.layer, widget.head, widget.key, widget.colour) == (2, 1, 3, 4, "length")
    assert len(notebook.updates) == 1
    found = header(notebook)
    layer, head = found["parts"]
    assert (found["answered"], layer["kind"], head["kind"], head["key"]) == (7, "layer", "head", 4)
    assert abs(head["weight"] - run.attention(1, 3)[2, 4]) < 1e-6
    payload, place = notebook.state["_payload"], layer["rows"]
    start = 4 + int.from_bytes(payload[:4], "little") + place["at"]
    rows = np.frombuffer(payload, np.float32, HEADS * 5, start).reshape(place["shape"])
    assert np.abs(rows - run.attention(1)[:, 2]).max() < 1e-6


def test_a_change_is_computed_and_one_that_is_not_possible_is_said_in_the_drawing(model: Model) -> None:
    way = model.journey(TEXT)
    widget = way.widget()
    notebook = Notebook(widget)
    widget.change = "layer-1"
    change = header(notebook)["change"]
    assert change["name"] == "layer-1"
    where = next(each for each in change["measures"] if each["key"] == "turn")
    payload = notebook.state["_payload"]
    start = 4 + int.from_bytes(payload[:4], "little") + where["at"]
    turn = np.frombuffer(payload, np.float32, LAYERS * 5, start)
    assert np.abs(turn - way.changed("layer-1")["turn_after"].to_numpy(np.float32)).max() < 1e-6
    notebook.say(message={"serial": 1, "token": 1, "open": "", "change": "layer-77", "mean": False})
    assert "no layer 77" in header(notebook)["change"]["refused"]
    notebook.say(message={"serial": 2, "token": 1, "open": "", "change": "", "mean": False})
    assert (widget.change, header(notebook)["change"]) == ("", None)


def test_an_edited_text_is_drawn_and_a_token_of_it_may_be_chosen(model: Model) -> None:
    widget = model.journey(TEXT).widget()
    notebook = Notebook(widget)
    widget.edited = EDIT
    widget.change = "text"
    count = len(header(notebook)["labels"])
    assert count > 5
    widget.token = count - 1
    assert header(notebook)["path"]["token"] == count - 1
    widget.change = ""
    assert widget.token < 5, "of the text before the edit"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("token", 5, r"no token=5 here; give 0 to 4\.$"),
        ("layer", LAYERS, "no layer '3'"),
        ("layer", "pooler", "no layer 'pooler'"),
        ("head", 0, "No layer is open, so head cannot be chosen; set layer first"),
        ("key", 0, "No head is open, so key cannot be chosen; set head first"),
        ("change", "layer-3", "no layer 3 in"),
        ("change", "text", "The text is not edited"),
        ("ribbon", "red", "no ribbon 'red'; choose attention, weighted"),
    ],
)
def test_what_a_journey_does_not_have_is_refused(model: Model, name: str, value: Any, sentence: str) -> None:
    widget = model.journey(TEXT).widget()
    before = widget.get_state()
    with pytest.raises(BertvizError, match=sentence):
        setattr(widget, name, value)
    assert widget.get_state() == before


def test_a_part_closes_with_what_it_was_in(model: Model) -> None:
    widget = model.journey(TEXT).widget(layer=2, head=1, key=0)
    with pytest.raises(BertvizError, match="no head '4'"):
        widget.head = HEADS
    widget.layer = "embeddings"
    assert (widget.head, widget.key) == (None, None)
    widget.layer = None
    assert header(Notebook(widget))["path"]["open"] == ""


def test_the_module_makes_no_request(model: Model) -> None:
    for widget in (model.trace(TEXT).widget(), model.journey(TEXT).widget()):
        assert not [word for word in ("fetch(", "XMLHttpRequest", "import ", "import(", "//cdn") if word in widget._esm]
