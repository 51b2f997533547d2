"""The commands that give a model a text: its tokens, and its hidden states."""

from typing import Annotated, Any

import numpy as np
import typer

from bertviz_core.cli.options import DASH_HELP, JsonOption, ModelArgument, app, tokenized, typed_text
from bertviz_core.cli.output import print_json, print_lines, print_notices, printable_token, table
from bertviz_core.errors import TextError
from bertviz_core.hidden_states.embeddings import pooler_check
from bertviz_core.hidden_states.results import PoolerCheck, state_name
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import trace

TEXT_HELP = f"What the model reads; {DASH_HELP}"
TextArgument = Annotated[str, typer.Argument(metavar="TEXT", help=TEXT_HELP, callback=typed_text)]
PairOption = Annotated[
    str | None, typer.Option("--pair", help="A second text: both become one input.", callback=typed_text)
]
LAYER_HELP = "Entry of the hidden states: 0 is the embedding output."
LayerOption = Annotated[str, typer.Option("--layer", metavar="L", help=LAYER_HELP)]
PoolerOption = Annotated[bool, typer.Option("--pooler", help="Add the pooler's output, computed twice.")]
MAX_VALUES = 6


@app.command()
def tokens(model: ModelArgument, text: TextArgument, pair: PairOption = None, as_json: JsonOption = False) -> None:
    """List the tokens of a text, or of a pair, as the model reads them."""
    token_list = tokenized(model, text, pair)
    print_notices(token_list.notices)
    if as_json:
        print_json({"model": model, **tokens_json(token_list)})
    else:
        print_lines(tokens_lines(token_list))


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
    token_list = tokenized(model, text, pair)
    settings = Settings.from_environment(any_folder=True)
    loaded = load_model(resolve(model, settings), settings)
    run = trace(loaded, token_list)
    entry = _entry(layer, run)
    check = pooler_check(loaded, run) if pooler else None
    print_notices((*token_list.notices, *run.notices, *(_pooler_notices(run, check) if pooler else ())))
    if as_json:
        print_json(hidden_json(run, entry, pooler, check))
    else:
        print_lines(hidden_lines(run, entry, pooler, check))


def tokens_json(tokens: Tokens) -> dict[str, Any]:
    """Tokens as the JSON object of the `tokens` command; what a tokenizer does not say is null."""
    return {
        "text": tokens.text,
        "pair": tokens.pair,
        "tokens": tokens.tokens,
        "input_ids": tokens.input_ids,
        "token_type_ids": tokens.token_type_ids,
        "word_ids": tokens.word_ids,
        "offsets": tokens.offsets,
        "special": tokens.special.tolist(),
        "unknown": tokens.unknown.tolist(),
        "sequence": tokens.sequence,
        "shape": (1, len(tokens)),
        "limit": tokens.limit,
        "tokens_cut": tokens.tokens_cut,
        "notices": tokens.notices,
    }


def tokens_lines(tokens: Tokens) -> list[str]:
    """Tokens as a table."""
    blank = (None,) * len(tokens)
    types = tokens.token_type_ids if tokens.token_type_ids is not None else blank
    rows = [
        (
            str(position),
            printable_token(tokens.tokens[position]),
            str(tokens.input_ids[position]),
            _cell((tokens.word_ids or blank)[position]),
            _cell(f"{span[0]}:{span[1]}" if span and span[0] < span[1] else None),
            _cell(types[position]),
            "special" if tokens.special[position] else "unknown" if tokens.unknown[position] else "",
        )
        for position, span in enumerate(tokens.offsets or blank)
    ]
    count = len(tokens)
    return [
        f"{count:,} tokens; input_ids ({count},) becomes (1, {count}) with the batch axis",
        "",
        *table([("position", "token", "id", "word", "characters", "type", ""), *rows], "rlrrrrl"),
    ]


def hidden_json(trace: Trace, layer: int, pooler: bool, check: PoolerCheck | None) -> dict[str, Any]:
    """Hidden states as the JSON object of the `hidden` command."""
    pooler_keys: dict[str, Any] = {}
    if pooler:
        pooler_keys = {"pooler_output": trace.pooler_output, "pooler_check": check.max_difference if check else None}
    return {
        "model": trace.model,
        "model_type": trace.model_type,
        "layer": layer,
        "num_hidden_layers": trace.num_hidden_layers,
        "tokens": trace.tokens.tokens,
        "input_ids": trace.tokens.input_ids,
        "hidden": trace.hidden_states[layer],
        **pooler_keys,
        "device": trace.device,
        "notices": (*trace.tokens.notices, *trace.notices),
    }


def hidden_lines(trace: Trace, layer: int, pooler: bool, check: PoolerCheck | None) -> list[str]:
    """Hidden states as a table: norm and first values of every token."""
    states = trace.hidden_states[layer]
    rows = [
        (str(position), printable_token(token), f"{np.linalg.norm(vector):.4f}", _values(vector))
        for position, (token, vector) in enumerate(zip(trace.tokens.tokens, states, strict=True))
    ]
    lines = [
        f"{trace.model}: entry {layer} of the hidden states 0 to {trace.num_hidden_layers} ({state_name(layer)}), "
        f"shape {states.shape}",
        "",
        *table([("position", "token", "norm", "first values"), *rows], "rlrl"),
    ]
    if pooler and trace.pooler_output is not None:
        vector = trace.pooler_output
        lines += ["", f"pooler_output ({len(vector)},), norm {np.linalg.norm(vector):.4f}: {_values(vector)}"]
        if check is not None:
            lines.append(f"max |pooler(CLS) - pooler_output| = {check.max_difference:.2e}")
    return lines


def _entry(option: str, trace: Trace) -> int:
    """The entry of the hidden states that --layer names; read here, so that a wrong one is told its range."""
    last = trace.num_hidden_layers
    if option.strip() not in map(str, range(last + 1)):
        reason = (
            f"There is no layer {escape_controls(option[:20])!r} in {trace.model!r}" if option else "No layer was named"
        )
        raise TextError(f"{reason}; give --layer 0 (the embedding output) to --layer {last}.")
    return int(option)


def _pooler_notices(trace: Trace, check: PoolerCheck | None) -> tuple[str, ...]:
    if trace.pooler_output is None:
        return ("This model has no pooler.",)
    return () if check else ("The pooler of this family is not Linear and tanh, so it is not computed again.",)


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def _values(vector: np.ndarray) -> str:
    more = " ..." if len(vector) > MAX_VALUES else ""
    return " ".join(f"{value:8.4f}" for value in vector[:MAX_VALUES].tolist()) + more
