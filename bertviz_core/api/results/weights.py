"""Parameters, architecture, load report, adapter and head matrices of a model."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from jaxtyping import Float

from bertviz_core.api.own_model import checked
from bertviz_core.api.results.base import Result
from bertviz_core.architecture.results import Architecture
from bertviz_core.checkpoints.load_report.results import LoadReport
from bertviz_core.heads.results import HeadProjections
from bertviz_core.parameters.adapters.results import AdapterUpdates
from bertviz_core.parameters.results import Ledger, parameters_frame
from bertviz_core.questions.tables.checkpoints import ADAPTER, LOAD_REPORT
from bertviz_core.questions.tables.lines import aligned, fields, json_object
from bertviz_core.questions.tables.parameters import LEDGER
from bertviz_core.questions.tables.texts import heads_faces

SIZES = (
    "num_hidden_layers",
    "num_attention_heads",
    "head_dim",
    "hidden_size",
    "embedding_size",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
    "type_vocab_size",
    "hidden_act",
    "has_pooler",
)
"""Scalar fields of an architecture, named as in config.json."""


class ParametersResult(Result[Ledger]):
    """All named parameters of a model, and how their counts add up."""

    figures = ("parameters", "components", "layers")
    _faces = LEDGER

    @property
    def total(self) -> int:
        """Number of parameters, tied ones counted once."""
        return self.data.total

    @property
    def components(self) -> dict[str, int]:
        """Component ("embeddings", "encoder", "pooler", ...) -> number of parameters."""
        return {component.name: component.total for component in self.data.components}

    def to_pandas(self) -> pd.DataFrame:
        """One row per parameter.

        Columns: name, shape, numel, dtype, component, layer, part, trainable, tied_to, and stored_name in the file.
        """
        return parameters_frame(self.data.parameters)


class ArchitectureResult(Result[Architecture]):
    """The sizes of a model, and the capabilities of its family."""

    figures = ("overview", "design", "layer", "cost", "memory")

    def to_pandas(self) -> pd.DataFrame:
        """One row per size (by its name in config.json) and capability: name, value, note."""
        sizes = [(name, getattr(self.data, name), "") for name in SIZES]
        capabilities = [(each.name, each.answer, each.note) for each in self.data.capabilities]
        return pd.DataFrame([*sizes, *capabilities], columns=["name", "value", "note"], dtype=object)

    def _json(self) -> dict[str, Any]:
        return {
            **fields(self.data, "model title model_type architecture", *SIZES),
            "capabilities": [msgspec.to_builtins(each) for each in self.data.capabilities],
        }

    def _lines(self) -> Sequence[str]:
        sizes = [(name, str(value)) for name, value in self._json().items() if name in SIZES and value is not None]
        capabilities = [(each.name, each.answer) for each in self.data.capabilities]
        first = f"{self.data.model} ({self.data.architecture}, {self.data.model_type}): {self.data.title}"
        return [first, "", *aligned(sizes, "lr"), "", *aligned(capabilities, "ll")]


class LoadReportResult(Result[LoadReport]):
    """Which weights of a task class a checkpoint contains, from its header alone.

    Table: one row per name: name, status, component, model_shape, checkpoint_shape, numel, stored_names, note.
    """

    figures = ("load-report", "task-head")
    _faces = LOAD_REPORT

    @property
    def fraction_from_file(self) -> float:
        """Fraction of the parameters of the class that the file contains, 0 to 1."""
        return self.data.fraction_from_file

    @property
    def new(self) -> tuple[str, ...]:
        """Names of parameters that the file lacks and transformers initializes at random (missing_keys)."""
        return self.data.new

    @property
    def unused(self) -> tuple[str, ...]:
        """Names in the file that the class does not use (transformers' unexpected_keys)."""
        return self.data.unused


class AdapterResult(Result[AdapterUpdates]):
    """What a LoRA adapter adds to each matrix of its base.

    Table: one row per changed matrix and the columns matrix, shape, rank, scale, norm, norm of the matrix, relative
    norm, stable rank, singular values.
    """

    figures = ("adapter-updates",)
    _faces = ADAPTER

    @property
    def base(self) -> str:
        """Name of the model that the adapter changes."""
        return self.data.base


class HeadsResult(Result[HeadProjections]):
    """The query, key, value and output matrices of a layer, split into heads.

    Table: one row per head: Frobenius norms of its query, key, value and output blocks.
    """

    figures = ("matrix", "heads")
    _faces = heads_faces(weights=False)

    @property
    def query(self) -> Float[np.ndarray, "heads head_dim hidden"]:
        """W_q split by rows: entry h computes the queries of head h."""
        return self.data.query

    @property
    def key(self) -> Float[np.ndarray, "key_heads head_dim key_hidden"]:
        """W_k split by rows; fewer entries than heads if several share one."""
        return self.data.key

    @property
    def value(self) -> Float[np.ndarray, "key_heads value_dim value_hidden"]:
        """W_v split by rows."""
        return self.data.value

    @property
    def output(self) -> Float[np.ndarray, "heads output_hidden value_dim"]:
        """W_o split by columns: entry h is applied to the output of head h."""
        return self.data.output

    @checked
    def to_json(self, weights: bool = False) -> dict[str, Any]:
        """The JSON of `heads --json`, with all weights if requested, like `--weights`."""
        return json_object(heads_faces(weights).to_json(self.data))
