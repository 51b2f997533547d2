"""Everything that the core hands out: frozen values of names, numbers and NumPy arrays, with their units."""

from bertviz_core.results.architecture import Architecture, Capability
from bertviz_core.results.parameters import (
    Buffer,
    CheckpointHeader,
    ComponentCount,
    LayerCount,
    Ledger,
    Parameter,
    StoredTensor,
    TreeNode,
    Way,
)

__all__ = [
    "Architecture",
    "Buffer",
    "Capability",
    "CheckpointHeader",
    "ComponentCount",
    "LayerCount",
    "Ledger",
    "Parameter",
    "StoredTensor",
    "TreeNode",
    "Way",
]
