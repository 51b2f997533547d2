"""The representations page: what it draws is what the model itself gives, in every view, for a text and a pair.

Covers `ui/views/representations/*.py`.
"""

import os
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from streamlit.testing.v1 import AppTest

from bertviz_core.models.sources import bundled_folder
from tests.pages.opened import SHELL, drawn, opened

TEXT = "I love my pet python."
VIEWS = ("Values", "Change", "Token similarity", "Input", "[CLS] and pooler", "Paths", "One word, two texts")


@pytest.fixture(scope="module")
def own() -> Any:
    """The model's own outputs for the default text, run without any of our code."""
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
def test_every_view_opens_with_a_figure(view: str, pair: str) -> None:
    at = opened("representations", states=view, pair=pair)
    assert not at.exception
    assert not at.error
    assert drawn(at)["data"]


@pytest.mark.parametrize("layer", [0, 3, 6])
def test_values_are_the_models_hidden_states(own: Any, layer: int) -> None:
    at = opened("representations", layer=str(layer))
    expected = own.hidden_states[layer][0, :, :64].numpy()
    np.testing.assert_allclose(z(at), expected, atol=1e-5)


def test_lengths_are_those_of_the_models_vectors(own: Any) -> None:
    at = opened("representations", states="Change")
    expected = torch.stack(own.hidden_states)[:, 0].norm(dim=-1).numpy()
    np.testing.assert_allclose(z(at), expected, rtol=1e-5)


def test_similarities_are_cosines_and_every_layer_has_a_frame(own: Any) -> None:
    figure = drawn(opened("representations", states="Token similarity"))
    assert len(figure["frames"]) == len(own.hidden_states) == 7
    for layer, state in enumerate(own.hidden_states):
        expected = torch.nn.functional.cosine_similarity(state[0][:, None], state[0][None], dim=-1).numpy()
        np.testing.assert_allclose(np.array(figure["frames"][layer]["data"][0]["z"]), expected, atol=1e-5)


def test_the_pooler_output_is_the_models(own: Any) -> None:
    figure = drawn(opened("representations", states="[CLS] and pooler"))
    lines = {line["name"]: np.array(line["y"]) for line in figure["data"]}
    np.testing.assert_allclose(lines["pooler output"], own.pooler_output[0].numpy(), atol=1e-5)
    np.testing.assert_allclose(lines["[CLS]"], own.last_hidden_state[0, 0].numpy(), atol=1e-5)


def test_one_word_in_two_texts_begins_at_one_and_falls() -> None:
    curve = drawn(opened("representations", states="One word, two texts"))["data"][0]["y"]
    assert curve[0] == 1.0
    assert len(curve) == 8
    assert all(-1 <= value <= 1 for value in curve)
    assert curve[-1] < curve[0]


def test_markup_in_a_text_is_shown_and_not_read() -> None:
    at = opened("representations", text="<b>bold</b> ![x](http://evil.example) $x$ **y**")
    assert not at.exception
    labels = drawn(at)["layout"]["yaxis"]["ticktext"]
    assert {"&lt;", "&gt;"} & set(labels)
    assert not any("<b>" in label for label in labels)


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
    (error,) = at.error
    assert "not on this machine" in error.value.replace("\\", "")
