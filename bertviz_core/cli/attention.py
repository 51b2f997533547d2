"""The command that prints the attention of one head."""

from typing import Annotated, Any

import numpy as np
import typer

from bertviz_core.attention.maps import attention_map
from bertviz_core.attention.probabilities import require_attention
from bertviz_core.attention.results import AttentionMap, MapOptions
from bertviz_core.cli.options import JsonOption, ModelArgument, app, numbered, tokenized
from bertviz_core.cli.output import print_json, print_lines, print_notices, printable_token, table
from bertviz_core.cli.text import PairOption, TextArgument
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from bertviz_core.trace.results import Trace
from bertviz_core.trace.run import trace

LayerOption = Annotated[str, typer.Option("--layer", metavar="L", help="Layer, counted from 0.")]
HeadOption = Annotated[str, typer.Option("--head", metavar="H", help="Head of the layer, counted from 0.")]
WordsOption = Annotated[bool, typer.Option("--words", help="Merge pieces to words: sum over keys, mean over queries.")]
STRONGEST_KEYS = 4


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
    tokens = tokenized(model, text, pair)
    settings = Settings.from_environment(any_folder=True)
    run = trace(load_model(resolve(model, settings), settings), tokens)
    require_attention(run)
    layer_index = numbered("layer", layer, run.num_hidden_layers, model)
    head_index = numbered("head", head, run.num_attention_heads, model)
    head_map = attention_map(run, layer_index, head_index, MapOptions(words=words))
    print_notices((*tokens.notices, *run.notices))
    if as_json:
        print_json(attention_json(run, head_map))
    else:
        print_lines(attention_lines(run, head_map))


def attention_json(trace: Trace, head_map: AttentionMap) -> dict[str, Any]:
    """A head's map as the JSON object of the `attention` command."""
    return {
        "model": trace.model,
        "model_type": trace.model_type,
        "layer": head_map.layer,
        "head": head_map.head,
        "num_hidden_layers": trace.num_hidden_layers,
        "num_attention_heads": trace.num_attention_heads,
        "words": head_map.options.words,
        "tokens": head_map.keys.labels if head_map.options.words else trace.tokens.tokens,
        "positions": head_map.keys.positions,
        "attention": np.ascontiguousarray(head_map.weights),
        "attention_way": trace.attention_source,
        "device": trace.device,
        "notices": (*trace.tokens.notices, *trace.notices),
    }


def attention_lines(trace: Trace, head_map: AttentionMap) -> list[str]:
    """A head's map as a table: of every query the keys with the largest weights."""
    kind = "word" if head_map.options.words else "token"
    count = min(STRONGEST_KEYS, len(head_map.keys))
    strongest = np.argsort(-head_map.weights, axis=1, kind="stable")[:, :count]
    rows = [
        (str(query), printable_token(label), *(_key(head_map, query, key) for key in strongest[query].tolist()))
        for query, label in enumerate(head_map.queries.labels)
    ]
    return [
        f"{trace.model}: attention of layer {head_map.layer} of 0 to {trace.num_hidden_layers - 1}, "
        f"head {head_map.head} of 0 to {trace.num_attention_heads - 1}, shape {head_map.weights.shape}; "
        "every row sums to 1",
        "",
        *table([("", kind, "attends most to", *[""] * (count - 1)), *rows], "rl" + "l" * count),
    ]


def _key(head_map: AttentionMap, query: int, key: int) -> str:
    return f"{head_map.weights[query, key]:.3f} {key} {printable_token(head_map.keys.labels[key])}"
