"""The `tokens` command, which loads a tokenizer and no model."""

from dataclasses import replace
from typing import Annotated

import typer

from bertviz_core.cli.options import (
    AGENT,
    DASH_HELP,
    JsonOption,
    ModelArgument,
    app,
    command_settings,
    show,
    typed_text,
)
from bertviz_core.lazy_imports import leave_out_torch
from bertviz_core.models.skeleton import quietly
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.questions.tables.tokens import TOKENS
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import load_tokenizer, tokenize

TEXT_HELP = f"What the model reads; {DASH_HELP}"


TextArgument = Annotated[str, typer.Argument(metavar="TEXT", help=TEXT_HELP, callback=typed_text)]


PairOption = Annotated[
    str | None, typer.Option("--pair", help="A second text: both become one input.", callback=typed_text)
]


@app.command()
def tokens(model: ModelArgument, text: TextArgument, pair: PairOption = None, as_json: JsonOption = False) -> None:
    """List the tokens of a text, or of a pair, as the model reads them."""
    source = resolve(model, command_settings())
    read = _tokens(source, text, pair)
    named = replace(TOKENS, keys=lambda result: {"model": model, **TOKENS.to_json(result)})
    show(named, read, (*source.notices, *read.notices), as_json)


def _tokens(source: ModelSource, text: str, pair: str | None) -> Tokens:
    """Tokenize with the tokenizer alone: torch would take most of the time, and no tokenizer needs it."""
    if AGENT.get() is None:  # whose next question may be about the model
        leave_out_torch()
    with quietly():
        return tokenize(load_tokenizer(source, command_settings()), text, pair)
