"""Data frames shared by pages, downloads and the library."""

from collections.abc import Sequence
from typing import Any

from bertviz_core.checkpoints.load_report.results import KeyRow
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.parameters.results import Parameter

PARAMETERS = (
    "name",
    "shape",
    "numel",
    "dtype",
    "component",
    "layer",
    "part",
    "trainable",
    "tied_to",
    "stored_name",
)
KEYS = ("name", "status", "component", "model_shape", "checkpoint_shape", "numel", "stored_names", "note")


def parameters_frame(rows: Sequence[Parameter]) -> "pd.DataFrame":
    """One row per parameter, with its name in the file last; missing values are None or NA."""
    return pd.DataFrame({name: [getattr(row, name) for row in rows] for name in PARAMETERS}).astype({"layer": "Int64"})


def keys_frame(rows: Sequence[KeyRow]) -> "pd.DataFrame":
    """One row per name in the model or file, with its status; missing shapes are None."""
    return pd.DataFrame({name: [getattr(row, name) for row in rows] for name in KEYS})


def readable(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Convert a frame for display: shapes and lists of names become texts, missing values empty."""
    words = {str(name) for name in frame if not pd.api.types.is_numeric_dtype(frame[name])}
    return frame.assign(**{name: [_cell(value, name) for value in frame[name]] for name in words})


def _cell(value: Any, column: str) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) if column == "stored_names" else str(value)
    return "" if value is None or value != value else str(value)  # NaN is not itself
