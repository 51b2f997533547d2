"""The `rank` command."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.options import (
    DASH_HELP,
    JsonOption,
    ModelArgument,
    app,
    file_or_input,
    opened_model,
    typed_text,
    typed_texts,
)
from bertviz_core.cli.output import print_json, print_lines, print_notices
from bertviz_core.errors import TextError
from bertviz_core.questions.predictions.ranking import OWN_ENCODER, ranked, ranking_options
from bertviz_core.questions.question import Silent
from bertviz_core.questions.tables.predictions import ranking_json, ranking_lines
from bertviz_core.sentences.reading.lists import read_sentences
from bertviz_core.settings import DEFAULT_MODEL, Settings

QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help=f"The query; {DASH_HELP}", callback=typed_text)]
TEXTS_HELP = "The texts that are ranked; - stands for the lines of the standard input."
TextsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="TEXT1 TEXT2 ...", help=TEXTS_HELP, callback=typed_texts)
]
FILE_HELP = "Texts instead: lines, .csv, .tsv or .parquet; - for lines of the standard input."
FileOption = Annotated[Path | None, typer.Option("--file", metavar="FILE", help=FILE_HELP)]
ColumnOption = Annotated[str, typer.Option("--column", metavar="C", help="Column of the file with the texts.")]
LABEL_HELP = "Class whose probability orders the texts; entailment by default. A head with one output needs none."
LabelOption = Annotated[str, typer.Option("--label", metavar="CLASS", help=LABEL_HELP)]
BESIDE_HELP = (
    f"Sentence model of the cosines; {DEFAULT_MODEL} by default, {OWN_ENCODER} for the encoder of MODEL itself."
)
BesideOption = Annotated[str, typer.Option("--beside", metavar="MODEL", help=BESIDE_HELP)]


class _Moved(Silent):
    """A job that moves a bar on stderr."""

    def __init__(self, move: Callable[[int], None]) -> None:
        self._move, self._done = move, 0

    def __call__(self, done: int, _total: int, /) -> None:
        self._move(done - self._done)
        self._done = done


@app.command()
def rank(
    model: ModelArgument,
    query: QueryArgument,
    texts: TextsArgument = None,
    file: FileOption = None,
    column: ColumnOption = "",
    label: LabelOption = "",
    beside: BesideOption = "",
    as_json: JsonOption = False,
) -> None:
    """Order texts for a query by a cross-encoder or an NLI head, beside the cosines of a sentence model."""
    if bool(texts) == (file is not None):
        raise TextError("Give either texts or a --file with texts.")
    if column and file is None:
        raise TextError("--column names a column of a --file, and no --file is given.")
    listed = tuple(texts or ())
    if file is not None:
        table = read_sentences(*file_or_input(file), Settings.from_environment(any_folder=True), column or None)
        print_notices(table.notices)
        listed = table.sentences
    hidden = not sys.stderr.isatty()
    with typer.progressbar(length=2 * len(listed) + 1, label="Texts", file=sys.stderr, hidden=hidden) as bar:
        answer = ranked(opened_model(model), ranking_options(query, listed, label, beside), _Moved(bar.update))
    print_notices(answer.notices)
    if as_json:
        return print_json(ranking_json(answer.result))
    return print_lines(ranking_lines(answer.result))
