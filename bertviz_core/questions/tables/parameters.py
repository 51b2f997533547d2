"""Format ledgers of parameters as JSON and text."""

from typing import Any

from bertviz_core.parameters.results import PARAMETERS, Ledger
from bertviz_core.questions.tables.lines import aligned, fields


def ledger_json(ledger: Ledger) -> dict[str, Any]:
    """The JSON object of the `parameters` command."""
    layer = ("layer", "component", "total", "attention", "feed_forward", "layer_norm", "other", "applications")
    buffer = ("name", "shape", "dtype", "stored")
    return {
        **fields(ledger, "model", "model_type", "architecture"),
        "way": ledger.source,
        **fields(ledger, "total", "trainable", "note", "tensors", "tied"),
        "bytes": ledger.nbytes,
        "stored_tensors": ledger.stored_tensors,
        "stored_bytes": ledger.stored_nbytes,
        "components": {component.name: component.total for component in ledger.components},
        "layers": [fields(row, *layer) for row in ledger.layers],
        "parameters": [fields(row, *PARAMETERS) for row in ledger.parameters],
        "buffers": [fields(row, *buffer) for row in ledger.buffers],
    }


def ledger_text(ledger: Ledger) -> str:
    """Format a ledger as text: sums, components, layers, rows."""
    lines = [
        f"{ledger.model} ({ledger.architecture}, {ledger.model_type}): {ledger.total:,} parameters "
        f"in {ledger.tensors:,} tensors, {ledger.trainable:,} trainable, {ledger.nbytes:,} bytes",
        "",
        *aligned([(part.name, f"{part.total:,}", part.arithmetic) for part in ledger.components], "lrl"),
        "",
    ]
    rows = [
        (row.name, str(row.shape), f"{row.numel:,}", row.dtype, f"tied to {row.tied_to}" if row.tied_to else "")
        for row in ledger.parameters
    ]
    lines += aligned([("name", "shape", "count", "dtype", ""), *rows], "llrll")
    return "\n".join(line.rstrip() for line in lines) + "\n"
