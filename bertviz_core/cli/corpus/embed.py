"""The `corpus embed` command."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import typer

from bertviz_core.cli.corpus.group import chosen, corpus_app, whole
from bertviz_core.cli.options import ModelArgument
from bertviz_core.cli.output import print_notices
from bertviz_core.corpus.embedding import ROWS_PER_SHARD, EmbeddingOptions, Runner, embed_corpus
from bertviz_core.corpus.results import VECTOR_DTYPES
from bertviz_core.corpus.runners import processes, ray
from bertviz_core.corpus.shards import embed_shards
from bertviz_core.errors import CorpusError, Progress
from bertviz_core.sentences.results import POOLINGS, SentenceDtype
from bertviz_core.settings import Settings
from bertviz_core.text import counted

RUNNERS = ("local", "processes", "ray")
RUN_DTYPES = ("float32", "bfloat16", "float16", "auto")
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
        run_dtype=None if dtype_of_run == "auto" else cast(SentenceDtype, dtype_of_run),
        keep_text=text,
        rows_per_shard=whole("rows-per-shard", rows, 1) if rows else ROWS_PER_SHARD,
        batch_tokens=whole("batch-tokens", batch_tokens, 1) if batch_tokens else None,
    )
    making = _runner(chosen("runner", runner, RUNNERS), whole("processes", count, 1) if count else None, cluster)
    settings = Settings.from_environment(any_folder=True)
    with _bar() as progress:
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


@contextmanager
def _bar() -> Iterator[Progress]:
    """A progress bar on stderr, shown as soon as the number of rows is known."""
    with typer.progressbar(
        length=1, label="Rows", file=sys.stderr, show_pos=True, hidden=not sys.stderr.isatty()
    ) as bar:

        def report(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        yield report
