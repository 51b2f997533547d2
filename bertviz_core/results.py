"""Fields that many results have."""

from dataclasses import dataclass, field, fields

import numpy as np
from jaxtyping import Int

from bertviz_core.trace.results import Tokens


@dataclass(frozen=True, slots=True, eq=False)
class Noticed:
    """A result with remarks; its arrays are read-only."""

    notices: tuple[str, ...] = field(default=(), kw_only=True)
    """Remarks, one sentence each."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


@dataclass(frozen=True, slots=True, eq=False)
class OfModel(Noticed):
    """A result about a model."""

    model: str
    """Name of the model."""


@dataclass(frozen=True, slots=True, eq=False)
class OfText(OfModel):
    """A result about a text that a model reads."""

    tokens: Tokens
    """The text or pair, before any masking."""


@dataclass(frozen=True, slots=True, eq=False)
class OfTwoModels(Noticed):
    """A comparison of two models."""

    first: str
    """Name of the first model."""
    second: str
    """Name of the second model."""


@dataclass(frozen=True, slots=True, eq=False)
class OfRun(Noticed):
    """A result about the checkpoints of a training run."""

    run: str
    """Name of the folder."""
    checkpoints: tuple[str, ...]
    """Names of the checkpoints."""
    steps: Int[np.ndarray, " checkpoints"]
    """Step of each checkpoint, ascending."""
