"""The `heads` command: a layer's matrices cut into heads."""

from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model
from bertviz_core.cli.options import JsonOption, LayerOption, ModelArgument, app, print_json, print_lines, print_notices
from bertviz_core.questions.parameters import Options, numbered
from bertviz_core.questions.tables.texts import heads_json, heads_lines
from bertviz_core.questions.texts.hidden_states import head_matrices

WeightsOption = Annotated[
    bool, typer.Option("--weights", help="Add every weight, in lists of heads, rows and columns.")
]


@app.command()
def heads(
    model: ModelArgument, layer: LayerOption = "", weights: WeightsOption = False, as_json: JsonOption = False
) -> None:
    """Print a layer's query, key, value and output matrices cut into heads: norms, or every weight."""
    opened = opened_model(model)
    number = numbered("layer", layer, opened.loaded.num_hidden_layers, model)
    answer = head_matrices(opened, Options(values={"layer": str(number)}))
    print_notices(answer.notices)
    if as_json:
        print_json(heads_json(answer.result, weights), answer.notices)
    else:
        print_lines(heads_lines(answer.result, weights))
