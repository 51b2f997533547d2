"""The `prompts` command."""

from pathlib import Path
from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model, opened_table, progress_bar
from bertviz_core.cli.options import JsonOption, ModelArgument, app, print_notices, show
from bertviz_core.cli.sentences import LayerOption, PoolingOption, SentencesArgument
from bertviz_core.errors import TextError
from bertviz_core.questions.tables.prompts import COMPARED_PROMPTS, RANKED_PROMPTS
from bertviz_core.questions.texts.prompts import FAMILIES, compared_prompts, pair_options, ranked_prompts
from bertviz_core.questions.texts.sentences import POOLING, STATE
from bertviz_core.sentences.analysis.prompts import GOLD_COLUMNS, QUERY_COLUMNS, TEXT_COLUMNS, table_rows

PAIR_HELP = f"Prompts to compare: own, {', '.join(FAMILIES)}; by default the folder's own or those of its family."
FILE_HELP = "Queries with documents instead of sentences: .csv, .tsv, .jsonl or .parquet, or - for the standard input."
GOLD_HELP = f"Column with the relevance; {GOLD_COLUMNS[0]} by default, and 1 in every row of a file without one."


@app.command()
def prompts(
    model: ModelArgument,
    sentences: SentencesArgument = None,
    pair: Annotated[str, typer.Option("--prompts", metavar="NAME", help=PAIR_HELP)] = "",
    query_prompt: Annotated[
        str, typer.Option("--query-prompt", metavar="TEXT", help="Prompt of queries, instead of --prompts.")
    ] = "",
    document_prompt: Annotated[
        str, typer.Option("--document-prompt", metavar="TEXT", help="Prompt of documents, instead of --prompts.")
    ] = "",
    file: Annotated[Path | None, typer.Option("--file", metavar="FILE", help=FILE_HELP)] = None,
    query: Annotated[
        str, typer.Option("--query", metavar="C", help=f"Column with the queries; {QUERY_COLUMNS[0]} by default.")
    ] = "",
    text: Annotated[
        str, typer.Option("--text", metavar="C", help=f"Column with the documents; {TEXT_COLUMNS[0]} by default.")
    ] = "",
    gold: Annotated[str, typer.Option("--gold", metavar="C", help=GOLD_HELP)] = "",
    pooling: PoolingOption = "",
    layer: LayerOption = "",
    as_json: JsonOption = False,
) -> None:
    """Compare texts without a prompt, with prompts of queries and documents, and swapped: cosines, or ranks."""
    if bool(sentences) == (file is not None):
        raise TextError("Give either sentences or a --file of queries with documents.")
    columns = {"--query": query, "--text": text, "--gold": gold}
    if file is None and (unused := next((name for name, value in columns.items() if value), "")):
        raise TextError(f"{unused} names a column of a --file of queries with documents, and no --file is given.")
    if pair not in ("", "typed") and (query_prompt or document_prompt):
        raise TextError("--query-prompt and --document-prompt are instead of --prompts; leave that out.")
    opened, values = opened_model(model), {POOLING.key: pooling, STATE.key: layer}
    if file is None:
        options = pair_options(sentences or (), pair, query_prompt, document_prompt, values)
        with progress_bar(len(options.texts), "Sentences") as bar:
            compared = compared_prompts(opened, options, bar)
        return show(COMPARED_PROMPTS, compared.result, compared.notices, as_json)
    table = opened_table(file, text)
    texts, notices = table_rows(table, query, text, gold)
    print_notices(notices)
    options = pair_options(texts, pair, query_prompt, document_prompt, values)
    with progress_bar(len(texts), "Texts") as bar:
        ranked = ranked_prompts(opened, options, bar)
    return show(RANKED_PROMPTS, ranked.result, ranked.notices, as_json)
