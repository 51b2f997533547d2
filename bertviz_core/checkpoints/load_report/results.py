"""Results of a load report: which tensors of a model a checkpoint would fill."""

from dataclasses import dataclass
from typing import Literal

import msgspec

KeyStatus = Literal["matched", "new", "wrong shape", "tied", "unused", "ignored"]
"""Status of a name: loaded from the file; missing there, so random; mismatched, so refused or random; tied to another
name, with that name's status; unused by the model; or excluded from transformers' report by a rule of the class."""
Action = Literal["strip", "add", "replace"]


class KeyRow(msgspec.Struct, frozen=True):
    """One name of the model or of the file."""

    name: str
    """Name in the model; for an unused key, its name in transformers' report."""
    status: KeyStatus
    stored_names: tuple[str, ...]
    """Names in the file that fill it or correspond to it; () if the file has none."""
    model_shape: tuple[int, ...] | None
    """Shape in the model; None for an unused key."""
    checkpoint_shape: tuple[int, ...] | None
    """Shape from the file; None if the file has none."""
    numel: int
    """Number of values, by the model's shape, else by the file's."""
    component: str
    """"embeddings", "encoder", "decoder", "pooler" or "task head"."""
    tied_to: str | None
    """Name of the parameter that it is tied to and counted with."""
    buffer: bool
    note: str
    """Why it is ignored or how it was filled; "" if the status suffices."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A name with different shapes in file and model."""

    name: str
    checkpoint: tuple[int, ...]
    """Shape in the file."""
    model: tuple[int, ...]
    """Shape in the model."""


@dataclass(frozen=True, slots=True)
class ComponentShare:
    """Parameters of one component by origin; the first three counts sum to the component."""

    name: str
    """"embeddings", "encoder", "decoder", "pooler" or "task head"."""
    matched: int
    """Parameters loaded from the file."""
    new: int
    """Parameters that the file lacks, randomly initialised."""
    wrong_shape: int
    """Parameters with another shape in the file."""
    unused: int
    """Values in the file that belong to this component by name and are not used."""
    unused_keys: int
    """Number of their keys."""

    @property
    def total(self) -> int:
        """Number of parameters of the model in this component."""
        return self.matched + self.new + self.wrong_shape


@dataclass(frozen=True, slots=True)
class PrefixRepair:
    """A change of prefix with which the file fills more tensors."""

    action: Action
    old: str
    """Prefix to remove; "" for an addition."""
    new: str
    """Prefix to add; "" for mere stripping."""
    keys: int
    before: int
    """Number of tensors of the model that the unchanged file fills."""
    after: int
    """Number of tensors of the model that the renamed file fills."""
    expected: int
    code: str
    """Python code that writes the repaired file."""

    @property
    def words(self) -> str:
        """Description of the change, such as "strip net."."""
        if self.action == "strip":
            return f"strip {self.old}"
        return f"add {self.new}" if self.action == "add" else f"replace {self.old} by {self.new}"


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What `from_pretrained` would load from a checkpoint for one task, predicted without loading."""

    model: str
    """Name under which the model was requested."""
    model_type: str
    """model_type of the family."""
    task: str
    """Task of the class."""
    architecture: str
    """Class of the task, such as "BertForSequenceClassification"."""
    stored_architecture: str
    """Class that the checkpoint was saved from by its config; "" if unknown."""
    num_labels: int | None
    """Labels of the classification head; None for a task without labels."""
    expected: int
    """Number of tensors of the model, tied ones counted once."""
    matched: int
    """Number of them that the file fills."""
    new: tuple[str, ...]
    """Names that the file lacks: transformers' missing_keys, in the order of the model."""
    unused: tuple[str, ...]
    """Names that the model lacks: transformers' unexpected_keys, sorted."""
    mismatched: tuple[Mismatch, ...]
    """Names with different shapes: transformers' mismatched_keys, in the order of the model."""
    ignored: tuple[KeyRow, ...]
    """Names that a rule of the class excludes from transformers' report, with the rule."""
    not_converted: tuple[str, ...]
    """Names with stored tensors that cannot be fused; from_pretrained refuses such a file."""
    total: int
    """Number of parameters of the model, tied ones counted once."""
    from_file: int
    """Number of them loaded from the file."""
    rows: tuple[KeyRow, ...]
    """Every name of the model in its order, then every unmatched key of the file."""
    shares: tuple[ComponentShare, ...]
    """Parameters by component and origin."""
    repair: PrefixRepair | None
    """The most helpful change of prefix; None if none helps."""
    suggestion: str
    """Explanation and advice."""
    stored_tensors: int
    """Number of tensors in the file."""
    stored_nbytes: int
    """Size of their values in bytes."""
    header_nbytes: int
    """Bytes read for this report; 0 for a header from the Hub."""
    ties: tuple[str, ...] = ()
    """Sentences about tied tensors that the file stores nevertheless."""
    notices: tuple[str, ...] = ()
    """What of the model's files decides numbers and is not followed, and how its tokenizer differs from its file."""

    @property
    def wanted(self) -> int:
        """The name of `expected` in version 1.0."""
        return self.expected

    @property
    def fraction_from_file(self) -> float:
        """Share of the parameters loaded from the file, 0 to 1."""
        return self.from_file / self.total if self.total else 0.0

    @property
    def set_by_class(self) -> tuple[str, ...]:
        """Names of buffers that the file lacks and the class sets itself, such as BART's final_logits_bias."""
        return tuple(row.name for row in self.ignored if row.model_shape is not None and row.buffer)

    @property
    def is_complete(self) -> bool:
        """Whether every tensor of the model comes from the file or is set by the class itself."""
        return self.matched + len(self.set_by_class) == self.expected


HeadMark = Literal["same", "added", "removed", "changed"]
"""Relation to the base model: "changed" marks a module with more or fewer parameters than in the base model."""


@dataclass(frozen=True, slots=True)
class HeadNode:
    """One line of the module tree of a class with a task head, compared with the base model."""

    mark: HeadMark
    depth: int
    """Depth below the model, which has 0."""
    name: str
    """Path in the class with the head; for removed modules, in the base model."""
    kind: str
    """Class of the module, "12 × BertLayer" for folded equal layers, or "parameter"."""
    shape: tuple[int, ...] | None
    """Shape of a parameter; None for a module."""
    numel: int
    """Number of parameters, tied ones counted once."""
    tied_to: str | None
    """Name of the parameter that it is tied to; None if independent."""


@dataclass(frozen=True, slots=True)
class HeadDifference:
    """Parameters that a task head adds to the base model, and parameters of the base that its class leaves out."""

    model: str
    task: str
    architecture: str
    base_architecture: str
    num_labels: int | None
    """Labels of the classification head; None for a task without labels."""
    base_total: int
    """Parameters of the base model, tied ones counted once."""
    total: int
    """Parameters with the head, tied ones counted once."""
    added: int
    """Parameters only in the class with the head."""
    removed: int
    """Parameters only in the base model; base_total - removed + added = total unless a shape changes."""
    nodes: tuple[HeadNode, ...]
    """Folded tree of the class with the head, followed by the removed parameters."""
