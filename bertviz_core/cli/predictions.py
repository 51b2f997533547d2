"""Commands about what a model answers."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from bertviz_core.cli.opened import opened_model, opened_table
from bertviz_core.cli.options import (
    DASH_HELP,
    JsonOption,
    ModelArgument,
    app,
    print_json,
    print_lines,
    print_notices,
    typed_text,
    typed_texts,
)
from bertviz_core.errors import TextError
from bertviz_core.predictions.probing.results import GoldScores, TextPredictions
from bertviz_core.predictions.results import STRATEGIES
from bertviz_core.predictions.run import PREDICTED
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.labelled_texts import column_scores
from bertviz_core.questions.predictions.predict import (
    JOIN,
    MASK,
    TOP,
    VIEW,
    VIEWS,
    chosen_join,
    chosen_view,
    fitting_head,
    predictions,
)
from bertviz_core.questions.predictions.ranking import (
    OWN_ENCODER,
    interaction_options,
    late_interaction,
    ranked,
    ranking_options,
)
from bertviz_core.questions.question import Answer, Silent
from bertviz_core.questions.tables.lines import aligned, number_cell, printable_token
from bertviz_core.questions.tables.predictions import prediction_json, prediction_lines, ranking_json, ranking_lines
from bertviz_core.questions.tables.texts import interaction_json, interaction_lines
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.settings import DEFAULT_MODEL

TEXT_HELP = f"The text, or the question; {DASH_HELP}"
TextsArgument = Annotated[str | None, typer.Argument(metavar="TEXT", help=TEXT_HELP, callback=typed_text)]
PairOption = Annotated[
    str | None, typer.Option("--pair", help="A second text, or the context of a question.", callback=typed_text)
]
TaskOption = Annotated[
    str | None, typer.Option("--task", help=f"{', '.join(PREDICTED)}; the checkpoint's own head by default.")
]
TopOption = Annotated[int, typer.Option("--top", metavar="K", help="Words, terms or answers that are listed.")]
MaskOption = Annotated[str, typer.Option("--mask", metavar="P,...", help="Positions to mask, as `tokens` counts them.")]
ViewOption = Annotated[str, typer.Option("--view", help=f"Of a masked-LM head: {', '.join(VIEWS)}.")]
JoinOption = Annotated[str, typer.Option("--join", help=f"How tags are joined: {', '.join(STRATEGIES)}.")]
FileOption = Annotated[
    Path | None, typer.Option("--file", metavar="FILE", help="Texts: lines, CSV, TSV, JSON lines or Parquet.")
]
GoldOption = Annotated[str, typer.Option("--gold", metavar="C", help="Column of the file with the right answers.")]
ColumnOption = Annotated[str, typer.Option("--column", metavar="C", help="Column of the file with the texts.")]


@app.command()
def predict(
    model: ModelArgument,
    text: TextsArgument = None,
    pair: PairOption = None,
    task: TaskOption = None,
    top: TopOption = 5,
    mask: MaskOption = "",
    view: ViewOption = "words",
    join: JoinOption = "simple",
    file: FileOption = None,
    column: ColumnOption = "",
    gold: GoldOption = "",
    as_json: JsonOption = False,
) -> None:
    """Ask a model's task head: words at a mask, classes, tags, answers."""
    values = {VIEW.key: view, TOP.key: str(top), MASK.key: mask, JOIN.key: join}
    options = Options(pair=pair, task=task, values=values)
    chosen_view(options)
    strategy = chosen_join(options)
    contents = _contents(text, file, column, gold)
    texts = (text or "",) if contents is None else contents.sentences
    opened = opened_model(model)
    head = fitting_head(opened, options)
    about = {"model": model, "task": head.task, "model_class": head.model_class}
    if contents is not None and gold:
        return _print_scores(about, column_scores(opened, options, contents, gold, strategy), as_json)
    answers = predictions(opened, options, [(each, pair) for each in texts])
    notices = list(dict.fromkeys(notice for answer in answers for notice in answer.notices))
    print_notices(notices)
    if as_json:
        shown = [prediction_json(answer) for answer in answers]
        return print_json({**about, **(shown[0] if file is None else {"predictions": shown})}, notices)
    return print_lines(prediction_lines(about, answers))


def _contents(text: str | None, file: Path | None, column: str, gold: str) -> SentenceTable | None:
    if (text is None) == (file is None) or (gold and file is None):
        raise TextError("Give either one TEXT or a --file with many; --gold names a column of such a file.")
    if file is None:
        return None
    contents = opened_table(file, column)
    print_notices(contents.notices)
    return contents


def _print_scores(about: dict[str, Any], answer: Answer[tuple[TextPredictions, GoldScores]], as_json: bool) -> None:
    """Print predictions with their gold labels, the scores, and the errors in descending order of confidence."""
    listed_answers, scores = answer.result
    print_notices(answer.notices)
    names = ("gold", "answer", "score", "text")
    columns = (scores.gold, listed_answers.answers, listed_answers.scores, listed_answers.texts)
    listed = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    numbers = {"accuracy": scores.accuracy, "macro_f1": scores.macro_f1}
    if as_json:
        more = {"classes": scores.classes, "confusion": scores.confusion, "mistakes": scores.mistakes}
        return print_json({**about, **numbers, **more, "predictions": listed}, answer.notices)
    wrong = [
        [printable_token(cell) if isinstance(cell, str) else number_cell(cell) for cell in listed[at].values()]
        for at in scores.mistakes.tolist()
    ]
    summary = " ".join(f"{name} {value:.4f}" for name, value in numbers.items())
    return print_lines([summary, "", *aligned([names, *wrong], "llrl")])


QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help=f"The query; {DASH_HELP}", callback=typed_text)]
TEXTS_HELP = "The texts that are ranked; - stands for the lines of the standard input."
RankTextsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="TEXT1 TEXT2 ...", help=TEXTS_HELP, callback=typed_texts)
]
FILE_HELP = "Texts instead: lines, .csv, .tsv, .jsonl or .parquet; - for lines of the standard input."
RankFileOption = Annotated[Path | None, typer.Option("--file", metavar="FILE", help=FILE_HELP)]
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
    texts: RankTextsArgument = None,
    file: RankFileOption = None,
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
