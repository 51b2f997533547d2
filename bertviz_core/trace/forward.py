"""The one door at which a model is run: whatever it raises or gives back comes out as tensors or as one sentence."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bertviz_core.errors import BertvizError, SupersededError, TextError, UnsupportedModelError, is_out_of_memory
from bertviz_core.models.loading import LoadedModel
from bertviz_core.text import first_line

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


def forward(
    loaded: LoadedModel, inputs: "Mapping[str, torch.Tensor]", model: "PreTrainedModel | None" = None, **wanted: bool
) -> Mapping[str, Any]:
    """What a model gives for its inputs, by name.

    Args:
        loaded: the model, which errors name.
        inputs: tensors by the names of its arguments.
        model: the same model in another number format; the loaded one by default.
        wanted: further outputs, as transformers names them (output_hidden_states, output_attentions).

    Raises:
        TextError: there is not memory enough.
        UnsupportedModelError: it needs more than a text, or gives no outputs by name.
    """
    try:
        output = (model or loaded.model)(**inputs, **wanted, return_dict=True)
    except (BertvizError, SupersededError):
        raise
    except Exception as error:  # the library raises whatever a missing input leads to
        if is_out_of_memory(error):
            raise TextError(
                f"A text is too long for the memory of this machine ({first_line(error)}); give a shorter one."
            ) from error
        raise UnsupportedModelError(
            f"{loaded.name!r} ({loaded.model_type}) cannot be run on a text alone: {first_line(error)}"
        ) from error
    if not isinstance(output, Mapping):
        raise UnsupportedModelError(
            f"{loaded.name!r} ({loaded.model_type}) gives no outputs by name, such as its hidden states."
        )
    return output


def hidden_states(loaded: LoadedModel, output: Mapping[str, Any]) -> "list[torch.Tensor]":
    """The hidden states (batch, seq, hidden) of every layer, the embeddings first.

    Raises:
        UnsupportedModelError: the model gives none, or something else in their place.
    """
    import torch

    states = output.get("hidden_states")
    if (
        not isinstance(states, Sequence)
        or not states
        or not all(isinstance(state, torch.Tensor) and state.ndim == 3 for state in states)
    ):
        raise UnsupportedModelError(f"{loaded.name!r} ({loaded.model_type}) returns no hidden states of its layers.")
    return list(states)
