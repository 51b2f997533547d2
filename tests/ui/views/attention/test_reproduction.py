"""The lines of Python on the attention page run as they are and give the page's numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st

from bertviz_core.attention.results import MapOptions
from bertviz_core.models.loading import load_model
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.attention import head_map, reading_of
from bertviz_core.questions.views.attention import attention_code
from bertviz_core.trace.run import trace
from tests.helpers.tiny_models import save_tiny
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.session import settings

READINGS = [
    MapOptions(),
    MapOptions("rollout"),
    MapOptions("value-weighted"),
    MapOptions(words=True, hide_special=True, hide_punctuation=True, block="A to B"),
    MapOptions("rollout", hide_special=True),
    MapOptions("value-zeroing"),
    MapOptions("value-zeroing", words=True),
]


@pytest.mark.parametrize(
    "reading", READINGS, ids=lambda reading: " ".join(map(str, (reading.weights, reading.words, reading.hide_special)))
)
@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
@pytest.mark.sample(1)
def test_the_code_gives_the_numbers_of_the_page(
    family: str, reading: MapOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    st.cache_resource.clear()
    name = f"tiny-{family}"
    save_tiny(family, tmp_path / name)
    tokens = models.tokens(name, "I love my pet python.", "The pythons, my love")
    found = trace(load_model(models.source(name), settings()), tokens)
    printed: list[Any] = []
    flags = {"words": reading.words, "hide_special": reading.hide_special, "hide_punctuation": reading.hide_punctuation}
    chosen = {name: str(is_set).lower() for name, is_set in flags.items()} | {"weights": reading.weights}
    chosen |= {"part": reading.block, "layer": "2", "head": "1"}
    opened, options = SharedModel(name, found), Options((tokens.text,), tokens.pair, values=chosen)
    assert reading_of(options) == reading
    code = attention_code(opened, found, options)
    exec(code, {"print": lambda *each: printed.extend(each)})  # noqa: S102  # that it can be run is what is tested
    expected = head_map(opened, found, 2, 1, reading)
    np.testing.assert_allclose(
        np.asarray(printed[0].detach() if hasattr(printed[0], "detach") else printed[0]), expected.weights, atol=1e-5
    )
    if len(printed) > 1:
        np.testing.assert_allclose(printed[1], expected.hidden_share, atol=1e-5)
