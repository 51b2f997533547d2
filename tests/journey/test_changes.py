"""A changed run equals runs of the model's own modules with hooks, weights or ids changed here.

Covers `bertviz_core/questions/interventions/journey_change.py`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertviz_core import open_model
from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.interventions.hooks import reference_texts
from bertviz_core.journey.changes import masked_tokens
from bertviz_core.journey.results import ChangedJourney
from bertviz_core.questions.interventions.effects import means_in_place
from bertviz_core.questions.interventions.journey_change import changed_journey
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import SILENT
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import save_tiny

TEXT = "I love my pet python."


@pytest.fixture(scope="module")
def opened() -> OpenedModel:
    return OpenedModel("all-MiniLM-L6-v2", Settings.from_environment())


def _changed(opened: OpenedModel, change: str, **more: str) -> ChangedJourney:
    return changed_journey(opened, Options((TEXT,), values={"change": change, **more})).result


def _lengths(opened: OpenedModel, ids: Any) -> Any:
    """Lengths of the states that enter layers 1 to 5, and of the output, by hooks on the model's modules."""
    entered: list[Any] = []
    model = opened.loaded.model
    layers = model.encoder.layer
    hooks = [
        each.register_forward_pre_hook(
            lambda _, args, kwargs: entered.append((args or [*kwargs.values()])[0][0]), with_kwargs=True
        )
        for each in layers[1:]
    ]
    try:
        with torch.inference_mode():
            last = model(torch.tensor(np.array(ids))[None]).last_hidden_state[0]
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack([*entered, last]).norm(dim=-1).numpy()


def test_a_head_switched_off_equals_its_columns_set_to_zero(opened: OpenedModel) -> None:
    found = _changed(opened, "head-3.5")
    dense = opened.loaded.model.encoder.layer[3].attention.output.dense
    size = dense.in_features // 12
    saved = dense.weight.detach().clone()
    with torch.no_grad():
        dense.weight[:, 5 * size : 6 * size] = 0
    try:
        lengths = _lengths(opened, opened.tokens(TEXT, None).input_ids)
    finally:
        with torch.no_grad():
            dense.weight.copy_(saved)
    assert found.after.length == pytest.approx(lengths, abs=1e-4)
    assert found.before.length is not None
    assert np.abs(lengths[3:] - found.before.length[3:]).max() > 1e-2


@contextmanager
def _bypassed(module: Any, added: Any = 0) -> Iterator[None]:
    """Let a layer return its input, plus a vector."""

    def output(_: Any, args: Any, kwargs: Any, output: Any) -> Any:
        state = (args or [*kwargs.values()])[0] + added
        return state if torch.is_tensor(output) else (state, *output[1:])

    hook = module.register_forward_hook(output, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


@pytest.mark.parametrize("layer", [1, 5])
def test_a_layer_switched_off_is_passed_unchanged(opened: OpenedModel, layer: int) -> None:
    found = _changed(opened, f"layer-{layer}")
    with _bypassed(opened.loaded.model.encoder.layer[layer]):
        lengths = _lengths(opened, opened.tokens(TEXT, None).input_ids)
    assert found.after.length == pytest.approx(lengths, abs=1e-4)
    assert found.after.turn is not None
    assert found.after.turn[layer] == pytest.approx(0, abs=1e-5)


def test_a_layer_replaced_by_its_mean_adds_it_to_every_token(opened: OpenedModel) -> None:
    found = _changed(opened, "layer-1", removed_for="its mean")
    means = means_in_place(opened, Options(values={"removed_for": "its mean"}), SILENT)
    assert means is not None
    assert np.abs(means.layers[1]).max() > 1e-3
    with _bypassed(opened.loaded.model.encoder.layer[1], torch.tensor(means.layers[1])):
        lengths = _lengths(opened, opened.tokens(TEXT, None).input_ids)
    assert found.after.length == pytest.approx(lengths, abs=1e-4)


@pytest.mark.parametrize(
    ("family", "layers", "read"),
    [("gpt2", "h", ("input_ids", "token_type_ids")), ("modernbert", "layers", ("input_ids",))],
)
def test_the_last_layer_switched_off_keeps_the_final_norm(
    family: str, layers: str, read: tuple[str, ...], tmp_path: Path
) -> None:
    save_tiny(family, tmp_path / family)
    model = OpenedModel(family, replace(Settings.from_environment(), models_dir=tmp_path))
    text = "i love my pet python"
    after = changed_journey(model, Options((text,), values={"change": "layer-2"})).result.after
    encoded = model.tokenizer.tokenizer(text, return_tensors="pt")
    with _bypassed(getattr(model.loaded.model, layers)[2]), torch.inference_mode():
        last = model.loaded.model(**{name: encoded[name] for name in read}).last_hidden_state[0]
    assert after.length is not None
    assert after.length[-1] == pytest.approx(last.norm(dim=-1).numpy(), abs=1e-4)


def test_a_masked_token_equals_a_run_with_its_id_replaced(opened: OpenedModel) -> None:
    found, ids = _changed(opened, "mask-5"), opened.tokens(TEXT, None).input_ids.copy()
    ids[5] = opened.tokenizer.tokenizer.mask_token_id
    assert found.after.length == pytest.approx(_lengths(opened, ids), abs=1e-4)
    assert found.after.labels[5] == "[MASK]"
    assert found.before.labels[5] == "python"
    with torch.inference_mode():
        before, after = (
            opened.loaded.model(torch.tensor(np.array(each))[None]).last_hidden_state[0]
            for each in (opened.tokens(TEXT, None).input_ids, ids)
        )
    assert found.cosine == pytest.approx(torch.cosine_similarity(before, after, dim=-1).numpy(), abs=1e-5)
    assert found.cosine[5] < 0.9


def test_mean_ablation_differs_from_zero_ablation(opened: OpenedModel) -> None:
    zero, mean = _changed(opened, "head-3.5"), _changed(opened, "head-3.5", removed_for="its mean")
    assert zero.after.length is not None
    assert mean.after.length is not None
    assert np.abs(zero.after.length - mean.after.length).max() > 1e-3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("", "No change was named"),
        ("head 3", "There is no change 'head 3'"),
        ("head-6.0", "There is no layer 6 in 'all-MiniLM-L6-v2', which has layers 0 to 5"),
        ("head-0.12", "There is no head 12"),
        ("layer-9", "There is no layer 9"),
        ("mask-8", "There is no token 8 in the text, which has tokens 0 to 7"),
    ],
)
def test_a_change_that_is_not_there_is_an_error(opened: OpenedModel, change: str, sentence: str) -> None:
    with pytest.raises(TextError, match=sentence):
        _changed(opened, change)


def test_without_a_mask_token_nothing_is_masked(opened: OpenedModel) -> None:
    own = opened.tokenizer.tokenizer
    mask = own.mask_token
    own.mask_token = None
    try:
        with pytest.raises(UnsupportedModelError, match="no mask token"):
            masked_tokens(opened.tokenizer, opened.tokens(TEXT, None), 0)
    finally:
        own.mask_token = mask


@pytest.mark.parametrize(
    ("change", "removed_for", "sentence"),
    [
        ("mask-5", "nothing", "Token 5 “python” is masked: the mask token replaces it."),
        ("head-3.5", "nothing", "Head 5 of layer 3 is switched off: its output is replaced by zero (zero ablation)."),
        ("layer-2", "nothing", "Layer 2 is switched off: it returns its input (zero ablation)."),
        (
            "head-3.5",
            "its mean",
            "Head 5 of layer 3 is switched off: its output is replaced by its mean over {texts} reference texts (mean "
            "ablation).",
        ),
        (
            "layer-2",
            "its mean",
            "Layer 2 is switched off: it returns its input plus its mean change over {texts} reference texts (mean "
            "ablation).",
        ),
    ],
)
def test_a_sentence_says_what_was_changed_and_how(
    change: str, removed_for: str, sentence: str, opened: OpenedModel
) -> None:
    found = _changed(opened, change, removed_for=removed_for)
    assert found.sentence == sentence.format(texts=len(reference_texts()))


@pytest.mark.slow
def test_the_library_has_both_numbers_and_their_difference() -> None:
    table = open_model("all-MiniLM-L6-v2").journey(TEXT).changed("layer-1")
    assert len(table) == 6 * 8
    assert table.query("layer == 1")["turn_after"].to_numpy() == pytest.approx(0, abs=1e-5)
    both = (table["turn"] + table["turn_difference"]).to_numpy()
    assert both == pytest.approx(table["turn_after"].to_numpy(), abs=1e-5)
    assert (table.query("layer == 0")["length_difference"].abs() < 1e-5).all()


@pytest.mark.slow
def test_the_librarys_drawing_says_the_change() -> None:
    way = open_model("all-MiniLM-L6-v2").journey(TEXT)
    page = way.html(change="head-3.5", mean=True)
    assert "Head 5 of layer 3 is switched off" in page
    assert "(mean ablation)" in page
    assert "of layer 3 is switched off" not in way.html()
    with pytest.raises(TextError, match="There is no head 12"):
        way.html(change="head-0.12")
