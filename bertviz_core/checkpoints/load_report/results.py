"""Results of a load report: which tensors of a model a checkpoint would fill."""

from dataclasses import dataclass
from typing import Literal

import msgspec

KeyStatus = Literal["matched", "new", "wrong shape", "tied", "unused", "ignored"]
"""What becomes of a name: filled from the file; missing there, so random; there in another shape, so refused or random;
a second name of a tensor, with whose first name it stands or falls; in the file and not in the model; left out of
transformers' own report by a rule of the class."""
Action = Literal["strip", "add", "replace"]


class KeyRow(msgspec.Struct, frozen=True):
    """One name of the model or of the file."""

    name: str
    """Name in the model; for a key that the model has not, the name that transformers reports it under."""
    status: KeyStatus
    """Its status."""
    stored_names: tuple[str, ...]
    """Names in the file that fill it, or that it stands for; () where the file has none."""
    model_shape: tuple[int, ...] | None
    """Shape that the model wants; None for a key that it has not."""
    checkpoint_shape: tuple[int, ...] | None
    """Shape that comes out of the file; None where nothing does."""
    numel: int
    """Count of numbers, by the model's shape, else by the file's."""
    component: str
    """"embeddings", "encoder", "decoder", "pooler" or "task head"."""
    tied_to: str | None
    """Name of the parameter whose values it shares; counted there, not here."""
    buffer: bool
    """Whether it is a buffer, no parameter."""
    note: str
    """Why it is ignored or how it was filled; "" where the status says all."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A name that both have, in different shapes."""

    name: str
    """Name in the model."""
    checkpoint: tuple[int, ...]
    """Shape in the file."""
    model: tuple[int, ...]
    """Shape that the model wants."""


@dataclass(frozen=True, slots=True)
class ComponentShare:
    """Parameters of one component by origin; the first three counts add up to the component."""

    name: str
    """"embeddings", "encoder", "decoder", "pooler" or "task head"."""
    matched: int
    """Parameters from the file."""
    new: int
    """Parameters that the file lacks, and that would be random."""
    wrong_shape: int
    """Parameters that the file has in another shape."""
    unused: int
    """Numbers in the file that belong here by their name and that the model does not take."""
    unused_keys: int
    """Keys of the file that hold them."""

    @property
    def total(self) -> int:
        """Parameters of the model in this component."""
        return self.matched + self.new + self.wrong_shape


@dataclass(frozen=True, slots=True)
class PrefixRepair:
    """A change of prefix after which more of the file fits."""

    action: Action
    """What is done to the front of a name."""
    old: str
    """Prefix that is taken away; "" for an addition."""
    new: str
    """Prefix that is put in its place; "" for mere stripping."""
    keys: int
    """Keys of the file that are renamed."""
    before: int
    """Tensors of the model that the file fills as it is."""
    after: int
    """Tensors of the model that it fills once renamed."""
    wanted: int
    """Tensors that the model has."""
    code: str
    """Lines of Python that write the repaired file."""

    @property
    def words(self) -> str:
        """The change in words, such as "strip net."."""
        if self.action == "strip":
            return f"strip {self.old}"
        return f"add {self.new}" if self.action == "add" else f"replace {self.old} by {self.new}"


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What `from_pretrained` would load of a checkpoint for one task; nothing is loaded for it."""

    model: str
    """Name under which the model was requested."""
    model_type: str
    """Hugging Face's word for the family."""
    task: str
    """Task whose class would be loaded."""
    architecture: str
    """That class, such as "BertForSequenceClassification"."""
    stored_architecture: str
    """Class that the config says the checkpoint was saved from; "" where it says none."""
    num_labels: int | None
    """Labels of the classification head; None for a task without labels."""
    wanted: int
    """Tensors that the model has, tied ones counted once."""
    matched: int
    """Those of them that the file fills."""
    new: tuple[str, ...]
    """Names that the file lacks: transformers' missing_keys, in the order of the model."""
    unused: tuple[str, ...]
    """Names that the model lacks: transformers' unexpected_keys, sorted."""
    mismatched: tuple[Mismatch, ...]
    """Names whose shapes differ: transformers' mismatched_keys, in the order of the model."""
    ignored: tuple[KeyRow, ...]
    """What transformers leaves out of its report by a rule of the class, each with the rule."""
    not_converted: tuple[str, ...]
    """Names whose stored tensors cannot be put together; from_pretrained refuses a file that has such."""
    total: int
    """Parameters of the model, tied ones counted once."""
    from_file: int
    """Those of them whose values come from the file."""
    rows: tuple[KeyRow, ...]
    """Every name of the model in its order, then every key of the file that has no place."""
    shares: tuple[ComponentShare, ...]
    """The same by component."""
    repair: PrefixRepair | None
    """The change of names after which most fits; None where none helps."""
    suggestion: str
    """What it means and what to do, in words."""
    stored_tensors: int
    """Tensors in the file."""
    stored_nbytes: int
    """Bytes of their values, none of which was read."""
    header_nbytes: int
    """Bytes read for this report; 0 where the header came from the Hub."""

    @property
    def fraction_from_file(self) -> float:
        """Share of the parameters whose values come from the file, 0 to 1."""
        return self.from_file / self.total if self.total else 0.0


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
    """What a task head adds to the base model, and what of the base the class leaves out."""

    model: str
    """Name under which the model was requested."""
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
