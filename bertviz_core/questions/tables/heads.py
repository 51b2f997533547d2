"""Format the matrices of a layer, cut into heads, as JSON and text."""

from typing import Any

import numpy as np

from bertviz_core.heads.results import BLOCKS, HeadProjections
from bertviz_core.questions.tables.lines import aligned, fields


def heads_json(projections: HeadProjections, weights: bool) -> dict[str, Any]:
    """The JSON object of the `heads` command: for each block the norm of each head, or its weights."""
    norms: dict[str, Any] = {block: projections.norms[:, index].tolist() for index, block in enumerate(BLOCKS)}
    blocks = norms
    if weights:
        blocks = {block: np.ascontiguousarray(projections.blocks(block)) for block in BLOCKS}
        blocks |= {f"{block}_bias": projections.bias(block) for block in BLOCKS}
    return {
        **fields(projections, "model layer shared_with num_heads"),
        "num_key_value_heads": len(projections.key),
        "head_dim": projections.head_dim,
        "shapes": {block: projections.blocks(block).shape for block in BLOCKS},
        "stored": {block: fields(stored, "name shape form") for block, stored in projections.stored.items()},
        "norms": norms,
        **blocks,
    }


def heads_lines(projections: HeadProjections, weights: bool) -> list[str]:
    """Tables of the heads: shapes and names, norms, and optionally the weights."""
    stored = [
        (block, matrix.name, str(matrix.shape), matrix.form, str(projections.blocks(block).shape))
        for block, matrix in projections.stored.items()
    ]
    norms = [(str(head), *(f"{norm:.4f}" for norm in row)) for head, row in enumerate(projections.norms.tolist())]
    lines = [
        f"{projections.model}: layer {projections.layer}, {projections.num_heads} heads of {projections.head_dim}",
        "",
        *aligned([("matrix", "parameter", "shape", "read", "heads"), *stored], "lllll"),
        "",
        "Frobenius norm of each head's block",
        *aligned([("head", *BLOCKS), *norms], "rrrrr"),
    ]
    for block in BLOCKS if weights else ():
        for head, rows in enumerate(projections.blocks(block)):
            lines += ["", f"{block}, head {head}, {rows.shape}"]
            lines += [" ".join(f"{value:.6f}" for value in row) for row in rows.tolist()]
    return lines
