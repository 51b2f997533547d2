"""Commands about a text, and about the matrices of heads."""

from typing import Annotated

import typer

from bertviz_core.cli import options as shared
from bertviz_core.cli.opened import opened_model
from bertviz_core.cli.options import (
    JsonOption,
    ModelArgument,
    WordsOption,
    app,
    print_json,
    print_lines,
    print_notices,
    show,
)
from bertviz_core.cli.tokens import PairOption, TextArgument
from bertviz_core.hidden_states.results import PoolerCheck
from bertviz_core.questions.parameters import EMBEDDING_OUTPUT, Options, numbered
from bertviz_core.questions.tables.texts import attention_faces, heads_faces, hidden_faces
from bertviz_core.questions.texts.attention import WORDS, attending_run, attention_map
from bertviz_core.questions.texts.hidden_states import HEAD, LAYER, STATE, head_matrices, recomputed_pooler, run
from bertviz_core.trace.results import Trace

LAYER_HELP = "Entry of the hidden states: 0 is the embedding output."
LayerOption = Annotated[shared.LayerOption, LAYER]
HeadOption = Annotated[shared.HeadOption, HEAD]
EntryOption = Annotated[str, typer.Option("--layer", metavar="L", help=LAYER_HELP), STATE]
PoolerOption = Annotated[bool, typer.Option("--pooler", help="Add the pooler's output, computed twice.")]


@app.command()
def hidden(
    model: ModelArgument,
    text: TextArgument,
    layer: EntryOption = "",
    pair: PairOption = None,
    pooler: PoolerOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print the hidden states of one layer, a vector per token."""
    opened, options = opened_model(model), Options((text,), pair)
    answer = run(opened, options)
    entry = numbered("layer", layer, answer.result.num_hidden_layers + 1, model, EMBEDDING_OUTPUT)
    check = recomputed_pooler(opened, options).result if pooler else None
    faces = hidden_faces(entry, pooler, check)
    print_notices((*answer.notices, *(_pooler_notices(answer.result, check) if pooler else ())))
    if as_json:
        print_json(faces.to_json(answer.result), answer.notices)
    else:
        print_lines(faces.to_lines(answer.result))


def _pooler_notices(trace: Trace, check: PoolerCheck | None) -> tuple[str, ...]:
    if trace.pooler_output is None:
        return ("This model has no pooler.",)
    return () if check else ("The pooler of this family is not Linear and tanh, so it is not computed again.",)


@app.command()
def attention(
    model: ModelArgument,
    text: TextArgument,
    layer: LayerOption = "",
    head: HeadOption = "",
    pair: PairOption = None,
    words: WordsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print the attention of one head of one layer, a row per query; every row sums to 1."""
    opened, options = opened_model(model), Options((text,), pair)
    trace = attending_run(opened, options).result
    layer_index = numbered("layer", layer, trace.num_hidden_layers, model)
    head_index = numbered("head", head, trace.num_attention_heads, model)
    values = {"layer": str(layer_index), "head": str(head_index), WORDS.key: str(words).lower()}
    answer = attention_map(opened, Options((text,), pair, values=values))
    show(attention_faces(trace), answer.result, answer.notices, as_json)


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
    show(heads_faces(weights), answer.result, answer.notices, as_json)
