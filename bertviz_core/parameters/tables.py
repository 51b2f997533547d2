"""Ledgers as data frames."""

from collections.abc import Sequence

from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.parameters.results import PARAMETERS, Parameter


def parameters_frame(rows: Sequence[Parameter]) -> "pd.DataFrame":
    """One row per parameter, with its name in the file last; missing values are None or NA."""
    columns = {name: [getattr(row, name) for row in rows] for name in PARAMETERS}
    return pd.DataFrame({**columns, "layer": pd.array(columns["layer"], "Int64")})
