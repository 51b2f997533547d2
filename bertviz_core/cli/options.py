"""The command line's program, and the words that its commands share; each command registers itself with it."""

from typing import Annotated

import typer

from bertviz_core.errors import TextError
from bertviz_core.models.skeleton import TASKS
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import load_tokenizer, tokenize

app = typer.Typer(
    help="What is in a BERT-family model, and what it does with a text.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def group() -> None:
    """What is in a BERT-family model, and what it does with a text."""


MODEL_HELP = "Bundled model, folder, catalogue name or Hub id, such as all-MiniLM-L6-v2 or bert-base-uncased."
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)]
TaskOption = Annotated[str | None, typer.Option("--task", help=f"Count the class of this task: {', '.join(TASKS)}.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def tokenized(model: str, text: str, pair: str | None) -> Tokens:
    """The tokens of a text, or of a pair, by the tokenizer of a model."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    settings = Settings.from_environment(any_folder=True)
    return tokenize(load_tokenizer(resolve(model, settings), settings), text, pair)


def numbered(option: str, value: str, count: int, model: str) -> int:
    """The layer or head that an option names; read here, so that a wrong one is told its range.

    Raises:
        TextError: there is none of this number.
    """
    if value.strip() in map(str, range(count)):
        return int(value)
    reason = f"There is no {option} {escape_controls(value[:20])!r} in {model!r}" if value else f"No {option} was named"
    most = f" to {count - 1}" if count > 1 else ", the only one"
    raise TextError(f"{reason}; give --{option} 0{most}.")
