"""The representations page draws the model's own numbers, in every view, for a text and a pair.

Covers `ui/views/representations.py`, `bertviz_core/questions/views/representations.py`.
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

from bertviz_core.models.catalog import bundled_folder
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import SHELL, drawn, opened, visible_text, with_files

TEXT = "I love my pet python."
VIEWS = ("Change", "Values", "Token similarity", "Paths", "Input", "One word, two texts")
POOLER = {"view": "Values", "vectors_of": "[CLS] and pooler"}


@pytest.fixture(scope="module")
def own() -> Any:
    """The model's own outputs for the default text, run without our code."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    tokenizer = transformers.AutoTokenizer.from_pretrained(bundled_folder())
    model = transformers.AutoModel.from_pretrained(bundled_folder()).eval()
    with torch.inference_mode():
        return model(**tokenizer(TEXT, return_tensors="pt"), output_hidden_states=True)


def z(at: AppTest) -> np.ndarray:
    """The matrix of the page's heatmap."""
    return np.array(drawn(at)["data"][0]["z"])


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("pair", ["", "A python is a snake."])
@pytest.mark.sample(1)
def test_every_view_opens_with_a_figure(view: str, pair: str) -> None:
    at = opened("representations", view=view, pair=pair)
    assert not at.exception
    assert not at.error
    assert drawn(at)["data"]


@pytest.mark.parametrize(("layer", "entry"), [("embeddings", 0), ("2", 3), ("5", 6)])
def test_values_are_the_models_hidden_states(own: Any, layer: str, entry: int) -> None:
    at = opened("representations", view="Values", layer=layer)
    expected = own.hidden_states[entry][0, :, :64].numpy()
    np.testing.assert_allclose(z(at), expected, atol=1e-5)


def test_the_page_opens_with_how_much_each_layer_changes_each_token(own: Any) -> None:
    at = opened("representations")
    states = torch.stack(own.hidden_states)[:, 0]
    expected = 1 - torch.nn.functional.cosine_similarity(states[1:], states[:-1], dim=-1).numpy()
    np.testing.assert_allclose(z(at), expected, atol=1e-5)
    assert list(drawn(at)["layout"]["yaxis"]["ticktext"]) == [f"layer {layer}" for layer in range(6)]
    assert at.dataframe[0].value["layer"].tolist() == list(range(6))


def test_lengths_are_those_of_the_models_vectors(own: Any) -> None:
    at = opened("representations", view="Change", map="vector length")
    expected = torch.stack(own.hidden_states)[:, 0].norm(dim=-1).numpy()
    np.testing.assert_allclose(z(at), expected, rtol=1e-5)
    rows = ["embeddings", *(f"after layer {layer}" for layer in range(6))]
    assert list(drawn(at)["layout"]["yaxis"]["ticktext"]) == rows


@pytest.mark.parametrize(("layer", "entry", "name"), [("embeddings", 0, "embeddings"), ("2", 3, "after layer 2")])
def test_picture_table_title_and_file_of_similarities_are_of_one_layer(
    own: Any, layer: str, entry: int, name: str
) -> None:
    at = with_files(opened("representations", view="Token similarity", layer=layer), "representations_similarity")
    state = own.hidden_states[entry][0]
    expected = torch.nn.functional.cosine_similarity(state[:, None], state[None], dim=-1).numpy()
    np.testing.assert_allclose(z(at), expected, atol=1e-5)
    table = at.dataframe[0].value
    np.testing.assert_allclose(table.drop(columns="token").to_numpy(dtype=float), expected, atol=1e-5)
    figure = drawn(at)
    assert f", {name} " in figure["layout"]["title"]["text"]
    assert not figure["layout"].get("sliders")
    row = next(each for each in at.get("bidi_component") if each.proto.component_name == "figure_download")
    assert f"-{name.replace(' ', '-')}-" in json.loads(row.proto.json)["filename"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("view", ["Change", "Values", "Token similarity", "Input"])
def test_a_line_stands_where_the_second_text_begins(view: str) -> None:
    pair = drawn(opened("representations", view=view, text="The cat sat.", pair="It was tired."))
    lines = [shape for shape in pair["layout"]["shapes"] if shape["line"].get("dash")]
    places = {shape.get("x0") for shape in lines if shape["xref"] == "x"}
    places |= {shape.get("y0") for shape in lines if shape["yref"] == "y"}
    assert places == {5.5}  # [CLS] the cat sat . [SEP]
    assert "second text" in [note["text"] for note in pair["layout"]["annotations"]]
    alone = drawn(opened("representations", view=view, text="The cat sat."))
    assert "second text" not in [note["text"] for note in alone["layout"].get("annotations", [])]


def test_paths_are_those_of_the_tokens_that_were_picked() -> None:
    at = opened("representations", view="Paths", text="The cat sat on the mat.", pair="It was tired.", picked="2.6.9")
    figure = drawn(at)
    assert [line["name"] for line in figure["data"] if line.get("name")][:3] == ["2 cat", "6 mat", "9 it"]
    assert at.multiselect(key="picked").value == [2, 6, 9]
    at.multiselect(key="picked").set_value([2]).run()
    assert [line["name"] for line in drawn(at)["data"] if line.get("name")] == ["2 cat"]
    assert at.query_params["picked"] == "2"
    at.multiselect(key="picked").set_value([]).run()
    assert not at.exception
    assert len(at.info) == 1


@pytest.mark.parametrize("picked", ["", "x", "99", "1.-2", "9" * 5000, ".".join(map(str, range(40)))])
def test_nonsense_for_picked_tokens_gives_the_first_ones(picked: str) -> None:
    at = opened("representations", view="Paths", picked=picked)
    assert not at.exception
    assert at.multiselect(key="picked").value == [1, 2, 3, 4, 5, 6]


def test_a_model_without_a_pooler_has_no_switch_to_one(models_dir: Path) -> None:
    save_tiny("gpt2", models_dir / "gpt")
    at = opened("representations", model="gpt", **POOLER)
    assert not at.exception
    assert "vectors_of" not in [each.key for each in at.get("button_group")]
    assert z(at).ndim == 2


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["t5", "gpt2", "xlnet", "albert"])
def test_one_word_is_found_with_punctuation_behind_it_in_every_family(models_dir: Path, name: str) -> None:
    save_tiny(name, models_dir / name)
    at = opened("representations", model=name, view="One word, two texts")
    assert not at.exception
    assert not at.info
    assert drawn(at)["data"][0]["y"]


def test_all_hidden_states_are_handed_out() -> None:
    for view in ("Change", "Values"):
        labels = [button.label for button in opened("representations", view=view).get("download_button")]
        assert "All hidden states (NPZ)" in labels


def test_the_largest_value_of_what_is_shown_is_named(own: Any) -> None:
    at = opened("representations", view="Values", layer="5")
    state = own.hidden_states[6][0]
    token, dimension = divmod(int(state.abs().argmax()), state.shape[1])
    page_text = visible_text(" ".join(each.value for each in at.markdown))
    assert f"**{float(state[token, dimension]):.2f}** in dimension {dimension} of “**[CLS]**”" in page_text
    assert token == 0
    assert "over all hidden states" in page_text


def test_a_negative_value_has_a_minus_sign(models_dir: Path) -> None:
    folder = save_tiny("bert", models_dir / "mine")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        model = transformers.AutoModel.from_pretrained(folder).eval()
        states = model(**tokenizer(TEXT, return_tensors="pt"), output_hidden_states=True).hidden_states
    largest = [float(state.flatten()[state.abs().argmax()]) for state in states]
    entry = next(entry for entry, value in enumerate(largest) if entry and value < 0)
    at = opened("representations", model="mine", view="Values", layer=str(entry - 1))
    page_text = visible_text(" ".join(each.value for each in at.markdown))
    assert f"**−{-largest[entry]:.2f}** in dimension" in page_text


def test_the_pooler_output_is_the_models(own: Any) -> None:
    at = opened("representations", view="Values")
    assert at.button_group(key="vectors_of").value == "all tokens"
    at.button_group(key="vectors_of").set_value(POOLER["vectors_of"]).run()
    figure = drawn(at)
    vector, output = (np.array(line["y"]) for line in figure["data"])
    np.testing.assert_allclose(output, own.pooler_output[0].numpy(), atol=1e-5)
    np.testing.assert_allclose(vector, own.last_hidden_state[0, 0].numpy(), atol=1e-5)


def test_negative_numbers_of_the_pooler_have_a_minus(models_dir: Path) -> None:
    save_tiny("mpnet", models_dir / "mine")
    at = opened("representations", model="mine", **POOLER)
    page_text = visible_text(" ".join(each.value for each in at.markdown))
    assert "all between −1 and 1" in page_text
    assert not re.search(r"[^\w`]-\d", page_text)


def test_one_word_in_two_texts_begins_at_one_and_falls() -> None:
    curve = drawn(opened("representations", view="One word, two texts"))["data"][0]["y"]
    assert curve[0] == 1.0
    assert len(curve) == 8
    assert all(-1 <= value <= 1 for value in curve)
    assert curve[-1] < curve[0]


@pytest.mark.parametrize("second", ["I love my pet python.", "A python bites."])
def test_the_two_vectors_of_a_word_are_compared_in_numbers(second: str) -> None:
    typed = {"word": "python", "first_text": TEXT, "second_text": second}
    at = opened("representations", view="One word, two texts", **typed)
    curve = [f"{value:.4f}" for value in drawn(at)["data"][0]["y"]]
    page_text = visible_text(" ".join(each.value for each in at.markdown))
    assert f"cosine **{curve[1]}** in the embeddings and **{curve[-1]}** after the last layer" in page_text
    assert (curve[-1] == "1.0000") == (second == TEXT)


def test_markup_in_a_text_is_shown_and_not_read() -> None:
    at = opened("representations", text="<b>bold</b> ![x](http://evil.example) $x$ **y**")
    assert not at.exception
    labels = drawn(at)["layout"]["xaxis"]["ticktext"]
    assert {"&lt;", "&gt;"} & set(labels)
    assert not any("<b>" in label for label in labels)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "text", ["", "   ", "\u202eabc\u202c", "👩‍👩‍👧‍👦 ok", "\x00\x07", "qqqqzzzz ⟁⟁⟁", "word " * 20_000]
)
def test_no_text_breaks_the_page(text: str) -> None:
    at = AppTest.from_file(str(SHELL), default_timeout=120)
    at.switch_page("../pages/representations.py")
    at.session_state["text"] = text
    at.run()
    assert not at.exception
    assert len(at.error) <= 1


def test_a_model_without_weights_says_what_can_be_done() -> None:
    at = opened("representations", model="bert-base-uncased")
    assert not at.exception
    (error,) = at.info
    assert "not on this machine" in error.value.replace("\\", "")


def test_one_word_begins_with_the_readers_texts_where_they_share_one() -> None:
    at = opened("representations", view="One word, two texts", text="The bank is open.", pair="Reeds on the bank.")
    fields = [at.text_input(key=key) for key in ("word", "first_text", "second_text")]
    assert [each.value for each in fields] == ["bank", "The bank is open.", "Reeds on the bank."]
    at.session_state["pair"] = ""  # typed on another page
    at.run()
    assert [at.text_input(key=key).value for key in ("word", "first_text")] == ["python", "I love my pet python."]
    at.session_state["pair"] = "A bank of clouds."  # typed on another page
    at.run()
    assert at.text_input(key="second_text").value == "A bank of clouds.", "unchanged fields follow"
    at.text_input(key="second_text").set_value("My own bank.").run()
    at.session_state["pair"] = "No bank."  # typed on another page
    at.run()
    assert at.text_input(key="second_text").value == "My own bank.", "what the reader has written stays"
    assert not at.info
    some = opened("representations", view="One word, two texts", word="love", text="The bank.", pair="A bank.")
    assert [some.text_input(key=key).value for key in ("word", "first_text")] == ["love", "I love my pet python."]
