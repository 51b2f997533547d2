"""The heads page draws the checkpoint's own weights and the model's own attention, in every view.

Covers `bertviz_core/questions/views/heads.py`, `ui/views/heads.py`, `ui/widgets/heading.py`.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from streamlit.testing.v1 import AppTest

from bertviz_core.heads.results import ProductTimes
from bertviz_core.models.catalog import bundled_folder
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_models import HEADS, LAYERS, save_tiny
from tests.pages.opened import SHELL, drawn, opened, scale_end, visible_text

TEXT = "I love my pet python."
LAYER, HEAD, QUERY, KEY = 3, 5, 5, 2
NORMS, PRODUCTS = {"weights_of": "all layers"}, {"products_shown": "true"}
CELL = {"view": "One cell"}
VIEWS = ({}, CELL, NORMS)


@pytest.fixture(scope="module")
def own() -> Any:
    """The model itself with eager attention, loaded without our code."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    return transformers.AutoModel.from_pretrained(bundled_folder(), attn_implementation="eager").eval()


@pytest.fixture(scope="module")
def outputs(own: Any) -> Any:
    """The model's own outputs for the default text."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(bundled_folder())
    with torch.inference_mode():
        return own(**tokenizer(TEXT, return_tensors="pt"), output_hidden_states=True, output_attentions=True)


def charts(at: AppTest) -> list[Any]:
    """All figures of the page, decoded."""
    return [chart.figure for chart in sent_charts(at)]


def words(at: AppTest) -> str:
    return visible_text(" ".join(each.value for each in at.markdown))


@pytest.mark.parametrize("shown", VIEWS)
@pytest.mark.parametrize("pair", ["", "A python is a snake."])
@pytest.mark.sample(2)
def test_every_view_opens_with_a_figure(shown: dict[str, str], pair: str) -> None:
    at = opened("heads", **shown, pair=pair)
    assert not at.exception
    assert not at.error
    assert charts(at)[0]["data"]
    assert "Twelve heads, one matrix: where are they?" in words(at)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("cut", "traces"), [("one matrix", 1), ("cut into heads", 1), ("pulled apart", 12)])
def test_the_matrix_is_the_checkpoints_however_it_is_cut(own: Any, cut: str, traces: int) -> None:
    figure = drawn(opened("heads", layer="2", matrix="key", cut=cut))
    weight = own.encoder.layer[2].attention.self.key.weight.detach().numpy()
    maps = [np.array(trace["z"]) for trace in figure["data"] if trace["type"] == "heatmap"]
    cells = np.concatenate(maps)
    limit = scale_end(figure)
    assert len(maps) == traces
    assert np.percentile(np.abs(weight), 99.8) <= limit
    np.testing.assert_allclose(cells / 127 * limit, np.clip(weight, -limit, limit), atol=limit / 127)


def test_the_output_is_cut_by_columns(own: Any) -> None:
    at = opened("heads", matrix="output", cut="pulled apart")
    weight = own.encoder.layer[0].attention.output.dense.weight.detach().numpy()
    maps = [np.array(trace["z"]) for trace in drawn(at)["data"] if trace["type"] == "heatmap"]
    cells = np.concatenate(maps, axis=1)
    limit = scale_end(drawn(at))
    np.testing.assert_allclose(cells / 127 * limit, np.clip(weight, -limit, limit), atol=limit / 127)
    assert "(384, 384)" in words(at)
    assert "(12, 384, 32)" in words(at)


def test_shapes_are_written_at_every_step() -> None:
    found = words(opened("heads", layer="4"))
    assert "`encoder.layer.4.attention.self.query.weight` `(384, 384)`" in found
    assert "cut by rows, 12 heads of 32 → `(12, 32, 384)`" in found


def test_the_line_of_shapes_follows_the_cut() -> None:
    assert "cut by" not in words(opened("heads", cut="one matrix"))
    assert "(12, 32, 384)" in words(opened("heads", cut="pulled apart"))


def test_query_and_key_are_chosen_by_word_and_the_address_holds_their_positions() -> None:
    at = opened("heads", **CELL, query="5", key="2")
    assert at.selectbox(key="query_token").options[5] == "5 python"
    assert at.selectbox(key="query_token").value == 5
    at.selectbox(key="key_token").set_value(4).run()
    assert "python (5) looks at pet (4)" in charts(at)[0]["layout"]["title"]["text"]
    assert "pet" not in json.dumps(dict(at.query_params))


@pytest.mark.parametrize(("place", "shown"), [("-1", 7), ("8", 7), ("x", 5), ("9" * 5000, 5)])
def test_a_token_that_is_not_there_is_said_and_the_last_one_shown_or_the_usual_one(place: str, shown: int) -> None:
    at = opened("heads", **CELL, query=place)
    assert not at.exception
    assert len(at.toast) == 1
    assert at.selectbox(key="query_token").value == shown


def test_a_clicked_head_leads_to_its_matrix() -> None:
    at = opened("heads", **NORMS, cell="heads_norms.3.5")
    assert "Layer 3, head 5" in words(at)
    at.button(key="open_Matrices").click().run()
    assert not at.exception
    assert at.button_group(key="weights_of").value == "one layer"
    assert "of layer 3" in drawn(at)["layout"]["title"]["text"]
    assert at.number_input(key="head").value == 5


def test_a_token_written_right_to_left_is_set_off_in_the_title() -> None:
    at = opened("heads", **CELL, text="naive שלום", query="1", key="3")
    title = charts(at)[0]["layout"]["title"]["text"]
    assert re.search("\u2068[^\u2069]*[\u0590-\u05ff][^\u2069]*\u2069 \\(3\\)", title)


def test_a_line_stands_where_the_second_text_begins() -> None:
    for shown, axis in ((CELL, "x2"), (PRODUCTS, "y")):
        figure = charts(opened("heads", **shown, text="The cat sat.", pair="It was tired."))[-(axis == "y")]
        lines = [shape for shape in figure["layout"]["shapes"] if shape["line"].get("dash")]
        assert {shape[f"{axis[0]}0"] for shape in lines if shape[f"{axis[0]}ref"] == axis} == {5.5}


def timed(at: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in at.metric}


def test_times_are_measured_for_each_reader_and_again_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(ProductTimes(one * 1e-6, 3 * one * 1e-6, 7) for one in (20, 30, 40))
    monkeypatch.setattr("ui.views.heads.time_products", lambda model, products: next(times))
    first = opened("heads", **PRODUCTS)
    assert timed(first) == {"One product": "20 µs", "12 products": "60 µs", "Ratio": "3.0×"}
    first.run()
    assert timed(first)["One product"] == "20 µs"
    assert timed(opened("heads", **PRODUCTS))["One product"] == "30 µs"
    first.button(key="measure_products").click().run()
    assert timed(first)["One product"] == "40 µs"


def test_times_that_cannot_be_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.views.heads.time_products", lambda model, products: None)
    at = opened("heads", **PRODUCTS)
    assert not at.metric
    assert any("too busy" in each.value for each in at.caption)
    assert charts(at)[0]["data"]


def test_one_product_and_many_agree_with_the_model(own: Any, outputs: Any) -> None:
    at = opened("heads", **PRODUCTS, layer="1", matrix="value")
    with torch.inference_mode():
        expected = own.encoder.layer[1].attention.self.value(outputs.hidden_states[1])[0].numpy()
    figure = charts(at)[1]
    limit = scale_end(figure)
    for trace in figure["data"]:
        cells = np.array(trace["z"]) / 127 * limit
        np.testing.assert_allclose(cells, np.clip(expected, -limit, limit), atol=limit / 127)
    numbers_shown = re.search(r"two ways: \*\*([\d.e-]+)\*\*, .* itself computed: \*\*([\d.e-]+)\*\*", words(at))
    assert numbers_shown is not None
    assert all(float(number) <= 1e-5 for number in numbers_shown.groups())


def test_the_output_projection_is_not_computed_both_ways() -> None:
    at = opened("heads", **PRODUCTS, matrix="output")
    assert len(charts(at)) == 1
    assert "Choose query, key or value" in at.info[0].value


def test_the_switch_names_the_number_of_heads() -> None:
    assert opened("heads").toggle(key="products_shown").label == "One product or twelve"


def test_one_cell_is_the_models_own(own: Any, outputs: Any) -> None:
    at = opened("heads", **CELL, layer=str(LAYER), head=str(HEAD), query=str(QUERY), key=str(KEY))
    products, weights = charts(at)[0]["data"][:2]
    attention, rows = own.encoder.layer[LAYER].attention, slice(HEAD * 32, HEAD * 32 + 32)
    hidden = outputs.hidden_states[LAYER][0]
    with torch.inference_mode():
        query, key = attention.self.query(hidden)[QUERY, rows], attention.self.key(hidden)[KEY, rows]
    np.testing.assert_allclose(products["y"], (query * key).numpy(), atol=1e-5)
    np.testing.assert_allclose(weights["y"], outputs.attentions[LAYER][0, HEAD, QUERY], atol=1e-5)
    numbers_shown = re.search(r"Weight by hand \*\*([\d.]+)\*\*, in the attention map \*\*([\d.]+)\*\*", words(at))
    assert numbers_shown is not None
    for number in numbers_shown.groups():
        assert float(number) == pytest.approx(float(outputs.attentions[LAYER][0, HEAD, QUERY, KEY]), abs=1e-5)


def test_what_goes_back_is_the_heads_part_of_the_output(own: Any, outputs: Any) -> None:
    at = opened("heads", **CELL, layer=str(LAYER), head=str(HEAD), query=str(QUERY), key=str(KEY))
    mix, part, lengths = charts(at)[1]["data"]
    attention, rows = own.encoder.layer[LAYER].attention, slice(HEAD * 32, HEAD * 32 + 32)
    with torch.inference_mode():
        values = attention.self.value(outputs.hidden_states[LAYER][0])[:, rows]
        expected = outputs.attentions[LAYER][0, HEAD, QUERY] @ values
        handed = attention.output.dense.weight[:, rows] @ expected
    np.testing.assert_allclose(mix["y"], expected, atol=1e-5)
    np.testing.assert_allclose(part["y"], handed, atol=1e-5)
    assert lengths["y"][HEAD] == pytest.approx(float(handed.norm()), abs=1e-5)


def test_norms_are_those_of_the_blocks(own: Any) -> None:
    at = opened("heads", **NORMS)
    maps = [np.array(trace["z"]) for trace in drawn(at)["data"] if trace["type"] == "heatmap"]
    for layer, block in enumerate(own.encoder.layer):
        attention = block.attention
        for index, name in enumerate(("query", "key", "value")):
            weight = getattr(attention.self, name).weight
            expected = weight.view(12, -1).norm(dim=1).detach()
            np.testing.assert_allclose(maps[index][layer], expected, rtol=1e-5)
        columns = attention.output.dense.weight.T.reshape(12, -1).norm(dim=1).detach()
        np.testing.assert_allclose(maps[3][layer], columns, rtol=1e-5)
    metrics = {metric.label: metric.value for metric in at.metric}
    assert metrics["$W_q$ of a head"] == "12,320"
    assert metrics["Attention parameters, layer 0"] == "591,360"


@pytest.mark.parametrize("name", ["albert", "convbert", "deberta", "esm", "eurobert", "gpt2", "modernbert", "t5"])
@pytest.mark.parametrize("shown", VIEWS)
@pytest.mark.sample(1)
def test_every_family_has_every_view(models_dir: Path, name: str, shown: dict[str, str]) -> None:
    save_tiny(name, models_dir / name)
    at = opened("heads", model=name, **shown, layer=str(LAYERS - 1), head=str(HEADS - 1), cut="pulled apart")
    assert not at.exception
    assert not at.error
    assert charts(at)[0]["data"]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "sentence"),
    [("deberta", "worked out backwards"), ("modernbert", "rotary positions"), ("esm", "multiplies the query with")],
)
def test_what_stands_between_projection_and_weight_is_said(models_dir: Path, name: str, sentence: str) -> None:
    save_tiny(name, models_dir / name)
    at = opened("heads", model=name, **CELL)
    assert any(sentence in each.value for each in at.caption)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "shown"), [("fnet", shown) for shown in VIEWS] + [("yoso", CELL)])
def test_families_without_heads_say_so(models_dir: Path, name: str, shown: dict[str, str]) -> None:
    save_tiny(name, models_dir / name)
    at = opened("heads", model=name, **shown)
    assert not at.exception
    assert len(at.error) == 1


@pytest.mark.sample(1)
@pytest.mark.parametrize("shown", VIEWS)
def test_one_layer_with_one_head(models_dir: Path, shown: dict[str, str]) -> None:
    save_tiny("bert", models_dir / "one", num_hidden_layers=1, num_attention_heads=1)
    at = opened("heads", model="one", **shown, layer="3", head="7", query="40", key="40")
    assert not at.exception
    assert not at.error
    assert "One head, one matrix: where is it?" in words(at)
    assert charts(at)[0]["data"]


def test_a_smaller_model_keeps_what_it_can(models_dir: Path) -> None:
    save_tiny("bert", models_dir / "small")
    at = opened("heads", layer="5", head="11")
    at.session_state["model"] = "small"
    at.run()
    assert not at.exception
    assert at.select_slider(key="layer").value == str(LAYERS - 1)
    assert at.number_input(key="head").value == HEADS - 1


def test_markup_in_a_text_is_shown_and_not_read() -> None:
    at = opened("heads", **CELL, text="<b>bold</b> ![x](http://evil.example) $x$ **y**", query="1", key="1")
    assert not at.exception
    figure = charts(at)[0]
    assert [cell[0] for cell in figure["data"][1]["customdata"]][:4] == ["<i>[CLS]</i>", "&lt;", "b", "&gt;"]
    assert "<b>bold" not in json.dumps(figure)
    assert "evil" not in "".join(each.value for each in at.markdown)


@pytest.mark.sample(1)
@pytest.mark.parametrize("text", ["", "\u202eabc", "word " * 2_000])
@pytest.mark.parametrize("shown", [PRODUCTS, CELL])
def test_no_text_breaks_the_page(text: str, shown: dict[str, str]) -> None:
    at = AppTest.from_file(str(SHELL), default_timeout=120)
    at.switch_page("../pages/heads.py")
    for name, value in shown.items():
        at.query_params[name] = value
    at.session_state["text"] = text
    at.run()
    assert not at.exception
    assert not at.error


@pytest.mark.slow
def test_a_model_without_weights_says_what_can_be_done() -> None:
    at = opened("heads", model="bert-large-uncased")
    assert not at.exception
    assert "Sixteen heads, one matrix" in words(at)
    (error,) = at.info
    assert "not on this machine" in visible_text(error.value)


def test_an_unknown_model_is_refused_in_one_sentence() -> None:
    at = opened("heads", model="no/such")
    assert not at.exception
    assert len(at.error) == 1
