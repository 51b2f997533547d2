"""Results about task heads: what a class has beside the base model."""

from dataclasses import dataclass
from typing import Literal

HeadMark = Literal["same", "added", "removed", "changed"]
"""Whether the base model has it too; "changed" for a module that holds more or less than the base model's."""


@dataclass(frozen=True, slots=True)
class HeadNode:
    """One line of the module tree of a class with a task head, beside the base model."""

    mark: HeadMark
    """Whether the base model has it too."""
    depth: int
    """Levels below the model itself, which has 0."""
    name: str
    """Path in the class with the head; in the base model for what is removed."""
    kind: str
    """Class of the module, "12 × BertLayer" for equal layers folded, or "parameter"."""
    shape: tuple[int, ...] | None
    """Shape of a parameter; None for a module."""
    numel: int
    """Parameters in it, tied ones counted once."""
    tied_to: str | None
    """Name of the parameter that it shares its values with; None for its own."""


@dataclass(frozen=True, slots=True)
class HeadDifference:
    """What the head of a task adds to the base model, and what of the base model the class leaves out."""

    model: str
    """Name under which the model was asked for."""
    task: str
    """The task."""
    architecture: str
    """Class of the task."""
    base_architecture: str
    """Class of the base model."""
    num_labels: int | None
    """Labels of the classification head; None for a task without labels."""
    base_total: int
    """Parameters of the base model, tied ones counted once."""
    total: int
    """Parameters with the head, tied ones counted once."""
    added: int
    """Parameters that only the class with the head has."""
    removed: int
    """Parameters that only the base model has; base_total - removed + added = total where no shape changes."""
    nodes: tuple[HeadNode, ...]
    """The tree of the class with the head, folded, then what is removed."""
