"""Tiny models of every family without values, and real ones with random weights, each built once for all tests."""

from functools import cache
from typing import Any

from bertviz_core.architecture.dry_run import DryModel, dry_model
from tests.helpers.tiny_models import tiny_config, tiny_model

OWN_WAY = ("fnet", "markuplm", "splinter")
"""Families without a choice of how attention is computed."""


@cache
def dry_tiny(model_type: str, task: str = "base") -> DryModel:
    """The tiny model of a family without values, with the head of a task."""
    return dry_model(model_type, tiny_config(model_type).to_dict(), task)


def eager(model: Any) -> Any:
    """A model whose attention is computed step by step from now on."""
    if model.config.model_type not in OWN_WAY:
        model.set_attn_implementation("eager")
    return model


@cache
def eager_tiny(model_type: str) -> Any:
    """A real tiny model whose attention is computed step by step."""
    return eager(tiny_model(model_type))
