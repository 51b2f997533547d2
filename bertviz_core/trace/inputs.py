"""Build the inputs of a model: padded ids, attention mask, token types and further ids."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bertviz_core.errors import TextError
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.transformers_internals import capture_anew


@runtime_checkable
class ModelRow(Protocol):
    """One text as a row of a batch: Tokens, or just the ids of a sentence."""

    def __len__(self) -> int:
        """Count of tokens."""

    @property
    def input_ids(self) -> Any:
        """Vocabulary ids."""

    @property
    def token_type_ids(self) -> Any:
        """Which text each token belongs to; None if the tokenizer has no token types."""

    @property
    def other_inputs(self) -> Mapping[str, Any]:
        """Further ids per token."""


def model_inputs(loaded: LoadedModel, batch: Sequence[ModelRow]) -> "dict[str, torch.Tensor]":
    """The padded inputs of a batch that the forward method of the model accepts."""
    accepted = inspect.signature(loaded.model.forward).parameters
    columns: dict[str, list[Any]] = {"input_ids": [tokens.input_ids for tokens in batch]}
    columns["attention_mask"] = [np.ones(len(tokens), dtype=np.int64) for tokens in batch]
    if all(tokens.token_type_ids is not None for tokens in batch):
        columns["token_type_ids"] = [tokens.token_type_ids for tokens in batch]
    for name in batch[0].other_inputs:
        columns[name] = [tokens.other_inputs[name] for tokens in batch]
    _check_ids(loaded, columns)
    seq = max(len(tokens) for tokens in batch)
    fill = {"input_ids": getattr(loaded.model.config, "pad_token_id", None) or 0}
    inputs = {}
    for name, values in columns.items():
        if name in accepted:
            padded = np.full((len(batch), seq), fill.get(name, 0), dtype=np.int64)
            for row, value in zip(padded, values, strict=True):
                row[: len(value)] = value
            inputs[name] = torch.from_numpy(padded).to(loaded.device)
    return inputs


def _check_ids(loaded: LoadedModel, columns: dict[str, list[Any]]) -> None:
    """Refuse ids beyond the vocabulary table (a CUDA device would fail for good); drop types beyond the type table."""
    table = input_table(loaded.model)
    highest = max(int(ids.max(initial=0)) for ids in columns["input_ids"])
    if table is not None and highest >= (size := len(table)):
        raise TextError(
            f"The tokenizer returned the id {highest:,}, but the vocabulary table of {loaded.name!r} has {size:,} "
            "rows; use the tokenizer that belongs to the model, or the model that was resized for its added tokens."
        )
    types = columns.get("token_type_ids", ())
    known = getattr(loaded.model.config, "type_vocab_size", None)
    if known is not None and any(int(type_ids.max(initial=0)) >= known for type_ids in types):
        del columns["token_type_ids"]


def reset_model_state(model: "transformers.PreTrainedModel", seq: int) -> None:
    """Undo changes of the model's state by earlier texts.

    BigBird switches from sparse to full attention at the first short text, and does not switch back for long ones. The
    switch replaces the modules with transformers' output capturing hooks, so these are installed again.

    Args:
        model: a base model, or a class with a task head.
        seq: tokens of the next text.
    """
    config, base = model.config, model.base_model
    set_type = getattr(base, "set_attention_type", None)
    if set_type is None or getattr(config, "attention_type", "") != "block_sparse":
        return
    full = seq <= (5 + 2 * config.num_random_blocks) * config.block_size
    attention_type = "original_full" if full else "block_sparse"
    if base.attention_type != attention_type:
        set_type(attention_type)
        capture_anew(base)


def input_table(model: "transformers.PreTrainedModel") -> "torch.Tensor | None":
    """The vocabulary table (vocab, width); None for a model without one row per token, such as CANINE."""
    try:
        weight: Any = getattr(model.get_input_embeddings(), "weight", None)
    except NotImplementedError:
        return None
    return weight if weight is not None and weight.ndim == 2 else None
