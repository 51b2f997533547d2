"""What a low-rank adapter adds to each matrix of its base."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, slots=True, eq=False)
class AdapterUpdate:
    """What an adapter adds to one matrix: scale · B · A, of low rank."""

    name: str
    """Name of the matrix in the files of the base."""
    shape: tuple[int, ...]
    rank: int
    """Number of rows of A, the largest rank that the update can have."""
    scale: float
    """Factor of the product: alpha / rank, or alpha / sqrt(rank) if it is rank-stabilised."""
    stored_names: tuple[str, str]
    """Names of A and B in the adapter's file."""
    base_norm: float
    """Frobenius norm of the matrix in the base."""
    singular_values: Float[np.ndarray, " _"]
    """Singular values of the update, descending; at most as many as its rank."""

    @property
    def norm(self) -> float:
        """Frobenius norm of the update."""
        return float(np.sqrt(np.square(self.singular_values, dtype=np.float64).sum()))

    @property
    def relative_norm(self) -> float:
        """Norm of the update over that of the matrix; infinite for a matrix of zeros."""
        return self.norm / self.base_norm if self.base_norm else float("inf") if self.norm else 0.0

    @property
    def stable_rank(self) -> float:
        """Squared norm over the square of the largest singular value, between 1 and the rank; 0 for no update.

        It says over how many directions the update is spread (Rudelson and Vershynin 2007, section 1).
        """
        largest = float(self.singular_values[0]) if len(self.singular_values) else 0.0
        return (self.norm / largest) ** 2 if largest else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class AdapterUpdates:
    """All updates of an adapter."""

    adapter: str
    """Name under which the adapter was opened."""
    base: str
    """Name of the model that it changes."""
    updates: tuple[AdapterUpdate, ...]
    """One row per changed matrix, in the order of the adapter's file."""
    saved: tuple[str, ...]
    """Names of the tensors that it replaces or adds as a whole: biases, a classifier."""
    notices: tuple[str, ...] = ()
    """What the adapter's file lacks of what its settings name, one sentence each."""
