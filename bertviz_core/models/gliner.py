"""Folders of the library gliner, which hold an encoder inside a model that finds named spans of a text."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import CONFIG_FILE, GLINER_CONFIG, present
from bertviz_core.models import catalog
from bertviz_core.models.safetensors.folder import read_header, read_json, weight_files
from bertviz_core.models.safetensors.results import CheckpointHeader
from bertviz_core.text import quoted

ENCODER = "token_rep_layer.bert_layer.model."
"""Prefix of the encoder's tensors in the file."""
WORD_TABLES = ("embeddings.word_embeddings.weight", "embeddings.tok_embeddings.weight", "embed_tokens.weight")
NOTICE = (
    "It is a GLiNER model: its encoder is run; the layers behind it, which find spans of the kinds that are asked for, "
    "are neither computed nor counted here."
)


def is_gliner(folder: Path | None) -> bool:
    """Whether a folder is one of the library gliner, without a config.json of transformers."""
    return folder is not None and present(folder, GLINER_CONFIG) and not present(folder, CONFIG_FILE)


def encoder_header(folder: Path) -> CheckpointHeader:
    """The header of a folder; of GLiNER the tensors of the encoder alone, with the names that its class gives them."""
    header = read_header(folder)
    if not is_gliner(folder):
        return header
    own = [tensor for tensor in header.tensors if tensor.name.startswith(ENCODER)]
    bare = [msgspec.structs.replace(each, name=each.name.removeprefix(ENCODER)) for each in own]
    return replace(header, tensors=tuple(bare))


def encoder_config(name: str, folder: Path) -> Mapping[str, Any]:
    """The config of the encoder, with as many words as its table has, to which GLiNER adds its own tokens."""
    config_file = read_json(folder, GLINER_CONFIG)
    config, base = config_file.get("encoder_config"), config_file.get("model_name")
    if not isinstance(config, dict) or "model_type" not in config:
        known = catalog.find(base) if isinstance(base, str) else None
        if known is None:
            raise CheckpointError(
                f"{quoted(name)} is a GLiNER model whose {GLINER_CONFIG} has no encoder_config, and its encoder "
                f"{quoted(str(base), 80)} is not in the catalogue here; put the encoder's config.json beside it as "
                "encoder_config, or save the encoder alone with model.token_rep_layer.bert_layer.model."
                "save_pretrained(FOLDER)."
            )
        config = known.config
    weight_files(folder)  # says which other format there is, if any
    words = [
        tensor
        for tensor in read_header(folder).tensors
        if tensor.name.startswith(ENCODER) and tensor.name.endswith(WORD_TABLES) and len(tensor.shape) == 2
    ]
    if not words:
        raise CheckpointError(
            f"{quoted(name)} is a GLiNER model without an encoder of transformers in its file: no table of words has "
            f"the prefix {quoted(ENCODER)}."
        )
    return {**config, "vocab_size": words[0].shape[0]}
