"""Tiny models of every family, without values and with random weights, each built once for all tests."""

from functools import cache
from typing import Any

from bertviz_core.architecture.dry_run import DryModel, dry_model
from bertviz_core.models.skeleton import set_attention
from tests.helpers.tiny_models import tiny_config, tiny_model

OWN_WAY = ("fnet", "markuplm", "splinter")
"""Families with a single implementation of attention."""


@cache
def dry_tiny(model_type: str, task: str = "base") -> DryModel:
    """The tiny model of a family without values, with the head of a task."""
    return dry_model(model_type, tiny_config(model_type).to_dict(), task)


def eager(model: Any) -> Any:
    """Switch a model to stepwise (eager) attention."""
    if model.config.model_type not in OWN_WAY:
        set_attention(model, "eager")
    return model


@cache
def eager_tiny(model_type: str) -> Any:
    """A tiny model with random weights and stepwise (eager) attention."""
    return eager(tiny_model(model_type))
