"""Commands about a text: tokens, hidden states."""

from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model
from bertviz_core.cli.options import (
    JsonOption,
    ModelArgument,
    app,
    print_json,
    print_lines,
    print_notices,
)
from bertviz_core.cli.tokens import PairOption, TextArgument
from bertviz_core.hidden_states.results import PoolerCheck
from bertviz_core.questions.parameters import EMBEDDING_OUTPUT, Options, numbered
from bertviz_core.questions.tables.texts import hidden_json, hidden_lines
from bertviz_core.questions.texts.hidden_states import recomputed_pooler, run
from bertviz_core.trace.results import Trace

LAYER_HELP = "Entry of the hidden states: 0 is the embedding output."
LayerOption = Annotated[str, typer.Option("--layer", metavar="L", help=LAYER_HELP)]
PoolerOption = Annotated[bool, typer.Option("--pooler", help="Add the pooler's output, computed twice.")]


@app.command()
def hidden(
    model: ModelArgument,
    text: TextArgument,
    layer: LayerOption = "",
    pair: PairOption = None,
    pooler: PoolerOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print the hidden states of one layer, a vector per token."""
    opened, options = opened_model(model), Options((text,), pair)
    answer = run(opened, options)
    entry = numbered("layer", layer, answer.result.num_hidden_layers + 1, model, EMBEDDING_OUTPUT)
    check = recomputed_pooler(opened, options).result if pooler else None
    print_notices((*answer.notices, *(_pooler_notices(answer.result, check) if pooler else ())))
    if as_json:
        print_json(hidden_json(answer.result, entry, pooler, check), answer.notices)
    else:
        print_lines(hidden_lines(answer.result, entry, pooler, check))


def _pooler_notices(trace: Trace, check: PoolerCheck | None) -> tuple[str, ...]:
    if trace.pooler_output is None:
        return ("This model has no pooler.",)
    return () if check else ("The pooler of this family is not Linear and tanh, so it is not computed again.",)
