"""The contents of a LoRA adapter: updates of low rank, and tensors that replace those of its base."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bertviz_core.models.safetensors.adapters.settings import AdapterSettings
from bertviz_core.models.safetensors.results import StoredTensor


@dataclass(frozen=True, slots=True)
class LowRankUpdate:
    """The update of one matrix: scale · B · A."""

    module: str
    """Path of the changed module in the class that the adapter was trained with."""
    is_embedding: bool
    """Whether the module is an embedding table, whose update is stored transposed."""
    first: StoredTensor
    """A, of shape rank × inputs; for a table rank × words."""
    second: StoredTensor
    """B, of shape outputs × rank; for a table dimensions × rank."""
    scale: float
    """Factor of the product."""
    table: StoredTensor | None = None
    """Tensor of the adapter's file that the product is added to in place of the base's, as of a resized table."""

    @property
    def rank(self) -> int:
        """Number of rows of A."""
        return self.first.shape[0]

    @property
    def parameter(self) -> str:
        """Name of the changed matrix in the class that the adapter was trained with."""
        return f"{self.module}.weight"


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """A tensor that was trained as a whole: a bias, or a part of a saved module such as the classifier."""

    name: str
    """Name in the class that the adapter was trained with."""
    stored: StoredTensor
    """Tensor of the adapter's file."""
    is_trained: bool = True
    """Whether it was trained; a resized table of embeddings may only have been saved along."""


@dataclass(frozen=True, slots=True, eq=False)
class Adapter:
    """The contents of an adapter, as listed in its files."""

    name: str
    """Name under which it was opened."""
    folder: Path
    settings: AdapterSettings
    updates: tuple[LowRankUpdate, ...]
    """Updates of low rank, in the order of the file."""
    saved: tuple[SavedTensor, ...]
    """Tensors that replace those of the base, or that the base lacks."""


@dataclass(frozen=True, slots=True)
class BaseClass:
    """What is known of the class that an adapter changes."""

    prefix: str
    """What classes of the family with a head have before the names of the base model, such as "bert."; "" for none."""
    tied: Mapping[str, str]
    """Names of tensors that the class shares with others -> those others."""
    vocab_size: int | None
    """Size of the base's vocabulary."""
    architecture: str = ""
    """Class that the config of the base names; "" if it names none."""
    has_pooler: bool = False
    """Whether the class that was trained certainly has a pooler, if its base has one."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedAdapter:
    """An adapter matched to the tensors of its base."""

    adapter: Adapter
    updates: tuple[tuple[StoredTensor, LowRankUpdate], ...]
    """Changed tensor of the base's files, its update."""
    saved: tuple[tuple[str, SavedTensor], ...]
    """Name in the base's files, or a new one, and the tensor of that name."""
    notices: tuple[str, ...]
    """What the adapter's file lacks of what its settings name, and what it has in another size, one sentence each."""

    def replaced(self) -> dict[str, StoredTensor]:
        """Name in the base's files, or a new one -> the tensor of the adapter's file that takes its place."""
        tables = {stored.name: update.table for stored, update in self.updates if update.table is not None}
        return {name: each.stored for name, each in self.saved} | tables
