"""The `attention` command: the weights of one head for a text."""

from bertviz_core.cli.opened import opened_model
from bertviz_core.cli.options import (
    HeadOption,
    JsonOption,
    LayerOption,
    ModelArgument,
    WordsOption,
    app,
    print_json,
    print_lines,
    print_notices,
)
from bertviz_core.cli.tokens import PairOption, TextArgument
from bertviz_core.questions.parameters import Options, numbered
from bertviz_core.questions.tables.texts import attention_json, attention_lines
from bertviz_core.questions.texts.attention import WORDS, attending_run, attention_map


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
        print_json(attention_json(trace, answer.result), answer.notices)
    else:
        print_lines(attention_lines(trace, answer.result))
