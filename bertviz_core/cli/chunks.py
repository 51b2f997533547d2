"""The `chunks` command."""

from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model, progress_bar
from bertviz_core.cli.options import AGENT, DASH, JsonOption, ModelArgument, app, show, typed_text
from bertviz_core.questions.tables.chunks import CHUNKS
from bertviz_core.questions.texts.chunks import CHUNKS as PARAMS
from bertviz_core.questions.texts.chunks import chunk_options, chunk_vectors, late_chunks
from bertviz_core.tables.decoding import decoded, file_bytes

TEXT_HELP = "The text, or a file with it in UTF-8; - reads it from the standard input."
TextArgument = Annotated[str, typer.Argument(metavar="TEXT_OR_FILE", help=TEXT_HELP)]
TOKENS_HELP = "Most tokens of a chunk, without special ones; 128 by default."
QUERY_HELP = "What the chunks are compared with; the first sentence of the text by default."


@app.command()
def chunks(
    model: ModelArgument,
    text: TextArgument,
    tokens: Annotated[int | None, typer.Option("--tokens", metavar="N", help=TOKENS_HELP)] = None,
    overlap: Annotated[
        int, typer.Option("--overlap", metavar="M", help="Most tokens that a chunk repeats of the one before.")
    ] = 0,
    query: Annotated[str, typer.Option("--query", metavar="Q", help=QUERY_HELP)] = "",
    as_json: JsonOption = False,
) -> None:
    """Cut a long text into chunks: each embedded alone, and late from the whole text; what the vector is made of."""
    opened, options = opened_model(model), chunk_options(_text(text), tokens, overlap, query)
    with progress_bar(1, "Chunks") as bar:
        chunk_vectors(opened, options.only(*PARAMS), bar)
    answer = late_chunks(opened, options)
    show(CHUNKS, answer.result, answer.notices, as_json)


def _text(argument: str) -> str:
    """The text of an argument, of the file that it names, or of the standard input."""
    if AGENT.get() is not None:
        return argument
    if argument == DASH:
        return typed_text(argument) or ""
    try:
        is_file = len(argument) < 4_096 and Path(argument).is_file()
    except (OSError, ValueError):  # a text may be no path at all
        is_file = False
    return decoded(argument, file_bytes(argument, Path(argument))) if is_file else argument
