"""The attention page: the message for its view, its numbers as a table, its readings, long texts and refusals.

Covers `bertviz_core/questions/views/attention.py` and `ui/views/attention.py`.
"""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from bertviz_core.attention.results import AttentionAtlas
from bertviz_core.models.loading import LoadedModel
from bertviz_core.questions.texts import attention
from bertviz_core.questions.views import attention as views
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import drawn, opened, visible_text, with_files
from ui.cache import models
from ui.widgets import run_model

PAIR = {"text": "I love my pet, unbelievably.", "pair": "It sleeps all day."}


def words(at: AppTest) -> str:
    """All Markdown and captions of the page."""
    return visible_text(" ".join(each.value for each in [*at.markdown, *at.caption]))


def header(at: AppTest) -> Any:
    """The header of the message for the view."""
    (view,) = [each for each in at.get("bidi_component") if each.proto.component_name == "attention_view"]
    (length,) = struct.unpack_from("<I", view.proto.bytes)
    return json.loads(view.proto.bytes[4 : 4 + length])


def table_of(at: AppTest) -> Any:
    """The rows of the open head, from the folded table."""
    at.session_state["attention_heads_table"] = True
    at.run()
    (frame,) = at.dataframe
    return frame.value


def test_rows_of_the_opened_head_sum_to_one() -> None:
    frame = table_of(opened("attention", layer="2", head="7"))
    assert frame.shape == (8, 9)
    np.testing.assert_allclose(frame.iloc[:, 1:].sum(axis=1), 1, atol=1e-6)


def test_how_it_is_drawn_comes_back_without_what_was_selected() -> None:
    at = opened("attention", look="lines_heads-2.1-0.0_cell-2.3")
    for page in ("tokens", "attention"):
        at.query_params.clear()  # as the browser does on a change of page
        at.switch_page(f"../pages/{page}.py").run()
        assert not at.exception
    assert at.query_params["look"] in ("lines", ["lines"])


def test_hidden_and_shown_share_of_every_row_sum_to_one_and_are_stated() -> None:
    at = opened("attention", **PAIR, words="true", hide_special="true", part="A to B")
    frame = table_of(at)
    assert frame["hidden"].min() > 0
    np.testing.assert_allclose(frame.iloc[:, 1:].sum(axis=1), 1, atol=1e-6)
    assert "Nothing is renormalised" in words(at)
    assert any("unbelievably" in str(query) for query in frame["query"])


def test_rollout_takes_the_heads_together() -> None:
    at = opened("attention", weights="rollout", layer="5")
    assert not [each for each in at.number_input if each.key == "head"]
    np.testing.assert_allclose(table_of(at).iloc[:, 1:].sum(axis=1), 1, atol=1e-5)


def test_value_zeroing_takes_the_heads_together_and_says_what_a_token_depends_on() -> None:
    at = opened("attention", weights="value-zeroing", layer="5")
    assert not [each for each in at.number_input if each.key == "head"]
    assert header(at)["atlas"]["weights"] == "value-zeroing"
    shares = table_of(at).iloc[:, 1:].to_numpy()
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-5)
    rollout = table_of(opened("attention", weights="rollout", layer="5")).iloc[:, 1:].to_numpy()
    assert np.abs(shares - rollout).max() > 0.1
    assert "is set to zero in this layer" in words(at)
    assert "depends on" in words(opened("attention", weights="value-zeroing", layer="5", look="cell-2.3"))


def test_value_zeroing_that_takes_long_begins_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "A text whose values wait."
    opened("attention", text=text)
    monkeypatch.setattr(run_model, "CONFIRM_ABOVE_SECONDS", -1.0)
    at = opened("attention", weights="value-zeroing", text=text)
    assert "the run needs" in visible_text(at.info[0].value)
    assert not at.error
    at.button(key="start_run").click().run()
    assert not at.info
    assert header(at)["atlas"]["weights"] == "value-zeroing"


def test_a_model_whose_values_are_not_known_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_tiny("mpnet", tmp_path / "tiny-mpnet")
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    st.cache_resource.clear()
    at = opened("attention", model="tiny-mpnet", weights="value-zeroing")
    assert "where no value can be set to zero" in visible_text(at.error[0].value)
    at = opened("attention", model="tiny-mpnet")
    at.session_state["attention_beside"] = True
    at.run()
    assert len(drawn(at)["data"]) == 3
    assert "Value zeroing needs a run that records the values" in words(at)
    st.cache_resource.clear()


@pytest.mark.slow
def test_value_weighted_cells_are_the_weights_times_one_number_per_key() -> None:
    plain = table_of(opened("attention", layer="1", head="3")).iloc[:, 1:].to_numpy()
    weighted = table_of(opened("attention", layer="1", head="3", weights="value-weighted")).iloc[:, 1:].to_numpy()
    ratios = weighted / plain
    np.testing.assert_allclose(ratios, np.broadcast_to(ratios[:1], ratios.shape), rtol=1e-3)
    assert ratios.std() > 0


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("attention", {}),
        ("representations", {}),
        ("sentences", {"sentences": "typed"}),
        ("predictions", {"model": "splade-tiny"}),
        ("heads", {"view": "One cell"}),
    ],
)
def test_every_page_that_runs_a_model_names_device_and_number_format(page: str, query: dict[str, str]) -> None:
    at = opened(page, **query)
    assert not at.exception
    assert "on cpu in float32" in words(at)


def test_there_is_no_choice_of_a_part_without_a_pair() -> None:
    at = opened("attention")
    assert not [each for each in at.button_group if each.key == "part"]


def test_everything_hidden_is_said_in_one_sentence() -> None:
    at = opened("attention", text="!", hide_special="true", hide_punctuation="true")
    assert "no cell is left" in visible_text(at.error[0].value)
    assert not at.exception


def test_a_layer_or_head_that_the_model_has_not_falls_back() -> None:
    at = opened("attention", layer="77", head="99")
    assert not at.exception
    assert at.select_slider(key="layer").value == "5"


def test_files_of_the_opened_head_and_of_all_heads_are_offered() -> None:
    at = with_files(opened("attention", layer="2", head="7"), "attention_heads")
    labels = [button.label for button in at.get("download_button")]
    assert labels == ["HTML", "CSV", "Measures (CSV)", "npz", "Parquet"]


def test_where_the_second_text_begins_is_sent_to_the_view() -> None:
    queries = header(opened("attention", **PAIR))["atlas"]["queries"]
    assert queries["labels"][queries["second"] - 1 : queries["second"] + 1] == ["[SEP]", "it"]
    assert header(opened("attention"))["atlas"]["queries"]["second"] is None
    assert header(opened("attention", **PAIR, part="B to B"))["atlas"]["queries"]["second"] is None


def test_a_head_that_looks_at_special_tokens_says_how_to_see_the_rest() -> None:
    assert "this head puts 73.2% on special tokens" in words(opened("attention", layer="3", head="5"))
    assert "on special tokens" not in words(opened("attention", layer="3", head="5", hide_special="true"))
    assert "of its attention on special tokens" not in words(opened("attention", layer="0", head="2"))


def test_four_readings_stand_side_by_side() -> None:
    at = opened("attention", layer="2", head="7")
    at.session_state["attention_beside"] = True
    at.run()
    raw, weighted, rollout, zeroed = (np.array(each["z"]).reshape(8, 8) for each in drawn(at)["data"])
    np.testing.assert_allclose(raw.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(rollout.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(zeroed.sum(axis=1), 1, atol=1e-6)
    assert np.abs(weighted.sum(axis=1) - 1).max() > 0.01


def test_a_long_text_shows_one_head_at_a_time_with_an_exact_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "ATLAS_CELLS", 10)
    at = opened("attention", layer="2", head="7", query="3")
    cells = np.array(drawn(at)["data"][0]["z"]).reshape(8, 8)
    np.testing.assert_allclose(cells.sum(axis=1), 1, atol=1e-6)
    row = at.dataframe[0].value.sort_values("key")["weight"].to_numpy()
    np.testing.assert_allclose(row, cells[3], atol=1e-7)


def test_all_heads_of_a_long_text_come_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    st.cache_resource.clear()
    monkeypatch.setattr(views, "ATLAS_CELLS", 10)
    at = opened("attention", view="All heads", text="A text for all heads.")
    assert not at.exception
    assert not at.error
    assert not sent_charts(at)


def test_the_receipt_of_the_comparison_stands_under_the_maps() -> None:
    st.cache_resource.clear()
    assert "and not on this text: its hidden states and maps are the model's own within" in words(opened("attention"))


def test_attention_that_is_no_number_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    known = attention.attention_atlas

    def without_a_number(*args: Any, **named: Any) -> AttentionAtlas:
        found = known(*args, **named)
        found.thumbnails[1, 2] = np.nan
        return found

    monkeypatch.setattr(attention, "attention_atlas", without_a_number)
    at = opened("attention", text="NaN in one map")
    assert not at.exception
    (message,) = at.error
    assert "is not a number (NaN) in 1 of 72 maps" in visible_text(message.value)


@pytest.mark.slow
def test_a_model_that_fails_the_comparison_is_shown_by_its_own_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(loaded: LoadedModel) -> None:
        loaded.model.set_attn_implementation("eager")
        loaded.attention_source, loaded.recorded_in_part = "eager", True

    st.cache_resource.clear()
    monkeypatch.setattr(models, "check_recording", fails)
    at = opened("attention", layer="2", head="7")
    st.cache_resource.clear()
    assert "is not the whole of its attention: its own maps are shown" in words(at)
    assert "checked against" not in words(at)
    np.testing.assert_allclose(table_of(at).iloc[:, 1:].sum(axis=1), 1, atol=1e-5)
    st.cache_resource.clear()


def test_the_page_names_what_was_read() -> None:
    at = opened("attention")
    assert "6 layers of 12 heads, 8 tokens" in words(at)
    assert json.dumps(at.session_state["layer"]) == '"0"'
