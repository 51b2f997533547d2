"""Read the modules of a late-interaction checkpoint: projection, skip list and normalisation; the heads of BGE-M3.

No class that a file names is imported, and no pickle is opened.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bertviz_core.checkpoints.values import is_readable, number_pieces, open_checkpoint, tensor_slices
from bertviz_core.errors import CheckpointError, UnsupportedModelError
from bertviz_core.isolation.regular_files import CONFIG_FILE, DENSE_NBYTES, MODULES_FILE, present
from bertviz_core.models.local_files import modules_folder, weights_folder
from bertviz_core.models.receipt import TOKEN_HEADS, convert_heads
from bertviz_core.models.safetensors.folder import read_json
from bertviz_core.models.sentence_folder import LIBRARY_PREFIX
from bertviz_core.models.sources import ModelSource
from bertviz_core.sentences.plan import sentence_config
from bertviz_core.sentences.pooling import check_width, dense_layer, read_linear
from bertviz_core.sentences.results import DenseLayer, SentencePlan
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

STATES_OUTPUT = "token_embeddings"
PYLATE_DENSE = "pylate.models.Dense.Dense"
MASK_MODULE = "MultiVectorMask"
STANFORD_PROJECTION = "linear.weight"
MOST_SKIPPED = 10_000
"""Maximum number of tokens in a skip list."""
WITHOUT_EFFECT = ("Dropout", "Pooling")
"""Modules that do not change the vectors of tokens."""


@dataclass(slots=True, eq=False)
class TokenModules:
    """What the modules after the encoder do with the vectors of tokens."""

    dense: tuple[DenseLayer, ...] = ()
    """Projections, in their order."""
    skiplist: tuple[str, ...] = ()
    """Tokens that are not scored."""
    skipping: tuple[str, ...] = ("document",)
    """Sides that the skip list applies to, "query" or "document"."""
    normalize: bool = False
    """Whether the vectors are normalised to length 1."""
    names: list[str] = field(default_factory=list)
    """Names of the classes, in their order."""


def token_modules(folder: Path, listed: Sequence[tuple[str, str]]) -> TokenModules:
    """Read the modules after the encoder.

    Args:
        listed: class and subfolder of every module (bertviz_core.models.sentence_folder.listed_modules).
    """
    read = TokenModules()
    for place, (class_name, module_folder) in enumerate(listed):
        known = class_name.startswith(LIBRARY_PREFIX) or class_name == PYLATE_DENSE
        name = class_name.rpartition(".")[2] if known else ""
        read.names.append(name)
        if place == 0:
            if name != "Transformer" or (module_folder != "." and present(folder, CONFIG_FILE)):
                raise CheckpointError(
                    f"The first module of the checkpoint is {quoted(class_name, 80)} in {quoted(module_folder, 40)}; "
                    f"late interaction is computed by an encoder beside {MODULES_FILE}."
                )
        elif name == "Dense" and not read.normalize:
            read.dense = (*read.dense, _projection(folder, module_folder))
        elif name == MASK_MODULE:
            _read_mask(read, folder, module_folder)
        elif name == "Normalize":
            config = read_json(folder, f"{module_folder}/config.json") if _has_config(folder, module_folder) else {}
            read.normalize = read.normalize or config.get("module_input_name") == STATES_OUTPUT
        elif name not in WITHOUT_EFFECT:
            raise CheckpointError(
                f"The checkpoint's module {quoted(class_name, 80)} is not known here at this place, so that its late "
                "interaction cannot be computed; it can be looked at by the library that wrote it."
            )
    return read


def stanford_projection(source: ModelSource, settings: Settings) -> DenseLayer:
    """Read the projection of a checkpoint in Stanford's format, which is stored beside the weights of the encoder."""
    checkpoint = open_checkpoint(source, settings)
    stored = next((each for each in checkpoint.header.tensors if each.name == STANFORD_PROJECTION), None)
    if stored is None:
        raise CheckpointError(
            f"{quoted(source.name, 60)} is a ColBERT by its config, and its weights have no projection "
            f"({STANFORD_PROJECTION}); put in the file of the trained model."
        )
    check_width(f"The projection {STANFORD_PROJECTION}", stored.shape)
    if len(stored.shape) != 2 or not 0 < stored.nbytes <= DENSE_NBYTES or not is_readable(stored.dtype):
        raise CheckpointError(
            f"The projection {STANFORD_PROJECTION} has the shape {tuple(stored.shape)} in {stored.dtype}; a matrix of "
            f"at most {DENSE_NBYTES:,} bytes is read."
        )
    pieces = list(number_pieces(tensor_slices(checkpoint)[STANFORD_PROJECTION]))
    weight = np.concatenate(pieces).reshape(stored.shape).astype(np.float32)
    return DenseLayer(weight, None, "identity")


def string_list(value: Any, what: str) -> tuple[str, ...]:
    """Check a list of strings from a file; () for none."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value) or len(value) > MOST_SKIPPED:
        raise CheckpointError(f"The checkpoint's {what} is not a list of at most {MOST_SKIPPED:,} tokens.")
    return tuple(value)


def _projection(folder: Path, module_folder: str) -> DenseLayer:
    layer, reason = dense_layer(folder, module_folder, STATES_OUTPUT)
    if layer is None:
        raise CheckpointError(f"The checkpoint's late interaction needs its projection. {reason}")
    return layer


def _read_mask(read: TokenModules, folder: Path, module_folder: str) -> None:
    config = read_json(folder, f"{module_folder}/config.json") if _has_config(folder, module_folder) else {}
    if config.get("keep_only_token_ids"):
        raise CheckpointError(
            "The checkpoint scores only some tokens by their ids (keep_only_token_ids), as models of images do; such "
            "models are not read here."
        )
    tasks = config.get("skiplist_tasks")
    read.skiplist = string_list(config.get("skiplist_words"), "skiplist_words")
    read.skipping = (
        ("document",) if tasks is None else string_list([tasks] if isinstance(tasks, str) else tasks, "tasks")
    )


def _has_config(folder: Path, module_folder: str) -> bool:
    return present(folder, f"{module_folder}/config.json")


class TokenHeads(NamedTuple):
    """The two heads that read every token."""

    sparse: DenseLayer
    """Makes the weight of a token."""
    colbert: DenseLayer
    """Makes the vector of a token."""


def token_heads(source: ModelSource, settings: Settings) -> TokenHeads | None:
    """Read the heads of BGE-M3 in a checkpoint's folder; None for a folder without one."""
    folder = weights_folder(source, settings)
    whole = [name for name in TOKEN_HEADS if present(folder, f"{name}.safetensors")]
    pickled = [name for name in TOKEN_HEADS if present(folder, f"{name}.pt") and name not in whole]
    if pickled:
        raise CheckpointError(convert_heads(pickled))
    if len(whole) == 1:
        lacking = next(name for name in TOKEN_HEADS if name not in whole)
        raise CheckpointError(
            f"{quoted(source.name, 60)} has {whole[0]}.safetensors, one of the two heads of BGE-M3, and no "
            f"{lacking}.safetensors; put in the other."
        )
    return TokenHeads(*(_head(folder, name, source) for name in TOKEN_HEADS)) if whole else None


def _head(folder: Path, name: str, source: ModelSource) -> DenseLayer:
    file, hidden = f"{name}.safetensors", source.config.get("hidden_size")
    layer = read_linear(folder, file, f"The head {file}", prefix="")
    rows, columns = layer.weight.shape
    if isinstance(hidden, int) and columns != hidden:
        raise CheckpointError(
            f"The head {file} reads states of {columns:,} numbers, and those of the encoder have {hidden:,}; the files "
            "do not belong together."
        )
    if name == TOKEN_HEADS[0] and rows != 1:
        raise CheckpointError(f"The head {file} makes {rows:,} numbers of a token, and its weight is one number.")
    if not all(np.isfinite(each).all() for each in (layer.weight, layer.bias) if each is not None):
        raise CheckpointError(f"The head {file} holds NaN or infinity; put in the file of the trained model.")
    return layer


def own_heads(source: ModelSource, settings: Settings) -> TokenHeads:
    """Read the heads of BGE-M3, or refuse a folder without them."""
    heads = token_heads(source, settings)
    if heads is None:
        files = " and ".join(f"{name}.safetensors" for name in TOKEN_HEADS)
        raise UnsupportedModelError(
            f"{quoted(source.name, 60)} has not the heads of BGE-M3, which are {files} beside its weights; open such a "
            "folder, or rank the texts otherwise."
        )
    return heads


def reading_plan(source: ModelSource, settings: Settings) -> SentencePlan:
    """How texts are tokenized, by the settings of the folder; the vector of a text is that of its first token."""
    config = sentence_config(modules_folder(source, settings), weights_folder(source, settings))
    return SentencePlan("cls", prompt=config.prompt, max_seq_length=config.max_seq_length, lower_case=config.lower_case)
