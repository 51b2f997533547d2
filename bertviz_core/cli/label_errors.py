"""The `label-errors` command."""

from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model, opened_table, progress_bar
from bertviz_core.cli.options import JsonOption, ModelArgument, app, print_notices, show, write_file
from bertviz_core.errors import Named, TextError
from bertviz_core.predictions.probing.label_errors import FOUND_BY, RANKED_BY
from bertviz_core.predictions.probing.reading import LABEL_COLUMNS, checked_rows, column_labels, label_column
from bertviz_core.predictions.tables import decision_table
from bertviz_core.questions.predictions.label_errors import (
    PROBABILITIES_FROM,
    SOURCES,
    SUSPECTS_BY,
    SUSPECTS_ORDER,
    label_errors,
    label_options,
    label_probabilities,
    probability_options,
)
from bertviz_core.questions.predictions.labelled_texts import SEED
from bertviz_core.questions.tables.label_errors import LABEL_ERRORS
from bertviz_core.questions.texts.sentences import POOLING, STATE
from bertviz_core.tables.typeset import csv_text
from bertviz_core.text import quoted

FILE_HELP = "Labelled texts: .csv, .tsv, .jsonl or .parquet; - for the standard input."
COLUMN_HELP = "Column with the texts."
GOLD_HELP = f"Column with the labels; {', '.join(LABEL_COLUMNS[:4])} ... by default."
FROM_HELP = f"{' or '.join(SOURCES)}: probes that are fitted without the text, or the model's own head."
BY_HELP = f"What makes a label suspect: {', '.join(FOUND_BY)}."
ORDER_HELP = f"What ranks the suspects: {' or '.join(RANKED_BY)}."
POOLING_HELP = "Pooling of the vectors; the checkpoint's own by default."
LAYER_HELP = "Entry of the hidden states to pool; the last by default."
OUT_HELP = "CSV of the suspects with an empty column decision, for keep, change or drop."


@app.command("label-errors")
def label_errors_command(
    model: ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help=FILE_HELP)],
    column: Annotated[str, typer.Option("--column", metavar="C", help=COLUMN_HELP)] = "",
    gold: Annotated[str, typer.Option("--gold", metavar="G", help=GOLD_HELP)] = "",
    source: Annotated[str, typer.Option("--probabilities-from", metavar="WHAT", help=FROM_HELP)] = "",
    by: Annotated[str, typer.Option("--suspects-by", metavar="HOW", help=BY_HELP)] = "",
    order: Annotated[str, typer.Option("--suspects-order", metavar="HOW", help=ORDER_HELP)] = "",
    pooling: Annotated[str, typer.Option("--pooling", metavar="POOLING", help=POOLING_HELP)] = "",
    layer: Annotated[str, typer.Option("--layer", metavar="L", help=LAYER_HELP)] = "",
    seed: Annotated[str, typer.Option("--seed", metavar="N", help="Seed of the division into folds.")] = "",
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help=OUT_HELP)] = None,
    as_json: JsonOption = False,
) -> None:
    """Name the labels of a file that are likely wrong, by confident learning, and what they should be."""
    if out is not None and out.suffix.lower() != ".csv":
        raise TextError(f"The decisions are written as CSV; give {quoted(out.name)} the ending .csv.")
    table = opened_table(file, column)
    labels = gold or label_column(table)
    if labels is None:
        raise TextError(
            f"{quoted(table.name)} has no column beside its texts; name the one with labels: ", Named("gold")
        )
    labelled = column_labels(table, labels, checked_rows)
    values = {
        PROBABILITIES_FROM.key: source,
        SUSPECTS_BY.key: by,
        SUSPECTS_ORDER.key: order,
        POOLING.key: pooling,
        STATE.key: layer,
        SEED.key: seed,
    }
    options, opened = label_options(labelled, values), opened_model(model)
    for param in (SUSPECTS_BY, SUSPECTS_ORDER):
        options.choice(param)
    with progress_bar(len(labelled.texts), "Texts") as bar:
        label_probabilities(opened, probability_options(options), bar)
    answer = label_errors(opened, options)
    if out is not None:
        write_file(out, csv_text(decision_table(answer.result)).encode())
    shown = set(table.notices)
    show(LABEL_ERRORS, answer.result, [each for each in answer.notices if each not in shown], as_json)
    if out is not None:
        print_notices((f"{len(answer.result.suspects):,} suspects written to {out}.",))
