"""Commands about a corpus: embed, search, compare with another model."""

from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar, cast

import typer

from bertviz_core.cli.opened import opened_folder, progress_bar
from bertviz_core.cli.options import JsonOption, ModelArgument, app, command_settings, print_notices, show, typed_text
from bertviz_core.corpus.analysis.neighbours import MAX_NEIGHBOURS, MAX_ROWS, NEIGHBOURS, ROWS
from bertviz_core.corpus.embedding import ROWS_PER_SHARD, EmbeddingOptions, Runner, embed_corpus
from bertviz_core.corpus.folder import Corpus
from bertviz_core.corpus.results import VECTOR_DTYPES, RunDtype
from bertviz_core.corpus.runners import processes, ray
from bertviz_core.corpus.search import MAX_HITS, SearchIndex, index_facts, make_index, open_index
from bertviz_core.corpus.shards import embed_shards
from bertviz_core.errors import CorpusError
from bertviz_core.questions.corpora import neighbour_changes, neighbour_options, searched
from bertviz_core.questions.tables.corpora import CHANGES
from bertviz_core.questions.tables.texts import CORPUS, HITS
from bertviz_core.sentences.results import POOLINGS
from bertviz_core.settings import Settings
from bertviz_core.text import counted, escape_controls

corpus_app = typer.Typer(
    help="Many texts and their vectors in a folder.", no_args_is_help=True, pretty_exceptions_enable=False
)
app.add_typer(corpus_app, name="corpus")

Choice = TypeVar("Choice", bound=str)
FOLDER_HELP = "Corpus folder, as `corpus embed` makes it."
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help=FOLDER_HELP)]


@corpus_app.callback()
def corpus() -> None:
    """Many texts and their vectors in a folder."""


def chosen(option: str, value: str, choices: tuple[Choice, ...]) -> Choice:
    """Parse the value of an option with several choices."""
    for choice in choices:
        if choice == value:
            return choice
    raise CorpusError(f"There is no --{option} {escape_controls(value[:20])!r}; give {', '.join(choices)}.")


def whole(option: str, value: str, least: int) -> int:
    """Parse an integer option."""
    if value.isascii() and value.isdigit() and len(value) < 10 and int(value) >= least:
        return int(value)
    raise CorpusError(f"--{option} is {escape_controls(value[:20])!r}; give a whole number from {least}.")


@corpus_app.command()
def info(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Say what a corpus folder holds and how it was made; its shards are looked at."""
    show(CORPUS, opened_folder(folder).corpus, (), as_json)


RUNNERS = ("local", "processes", "ray")
RUN_DTYPES = ("float32", "bfloat16", "float16", "int8", "auto")
RUN_HELP = f"The run: {', '.join(RUN_DTYPES)} (the fastest in a trial of one batch)."
INPUT_HELP = "Parquet, CSV, TSV or JSON lines: a file, a folder, a pattern in quotation marks, or s3://, gs://, ..."
LAYER_HELP = "Entry of the hidden states to pool, 0 for the embedding output; the last by default."
PROMPT_HELP = "Prompt in front of every text, by its name in the checkpoint; none for none, its default otherwise."


@corpus_app.command()
def embed(
    model: ModelArgument,
    address: Annotated[str, typer.Argument(metavar="INPUT", help=INPUT_HELP)],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FOLDER", help="Corpus folder to make or go on with.")],
    column: Annotated[str, typer.Option("--column", metavar="C", help="Column with the texts.")] = "",
    runner: Annotated[str, typer.Option("--runner", help=f"{', '.join(RUNNERS)}.")] = "local",
    count: Annotated[str, typer.Option("--processes", metavar="N", help="Processes, or workers of the cluster.")] = "",
    cluster: Annotated[str, typer.Option("--address", metavar="A", help="Ray cluster; one is started without.")] = "",
    dtype: Annotated[str, typer.Option("--dtype", help=f"Vectors as kept: {', '.join(VECTOR_DTYPES)}.")] = "float16",
    run_dtype: Annotated[str, typer.Option("--run-dtype", help=RUN_HELP)] = "float32",
    text: Annotated[bool, typer.Option("--text/--no-text", help="Whether the texts are kept.")] = True,
    pooling: Annotated[str, typer.Option("--pooling", help=f"{', '.join(POOLINGS)}; the checkpoint's own else.")] = "",
    layer: Annotated[str, typer.Option("--layer", metavar="L", help=LAYER_HELP)] = "",
    prompt: Annotated[str, typer.Option("--prompt", metavar="NAME", help=PROMPT_HELP)] = "",
    batch_tokens: Annotated[str, typer.Option("--batch-tokens", metavar="N", help="Tokens run together.")] = "",
    rows: Annotated[str, typer.Option("--rows-per-shard", metavar="N", help="Most rows of a shard.")] = "",
) -> None:
    """Embed the texts of an input into a corpus folder; the same command resumes an interrupted run."""
    dtype_of_run = chosen("run-dtype", run_dtype, RUN_DTYPES)
    options = EmbeddingOptions(
        column=column or None,
        pooling=chosen("pooling", pooling, POOLINGS) if pooling else None,
        layer=whole("layer", layer, 0) if layer else None,
        prompt=prompt or None,
        vector_dtype=chosen("dtype", dtype, VECTOR_DTYPES),
        run_dtype=None if dtype_of_run == "auto" else cast(RunDtype, dtype_of_run),
        keep_text=text,
        rows_per_shard=whole("rows-per-shard", rows, 1) if rows else ROWS_PER_SHARD,
        batch_tokens=whole("batch-tokens", batch_tokens, 1) if batch_tokens else None,
    )
    making = _runner(chosen("runner", runner, RUNNERS), whole("processes", count, 1) if count else None, cluster)
    settings = command_settings()
    with progress_bar(1, "Rows", show_pos=True) as progress:
        manifest = embed_corpus(
            model, address, out, settings, options, making, progress, lambda notice: print_notices((notice,))
        )
    are = "is" if manifest.rows == 1 else "are"
    print_notices((f"{counted(manifest.rows, 'vector')} of {manifest.dimensions:,} numbers {are} in {out}.",))


def _runner(name: str, count: int | None, cluster: str) -> Runner:
    """The runner that computes the shards; raises CorpusError for an option of another runner."""
    if name != "ray" and cluster:
        raise CorpusError("--address names a Ray cluster; give --runner ray with it.")
    if name == "local" and count is not None:
        raise CorpusError("--processes needs --runner processes or --runner ray.")
    if name == "processes":
        return partial(processes.run, count=count or processes.processors())
    return partial(ray.run, count=count, address=cluster or None) if name == "ray" else embed_shards


WHERE_HELP = "Only rows with this value of a column, such as topic=sport, year=1999 or note=null."
INDEX_HELP = "Search by an index, kept on this machine; it is made where there is none, or none of these vectors."


@corpus_app.command("search")
def search_command(
    folder: FolderArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is looked for.", callback=typed_text)],
    count: Annotated[str, typer.Option("-k", "--count", metavar="K", help=f"Rows, at most {MAX_HITS:,}.")] = "10",
    where: Annotated[str, typer.Option("--where", metavar="C=V", help=WHERE_HELP)] = "",
    indexed: Annotated[bool, typer.Option("--index", help=INDEX_HELP)] = False,
    as_json: JsonOption = False,
) -> None:
    """Look for the rows whose vectors are nearest to that of a text."""
    if not (count.isascii() and count.isdigit() and len(count) < 10):
        raise CorpusError(f"-k is {escape_controls(count[:20])!r}; give a whole number from 1 to {MAX_HITS:,}.")
    opened = opened_folder(folder)
    index = _index(opened.corpus, opened.settings) if indexed else None
    answer = searched(opened, text, int(count), where, index)
    show(HITS, answer.result, answer.notices, as_json)


OTHER_HELP = "The other model, which reads the texts anew."
ROWS_HELP = f"Rows that are compared with each other, evenly spaced in a larger corpus, at most {MAX_ROWS:,}."
NEAR_HELP = f"Nearest rows of each, at most {MAX_NEIGHBOURS}."


@corpus_app.command("neighbours")
def neighbours_command(
    folder: FolderArgument,
    model: Annotated[str, typer.Option("--model", metavar="OTHER", help=OTHER_HELP)],
    count: Annotated[str, typer.Option("-k", "--count", metavar="K", help=NEAR_HELP)] = str(NEIGHBOURS),
    rows: Annotated[str, typer.Option("--rows", metavar="N", help=ROWS_HELP)] = str(ROWS),
    as_json: JsonOption = False,
) -> None:
    """Say which rows have other nearest rows by the vectors of another model, and how many they are."""
    options = neighbour_options(model, whole("count", count, 1), whole("rows", rows, 1))
    opened = opened_folder(folder)
    with progress_bar(min(opened.corpus.rows, int(rows)), "Texts") as bar:
        answer = neighbour_changes(opened, options, bar)
    show(CHANGES, answer.result, answer.notices, as_json)


def _index(corpus: Corpus, settings: Settings) -> SearchIndex | None:
    """The index of a corpus, created if there is no valid one."""
    try:
        opened = open_index(corpus, settings)
    except CorpusError as error:
        print_notices((f"{error} It is made again now.",))
        opened = None
    if opened is not None:
        return opened
    with progress_bar(corpus.rows, "Index") as bar:
        make_index(corpus, settings, bar)
    facts = index_facts(corpus, settings)
    if facts is not None:
        quality = f"recall@{facts.count} {facts.recall:.1%} on {facts.queries:,} held-out rows"
        print_notices((f"Index of {facts.rows:,} rows made in {facts.seconds_to_make:,.0f} s: {quality}.",))
    return open_index(corpus, settings)
