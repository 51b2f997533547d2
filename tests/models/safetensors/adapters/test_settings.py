"""Adapters that are damaged, hostile or of another kind are refused in one sentence.

Covers `bertviz_core/models/safetensors/adapters/contents.py`.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel

from bertviz_core.errors import BertvizError
from bertviz_core.models.loading import load_model
from bertviz_core.models.safetensors.adapters.settings import checked_settings
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from tests.helpers.made_adapters import random_class, save_adapter, saved_base

A = "base_model.model.encoder.layer.0.attention.self.query.lora_A.weight"
B = A.replace("lora_A", "lora_B")
LORA: dict[str, Any] = {"peft_type": "LORA", "r": 4, "lora_alpha": 8, "base_model_name_or_path": "base"}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = tmp_path_factory.mktemp("saved")
    model = random_class(AutoModel, "bert")
    saved_base(model, models / "base")
    save_adapter(model, "base", models / "adapter", target_modules=["query", "value"])
    return models


@pytest.fixture
def place(saved: Path, settings: Settings) -> Path:
    for folder in ("base", "adapter"):
        (settings.models_dir / folder).mkdir()
        for file in (saved / folder).iterdir():
            (settings.models_dir / folder / file.name).write_bytes(file.read_bytes())
    return settings.models_dir / "adapter"


def change(place: Path, **entries: Any) -> None:
    path = place / "adapter_config.json"
    config = json.loads(path.read_text()) | entries
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not ...}))


def rewrite(place: Path, change: Any) -> None:
    path = place / "adapter_model.safetensors"
    save_file(change(load_file(path)), path)


def without(tensors: dict[str, torch.Tensor], name: str) -> dict[str, torch.Tensor]:
    return {key: value for key, value in tensors.items() if key != name}


SETTINGS_FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "rank 0": ({"r": 0}, "has the rank '0'"),
    "rank a text": ({"r": "8"}, "has the rank '8'"),
    "huge rank": ({"r": 10**30}, "a rank is a number from 1 to"),
    "no alpha": ({"lora_alpha": ...}, "has no lora_alpha"),
    "alpha NaN": ({"lora_alpha": "NaN"}, "not a number that can scale"),
    "huge alpha": ({"lora_alpha": 1e300}, "not a number that can scale"),
    "expression": ({"alpha_pattern": {"(a+)+$": 4}}, "regular expression"),
    "patterns no list": ({"rank_pattern": [3]}, "not a list of at most"),
    "many ranks": ({"rank_pattern": {f"m{i}": 3 for i in range(10_001)}}, "not a list of at most 10,000"),
    "another rank": ({"r": 7}, "has the rank 3, its settings say 7"),
    "DoRA": ({"use_dora": True}, "uses DoRA"),
    "LoftQ": ({"loftq_config": {"loftq_bits": 4}}, "uses LoftQ"),
    "PiSSA": ({"init_lora_weights": "pissa"}, "initialisation 'pissa'"),
    "unknown option": ({"use_something_new": True}, "the option 'use_something_new'"),
    "bias": ({"bias": "some"}, "has the bias 'some'"),
    "IA3": ({"peft_type": "IA3"}, "of the kind IA³"),
    "prefix tuning": ({"peft_type": "PREFIX_TUNING"}, "of the kind prefix tuning"),
    "prompt tuning": ({"peft_type": "PROMPT_TUNING"}, "of the kind prompt tuning"),
    "no merge of the kind": ({"peft_type": "P_TUNING"}, "peft cannot merge it"),
    "no merge of the option": ({"layer_replication": [[0, 2]]}, "uses replicated layers.*peft cannot merge it"),
    "AdaLoRA": ({"peft_type": "ADALORA"}, "of the kind AdaLoRA"),
    "no kind": ({"peft_type": ...}, "not named"),
    "kind a list": ({"peft_type": ["LORA"]}, "of the kind"),
    "no base": ({"base_model_name_or_path": None}, "does not name its base"),
    "base outside": ({"base_model_name_or_path": "../../etc"}, "outside the models folder"),
    "base absolute": ({"base_model_name_or_path": "/etc"}, "outside the models folder"),
    "base missing": (
        {"base_model_name_or_path": "nowhere"},
        "base of the adapter 'adapter' cannot be opened: No model",
    ),
    "base with NUL": ({"base_model_name_or_path": "a\0b"}, "not a valid model name"),
    "revision with NUL": ({"base_model_name_or_path": "org/a", "revision": "\0"}, "not a valid model name"),
    "base too long": ({"base_model_name_or_path": "a" * 5000}, "not a valid model name"),
    "loop": ({"base_model_name_or_path": "adapter"}, "is an adapter itself"),
}


@pytest.mark.parametrize(("entries", "message"), SETTINGS_FAULTS.values(), ids=list(SETTINGS_FAULTS))
def test_wrong_settings_are_refused(place: Path, settings: Settings, entries: dict[str, Any], message: str) -> None:
    change(place, **entries)
    with pytest.raises(BertvizError, match=message.replace("(", r"\(")) as caught:
        resolve("adapter", settings)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


FILE_FAULTS: dict[str, tuple[Any, str]] = {
    "A without B": (lambda tensors: without(tensors, B), "has A and no B"),
    "B without A": (lambda tensors: without(tensors, A), "has B and no A"),
    "no product": (lambda tensors: {**tensors, A: torch.ones(2, 12)}, "have no product"),
    "a vector": (lambda tensors: {**tensors, A: torch.ones(12)}, "have no product"),
    "rank 0": (lambda tensors: {**tensors, A: torch.ones(0, 12), B: torch.ones(12, 0)}, "has the rank 0"),
    "nothing": (lambda _: {}, "is empty"),
    "a magnitude": (
        lambda tensors: {**tensors, A.replace("lora_A.weight", "lora_magnitude_vector"): torch.ones(12)},
        "no part of a plain LoRA update",
    ),
    "no such module": (
        lambda tensors: {**without(tensors, A), A.replace("query", "nowhere"): tensors[A], B: tensors[B]},
        "for 'encoder.layer.0.attention.self",
    ),
    "pair of no module": (
        lambda tensors: {name.replace("query", "nowhere"): value for name, value in tensors.items()},
        "There is no matrix .* in 'base': the adapter 'adapter' was made for another base",
    ),
    "another base's shapes": (
        lambda tensors: {**tensors, A: torch.ones(3, 16), B: torch.ones(16, 3)},
        r"has the shape \(12, 12\), its update \(16, 16\)",
    ),
    "a stray tensor": (lambda tensors: {**tensors, "base_model.model.stray": torch.ones(2)}, "neither in its base"),
    "a wrong bias": (
        lambda tensors: {**tensors, A.replace("lora_A.weight", "bias"): torch.ones(5)},
        r"has the shape \(12,\), in the adapter \(5,\)",
    ),
    "whole numbers": (lambda tensors: {**tensors, A: torch.ones(3, 12, dtype=torch.int32)}, "stored as int32"),
    "one matrix twice": (
        lambda tensors: {
            **tensors,
            A.removeprefix("base_model.model.").replace("lora_A.weight", "weight"): torch.ones(12, 12),
        },
        "changes .* twice",
    ),
}


@pytest.mark.parametrize(("changed", "message"), FILE_FAULTS.values(), ids=list(FILE_FAULTS))
def test_wrong_files_are_refused(place: Path, settings: Settings, changed: Any, message: str) -> None:
    rewrite(place, changed)
    with pytest.raises(BertvizError, match=message) as caught:
        load_model(resolve("adapter", settings), settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"peft_type": NaN}', b'{"lora_alpha": NaN, "r": 3}', b"\xff\xfe"])
def test_damaged_settings_are_refused(place: Path, settings: Settings, raw: bytes) -> None:
    (place / "adapter_config.json").write_bytes(raw)
    with pytest.raises(BertvizError):
        resolve("adapter", settings)


def test_half_an_adapter_is_refused(place: Path, settings: Settings) -> None:
    (place / "adapter_model.safetensors").unlink()
    (place / "adapter_model.bin").write_bytes(b"pickle")
    with pytest.raises(BertvizError, match="is half an adapter.*adapter_model.bin is never opened"):
        resolve("adapter", settings)


def test_files_out_of_the_folder_are_not_followed(place: Path, settings: Settings, tmp_path: Path) -> None:
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        elsewhere = tmp_path / name
        elsewhere.write_bytes((place / name).read_bytes())
        raw = (place / name).read_bytes()
        (place / name).unlink()
        (place / name).symlink_to(elsewhere)
        with pytest.raises(BertvizError, match="link out of the model's own folder"):
            resolve("adapter", settings)
        (place / name).unlink()
        (place / name).write_bytes(raw)


def test_an_adapter_is_no_base_even_if_named(place: Path, settings: Settings) -> None:
    with pytest.raises(BertvizError, match="is an adapter itself"):
        resolve("adapter+adapter", settings)
    with pytest.raises(BertvizError, match="'base' is no adapter"):
        resolve("base+adapter", settings)


def test_the_base_must_be_among_the_allowed_models(place: Path, settings: Settings) -> None:
    only = dataclasses.replace(settings, allowed_models=("adapter",))
    with pytest.raises(BertvizError, match="'base' may not be opened on this instance"):
        resolve("adapter", only)
    assert resolve("adapter", dataclasses.replace(settings, allowed_models=("adapter", "base"))).adapter is not None


def test_an_expression_takes_linear_time(place: Path, settings: Settings) -> None:
    """Python's time of this one is exponential in the length of a name: it would take longer than a test may."""
    change(place, target_modules="(.*.*)*(query|value|x)$", rank_pattern={"(a+)+$": 3})
    assert load_model(resolve("adapter", settings), settings).model_type == "bert"


def test_alphas_are_those_of_the_first_pattern() -> None:
    patterns = {"query": 2, "layer.1.query": 3, "^encoder.layer.0.value": 4, "ery": 5}
    settings = checked_settings("x", {**LORA, "alpha_pattern": patterns})
    assert settings.scale_of("encoder.layer.1.query", 4) == 2 / 4
    assert settings.scale_of("encoder.layer.0.value", 4) == 4 / 4
    assert settings.scale_of("my.encoder.layer.0.value", 4) == 8 / 4
    assert checked_settings("x", {**LORA, "use_rslora": True}).scale_of("any", 4) == 8 / 2
