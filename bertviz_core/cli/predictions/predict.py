"""The command that asks a model's task head: words, classes, tags, answers, and whether a sentence is the next."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from bertviz_core.cli.options import DASH_HELP, JsonOption, ModelArgument, app, file_or_input, typed_text
from bertviz_core.cli.output import print_json, print_lines, print_notices, printable_token, table
from bertviz_core.cli.predictions.answers import Question, answer_lines
from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.models.sources import resolve
from bertviz_core.predictions.labelled.reading import gold_column
from bertviz_core.predictions.labelled.results import GoldScores, TextPredictions
from bertviz_core.predictions.labelled.scores import gold_scores
from bertviz_core.predictions.labelled.table import text_predictions
from bertviz_core.predictions.loading import PREDICTED, HeadModel, load_head
from bertviz_core.predictions.results import STRATEGIES, Strategy
from bertviz_core.sentences.reading.files import read_sentences
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls
from bertviz_core.trace.tokenization import load_tokenizer

VIEWS = ("words", "surprise", "lens", "terms")
"""What a masked-LM head can be asked."""
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
FileOption = Annotated[Path | None, typer.Option("--file", metavar="FILE", help="Texts: lines, CSV, TSV or Parquet.")]
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
    strategy = _strategy(view, join)
    settings = Settings.from_environment(any_folder=True)
    contents = _contents(text, file, column, gold, settings)
    texts = (text or "",) if contents is None else contents.sentences
    source = resolve(model, settings)
    head, tokenizer = load_head(source, settings, task), load_tokenizer(source, settings)
    known_question(view, join, head)
    about = {"model": model, "task": head.task, "model_class": head.model_class}
    if contents is not None and gold:
        pairs = None if pair is None else (pair,) * len(texts)
        predictions = text_predictions(head, tokenizer, texts, pairs, strategy)
        return _print_scores(about, predictions, gold_scores(predictions, gold_column(contents, gold)), as_json)
    ask = Question(head, tokenizer, top, _positions(mask), view, strategy)
    answers = [answered.shown for answered in ask.answers([(each, pair) for each in texts])]
    print_notices(list(dict.fromkeys(notice for answer in answers for notice in answer.pop("notices"))))
    if as_json:
        return print_json({**about, **(answers[0] if file is None else {"predictions": answers})})
    return print_lines(answer_lines(about, answers))


def known_question(view: str, join: str, head: HeadModel) -> Strategy:
    """How tags are joined, by its name, for a head that can be asked this.

    Raises:
        TextError: there is no such view or way to join.
        UnsupportedModelError: the view is of another head.
    """
    strategy = _strategy(view, join)
    if view != "words" and head.task != "masked-lm":
        raise UnsupportedModelError(f"--view {view} asks for a masked-LM head; this one is for {head.task}.")
    return strategy


def _strategy(view: str, join: str) -> Strategy:
    strategy = next((name for name in STRATEGIES if name == join), None)
    if view not in VIEWS or strategy is None:
        option, value, known = ("--view", view, VIEWS) if view not in VIEWS else ("--join", join, STRATEGIES)
        raise TextError(f"There is no {option} {escape_controls(value[:20])!r}; choose {', '.join(known)}.")
    return strategy


def _contents(text: str | None, file: Path | None, column: str, gold: str, settings: Settings) -> SentenceTable | None:
    if (text is None) == (file is None) or (gold and file is None):
        raise TextError("Give either one TEXT or a --file with many; --gold names a column of such a file.")
    if file is None:
        return None
    contents = read_sentences(*file_or_input(file), settings, column or None)
    print_notices(contents.notices)
    return contents


def _print_scores(about: dict[str, Any], predictions: TextPredictions, scores: GoldScores, as_json: bool) -> None:
    """The answers beside their gold labels, how often they are right, and the mistakes, the most confident first."""
    print_notices((*predictions.notices, *scores.notices))
    names = ("gold", "answer", "score", "text")
    columns = (scores.gold, predictions.answers, np.round(predictions.scores, 4).tolist(), predictions.texts)
    listed = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    numbers = {"accuracy": scores.accuracy, "macro_f1": scores.macro_f1}
    if as_json:
        more = {"classes": scores.classes, "confusion": scores.confusion, "mistakes": scores.mistakes}
        return print_json({**about, **numbers, **more, "predictions": listed})
    wrong = [[printable_token(str(cell)) for cell in listed[at].values()] for at in scores.mistakes.tolist()]
    told = " ".join(f"{name} {value:.4f}" for name, value in numbers.items())
    return print_lines([told, "", *table([names, *wrong], "llrl")])


def _positions(mask: str) -> list[int]:
    parts = [part.strip() for part in mask.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts):
        raise TextError(f"--mask {escape_controls(mask[:40])!r} is no list of positions; write such as 3,5.")
    return [int(part) for part in parts]
