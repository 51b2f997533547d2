"""The page Journey: the message for its drawing, for every state in an address, and refusals.

Covers `ui/views/journey/*.py` and `ui/components/journey/__init__.py`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened, said
from ui.widgets.lists import progress


def header(at: AppTest) -> Any:
    """The header of the message for the drawing."""
    assert not at.exception
    (view,) = [each for each in at.get("bidi_component") if each.proto.component_name == "journey_view"]
    length = int.from_bytes(view.proto.bytes[:4], "little")
    return json.loads(view.proto.bytes[4 : 4 + length])


def test_the_drawing_begins_closed_at_the_longest_word_with_its_numbers_in_a_table() -> None:
    at = opened("journey", journey_table="true")
    sent = header(at)
    assert sent["labels"][sent["path"]["token"]] == "python"
    assert sent["path"]["open"] == ""
    assert sent["parts"] == []
    (frame,) = at.dataframe
    assert frame.value["turn"].tolist()[5] == pytest.approx(0.3557, abs=1e-4)
    assert len(sent["stages"]) == 8


def test_an_address_opens_a_head_at_its_strongest_key() -> None:
    sent = header(opened("journey", layer="3", head="5", query="5"))
    assert [part["kind"] for part in sent["parts"]] == ["layer", "head"]
    assert sent["parts"][1]["key"] == 0
    assert sent["parts"][1]["weight"] == pytest.approx(0.8104, abs=1e-4)


@pytest.mark.parametrize(
    ("query", "open_", "head"),
    [
        ({"layer": "9"}, "", None),
        ({"layer": "2", "head": "12"}, "2", None),
        ({"layer": "2", "head": "1", "key": "99"}, "2", 1),
        ({"layer": "embeddings", "head": "1"}, "embeddings", None),
        ({"query": "99"}, "", None),
    ],
)
def test_what_the_model_does_not_have_is_left_out(query: dict[str, str], open_: str, head: int | None) -> None:
    sent = header(opened("journey", **query))
    assert (sent["path"]["open"], sent["path"]["head"], sent["path"]["key"]) == (open_, head, None)
    assert sent["path"]["token"] == 5


def test_the_answer_is_followed_back_to_layers_heads_and_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", 60)
    at = opened("journey", rests_on="true", pair="I love coding in python.")
    sent = header(at)
    assert sent["ending"]["value"] == pytest.approx(0.5802, abs=1e-4)
    assert sent["ending"]["layers"]["shape"] == [6]
    assert sent["ending"]["heads"]["shape"] == [6, 12]
    assert sent["ending"]["tokens"]["shape"] == [8]
    assert len(sent["labels"]) == 8  # the cosine reads the text without the second one


@pytest.mark.parametrize("family", ["fnet", "funnel", "t5"])
def test_families_that_lack_something_are_drawn_with_one_sentence(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_tiny(family, tmp_path / family)
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    at = opened("journey", model=family, layer="1", text="i love my pet python")
    sent = header(at)
    assert sent["layers"] == 3
    assert ("Fourier" in sent["attention_note"]) == (family == "fnet")
    words = said(" ".join(each.value for each in [*at.markdown, *at.caption, *at.warning])) + sent["missing"]
    assert {"fnet": "Fourier", "funnel": "one row", "t5": "T5"}[family] in words
    assert words.count("Fourier") == (family == "fnet"), "the drawing has the sentence too, so the page has it once"
