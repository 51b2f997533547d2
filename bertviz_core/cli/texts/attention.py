"""Commands for the attention of a head, and for the weights of the heads of a layer."""

from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model
from bertviz_core.cli.options import JsonOption, ModelArgument, app
from bertviz_core.cli.output import print_json, print_lines, print_notices
from bertviz_core.cli.texts.tokens import PairOption, TextArgument
from bertviz_core.questions.parameters import Options, numbered
from bertviz_core.questions.tables.heads import heads_json, heads_lines
from bertviz_core.questions.tables.texts import attention_json, attention_lines
from bertviz_core.questions.texts.attention import WORDS, attending_run, attention_map
from bertviz_core.questions.texts.heads import head_matrices

LayerOption = Annotated[str, typer.Option("--layer", metavar="L", help="Layer, counted from 0.")]
HeadOption = Annotated[str, typer.Option("--head", metavar="H", help="Head of the layer, counted from 0.")]
WordsOption = Annotated[bool, typer.Option("--words", help="Merge pieces to words: sum over keys, mean over queries.")]


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
    print_notices(answer.notices)
    if as_json:
        print_json(attention_json(trace, answer.result))
    else:
        print_lines(attention_lines(trace, answer.result))


WeightsOption = Annotated[bool, typer.Option("--weights", help="Add every weight, [heads][rows][columns].")]


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
        print_json(heads_json(answer.result, weights))
    else:
        print_lines(heads_lines(answer.result, weights))
