"""What of a loaded model came from its file: nothing may be random, and what is odd is said in a notice."""

import re
from typing import TYPE_CHECKING

from bertviz_core.errors import CheckpointError
from bertviz_core.safetensors_header import shown

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

NOT_NEEDED = ("contact_head.",)
"""Parameters of a base model that take no part in its hidden states."""
LAYER_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")


def refuse_missing(name: str, whole: "PreTrainedModel", missing: set[str], model: "PreTrainedModel") -> bool:
    """Whether the model has a pooler of its own; a pooler that the file lacks is taken out of it.

    Args:
        name: name of the model.
        whole: the model as it was loaded.
        missing: names of its parameters that the file lacks.
        model: the part of it that is run.

    Raises:
        CheckpointError: the file lacks anything else that the part needs.
    """
    import inspect

    pooler = {key for key in missing if key.startswith("pooler.")}
    used = {id(parameter) for parameter in model.parameters()}
    wanted = {key for key, parameter in whole.named_parameters() if id(parameter) in used}
    lacking = sorted(key for key in (missing & wanted) - pooler if not key.startswith(NOT_NEEDED))
    if lacking:
        raise CheckpointError(
            f"The file of {name!r} lacks {len(lacking):,} of the {len(wanted):,} tensors that its config asks for "
            f"({shown(lacking[0])}, ...); random numbers are never put in their place. "
            "Check num_hidden_layers and model_type in config.json, and the load report, which knows foreign prefixes."
        )
    if pooler and "add_pooling_layer" in inspect.signature(type(model).__init__).parameters:
        setattr(model, "pooler", None)  # noqa: B010  # what add_pooling_layer=False does, without a second load
    return not pooler and getattr(model, "pooler", None) is not None


def encoder_only(config: "PreTrainedConfig") -> tuple[str, ...]:
    """A notice where half of the model is left out."""
    return ("Of this encoder-decoder model only the encoder is run.",) if config.is_encoder_decoder else ()


def unused(model: "PreTrainedModel", unexpected: set[str]) -> tuple[str, ...]:
    """A notice where the file holds more of the base model than the config asks for, such as further layers."""
    prefix = f"{model.base_model_prefix}."
    known = {LAYER_NUMBER.sub("*", name) for name, _ in model.named_parameters()}
    more = sorted(key for key in unexpected if LAYER_NUMBER.sub("*", key.removeprefix(prefix)) in known)
    if not more:
        return ()
    return (
        f"The file holds {len(more):,} tensors of the base model that its config does not ask for "
        f"({shown(more[0])}, ...); they are not used.",
    )


def not_finite(model: "PreTrainedModel") -> tuple[str, ...]:
    """A notice where weights are no numbers."""
    import torch

    bad = [name for name, weight in model.named_parameters() if not bool(torch.isfinite(weight).all())]
    if not bad:
        return ()
    return (
        f"{len(bad):,} of the weights' tensors hold NaN or infinity ({shown(bad[0])}, ...); "
        "what is computed with them is NaN as well.",
    )
