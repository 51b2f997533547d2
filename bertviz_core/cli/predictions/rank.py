"""The commands `rank` and `late-interaction`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model, opened_table
from bertviz_core.cli.options import DASH_HELP, JsonOption, ModelArgument, app, typed_text, typed_texts
from bertviz_core.cli.output import print_json, print_lines, print_notices
from bertviz_core.errors import TextError
from bertviz_core.questions.predictions.late_interaction import interaction_options, late_interaction
from bertviz_core.questions.predictions.ranking import OWN_ENCODER, ranked, ranking_options
from bertviz_core.questions.question import Silent
from bertviz_core.questions.tables.predictions import ranking_json, ranking_lines
from bertviz_core.questions.tables.sentences import interaction_json, interaction_lines
from bertviz_core.settings import DEFAULT_MODEL

QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help=f"The query; {DASH_HELP}", callback=typed_text)]
TEXTS_HELP = "The texts that are ranked; - stands for the lines of the standard input."
TextsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="TEXT1 TEXT2 ...", help=TEXTS_HELP, callback=typed_texts)
]
FILE_HELP = "Texts instead: lines, .csv, .tsv, .jsonl or .parquet; - for lines of the standard input."
FileOption = Annotated[Path | None, typer.Option("--file", metavar="FILE", help=FILE_HELP)]
ColumnOption = Annotated[str, typer.Option("--column", metavar="C", help="Column of the file with the texts.")]
DocumentArgument = Annotated[
    str, typer.Argument(metavar="DOCUMENT", help="The text that it is compared with.", callback=typed_text)
]
RANKED_BY_HELP = (
    "What scores the texts: head or late-interaction; by default the head, or late interaction for a model "
    "without one that was trained for it."
)
RankedByOption = Annotated[str, typer.Option("--ranked-by", metavar="HOW", help=RANKED_BY_HELP)]
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
    ranked_by: RankedByOption = "",
    label: LabelOption = "",
    beside: BesideOption = "",
    as_json: JsonOption = False,
) -> None:
    """Order texts for a query by a cross-encoder, an NLI head or late interaction, beside cosines of sentences."""
    if bool(texts) == (file is not None):
        raise TextError("Give either texts or a --file with texts.")
    if column and file is None:
        raise TextError("--column names a column of a --file, and no --file is given.")
    listed = tuple(texts or ())
    if file is not None:
        table = opened_table(file, column)
        print_notices(table.notices)
        listed = table.sentences
    hidden = not sys.stderr.isatty()
    with typer.progressbar(length=2 * len(listed) + 1, label="Texts", file=sys.stderr, hidden=hidden) as bar:
        options = ranking_options(query, listed, label, beside, by=ranked_by.replace("-", " "))
        answer = ranked(opened_model(model), options, _Moved(bar.update))
    print_notices(answer.notices)
    if as_json:
        return print_json(ranking_json(answer.result), answer.notices)
    return print_lines(ranking_lines(answer.result))


@app.command("late-interaction")
def late_interaction_command(
    model: ModelArgument, query: QueryArgument, document: DocumentArgument, as_json: JsonOption = False
) -> None:
    """Compare every token of a query with every token of a text; the score is the sum of the largest cosines."""
    answer = late_interaction(opened_model(model), interaction_options(query, document))
    print_notices(answer.notices)
    if as_json:
        return print_json(interaction_json(answer.result), answer.notices)
    return print_lines(interaction_lines(answer.result))
