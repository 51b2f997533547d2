"""Tiny models of every family without values, and real ones with random weights, each built once for all tests."""

from functools import cache
from typing import Any

from bertviz_core.architecture.dry_run import DryModel, dry_model
from tests.helpers.tiny_models import tiny_config, tiny_model

OWN_WAY = ("fnet", "markuplm", "splinter")
"""Families without a choice of how attention is computed."""


@cache
def dry_tiny(model_type: str, encoder: bool = False) -> DryModel:
    """The tiny model of a family without values; of an encoder-decoder model the whole, or the encoder alone."""
    config = tiny_config(model_type)
    if encoder and not config.is_encoder_decoder:
        return dry_tiny(model_type)
    return dry_model(model_type, config.to_dict(), encoder=encoder)


@cache
def eager_tiny(model_type: str) -> Any:
    """A real tiny model whose attention is computed step by step; of an encoder-decoder model the encoder."""
    model = tiny_model(model_type)
    model = model.get_encoder() if model.config.is_encoder_decoder else model
    if model_type not in OWN_WAY:
        model.set_attn_implementation("eager")
    return model
