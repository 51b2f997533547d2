"""The command that shows where the heads of a layer are in its weights."""

from typing import Annotated, Any

import numpy as np
import typer

from bertviz_core.cli.attention import LayerOption
from bertviz_core.cli.options import JsonOption, ModelArgument, app, numbered
from bertviz_core.cli.output import print_json, print_lines, print_notices, table
from bertviz_core.heads.results import BLOCKS, HeadProjections
from bertviz_core.heads.weights import head_projections
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings

WeightsOption = Annotated[bool, typer.Option("--weights", help="Add every weight, [heads][rows][columns].")]


@app.command()
def heads(
    model: ModelArgument, layer: LayerOption = "", weights: WeightsOption = False, as_json: JsonOption = False
) -> None:
    """Print a layer's query, key, value and output matrices cut into heads: norms, or every weight."""
    settings = Settings.from_environment(any_folder=True)
    loaded = load_model(resolve(model, settings), settings)
    projections = head_projections(loaded, numbered("layer", layer, loaded.num_hidden_layers, model))
    print_notices(loaded.notices)
    if as_json:
        print_json(heads_json(projections, weights))
    else:
        print_lines(heads_lines(projections, weights))


def heads_json(projections: HeadProjections, weights: bool) -> dict[str, Any]:
    """A layer's heads as the JSON object of the command: per block a norm for each head, or its numbers."""
    blocks: dict[str, Any] = {block: projections.norms[:, index].tolist() for index, block in enumerate(BLOCKS)}
    if weights:
        blocks = {block: np.ascontiguousarray(projections.blocks(block)) for block in BLOCKS}
        blocks |= {f"{block}_bias": projections.bias(block) for block in BLOCKS}
    return {
        "model": projections.model,
        "layer": projections.layer,
        "shared_with": projections.shared_with,
        "num_heads": projections.num_heads,
        "num_key_value_heads": len(projections.key),
        "head_dim": projections.head_dim,
        "shapes": {block: projections.blocks(block).shape for block in BLOCKS},
        "stored": {
            block: {"name": stored.name, "shape": stored.shape, "form": stored.form}
            for block, stored in projections.stored.items()
        },
        "norms": {block: projections.norms[:, index].tolist() for index, block in enumerate(BLOCKS)},
        **blocks,
    }


def heads_lines(projections: HeadProjections, weights: bool) -> list[str]:
    """A layer's heads as tables: shapes and names, norms, and on request the numbers."""
    stored = [
        (block, matrix.name, str(matrix.shape), matrix.form, str(projections.blocks(block).shape))
        for block, matrix in projections.stored.items()
    ]
    norms = [(str(head), *(f"{norm:.4f}" for norm in row)) for head, row in enumerate(projections.norms.tolist())]
    lines = [
        f"{projections.model}: layer {projections.layer}, {projections.num_heads} heads of {projections.head_dim}",
        "",
        *table([("matrix", "parameter", "shape", "read", "heads"), *stored], "lllll"),
        "",
        "Frobenius norm of each head's block",
        *table([("head", *BLOCKS), *norms], "rrrrr"),
    ]
    for block in BLOCKS if weights else ():
        for head, rows in enumerate(projections.blocks(block)):
            lines += ["", f"{block}, head {head}, {rows.shape}"]
            lines += [" ".join(f"{value:.6f}" for value in row) for row in rows.tolist()]
    return lines
