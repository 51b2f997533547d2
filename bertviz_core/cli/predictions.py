"""Commands about what a model answers."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bertviz_core.cli.labels import ClassNamesOption
from bertviz_core.cli.opened import opened_model, opened_table, progress_bar
from bertviz_core.cli.options import (
    DASH_HELP,
    JsonOption,
    ModelArgument,
    app,
    print_json,
    print_lines,
    print_notices,
    show,
    typed_text,
    typed_texts,
)
from bertviz_core.errors import Named, TextError
from bertviz_core.predictions.probing.calibration import BINS, LEAST_BINS, MOST_BINS
from bertviz_core.predictions.probing.gold import shared_words
from bertviz_core.predictions.probing.reading import LABEL_COLUMNS, gold_column, label_column
from bertviz_core.predictions.probing.results import GoldScores, TextPredictions
from bertviz_core.predictions.probing.swaps import COMPARED_BY, SETS, pair_lines, template_lines
from bertviz_core.predictions.results import STRATEGIES
from bertviz_core.predictions.run import PREDICTED
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.calibration import BINS_COUNT, calibration, calibration_options
from bertviz_core.questions.predictions.label_errors import PROBABILITIES_FROM, SOURCES
from bertviz_core.questions.predictions.labelled_texts import CLASS_NAMES, SEED, column_scores
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
    RANKED_BY,
    heads_options,
    interaction_options,
    late_interaction,
    ranked,
    ranking_options,
    three_heads,
)
from bertviz_core.questions.predictions.swaps import COMPARED, OUTPUT, SWAP_SET, swap_options, word_swaps
from bertviz_core.questions.tables.labelled.calibration import CALIBRATION
from bertviz_core.questions.tables.labelled.swaps import WORD_SWAPS
from bertviz_core.questions.tables.lines import Faces, fields, table
from bertviz_core.questions.tables.predictions import (
    INTERACTION,
    RANKING,
    THREE_HEADS,
    prediction_json,
    prediction_lines,
)
from bertviz_core.questions.texts.sentences import POOLING, STATE
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.text import escape_controls, quoted

TEXT_HELP = f"The text, or the question; {DASH_HELP}"
TextsArgument = Annotated[str | None, typer.Argument(metavar="TEXT", help=TEXT_HELP, callback=typed_text)]
PairOption = Annotated[
    str | None, typer.Option("--pair", help="A second text, or the context of a question.", callback=typed_text)
]
TaskOption = Annotated[
    str | None, typer.Option("--task", help=f"{', '.join(PREDICTED)}; the checkpoint's own head by default."), PREDICTED
]
TopOption = Annotated[int, typer.Option("--top", metavar="K", help="Words, terms or answers that are listed.")]
MaskOption = Annotated[str, typer.Option("--mask", metavar="P,...", help="Positions to mask, as `tokens` counts them.")]
ViewOption = Annotated[str, typer.Option("--view", help=f"Of a masked-LM head: {', '.join(VIEWS)}."), VIEWS]
JoinOption = Annotated[str, typer.Option("--join", help=f"How tags are joined: {', '.join(STRATEGIES)}."), STRATEGIES]
FileOption = Annotated[
    Path | None, typer.Option("--file", metavar="FILE", help="Texts: lines, CSV, TSV, JSON lines or Parquet.")
]
SCORED = ("gold", "answer", "score", "text")
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
    names: ClassNamesOption = "",
    as_json: JsonOption = False,
) -> None:
    """Ask a model's task head: words at a mask, classes, tags, answers."""
    values = {VIEW.key: view, TOP.key: str(top), MASK.key: mask, JOIN.key: join, CLASS_NAMES.key: names}
    options = Options(pair=pair, task=task, values=values)
    chosen_view(options)
    strategy = chosen_join(options)
    if names and not gold:
        raise TextError("Class names are matched with gold labels; name their column, too: ", Named("gold"))
    if (text is None) == (file is None) or (gold and file is None):
        raise TextError("Give either one TEXT or a --file with many; --gold names a column of such a file.")
    contents = None if file is None else opened_table(file, column)
    texts = (text or "",) if contents is None else contents.sentences
    opened = opened_model(model)
    head = fitting_head(opened, options)
    about = {"model": model, "task": head.task, "model_class": head.model_class}
    if contents is not None and gold:
        scored = column_scores(opened, options, contents, gold, strategy)
        scores: Faces[Any] = Faces(keys=lambda result: {**about, **_score_keys(result)}, lines=_score_lines)
        return show(scores, scored.result, scored.notices, as_json)
    answers = predictions(opened, options, [(each, pair) for each in texts])
    notices = list(dict.fromkeys(notice for answer in answers for notice in answer.notices))
    print_notices(notices)
    if as_json:
        shown = [prediction_json(answer) for answer in answers]
        return print_json({**about, **(shown[0] if file is None else {"predictions": shown})}, notices)
    return print_lines(prediction_lines(about, answers))


def _score_keys(result: tuple[TextPredictions, GoldScores]) -> dict[str, Any]:
    """The scores, and each text with its gold label."""
    answers, scores = result
    columns = (scores.gold, answers.answers, answers.scores, answers.texts)
    rows = [dict(zip(SCORED, row, strict=True)) for row in zip(*columns, strict=True)]
    return {**fields(scores, "accuracy macro_f1 classes confusion mistakes shared"), "predictions": rows}


def _score_lines(result: tuple[TextPredictions, GoldScores]) -> list[str]:
    """The scores, and the errors in descending order of confidence."""
    shown, (_, scores) = _score_keys(result), result
    wrong = [shown["predictions"][at] for at in scores.mistakes.tolist()]
    first = [f"accuracy {scores.accuracy:.4f} macro_f1 {scores.macro_f1:.4f}", escape_controls(shared_words(scores))]
    return [*filter(None, first), "", *table(wrong, SCORED, "llrl")]


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
RankedByOption = Annotated[str, typer.Option("--ranked-by", metavar="HOW", help=RANKED_BY_HELP), RANKED_BY]
LABEL_HELP = "Class whose probability orders the texts; entailment by default. A head with one output needs none."
LabelOption = Annotated[str, typer.Option("--label", metavar="CLASS", help=LABEL_HELP)]
BESIDE_HELP = (
    f"Sentence model of the cosines; {DEFAULT_MODEL} by default, {OWN_ENCODER} for the encoder of MODEL itself."
)
BesideOption = Annotated[str, typer.Option("--beside", metavar="MODEL", help=BESIDE_HELP)]
WEIGHTS_HELP = "Weights of the dense, sparse and multi-vector score, such as 0.4,0.2,0.4; equal ones by default."
WeightsOption = Annotated[str, typer.Option("--weights", metavar="W", help=WEIGHTS_HELP)]


def _ranked_texts(texts: list[str] | None, file: Path | None, column: str) -> tuple[str, ...]:
    if bool(texts) == (file is not None):
        raise TextError("Give either texts or a --file with texts.")
    if column and file is None:
        raise TextError("--column names a column of a --file, and no --file is given.")
    return tuple(texts or ()) if file is None else opened_table(file, column).sentences


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
    listed = _ranked_texts(texts, file, column)
    with progress_bar(2 * len(listed) + 1, "Texts") as bar:
        options = ranking_options(query, listed, label, beside, by=ranked_by.replace("-", " "))
        answer = ranked(opened_model(model), options, bar)
    show(RANKING, answer.result, answer.notices, as_json)


@app.command("three-heads")
def three_heads_command(
    model: ModelArgument,
    query: QueryArgument,
    texts: RankTextsArgument = None,
    file: RankFileOption = None,
    column: ColumnOption = "",
    weights: WeightsOption = "",
    as_json: JsonOption = False,
) -> None:
    """Score texts for a query by the dense, sparse and multi-vector head of BGE-M3, and by their weighted mean."""
    listed = _ranked_texts(texts, file, column)
    with progress_bar(len(listed), "Texts") as bar:
        answer = three_heads(opened_model(model), heads_options(query, listed, weights), bar)
    show(THREE_HEADS, answer.result, answer.notices, as_json)


@app.command("late-interaction")
def late_interaction_command(
    model: ModelArgument, query: QueryArgument, document: DocumentArgument, as_json: JsonOption = False
) -> None:
    """Compare every token of a query with every token of a text; the score is the sum of the largest cosines."""
    answer = late_interaction(opened_model(model), interaction_options(query, document))
    show(INTERACTION, answer.result, answer.notices, as_json)


OTHER_HELP = "A second model, which is measured on the same texts."
BINS_HELP = f"Bins of the reliability diagram, {LEAST_BINS} to {MOST_BINS}; {BINS} by default."
FROM_HELP = f"{' or '.join(reversed(SOURCES))}: the model's own head, or probes that are fitted without the text."
SECOND_COLUMN_HELP = "Column of the file with the second text of each row."


@app.command("calibration")
def calibration_command(
    model: ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Texts: CSV, TSV, JSON lines or Parquet.")],
    column: ColumnOption = "",
    gold: GoldOption = "",
    pair: Annotated[str, typer.Option("--pair", metavar="C", help=SECOND_COLUMN_HELP)] = "",
    other: Annotated[str, typer.Option("--other", metavar="MODEL", help=OTHER_HELP)] = "",
    bins: Annotated[str, typer.Option("--bins", metavar="N", help=BINS_HELP), BINS_COUNT] = "",
    source: Annotated[str, typer.Option("--probabilities-from", metavar="WHAT", help=FROM_HELP), SOURCES] = "",
    pooling: Annotated[
        str, typer.Option("--pooling", metavar="POOLING", help="Of probes: pooling of the vectors."), POOLING
    ] = "",
    layer: Annotated[
        str, typer.Option("--layer", metavar="L", help="Of probes: hidden states that are pooled."), STATE
    ] = "",
    seed: Annotated[
        str, typer.Option("--seed", metavar="N", help="Of probes: seed of the division into folds."), SEED
    ] = "",
    names: ClassNamesOption = "",
    task: TaskOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how sure a classifier may be: reliability, ECE, Brier score, log loss, temperature, coverage."""
    contents = opened_table(file, column)
    labels = gold_column(contents, gold or label_column(contents) or LABEL_COLUMNS[0])
    seconds = gold_column(contents, pair) if pair else None
    values = {OTHER.key: other, BINS_COUNT.key: bins, PROBABILITIES_FROM.key: source}
    values |= {POOLING.key: pooling, STATE.key: layer, SEED.key: seed, CLASS_NAMES.key: names}
    options = calibration_options(contents.sentences, labels, seconds, task, **values)
    with progress_bar((2 if other else 1) * len(labels), "Texts") as bar:
        answer = calibration(opened_model(model), options, bar)
    show(CALIBRATION, answer.result, answer.notices, as_json)


SWAP_PAIRS_HELP = (
    f"Pairs of words: lines such as {quoted('he / she')}, or a table with two columns; else those of the set."
)
TEMPLATES_HELP = "Templates with {} in place of the word: lines, or a table; else those of the set."
SECOND_TEMPLATE_HELP = "Column of the templates' file with their second texts."
SET_HELP = f"Pairs and templates of this project: {' or '.join(SETS)}."
OUTPUT_HELP = "The class, or the kind of surprise, that is compared alone; all by default."
SWAPS_BY_HELP = f"What is compared: {', '.join(COMPARED_BY)}; by default the first that the model has."


@app.command("swaps")
def swaps_command(
    model: ModelArgument,
    pairs: Annotated[Path | None, typer.Option("--pairs", metavar="FILE", help=SWAP_PAIRS_HELP)] = None,
    templates: Annotated[Path | None, typer.Option("--templates", metavar="FILE", help=TEMPLATES_HELP)] = None,
    column: Annotated[str, typer.Option("--column", metavar="C", help="Column with the templates.")] = "",
    second: Annotated[str, typer.Option("--pair", metavar="C", help=SECOND_TEMPLATE_HELP)] = "",
    name: Annotated[str, typer.Option("--set", "--swap-set", metavar="SET", help=SET_HELP), tuple(SETS)] = "",
    by: Annotated[str, typer.Option("--swaps-by", metavar="HOW", help=SWAPS_BY_HELP), COMPARED_BY] = "",
    output: Annotated[str, typer.Option("--swap-output", metavar="CLASS", help=OUTPUT_HELP)] = "",
    task: TaskOption = None,
    as_json: JsonOption = False,
) -> None:
    """Exchange a word of template texts, and compare what the model answers, with an interval."""
    words = None if pairs is None else pair_lines(opened_table(pairs, ""))
    listed = None if templates is None else template_lines(opened_table(templates, column), second)
    values = {SWAP_SET.key: name, COMPARED.key: by, OUTPUT.key: output}
    with progress_bar(1, "Runs") as bar:
        answer = word_swaps(opened_model(model), swap_options(words, listed, task, **values), bar)
    show(WORD_SWAPS, answer.result, answer.notices, as_json)
