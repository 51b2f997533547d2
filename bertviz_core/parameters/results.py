"""Results of the parameter ledger: every parameter of a model, its place in the model, and sums.

Rows of tables that can have 100,000 rows are frozen msgspec structs: they are created several times faster than
frozen dataclasses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from bertviz_core.lazy_imports import pandas as pd

LedgerSource = Literal["header", "config", "module"]
"""Where a ledger comes from: a safetensors header, a config built on the meta device, or a module in memory."""


class Parameter(msgspec.Struct, frozen=True, gc=False):
    """One named parameter."""

    name: str
    """Name in the PyTorch module."""
    stored_name: str | None
    """Name in the checkpoint file; None if it is not in a file."""
    shape: tuple[int, ...]
    numel: int
    dtype: str
    trainable: bool
    """Whether training changes it (requires_grad)."""
    tied_to: str | None
    """Name of the parameter whose values it shares; counted there, not here."""
    component: str
    """"embeddings", "encoder", "decoder", "pooler" or "task head"."""
    layer: int | None
    """Zero-based index of its layer; None outside the layers."""
    part: str
    """Its role: "query", "key", "value", "query_key_value", "attention_output", "attention_other",
    "feed_forward", "layer_norm" or "other"."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor that belongs to the model without being a parameter, such as the table of position ids."""

    name: str
    """Name in the module, or in the file."""
    shape: tuple[int, ...]
    dtype: str
    stored: bool
    """Whether the checkpoint file contains it."""


@dataclass(frozen=True, slots=True)
class ComponentCount:
    """Parameters of one component."""

    name: str
    """"embeddings", "encoder", "decoder", "pooler" or "task head"."""
    total: int
    """Number of parameters, tied ones counted once."""
    tensors: int
    """Number of named parameters, tied ones counted once."""
    arithmetic: str
    """The total as sums and products of the shapes."""


class LayerCount(msgspec.Struct, frozen=True):
    """Parameters of one layer by part; the parts add up to the total."""

    component: str
    """Stack of the layer: "encoder" or "decoder"."""
    layer: int
    total: int
    query: int
    key: int
    value: int
    query_key_value: int
    attention_output: int
    attention_other: int
    """Other parameters of the attention: position terms, convolutions."""
    feed_forward: int
    layer_norm: int
    other: int
    applications: int
    """Applications of the layer in a forward pass; more than 1 if layers share parameters."""

    @property
    def attention(self) -> int:
        """Parameters of the whole attention block, without its normalisation."""
        return self.query + self.key + self.value + self.query_key_value + self.attention_output + self.attention_other


@dataclass(frozen=True, slots=True)
class Ledger:
    """All parameters of one model and their sums; the rows add up to the total."""

    model: str
    """Name under which the model was requested."""
    model_type: str
    """The model_type of the family in transformers, such as "bert"."""
    architecture: str
    """Class of the model, such as "BertModel"."""
    source: LedgerSource
    """Where the rows come from."""
    parameters: tuple[Parameter, ...]
    """Every named parameter, tied ones included, in the order of the module or the file."""
    buffers: tuple[Buffer, ...]
    """Tensors that are not parameters."""
    components: tuple[ComponentCount, ...]
    """Totals by component, in the order of the data flow."""
    layers: tuple[LayerCount, ...]
    """Totals by layer."""
    total: int
    """Number of parameters, tied ones counted once."""
    trainable: int
    """Number of trainable parameters."""
    tensors: int
    """Number of named parameters, tied ones counted once."""
    tied: int
    """Number of tied parameters, which are not counted again."""
    nbytes: int
    """Bytes of the counted parameters in their own dtypes."""
    stored_tensors: int | None
    """Number of tensors in the checkpoint file, including buffers and repeated ones; None if no file was read."""
    stored_nbytes: int | None
    """Bytes of the values in the checkpoint file; None if no file was read."""
    note: str = ""
    """Remarks on the counts; "" if there are none."""
    fits: bool = True
    """Whether it certainly has the parameters of the class of its config; False if that must be built to know."""

    @property
    def notices(self) -> tuple[str, ...]:
        """The remarks on the counts, none or one."""
        return (self.note,) if self.note else ()


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node in the tree of a ledger: a module, a parameter, or several small ones folded together."""

    id: str
    """Dotted path, unique; "" is the model itself."""
    parent: str | None
    """The id of its parent; None for the model itself."""
    label: str
    """Description, such as "layer 3" or "attention output", or the number of folded nodes."""
    numel: int
    """Number of its parameters, tied ones counted once; the sum over its children."""
    tensors: int
    """Number of its named parameters, tied ones counted once."""
    component: str
    """Its component; "" if it spans several."""
    part: str
    """Its part, apart from its normalisation ("attention" for several parts of attention); "" for several."""
    folded: int
    """Number of siblings folded into it; 0 for a single module or parameter."""
    short: str = ""
    """A short label for narrow nodes, such as "3" or "output"; "" if there is none."""


PARAMETERS = ("name", "shape", "numel", "dtype", "component", "layer", "part", "trainable", "tied_to", "stored_name")


def parameters_frame(rows: Sequence[Parameter]) -> "pd.DataFrame":
    """One row per parameter, with its name in the file last; missing values are None or NA."""
    columns = {name: [getattr(row, name) for row in rows] for name in PARAMETERS}
    return pd.DataFrame({**columns, "layer": pd.array(columns["layer"], "Int64")})
