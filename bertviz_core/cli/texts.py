"""Commands about a text: tokens, hidden states."""

from typing import Annotated

import typer

from bertviz_core.cli.options import (
    DASH_HELP,
    JsonOption,
    ModelArgument,
    app,
    opened_model,
    print_json,
    print_lines,
    print_notices,
    typed_text,
)
from bertviz_core.hidden_states.results import PoolerCheck
from bertviz_core.lazy_imports import leave_out_torch
from bertviz_core.models.skeleton import quietly
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.questions.question import EMBEDDING_OUTPUT, Options, numbered
from bertviz_core.questions.tables.texts import hidden_json, hidden_lines, tokens_json, tokens_lines
from bertviz_core.questions.texts.hidden_states import recomputed_pooler, run
from bertviz_core.settings import Settings
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize

TEXT_HELP = f"What the model reads; {DASH_HELP}"
TextArgument = Annotated[str, typer.Argument(metavar="TEXT", help=TEXT_HELP, callback=typed_text)]
PairOption = Annotated[
    str | None, typer.Option("--pair", help="A second text: both become one input.", callback=typed_text)
]


@app.command()
def tokens(model: ModelArgument, text: TextArgument, pair: PairOption = None, as_json: JsonOption = False) -> None:
    """List the tokens of a text, or of a pair, as the model reads them."""
    source = resolve(model, Settings.from_environment(any_folder=True))
    read = _tokens(source, text, pair)
    notices = (*source.notices, *read.notices)
    print_notices(notices)
    if as_json:
        print_json({"model": model, **tokens_json(read)}, notices)
    else:
        print_lines(tokens_lines(read))


def _tokens(source: ModelSource, text: str, pair: str | None) -> Tokens:
    """Tokenize with the tokenizer alone: torch would take most of the time, and no tokenizer needs it."""
    leave_out_torch()
    with quietly():
        return tokenize(load_tokenizer(source, Settings.from_environment(any_folder=True)), text, pair)


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
