"""Call a model's forward method, with its failures as errors for users."""

import inspect
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from bertviz_core.errors import BertvizError, OutOfMemoryError, SupersededError, UnsupportedModelError, is_out_of_memory
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.loading import LoadedModel
from bertviz_core.text import first_line


def forward(
    loaded: LoadedModel,
    inputs: "Mapping[str, torch.Tensor]",
    model: "transformers.PreTrainedModel | None" = None,
    **outputs: bool,
) -> Mapping[str, Any]:
    """The outputs of a model by name.

    Args:
        loaded: the model.
        inputs: tensors by argument name.
        model: the same model in another number format; the loaded one by default.
        outputs: further outputs by the names of transformers (output_hidden_states, output_attentions).

    Raises:
        OutOfMemoryError: there is not enough memory.
        UnsupportedModelError: the model needs more inputs than a text, or has no named outputs.
    """
    _check_inputs(loaded, inputs)
    try:
        with nullcontext() if loaded.intervention is None else loaded.intervention():
            output = (model or loaded.model)(**inputs, **outputs, return_dict=True)
    except (BertvizError, SupersededError):
        raise
    except Exception as error:  # a missing input may lead to any exception
        if is_out_of_memory(error):
            where = "this machine" if loaded.device == "cpu" else loaded.device
            raise OutOfMemoryError(
                f"A text is too long for the memory of {where} ({first_line(error)}); give a shorter one."
            ) from error
        raise UnsupportedModelError(
            f"{loaded.name!r} ({loaded.model_type}) cannot be run on a text alone: {first_line(error).rstrip('.')}. It "
            "needs more than a text, or its config does not fit its class; choose another model."
        ) from error
    if not isinstance(output, Mapping):
        raise UnsupportedModelError(
            f"{loaded.name!r} ({loaded.model_type}) gives no outputs by name, such as its hidden states."
        )
    return output


def _check_inputs(loaded: LoadedModel, inputs: Mapping[str, object]) -> None:
    parameters = inspect.signature(loaded.model.forward).parameters.values()
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    needed = [each.name for each in parameters if each.default is each.empty and each.kind in plain]
    if lacking := [name for name in needed if name not in inputs]:
        raise UnsupportedModelError(
            f"{loaded.name!r} ({loaded.model_type}) cannot be run on a text alone: it needs {', '.join(lacking)}. "
            "Its parameters and modules can be looked at."
        )


def hidden_states(loaded: LoadedModel, output: Mapping[str, Any]) -> "list[torch.Tensor]":
    """The hidden states (batch, seq, hidden) of the embeddings and of every layer.

    Raises:
        UnsupportedModelError: the model does not return them.
    """
    states = output.get("hidden_states")
    if (
        not isinstance(states, Sequence)
        or not states
        or not all(isinstance(state, torch.Tensor) and state.ndim == 3 for state in states)
    ):
        raise UnsupportedModelError(f"{loaded.name!r} ({loaded.model_type}) returns no hidden states of its layers.")
    return list(states)


def pooler_output(loaded: LoadedModel, output: Mapping[str, Any]) -> "torch.Tensor":
    """The output of the pooler (batch, pooled).

    Raises:
        UnsupportedModelError: the model does not return it.
    """
    vectors = output.get("pooler_output")
    if not isinstance(vectors, torch.Tensor) or vectors.ndim != 2:
        raise UnsupportedModelError(f"{loaded.name!r} ({loaded.model_type}) returns no output of its pooler.")
    return vectors
