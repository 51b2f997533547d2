"""The `background` command."""

from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model, opened_table, progress_bar
from bertviz_core.cli.options import JsonOption, ModelArgument, app, print_notices, show
from bertviz_core.cli.sentences import FILE_HELP, LayerOption, PoolingOption, PromptOption, plan_options
from bertviz_core.questions.tables.background import BACKGROUND as SHOWN
from bertviz_core.questions.texts.background import BACKGROUND, background
from bertviz_core.questions.texts.sentences import MEASURE
from bertviz_core.sentences.analysis.background import unrelated_texts
from bertviz_core.sentences.analysis.results import BACKGROUNDS
from bertviz_core.sentences.results import MEASURES

TEXTS_HELP = f"Texts whose pairs are taken in place of the shipped ones. {FILE_HELP}"
MEASURE_HELP = f"{', '.join(MEASURES)}; the cosine by default."


@app.command(name="background")
def background_command(
    model: ModelArgument,
    file: Annotated[Path | None, typer.Option("--file", metavar="FILE", help=TEXTS_HELP)] = None,
    column: Annotated[str, typer.Option("--column", metavar="C", help="Column with the texts.")] = "",
    pooling: PoolingOption = "",
    layer: LayerOption = "",
    prompt: PromptOption = "",
    measure: Annotated[str, typer.Option("--measure", metavar="MEASURE", help=MEASURE_HELP)] = "",
    as_json: JsonOption = False,
) -> None:
    """Print how alike unrelated texts are to the model, so that the height of a cosine can be judged."""
    texts: tuple[str, ...] = ()
    values = {MEASURE.key: measure} if measure else {}
    if file is not None:
        read = opened_table(file, column)
        print_notices(read.notices)
        texts, values = read.sentences, {**values, BACKGROUND.key: BACKGROUNDS[1]}
    opened = opened_model(model)
    with progress_bar(len(texts or unrelated_texts()), "Texts") as bar:
        answer = background(opened, plan_options(pooling, layer, prompt, texts, values), bar)
    show(SHOWN, answer.result, answer.notices, as_json)
