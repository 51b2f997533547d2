"""The command that shows what one head looks at."""

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
STRONGEST = 4


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
    """Print what one head of one layer looks at, a row per query; every row sums to 1."""
    read = tokenized(model, text, pair)
    settings = Settings.from_environment(any_folder=True)
    found = trace(load_model(resolve(model, settings), settings), read)
    require_attention(found)
    at = numbered("layer", layer, found.num_hidden_layers, model)
    which = numbered("head", head, found.num_attention_heads, model)
    seen = attention_map(found, at, which, MapOptions(words=words))
    print_notices((*read.notices, *found.notices))
    if as_json:
        print_json(attention_json(found, seen))
    else:
        print_lines(attention_lines(found, seen))


def attention_json(found: Trace, seen: AttentionMap) -> dict[str, Any]:
    """A head's map as the JSON object of the `attention` command."""
    return {
        "model": found.model,
        "model_type": found.model_type,
        "layer": seen.layer,
        "head": seen.head,
        "num_hidden_layers": found.num_hidden_layers,
        "num_attention_heads": found.num_attention_heads,
        "words": seen.reading.words,
        "tokens": seen.keys.labels,
        "positions": seen.keys.positions,
        "attention": np.ascontiguousarray(seen.weights),
        "attention_way": found.attention_source,
        "device": found.device,
        "notices": (*found.tokens.notices, *found.notices),
    }


def attention_lines(found: Trace, seen: AttentionMap) -> list[str]:
    """A head's map as a table: of every query the keys with the largest weights."""
    kind = "word" if seen.reading.words else "token"
    count = min(STRONGEST, len(seen.keys))
    strongest = np.argsort(-seen.weights, axis=1, kind="stable")[:, :count]
    rows = [
        (str(query), printable_token(label), *(_key(seen, query, key) for key in strongest[query].tolist()))
        for query, label in enumerate(seen.queries.labels)
    ]
    return [
        f"{found.model}: attention of layer {seen.layer} of 0 to {found.num_hidden_layers - 1}, head {seen.head} "
        f"of 0 to {found.num_attention_heads - 1}, shape {seen.weights.shape}; every row sums to 1",
        "",
        *table([("", kind, "looks most at", *[""] * (count - 1)), *rows], "rl" + "l" * count),
    ]


def _key(seen: AttentionMap, query: int, key: int) -> str:
    return f"{seen.weights[query, key]:.3f} {key} {printable_token(seen.keys.labels[key])}"
