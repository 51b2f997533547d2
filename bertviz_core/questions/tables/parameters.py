"""How ledgers of parameters are shown; without libraries of arrays or tables."""

from bertviz_core.parameters.results import PARAMETERS, Ledger
from bertviz_core.questions.tables.lines import Columns, Faces, aligned, every, table

LAYER = "layer component total attention feed_forward layer_norm other applications"


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


LEDGER: Faces[Ledger] = Faces(
    keys="model model_type architecture way=source total trainable note tensors tied bytes=nbytes stored_tensors "
    "stored_bytes=stored_nbytes components layers parameters buffers",
    made={
        "components": lambda ledger: {component.name: component.total for component in ledger.components},
        "layers": lambda ledger: every(ledger.layers, LAYER),
        "parameters": lambda ledger: every(ledger.parameters, *PARAMETERS),
        "buffers": lambda ledger: every(ledger.buffers, "name shape dtype stored"),
    },
    lines=_lines,
)
