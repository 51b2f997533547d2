"""The guide of the Journey with models that lack something: each step is drawn, or says in a sentence why not."""

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened
from tests.pages.test_journey import array, header
from tests.pages.test_lesson import card, component, leave
from tests.ui.lessons.shipped import lesson
from ui.lessons.tour import GUIDE
from ui.session import DEFAULT_TEXT
from ui.widgets import run_model as answers

STEPS = lesson(GUIDE).steps
LAST = {name: values[0] for name, values in STEPS[-1].query.items()}


@pytest.mark.slow
@pytest.mark.parametrize("family", ["fnet", "modernbert", "gpt2"])
def test_each_step_holds_for_a_model_without_attention_or_pooler(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_tiny(family, tmp_path / family)
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    monkeypatch.setattr(answers, "PATIENCE_S", 60)
    for number, step in enumerate(STEPS, start=1):
        query = {name: values[0] for name, values in step.query.items()}
        at = opened("journey", model=family, query="1", lesson=GUIDE, step=str(number), **query)
        assert not at.error
        assert (card(at)["title"], card(at)["away"]) == (step.title, "")
        sent = header(at)
        assert sent["path"]["token"] == 1
        layer = query.get("layer", "")
        if layer == "most":
            turn = array(at, next(each for each in sent["measures"] if each["key"] == "turn"))
            layer = str(np.nan_to_num(turn[:, 1]).argmax())
        elif layer == "last":
            layer = str(sum(stage["kind"] == "layer" for stage in sent["stages"]) - 1)
        assert sent["path"]["open"] == layer
        assert at.session_state["model"] == family
    refusals = [each.value for each in at.warning if "no attention heads" in each.value]
    assert (sent["ending"] is None) == (family == "fnet") == bool(refusals)


def test_the_journey_offers_it_and_its_steps_take_model_and_token_along() -> None:
    (link,) = component(opened("journey"), "tour_entry_link")["links"]
    assert link["label"] == "Guide: Your text through the model, 10 steps"
    assert link["carried"] == ["model", "query", "present"]
    shown = card(opened("journey", lesson=GUIDE, step="2", layer="embeddings"))
    assert [way["carried"] for way in shown["ways"]] == [["model", "query", "present"]] * 2


def test_a_link_without_the_view_of_its_step_keeps_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_tiny("modernbert", tmp_path / "mine")
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    at = opened("tokens", model="mine", lesson=GUIDE)
    assert (at.title[0].value, at.session_state["model"]) == ("Journey", "mine")


def test_leaving_closes_what_the_steps_have_opened_and_gives_the_readers_token_back() -> None:
    at = opened("journey", query="3")
    at.query_params.update({"layer": "0", "head": "0", "query": "6", "lesson": GUIDE, "step": "5"})
    at = leave(at.run())
    assert dict(at.query_params) == {"query": "3"}
    path = header(at)["path"]
    assert (path["token"], path["open"], path["head"]) == (3, "", None)


def test_the_last_step_is_about_two_texts_and_leaves_neither_text_nor_target_behind() -> None:
    at = opened("words")
    at.button_group(key="target").set_value("state").run()
    at.query_params.update({**LAST, "lesson": GUIDE, "step": str(len(STEPS))})
    at.switch_page("../pages/journey.py").run().run()  # twice: the browser opens the whole address
    assert (at.session_state["text"], at.session_state["pair"]) == (DEFAULT_TEXT, STEPS[-1].pair)
    assert any("Target: **cosine to" in each.value for each in at.markdown)
    at = leave(at)
    assert "rests_on" not in at.query_params
    assert at.session_state["pair"] == ""
    assert at.session_state["target"] == "state"


def test_leaving_after_a_link_out_of_the_guide_keeps_what_the_link_opened() -> None:
    at = opened("journey", lesson=GUIDE, step="7", layer="most", head="0", key="1")
    at.query_params.clear()
    at.query_params.update({"view": "One cell", "layer": "3", "head": "2"})
    at = leave(at.switch_page("../pages/heads.py").run())
    assert [at.query_params[name] for name in ("view", "layer", "head")] == ["One cell", "3", "2"]


def test_a_second_text_of_the_readers_own_stays_in_the_last_step() -> None:
    at = opened("journey", pair="Mine.", lesson=GUIDE, step=str(len(STEPS)), **LAST)
    assert at.session_state["pair"] == "Mine."


def test_the_second_text_of_the_last_step_goes_with_it() -> None:
    at = opened("journey", lesson=GUIDE, step=str(len(STEPS)), **LAST)
    at.query_params.update({"step": str(len(STEPS) - 1)})
    assert at.run().session_state["pair"] == ""
