"""The `bits` command."""

from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model, opened_table
from bertviz_core.cli.options import JsonOption, ModelArgument, app, show
from bertviz_core.cli.sentences import LayerOption, PoolingOption, PromptOption
from bertviz_core.errors import TextError
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.tables.bits import BITS
from bertviz_core.questions.texts.bits import CALIBRATION, NEAREST, OVERSAMPLING, QUERY_LINES, fewer_bits
from bertviz_core.questions.texts.dimensions import DIMENSIONS
from bertviz_core.questions.texts.sentences import POOLING, PROMPT, QUERY_PROMPT, STATE

FILE_HELP = "Sentences: one per line, .csv, .tsv, .jsonl or .parquet; - for lines of the standard input."
QUERIES_HELP = "A file of queries, one per line or a table; by default each sentence is one, for all others."
QUERY_PROMPT_HELP = "Prompt put in front of every query, by its name in the checkpoint; that of the list by default."
K_HELP = "Nearest sentences that are compared; 10, or half of a short list, by default."
OVERSAMPLING_HELP = "How many times k candidates are compared again where there is rescoring; 2 by default."
CALIBRATION_HELP = "Sentences, evenly spaced, whose vectors set the ranges of int8 and uint8; all by default."
DIMENSIONS_HELP = "Numbers of dimensions after commas; all, half and a quarter, or those of the training, by default."


@app.command()
def bits(
    model: ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help=FILE_HELP)],
    column: Annotated[str, typer.Option("--column", metavar="C", help="Column with the sentences.")] = "",
    queries: Annotated[Path | None, typer.Option("--queries", metavar="FILE", help=QUERIES_HELP)] = None,
    query_column: Annotated[str, typer.Option("--query-column", metavar="C", help="Column with the queries.")] = "",
    k: Annotated[int | None, typer.Option("--nearest", "-k", metavar="K", help=K_HELP)] = None,
    oversampling: Annotated[int | None, typer.Option("--oversampling", metavar="N", help=OVERSAMPLING_HELP)] = None,
    calibration: Annotated[int | None, typer.Option("--calibration", metavar="N", help=CALIBRATION_HELP)] = None,
    dimensions: Annotated[str, typer.Option("--dimensions", metavar="D", help=DIMENSIONS_HELP)] = "",
    pooling: PoolingOption = "",
    layer: LayerOption = "",
    prompt: PromptOption = "",
    query_prompt: Annotated[str, typer.Option("--query-prompt", metavar="NAME", help=QUERY_PROMPT_HELP)] = "",
    as_json: JsonOption = False,
) -> None:
    """Measure what vectors of fewer bits and dimensions keep: recall, rank correlation, bytes."""
    if query_column and queries is None:
        raise TextError("--query-column names a column of --queries, and no --queries is given.")
    sentences = opened_table(file, column).sentences
    lines = () if queries is None else opened_table(queries, query_column).sentences
    numbers = {NEAREST.key: k, OVERSAMPLING.key: oversampling, CALIBRATION.key: calibration}
    values = {
        **{key: str(number) for key, number in numbers.items() if number is not None},
        **{POOLING.key: pooling, STATE.key: layer, PROMPT.key: prompt, QUERY_PROMPT.key: query_prompt},
        DIMENSIONS.key: dimensions,
        QUERY_LINES.key: "\n".join(" ".join(each.split()) for each in lines),
    }
    answer = fewer_bits(opened_model(model), Options(sentences, values=values))
    show(BITS, answer.result, answer.notices, as_json)
