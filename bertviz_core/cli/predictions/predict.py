"""The `predict` command."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bertviz_core.cli.opened import opened_model, opened_table
from bertviz_core.cli.options import DASH_HELP, JsonOption, ModelArgument, app, typed_text
from bertviz_core.cli.output import print_json, print_lines, print_notices
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
from bertviz_core.questions.question import Answer
from bertviz_core.questions.tables.lines import aligned, number_cell, printable_token
from bertviz_core.questions.tables.predictions import prediction_json, prediction_lines
from bertviz_core.sentences.results import SentenceTable

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
