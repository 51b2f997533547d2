"""Round the weights of a model in memory; computation stays in the original format."""

from collections.abc import Collection
from dataclasses import replace

from bertviz_core.checkpoints.rounding.formats import SCALED, Rounding, copy_name, format_of
from bertviz_core.checkpoints.rounding.scaled import rounded_pieces
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel

PIECE_NUMBERS = 2**15
"""Numbers that are rounded at once, as float64, so that they stay in the processor's cache."""


def round_weights(loaded: LoadedModel, rounding: Rounding) -> LoadedModel:
    """Round the weights of the model in place."""
    round_parameters(loaded.model, rounding)
    named = copy_name(loaded.name, rounding)
    return replace(loaded, name=named, revision=f"{loaded.revision} {rounding}")


def round_parameters(model: "torch.nn.Module", rounding: Rounding, done: Collection["torch.Tensor"] = ()) -> None:
    """Round the parameters of a module in place.

    Args:
        model: the module.
        rounding: format of the parameters.
        done: parameters that are rounded already, such as those of the base model of a head.
    """
    places = {weight.data_ptr() for weight in done}
    with torch.no_grad():
        for weight in model.parameters():
            if weight.data_ptr() in places or not format_of(rounding, str(weight.dtype), weight.ndim):
                continue
            if rounding in SCALED:
                _round_with_scales(weight, rounding)
            else:
                weight.copy_(weight.cpu().to(getattr(torch, rounding)).to(weight.dtype))


def _round_with_scales(weight: "torch.Tensor", rounding: Rounding) -> None:
    flat = weight.detach().cpu().reshape(-1)
    values = (flat if flat.dtype == torch.float64 else flat.float()).numpy().copy()
    for at, piece in rounded_pieces(values, tuple(weight.shape), rounding, PIECE_NUMBERS):
        values[at : at + len(piece)] = piece
    weight.copy_(torch.from_numpy(values).reshape(weight.shape))
