"""Tables that a page shows and downloads and the library hands out: one frame each, with the library's columns."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bertviz_core.checkpoints.load_report.results import KeyRow
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


def parameters_frame(rows: Sequence[Parameter]) -> pd.DataFrame:
    """A row for each parameter, with its name in the file last; what a row does not have is None or NA."""
    return pd.DataFrame({name: [getattr(row, name) for row in rows] for name in PARAMETERS}).astype({"layer": "Int64"})


def keys_frame(rows: Sequence[KeyRow]) -> pd.DataFrame:
    """A row for each name of the model and of the file, with what becomes of it; a shape that it lacks is None."""
    return pd.DataFrame({name: [getattr(row, name) for row in rows] for name in KEYS})


def readable(frame: pd.DataFrame) -> pd.DataFrame:
    """The same as a table of a page takes it: a shape as its text, names in a row, and nothing where there is none."""
    words = {str(name) for name in frame if not pd.api.types.is_numeric_dtype(frame[name])}
    return frame.assign(**{name: [_cell(value, name) for value in frame[name]] for name in words})


def _cell(value: Any, column: str) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) if column == "stored_names" else str(value)
    return "" if value is None or value != value else str(value)  # NaN is not itself
