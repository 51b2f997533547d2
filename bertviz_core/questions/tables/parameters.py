"""How ledgers of parameters are shown; without libraries of arrays or tables."""

from typing import Any

from bertviz_core.parameters.results import PARAMETERS, Ledger
from bertviz_core.questions.tables.lines import Columns, Faces, aligned, every, fields, table


def _keys(ledger: Ledger) -> dict[str, Any]:
    layer = "layer component total attention feed_forward layer_norm other applications"
    return {
        **fields(ledger, "model model_type architecture way=source total trainable note tensors tied bytes=nbytes"),
        **fields(ledger, "stored_tensors stored_bytes=stored_nbytes"),
        "components": {component.name: component.total for component in ledger.components},
        "layers": every(ledger.layers, layer),
        "parameters": every(ledger.parameters, *PARAMETERS),
        "buffers": every(ledger.buffers, "name shape dtype stored"),
    }


def _lines(ledger: Ledger) -> list[str]:
    """Sums, components, rows."""
    columns: Columns = {
        "name": ("name", str),
        "shape": ("shape", str),
        "count": ("numel", ","),
        "dtype": ("dtype", str),
        "": ("tied_to", lambda name: f"tied to {name}" if name else ""),
    }
    return [
        f"{ledger.model} ({ledger.architecture}, {ledger.model_type}): {ledger.total:,} parameters "
        f"in {ledger.tensors:,} tensors, {ledger.trainable:,} trainable, {ledger.nbytes:,} bytes",
        "",
        *aligned([(part.name, f"{part.total:,}", part.arithmetic) for part in ledger.components], "lrl"),
        "",
        *table(ledger.parameters, columns, "llrll"),
    ]


LEDGER: Faces[Ledger] = Faces(keys=_keys, lines=_lines)
