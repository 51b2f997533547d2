"""Norms and singular values of updates are those of the difference between peft's merged model and its base."""

from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.models.sources import resolve
from bertviz_core.parameters.adapters.updates import adapter_updates, singular_values
from bertviz_core.settings import Settings
from tests.helpers.made_adapters import random_class, save_adapter, saved_base


@pytest.mark.parametrize(
    ("model_type", "options"),
    [
        ("bert", {"target_modules": ["query", "word_embeddings"], "rank_pattern": {"layer.1.*query": 5}}),
        ("gpt2", {"target_modules": ["c_attn"], "fan_in_fan_out": True, "use_rslora": True}),
    ],
    ids=["bert", "gpt2"],
)
def test_singular_values_are_those_of_the_difference(
    settings: Settings, model_type: str, options: dict[str, Any]
) -> None:
    model = random_class(AutoModel, model_type)
    saved_base(model, settings.models_dir / "base")
    before = {name: value.detach().double().clone() for name, value in model.named_parameters()}
    merged = save_adapter(model, "base", settings.models_dir / "adapter", **options)
    measured = adapter_updates(resolve("adapter", settings), settings)
    assert measured.base == "base"
    assert len(measured.updates) > 1
    for update in measured.updates:
        matrix = before[update.name]
        difference = merged.get_parameter(update.name).detach().double() - matrix
        expected = torch.linalg.svdvals(difference)[: update.rank].numpy()
        np.testing.assert_allclose(update.singular_values, expected, rtol=1e-4, atol=1e-5)
        assert update.norm == pytest.approx(float(difference.norm()), rel=1e-5)
        assert update.relative_norm == pytest.approx(float(difference.norm() / matrix.norm()), rel=1e-5)
        assert 1 <= update.stable_rank <= update.rank + 1e-6


def test_an_update_of_one_direction_has_the_stable_rank_1() -> None:
    rows, columns = np.array([[3.0], [4.0]]), np.array([[1.0, 2.0, 2.0]])
    values = singular_values(rows, columns, -2.0)
    np.testing.assert_allclose(values, [2 * 5 * 3])
    assert np.isnan(singular_values(rows * np.nan, columns, 1.0)).all()


def test_a_whole_model_has_no_updates(settings: Settings) -> None:
    with pytest.raises(UnsupportedModelError, match="is not an adapter"):
        adapter_updates(resolve("all-MiniLM-L6-v2", settings), settings)
