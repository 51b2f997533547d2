"""A config is read by type: configs of transformers pass; entries of other types or of excessive size do not.

Covers `bertviz_core/isolation/sanitized/entries.py`.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import transformers
from transformers import CONFIG_MAPPING

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.sanitized.config import harmless_config
from bertviz_core.isolation.sanitized.entries import check_entries
from bertviz_core.models import catalog
from bertviz_core.models.catalog.generate import KINDS_TABLE, entry_kinds_table, table_bytes
from bertviz_core.models.families import FAMILIES, STATIC_TYPE
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from tests.helpers.hostile import CONFIGS, REPEATS

SETTINGS = Settings.from_environment()
SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size")


@pytest.mark.slow
def test_the_packaged_table_is_that_of_the_installed_library() -> None:
    assert KINDS_TABLE.read_bytes() == table_bytes(entry_kinds_table()), transformers.__version__


def bert_with(folder: Path, entries: str) -> Path:
    """A models folder with one model, with these entries at the end of its config.json."""
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text('{"model_type": "bert", "num_attention_heads": 2, ' + entries + "}")
    return folder


@pytest.mark.parametrize("wrong", CONFIGS)
def test_a_hostile_config_is_one_sentence_before_anything_computes_with_it(wrong: str, tmp_path: Path) -> None:
    entries, words = CONFIGS[wrong]
    settings = replace(SETTINGS, models_dir=bert_with(tmp_path, entries))
    with pytest.raises(CheckpointError, match=words) as refusal:
        resolve("model", settings)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize("model_type", REPEATS)
def test_a_part_asked_for_a_million_times_is_refused_in_every_spelling(model_type: str) -> None:
    with pytest.raises(CheckpointError, match="INSIDE_BERT_MAX_LAYERS"):
        check_entries("model", {"model_type": model_type, **REPEATS[model_type]}, SETTINGS)


@pytest.mark.parametrize("size", SIZES)
def test_the_sizes_of_every_family_are_whole_numbers(size: str) -> None:
    for model_type in FAMILIES.keys() - {STATIC_TYPE}:  # whose config is not read from a file
        for wrong in ("12", {"a": 1}, [[]], 0.5, float("nan"), float("inf"), False, -2, 10**30):
            config = {"model_type": model_type, size: wrong}
            for place in (config, {"model_type": "clip", "text_config": config}):
                with pytest.raises(CheckpointError, match=size):
                    check_entries(model_type, place, SETTINGS)


def test_the_bounds_are_settings() -> None:
    config = {"model_type": "bert", "num_hidden_layers": 30, "id2label": {str(index): "a" for index in range(30)}}
    check_entries("model", config, SETTINGS)
    for smaller in (replace(SETTINGS, max_layers=29), replace(SETTINGS, max_labels=29)):
        with pytest.raises(CheckpointError, match="at most 29"):
            check_entries("model", config, smaller)


def test_layers_in_no_group_are_refused() -> None:
    config = {"model_type": "albert", "num_hidden_layers": 3, "num_hidden_groups": 0}
    with pytest.raises(CheckpointError, match="the number 0 as 'num_hidden_groups'; a number of 1 or more is needed"):
        check_entries("model", config, SETTINGS)


@pytest.mark.slow
def test_what_transformers_writes_for_every_family_passes() -> None:
    tried = 0
    for model_type, config_class in CONFIG_MAPPING.items():
        try:
            written = json.loads(config_class().to_json_string(use_diff=False))
        except Exception:  # a composite config without defaults
            continue
        check_entries(model_type, {**written, "model_type": model_type}, SETTINGS)
        tried += 1
    assert tried > 0.9 * len(CONFIG_MAPPING)


def test_layers_counted_from_the_end_pass() -> None:
    """Older configs of VipLlava have them under this name."""
    check_entries("vip", {"model_type": "vipllava", "vision_feature_layers": [-2, -5, -8, -11, 6]}, SETTINGS)


def test_every_config_of_the_catalogue_passes() -> None:
    for name, entry in catalog.entries().items():
        check_entries(name, entry.config, SETTINGS)


@pytest.mark.parametrize("count", [2.5, 10**6, 1e9])
def test_a_count_of_labels_in_an_object_of_unknown_form_is_checked(count: float) -> None:
    config = {"model_type": "bert", "more": {"num_labels": count}}
    if count < SETTINGS.max_labels:
        check_entries("more", config, SETTINGS)
        return
    with pytest.raises(CheckpointError, match="INSIDE_BERT_MAX_LABELS"):
        check_entries("more", config, SETTINGS)


@pytest.mark.parametrize("entry", ["kernel_config" * 20_000 + "\n", "layers_per_" * 20_000 + "-"])
def test_a_name_without_end_is_refused_before_a_pattern_is_looked_for_in_it(entry: str) -> None:
    for config in ({entry: 1}, {"text_config": {entry: 1}}):
        with pytest.raises(CheckpointError, match="characters; at most 200 are read"):
            check_entries("long", config, Settings.from_environment())
        with pytest.raises(CheckpointError, match="characters; at most 200 are read"):
            harmless_config("long", config)
