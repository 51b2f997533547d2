"""The command that counts a model's parameters."""

import sys
from typing import Any

from bertviz_core.cli.options import JsonOption, ModelArgument, TaskOption, app
from bertviz_core.cli.output import print_json, print_notices, table
from bertviz_core.parameters.ledger import parameter_ledger
from bertviz_core.parameters.results import Ledger
from bertviz_core.settings import Settings


@app.command()
def parameters(model: ModelArgument, task: TaskOption = None, as_json: JsonOption = False) -> None:
    """List every named parameter and how the counts add up."""
    ledger = parameter_ledger(model, Settings.from_environment(any_folder=True), task)
    print_notices((ledger.note,) if ledger.note else ())
    if as_json:
        print_json(ledger_json(ledger))
    else:
        sys.stdout.write(ledger_text(ledger))


def ledger_json(ledger: Ledger) -> dict[str, Any]:
    """A ledger as the JSON object of the `parameters` command."""
    return {
        "model": ledger.model,
        "model_type": ledger.model_type,
        "architecture": ledger.architecture,
        "way": ledger.source,
        "total": ledger.total,
        "trainable": ledger.trainable,
        "note": ledger.note,
        "tensors": ledger.tensors,
        "tied": ledger.tied,
        "bytes": ledger.nbytes,
        "stored_tensors": ledger.stored_tensors,
        "stored_bytes": ledger.stored_nbytes,
        "components": {component.name: component.total for component in ledger.components},
        "layers": [
            {
                "layer": row.layer,
                "component": row.component,
                "total": row.total,
                "attention": row.attention,
                "feed_forward": row.feed_forward,
                "layer_norm": row.layer_norm,
                "other": row.other,
                "applications": row.applications,
            }
            for row in ledger.layers
        ],
        "parameters": [
            {
                "name": row.name,
                "shape": row.shape,
                "numel": row.numel,
                "dtype": row.dtype,
                "component": row.component,
                "layer": row.layer,
                "part": row.part,
                "trainable": row.trainable,
                "tied_to": row.tied_to,
                "stored_name": row.stored_name,
            }
            for row in ledger.parameters
        ],
        "buffers": [
            {"name": row.name, "shape": row.shape, "dtype": row.dtype, "stored": row.stored} for row in ledger.buffers
        ],
    }


def ledger_text(ledger: Ledger) -> str:
    """A ledger as text: sums, components, layers, rows."""
    lines = [
        f"{ledger.model} ({ledger.architecture}, {ledger.model_type}): {ledger.total:,} parameters "
        f"in {ledger.tensors:,} tensors, {ledger.trainable:,} trainable, {ledger.nbytes:,} bytes",
        "",
        *table([(part.name, f"{part.total:,}", part.arithmetic) for part in ledger.components], "lrl"),
        "",
    ]
    rows = [
        (row.name, str(row.shape), f"{row.numel:,}", row.dtype, f"tied to {row.tied_to}" if row.tied_to else "")
        for row in ledger.parameters
    ]
    lines += table([("name", "shape", "count", "dtype", ""), *rows], "llrll")
    return "\n".join(line.rstrip() for line in lines) + "\n"
