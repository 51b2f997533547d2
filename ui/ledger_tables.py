"""The named-parameter table of a ledger, narrowed by module, group and search."""

import pandas as pd
import streamlit as st

from bertviz_core.results import Ledger, Parameter
from ui import controls
from ui.errors import plain
from ui.export import numbers_table
from ui.text import short_count

MAX_ROWS = 20_000
GROUPS = {"All": "", "Embedding layer": "embeddings", "First encoder": "first", "Output layer": "output"}


def table_view(ledger: Ledger, module: str, wanted: str) -> None:
    """The named parameters, narrowed by module, group and search."""
    group = controls.choice("Rows", list(GROUPS), "rows", label_visibility="collapsed")
    rows = [
        row
        for row in ledger.parameters
        if _in_group(row, GROUPS[group])
        and (not module or row.name == module or row.name.startswith(f"{module}."))
        and wanted.lower() in row.name.lower()
    ]
    counted = [row for row in rows if row.tied_to is None]
    total = sum(row.numel for row in counted)
    where = f"{plain(module)}: " if module else ""
    share = f"{total / ledger.total:.1%} of the model" if ledger.total else ""
    st.markdown(f"{where}**{len(counted):,} tensors, {total:,} parameters** ({short_count(total)}, {share})")
    frame = rows_frame(rows[:MAX_ROWS])
    numbers_table(frame, "Named parameters with shape, count, dtype, trainable and tied to", height=410, first=290)
    if len(rows) > MAX_ROWS:
        st.caption(f"The first {MAX_ROWS:,} of {len(rows):,} rows; search to narrow them, the CSV has all.")


def rows_frame(rows: tuple[Parameter, ...] | list[Parameter]) -> pd.DataFrame:
    """The rows of the named-parameter table."""
    return pd.DataFrame(
        {
            "name": [row.name for row in rows],
            "shape": [str(row.shape) for row in rows],
            "count": [row.numel for row in rows],
            "dtype": [row.dtype for row in rows],
            "trainable": [row.trainable for row in rows],
            "tied to": [row.tied_to or "" for row in rows],
            "component": [row.component for row in rows],
            "name in the file": [row.stored_name or "" for row in rows],
        }
    )


def _in_group(row: Parameter, group: str) -> bool:
    """The three groups in which teaching texts print BERT's parameters."""
    if group == "first":
        return row.layer == 0 and row.component == "encoder"
    if group == "output":
        return row.component in ("pooler", "task head")
    return not group or row.component == group
