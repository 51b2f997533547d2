"""The commands that give a model a text: its tokens, and its hidden states."""

from typing import Annotated, Any

import numpy as np
import typer

from bertviz_core.cli.options import JsonOption, ModelArgument, app, tokenized
from bertviz_core.cli.output import print_json, print_lines, print_notices, printable_token, table
from bertviz_core.errors import TextError
from bertviz_core.hidden_states.embeddings import pooler_check
from bertviz_core.hidden_states.results import PoolerCheck
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import trace

TextArgument = Annotated[str, typer.Argument(metavar="TEXT", help="What the model reads.")]
PairOption = Annotated[str | None, typer.Option("--pair", help="A second text: both become one input.")]
LAYER_HELP = "Entry of the hidden states: 0 is the embedding output."
LayerOption = Annotated[str, typer.Option("--layer", metavar="L", help=LAYER_HELP)]
PoolerOption = Annotated[bool, typer.Option("--pooler", help="Add the pooler's output, computed twice.")]
SHOWN_VALUES = 6


@app.command()
def tokens(model: ModelArgument, text: TextArgument, pair: PairOption = None, as_json: JsonOption = False) -> None:
    """List the tokens of a text, or of a pair, as the model reads them."""
    found = tokenized(model, text, pair)
    print_notices(found.notices)
    if as_json:
        print_json({"model": model, **tokens_json(found)})
    else:
        print_lines(tokens_lines(found))


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
    read = tokenized(model, text, pair)
    settings = Settings.from_environment(any_folder=True)
    loaded = load_model(resolve(model, settings), settings)
    found = trace(loaded, read)
    entry = _entry(layer, found)
    check = pooler_check(loaded, found) if pooler else None
    print_notices((*read.notices, *found.notices, *(_pooler_notices(found, check) if pooler else ())))
    if as_json:
        print_json(hidden_json(found, entry, pooler, check))
    else:
        print_lines(hidden_lines(found, entry, pooler, check))


def tokens_json(found: Tokens) -> dict[str, Any]:
    """Tokens as the JSON object of the `tokens` command; what a tokenizer does not say is null."""
    return {
        "text": found.text,
        "pair": found.pair,
        "tokens": found.tokens,
        "input_ids": found.input_ids,
        "token_type_ids": found.token_type_ids,
        "word_ids": found.word_ids,
        "offsets": found.offsets,
        "special": found.special.tolist(),
        "unknown": found.unknown.tolist(),
        "sequence": found.sequence,
        "shape": (1, len(found)),
        "limit": found.limit,
        "tokens_cut": found.tokens_cut,
        "notices": found.notices,
    }


def tokens_lines(found: Tokens) -> list[str]:
    """Tokens as a table."""
    blank = (None,) * len(found)
    types = found.token_type_ids if found.token_type_ids is not None else blank
    rows = [
        (
            str(position),
            printable_token(found.tokens[position]),
            str(found.input_ids[position]),
            _cell((found.word_ids or blank)[position]),
            _cell(span and f"{span[0]}:{span[1]}"),
            _cell(types[position]),
            "special" if found.special[position] else "unknown" if found.unknown[position] else "",
        )
        for position, span in enumerate(found.offsets or blank)
    ]
    count = len(found)
    return [
        f"{count:,} tokens; input_ids ({count},) becomes (1, {count}) with the batch axis",
        "",
        *table([("position", "token", "id", "word", "characters", "type", ""), *rows], "rlrrrrl"),
    ]


def hidden_json(found: Trace, layer: int, pooler: bool, check: PoolerCheck | None) -> dict[str, Any]:
    """Hidden states as the JSON object of the `hidden` command."""
    more: dict[str, Any] = {}
    if pooler:
        more = {"pooler_output": found.pooler_output, "pooler_check": check.max_difference if check else None}
    return {
        "model": found.model,
        "model_type": found.model_type,
        "layer": layer,
        "num_hidden_layers": found.num_hidden_layers,
        "tokens": found.tokens.tokens,
        "input_ids": found.tokens.input_ids,
        "hidden": found.hidden_states[layer],
        **more,
        "device": found.device,
        "notices": (*found.tokens.notices, *found.notices),
    }


def hidden_lines(found: Trace, layer: int, pooler: bool, check: PoolerCheck | None) -> list[str]:
    """Hidden states as a table: norm and first values of every token."""
    states = found.hidden_states[layer]
    rows = [
        (str(position), printable_token(token), f"{np.linalg.norm(vector):.4f}", _values(vector))
        for position, (token, vector) in enumerate(zip(found.tokens.tokens, states, strict=True))
    ]
    lines = [
        f"{found.model}: hidden states of layer {layer} of 0 to {found.num_hidden_layers}, shape {states.shape}",
        "",
        *table([("position", "token", "norm", "first values"), *rows], "rlrl"),
    ]
    if pooler and found.pooler_output is not None:
        vector = found.pooler_output
        lines += ["", f"pooler_output ({len(vector)},), norm {np.linalg.norm(vector):.4f}: {_values(vector)}"]
        if check is not None:
            lines.append(f"max |pooler(CLS) - pooler_output| = {check.max_difference:.2e}")
    return lines


def _entry(given: str, found: Trace) -> int:
    """The entry of the hidden states that --layer names; read here, so that a wrong one is told its range."""
    most = found.num_hidden_layers
    if given.strip() not in map(str, range(most + 1)):
        what = (
            f"There is no layer {escape_controls(given[:20])!r} in {found.model!r}" if given else "No layer was named"
        )
        raise TextError(f"{what}; give --layer 0 (the embedding output) to --layer {most}.")
    return int(given)


def _pooler_notices(found: Trace, check: PoolerCheck | None) -> tuple[str, ...]:
    if found.pooler_output is None:
        return ("This model has no pooler.",)
    return () if check else ("The pooler of this family is not Linear and tanh, so it is not computed again.",)


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def _values(vector: np.ndarray) -> str:
    more = " ..." if len(vector) > SHOWN_VALUES else ""
    return " ".join(f"{value:8.4f}" for value in vector[:SHOWN_VALUES].tolist()) + more
