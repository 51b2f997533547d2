"""Run a model with a task head row by row, or apply its masked-LM head to given states."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any

import numpy as np

from bertviz_core.errors import CheckpointError, UnsupportedModelError
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.torch_internals import with_child
from bertviz_core.predictions.loading import HeadModel
from bertviz_core.sentences.batches import batches
from bertviz_core.text import quoted
from bertviz_core.trace.forward import forward
from bertviz_core.trace.inputs import ModelRow, model_inputs, reset_model_state
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.verification import check_recording

CHUNK_NBYTES = 16 * 1024**2
"""Bytes of logits in memory at once: 137 positions of BERT's 30,522 words."""

WHOLE_TEXT = ("sequence-classification", "next-sentence")
"""Tasks with one answer per text. Some of their heads (XLNet's) read the last position, which must not be padding."""


def check_task(head: HeadModel, *tasks: str) -> None:
    """Check that the head is of one of these tasks.

    Raises:
        UnsupportedModelError: the head is of another task.
    """
    if head.task not in tasks:
        raise UnsupportedModelError(
            f"{head.name!r} was loaded with its head for {head.task}; this asks for {' or '.join(tasks)}."
        )


def row_outputs(
    head: HeadModel, rows: Sequence[ModelRow], names: Sequence[str] = ("logits",), padded: bool = False
) -> "Iterator[tuple[int, tuple[np.ndarray, ...]]]":
    """Yield the head's outputs of every row, in the order in which the rows are run.

    Rows of similar length run together if the family supports it; outputs at padding positions are cut off.

    Args:
        head: the model.
        rows: tokenized texts.
        names: names of the outputs in transformers.
        padded: whether rows of different lengths run together, also for a head that reads the whole text.

    Yields:
        (index of the row, its outputs, each (seq, ...) or, if it has no row per token, (labels,)).

    Raises:
        UnsupportedModelError: the model needs more inputs than a text.
        CheckpointError: an output is NaN or infinite.
    """
    lengths = [len(row) for row in rows]
    together = _groups(head.base, lengths) if padded else groups(head, lengths)
    for group in chain.from_iterable(_equal_ends(head, rows, each) for each in together):
        output = run_group(head, [rows[index] for index in group], head.model)
        for place, index in enumerate(group):
            arrays = [_finite(head, output[name][place].float()).cpu().numpy() for name in names]
            per_text = [name == "logits" and array.ndim == 1 for array, name in zip(arrays, names, strict=True)]
            yield (
                index,
                tuple(
                    array if whole else array[: lengths[index]] for array, whole in zip(arrays, per_text, strict=True)
                ),
            )


def groups(head: HeadModel, lengths: Sequence[int]) -> list[list[int]]:
    """Return groups of row indices to run together; single rows for a model without a padding id."""
    if head.task in WHOLE_TEXT:
        return one_length_groups(head.base, lengths)
    return _groups(head.base, lengths)


def one_length_groups(base: LoadedModel, lengths: Sequence[int]) -> list[list[int]]:
    """Group rows of equal length, so that nothing is padded."""
    return [
        list(alike)
        for group in _groups(base, lengths)
        for _, alike in groupby(sorted(group, key=lengths.__getitem__), lengths.__getitem__)
    ]


def _equal_ends(head: HeadModel, rows: Sequence[ModelRow], group: Sequence[int]) -> list[list[int]]:
    """Split a group of rows by their number of end tokens, which a text may hold literally.

    The classification heads of encoder-decoders, such as BART's, read the state at the last one and refuse a
    batch in which the rows have different numbers of them.
    """
    config = head.model.config
    if head.task not in WHOLE_TEXT or not config.is_encoder_decoder:
        return [list(group)]

    def ends(index: int) -> int:
        return int(np.isin(rows[index].input_ids, config.eos_token_id).sum())

    return [list(alike) for _, alike in groupby(sorted(group, key=ends), ends)]


def _groups(base: LoadedModel, lengths: Sequence[int]) -> list[list[int]]:
    if getattr(base.model.config, "pad_token_id", None) is None:
        return [[index] for index in range(len(lengths))]
    return batches(base, lengths)


def head_inputs(head: HeadModel, rows: Sequence[ModelRow], model: Any) -> "dict[str, torch.Tensor]":
    """Return the inputs that the forward of the base, or of the model with the head, takes."""
    inputs = model_inputs(head.base, rows)
    accepted = inspect.signature(model.forward).parameters
    if any(each.kind is each.VAR_KEYWORD for each in accepted.values()):
        return inputs
    return {name: values for name, values in inputs.items() if name in accepted}


def run_group(head: HeadModel, rows: Sequence[ModelRow], model: Any, **flags: bool) -> Mapping[str, Any]:
    """Run the base, or the model with the head, on a batch."""
    inputs = head_inputs(head, rows, model)
    with RUN_LOCK, torch.inference_mode():
        check_recording(head.base)
        reset_model_state(head.base.model, max(len(row) for row in rows))
        return forward(head.base, inputs, model, **flags)


class WordHead:
    """The part of a masked-LM model after its base: maps states to logits of every word."""

    def __init__(self, head: HeadModel) -> None:
        """Extract the head of a model.

        Raises:
            UnsupportedModelError: the head is of another task.
        """
        check_task(head, "masked-lm")
        self._head = head
        self.reads_states = bool(head.base_path) and "." not in head.base_path

    @property
    def model(self) -> Any:
        """The model to run: the base, or the whole model if its head cannot be applied separately."""
        return self._head.base.model if self.reads_states else self._head.model

    def outputs(self, rows: Sequence[ModelRow], states: bool = False) -> Mapping[str, Any]:
        """Run a batch through the base, or the whole model if its head cannot be applied separately.

        Args:
            rows: tokenized texts of one length, or of a family whose outputs do not depend on padding.
            states: whether to return the hidden states of every layer.
        """
        return run_group(self._head, rows, self.model, output_hidden_states=states)

    def logits(self, output: Mapping[str, Any], states: "torch.Tensor") -> "torch.Tensor":
        """Return the logits (positions, vocab) of states (positions, hidden), in float32.

        If the head cannot be applied separately, `states` are rows of output["logits"] and are returned.

        Raises:
            CheckpointError: a logit is NaN or infinite.
        """
        with RUN_LOCK, torch.inference_mode():
            return _finite(self._head, self.logits_unlocked(output, states))

    def logits_unlocked(self, output: Mapping[str, Any], states: "torch.Tensor") -> "torch.Tensor":
        """Like `logits`, for callers that hold RUN_LOCK; differentiable."""
        if not self.reads_states:
            return states.float()
        fixed = type(output)(**{**output, "last_hidden_state": states[None], "hidden_states": None})
        ids = torch.zeros(1, len(states), dtype=torch.long, device=states.device)
        alone = _with_fixed_states(self._head, fixed)
        logits: torch.Tensor = forward(self._head.base, {"input_ids": ids}, alone)["logits"][0]
        return logits.float()

    def states(self, output: Mapping[str, Any]) -> "torch.Tensor":
        """Return the states of the last layer (batch, seq, hidden) that `logits` reads."""
        tensor: torch.Tensor = output["last_hidden_state" if self.reads_states else "logits"]
        return tensor

    def chunks(self, count: int) -> "Iterator[slice]":
        """Yield slices of `count` positions whose logits stay within CHUNK_NBYTES."""
        step = max(1, CHUNK_NBYTES // (4 * self.vocab_size))
        return (slice(start, min(start + step, count)) for start in range(0, count, step))

    @property
    def vocab_size(self) -> int:
        """Size of the vocabulary in the config."""
        return word_count(self._head)


def _finite(head: HeadModel, logits: "torch.Tensor") -> "torch.Tensor":
    """Refuse NaN and infinity; a head may exclude a class by minus infinity."""
    if not bool((logits < torch.inf).all()):  # false for NaN, too
        raise CheckpointError(
            f"The head of {quoted(head.name)} answers with NaN or infinity, so there is no answer to show; look at its "
            "weights on the page Checkpoint."
        )
    return logits


def word_count(head: HeadModel) -> int:
    """Return the vocabulary size of a masked-LM head from its config."""
    return int(head.model.config.get_text_config().vocab_size)


def _with_fixed_states(head: HeadModel, output: Any) -> Any:
    """Build the model with the head, sharing its weights, around a base with a fixed output."""
    return with_child(head.model, head.base_path, _fixed_states(head.base.model, output))


def _fixed_states(base: "torch.nn.Module", output: Any) -> "torch.nn.Module":
    class FixedStates(torch.nn.Module):
        """A base with a fixed output; other attributes, such as its word embeddings, are those of the base."""

        def __getattr__(self, name: str) -> Any:
            return getattr(base, name)

        def forward(self, *_: Any, **__: Any) -> Any:
            return output

    return FixedStates()
