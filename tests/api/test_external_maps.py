"""Attention of another program is drawn as that of an opened model.

Covers `bertviz_core/api/external_maps.py`.
"""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from bertviz_core import BertvizError, open_attention, open_model
from tests.helpers.tiny_models import save_tiny

TEXT = "a cat sat"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("own")
    save_tiny("bert", home / "tiny")
    return home / "tiny"


def test_what_transformers_returns_is_drawn_as_of_the_opened_model(folder: Path) -> None:
    model, tokenizer = (
        AutoModel.from_pretrained(folder, attn_implementation="eager"),
        AutoTokenizer.from_pretrained(folder),
    )
    with torch.no_grad():
        inputs = tokenizer(TEXT, return_tensors="pt")
        attention = model.eval()(**inputs, output_attentions=True).attentions
    maps = open_attention(attention, tokenizer.convert_ids_to_tokens(inputs.input_ids[0]))
    run = open_model(str(folder)).trace(TEXT)
    for name in ("attention", "lines"):
        ours, theirs = maps.figure(name, layer=1, head=1), run.figure(name, layer=1, head=1)
        assert [each.type for each in ours.data] == [each.type for each in theirs.data]
    np.testing.assert_array_equal(maps.figure(layer=1, head=1).data[0].z, attention[1][0, 1].numpy())
    assert maps.figure("atlas", theme="dark", width=600).layout.width == 600
    assert repr(maps) == "Attention, layers x heads x queries x keys: 3 x 2 x 5 x 5"
    assert maps.notices == ()
    assert len(maps.to_pandas()) == maps.weights.shape[0] * maps.weights.shape[1]


def test_cross_attention_has_the_tokens_of_both_texts() -> None:
    weights = np.random.default_rng(3).dirichlet(np.ones(4), size=(1, 2, 3))
    figure = open_attention(weights, ["le", "chat", "dort"], ["the", "cat", "is", "asleep"]).figure(head=1)
    assert list(figure.layout.yaxis.ticktext) == ["le", "chat", "dort"]
    assert list(figure.layout.xaxis.ticktext) == ["the", "cat", "is", "asleep"]


def test_tokens_are_escaped_and_wrong_input_is_one_sentence() -> None:
    maps = open_attention(np.full((2, 2), 0.5), ["<b>", "</script>"])
    assert "<b>" not in maps.figure().layout.yaxis.ticktext
    assert "<script" not in maps._repr_html_()
    for wrong, sentence in (
        ({"layer": 3}, "layer"),
        ({"head": 1}, "head"),
        ({"theme": "blue"}, "theme"),
        ({"width": 1}, "width"),
    ):
        with pytest.raises(BertvizError, match=sentence):
            maps.figure(**wrong)
    with pytest.raises(BertvizError, match="figure"):
        maps.figure("nothing")
    for tokens, sentence in ((["a"], "1 tokens"), ("ab", "list of texts")):
        with pytest.raises(BertvizError, match=sentence):
            open_attention(np.full((2, 2), 0.5), tokens)
