"""Build the smallest model of every transformers class for text, and count how many ledgers agree.

`python -m tests.helpers.every_class` (`make families`) builds, saves and counts all of them, which takes minutes;
`tests/parameters/test_classes.py` does so for those with unusual ties, prefixes or buffers.
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import torch
import transformers
from transformers.models.auto import modeling_auto

from bertviz_core.errors import BertvizError
from bertviz_core.models.catalog.generate import TABLE
from bertviz_core.models.safetensors.folder import read_json
from bertviz_core.models.skeleton import quietly, task_of_class
from bertviz_core.models.sources import folder_source
from bertviz_core.parameters.ledger import config_ledger, module_ledger, source_ledger
from bertviz_core.parameters.results import Ledger
from bertviz_core.settings import Settings

SETTINGS = Settings.from_environment(any_folder=True)
MORE_TYPES = (
    *("bert-generation", "bigbird_pegasus", "blenderbot", "blenderbot-small", "codegen", "ctrl", "dpr", "fsmt"),
    *("gpt_neox_japanese", "longt5", "m2m_100", "marian", "modernbert-decoder", "nllb-moe", "openai-gpt", "pegasus"),
    *("pegasus_x", "plbart", "prophetnet", "switch_transformers", "visual_bert", "xglm"),
)
"""Types that are not in library.json and have no tasks of understanding."""
HIDDEN, VOCABULARY, MOST_PARAMETERS = 24, 120, 30_000_000
WIDTHS = (
    *("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "embedding_size", "intermediate_size", "d_ff", "ffn_dim"),
    *("d_inner", "n_inner", "hidden_dim", "dff", "encoder_ffn_dim", "decoder_ffn_dim", "word_embed_proj_dim"),
    *("moe_intermediate_size", "shared_expert_intermediate_size", "input_embedding_size", "output_embedding_size"),
    *("true_hidden_size", "intra_bottleneck_size", "entity_emb_size", "feed_forward_size"),
)
LENGTHS = (
    *("max_position_embeddings", "n_positions", "n_ctx", "max_source_positions", "max_target_positions"),
    *("max_2d_position_embeddings", "num_landmarks", "segment_means_seq_len"),
)
HEAD_WIDTHS = ("head_dim", "d_kv", "d_head", "attention_head_size", "kv_channels")
COUNTS_OF_HEADS = ("attention_heads", "num_heads", "n_heads", "n_head", "key_value_heads", "kv_heads")


def text_classes() -> dict[str, Any]:
    """Name -> class, for every model class and the base class of its family, if the family reads text."""
    mapped = modeling_auto.MODEL_MAPPING_NAMES
    classes = {}
    for model_type in sorted({*orjson.loads(TABLE.read_bytes())["types"], *MORE_TYPES} & set(mapped)):
        name = mapped[model_type]
        base = getattr(transformers, name if isinstance(name, str) else name[0])
        for each in getattr(sys.modules[base.__module__], "__all__", ()):
            model_class = getattr(sys.modules[base.__module__], each)
            if _is_built(model_class):
                classes[each] = model_class
    return classes


def _is_built(model_class: Any) -> bool:
    """Whether a class is a model that reads ids, and not only a base class of others."""
    if not isinstance(model_class, type) or not issubclass(model_class, transformers.PreTrainedModel):
        return False
    inherited = "pretrained" in model_class.__name__.lower() or model_class.config_class is None
    return not inherited and model_class.main_input_name == "input_ids"


def smallest(config: Any) -> Any:
    """Reduce every size of a config that has a common name."""
    for key, value in list(vars(config).items()):
        if isinstance(value, transformers.PreTrainedConfig):
            smallest(value)
        elif isinstance(value, int) and not isinstance(value, bool) and (size := _size(key, value)) < value:
            with suppress(Exception):  # a config that derives it from other values
                setattr(config, key, size)
    for key in ("layer_types", "mlp_layer_types"):
        if isinstance(listed := getattr(config, key, None), list):
            setattr(config, key, listed[: config.num_hidden_layers])
    return config


def _size(key: str, value: int) -> int:
    if key.endswith("token_id"):
        return value if value < VOCABULARY else 5
    if key in WIDTHS:
        return HIDDEN
    if key in HEAD_WIDTHS:
        return HIDDEN // 2
    if key in LENGTHS:
        return 32
    if key.endswith(COUNTS_OF_HEADS):
        return 2
    if key.endswith(("layers", "n_layer")) and not key.startswith("first"):
        return 2
    if key.endswith(("vocab_size", "n_words", "hash_buckets")):
        return VOCABULARY
    return 4 if "experts" in key and "tok" not in key else value


def differences(name: str, model_class: Any, sizes: Mapping[str, Any], folder: Path) -> list[str]:
    """Differences of a class's ledgers from header and from config to that of the module; [] for none.

    Experts that are separate in the file and one tensor in the module have different names: only their sums can agree.

    Raises:
        Exception: transformers cannot build the config.
    """
    config = smallest(model_class.config_class()) if not sizes else model_class.config_class(**sizes)
    with quietly(), torch.device("meta"):
        if sum(parameter.numel() for parameter in model_class(config).parameters()) > MOST_PARAMETERS:
            raise ValueError("too large")
    with quietly():
        module = model_class(config)
        module.save_pretrained(folder)
    built, stored = module_ledger(name, module), source_ledger(folder_source(name, folder), SETTINGS)
    saved = read_json(folder, "config.json")
    described = config_ledger(name, saved, task_of_class(name, saved, name))
    differing = (
        [f"{built.total:,} for {own:,}"]
        if (own := sum(each.numel() for each in module.parameters())) != built.total
        else []
    )
    for source, ledger in (("header", stored), ("config", described)):
        if source == "config" and ledger.architecture != name:
            continue  # a class without a task cannot be built from a config alone
        apart = any(".experts." in row.name for row in ledger.parameters)
        expected = _faces(built, apart)
        differing += [
            f"{source}: {face}: {value} for {expected[face]}"
            for face, value in _faces(ledger, apart).items()
            if value != expected[face]
        ]
    return differing


def _faces(ledger: Ledger, apart: bool) -> dict[str, Any]:
    counted = {row.name: row.shape for row in ledger.parameters if row.tied_to is None}
    return {
        "total": ledger.total,
        "trainable": ledger.trainable,
        "class": ledger.architecture,
        "components": {part.name: part.total for part in ledger.components},
        "layers": [(row.component, row.layer, row.total) for row in ledger.layers],
        "names": None if apart else counted,
        "ties": {row.name: row.tied_to for row in ledger.parameters if row.tied_to},
    }


def compared() -> Iterator[tuple[str, list[str] | None, str]]:
    """Yield (class, differences or None if it was not built, why it was not)."""
    for name, model_class in text_classes().items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                yield name, differences(name, model_class, {}, Path(folder)), ""
            except BertvizError as error:
                yield name, [str(error)], ""
            except Exception as error:  # the config cannot be reduced this way, or needs another package
                yield name, None, f"{type(error).__name__}: {str(error).splitlines()[0][:90] if str(error) else ''}"


if __name__ == "__main__":
    rows = []
    for row in compared():
        rows.append(row)
        if row[1] or row[2]:
            what = "not built:" if row[1] is None else "differs:"
            sys.stdout.write(f"{row[0]} {what} {row[2] or str(row[1])[:300]}\n")
    built_rows = [row for row in rows if row[1] is not None]
    agree = sum(not row[1] for row in built_rows)
    left = len(rows) - len(built_rows)
    sys.stdout.write(f"{agree} of {len(built_rows)} classes agree; {left} could not be built at this size.\n")
    sys.exit(agree < len(built_rows))
