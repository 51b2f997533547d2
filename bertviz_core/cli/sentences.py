"""The commands that compare sentences, and that turn a file of sentences into vectors."""

import sys
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer

from bertviz_core.cli.options import JsonOption, ModelArgument, app, file_or_input, typed_texts
from bertviz_core.cli.output import print_json, print_lines, print_notices, printable_token, table, write_file
from bertviz_core.errors import TextError
from bertviz_core.models.device import fast_bfloat16
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import resolve
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.export import WITH_SIDE_FILE, about_json, csv_bytes, npy_bytes, parquet_bytes
from bertviz_core.sentences.plan import adapted, prompt_named, recommended
from bertviz_core.sentences.reading.files import read_sentences
from bertviz_core.sentences.results import POOLINGS, Pooling, SentenceDtype, SentenceVectors
from bertviz_core.sentences.similarity import similarity_matrix
from bertviz_core.sentences.store.vectors import SentenceStore
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls, repair_surrogates
from bertviz_core.trace.tokenization import load_tokenizer

PoolingOption = Annotated[
    str, typer.Option("--pooling", metavar="POOLING", help=f"{', '.join(POOLINGS)}; the checkpoint's own by default.")
]
LAYER_HELP = "Entry of the hidden states to pool, 0 for the embedding output; the last by default."
LayerOption = Annotated[str, typer.Option("--layer", metavar="L", help=LAYER_HELP)]
PROMPT_HELP = (
    "Prompt put in front of every sentence, by its name in the checkpoint; none for none, its default otherwise."
)
PromptOption = Annotated[str, typer.Option("--prompt", metavar="NAME", help=PROMPT_HELP)]
SENTENCES_HELP = "The sentences; - stands for the lines of the standard input."
FILE_HELP = "Text (one sentence per line), .csv, .tsv or .parquet; - for lines of the standard input."
OUT_HELP = "File to write: .parquet, .csv or .npy; the last two get a .json beside them that says what made it."


@app.command()
def similarity(
    model: ModelArgument,
    sentences: Annotated[list[str], typer.Argument(metavar="S1 S2 ...", help=SENTENCES_HELP, callback=typed_texts)],
    pooling: PoolingOption = "",
    layer: LayerOption = "",
    prompt: PromptOption = "",
    as_json: JsonOption = False,
) -> None:
    """Compare sentences: the cosine of every two of them."""
    vectors, reason = _vectors(
        model, [repair_surrogates(sentence) for sentence in sentences], pooling, layer, prompt, keep=False
    )
    matrix = similarity_matrix(vectors.vectors)
    print_notices((reason, *vectors.notices))
    if as_json:
        print_json(similarity_json(vectors, matrix))
    else:
        print_lines(similarity_lines(vectors, matrix))


@app.command()
def embed(
    model: ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help=FILE_HELP)],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="OUT", help=OUT_HELP)],
    column: Annotated[str, typer.Option("--column", metavar="C", help="Column with the sentences.")] = "",
    pooling: PoolingOption = "",
    layer: LayerOption = "",
    prompt: PromptOption = "",
    dtype: Annotated[str, typer.Option("--dtype", help="float32, or bfloat16 where the machine has it.")] = "float32",
) -> None:
    """Write the vectors of a file's sentences, with the model, its revision, pooling and layer."""
    writers = {".parquet": parquet_bytes, ".csv": csv_bytes, ".npy": npy_bytes}
    if out.suffix not in writers:
        raise TextError(
            f"{escape_controls(out.name)!r} has an unsupported file extension; use one of {', '.join(writers)}."
        )
    if not out.absolute().parent.is_dir():
        raise TextError(f"There is no folder {escape_controls(str(out.parent))!r}; make it first.")
    if dtype not in ("float32", "bfloat16"):
        raise TextError(f"There is no --dtype {escape_controls(dtype[:20])!r}; give float32 or bfloat16.")
    table = read_sentences(*file_or_input(file), Settings.from_environment(any_folder=True), column or None)
    print_notices(table.notices)
    vectors, reason = _vectors(model, table.sentences, pooling, layer, prompt, True, cast(SentenceDtype, dtype))
    print_notices((reason, *vectors.notices))
    write_file(out, writers[out.suffix](vectors))
    if out.suffix in WITH_SIDE_FILE:
        write_file(out.with_name(f"{out.name}.json"), about_json(vectors))
    print_notices((f"{len(vectors.sentences):,} vectors of {vectors.dimensions:,} numbers written to {out}.",))


def similarity_json(vectors: SentenceVectors, matrix: np.ndarray) -> dict[str, Any]:
    """Similarities as the JSON object of the `similarity` command."""
    return {
        "model": vectors.model,
        "sentences": vectors.sentences,
        "similarity": matrix,
        "pooling": vectors.pooling,
        "layer": vectors.layer,
        "normalized": vectors.normalized,
        "prompt": vectors.prompt,
        "dimensions": vectors.dimensions,
        "tokens": vectors.token_counts,
        "notices": vectors.notices,
    }


def similarity_lines(vectors: SentenceVectors, matrix: np.ndarray) -> list[str]:
    """Similarities as a table, the columns by number."""
    numbers = [str(index) for index in range(len(matrix))]
    rows = [
        (number, printable_token(text), *(f"{value:.4f}" for value in row.tolist()))
        for number, text, row in zip(numbers, vectors.sentences, matrix, strict=True)
    ]
    return [
        f"{vectors.model}: cosine of sentence vectors ({vectors.pooling} of layer {vectors.layer}, "
        f"{vectors.dimensions} dimensions)",
        "",
        *table([("", "sentence", *numbers), *rows], "rl" + "r" * len(numbers)),
    ]


def _vectors(
    model: str, sentences: Any, pooling: str, layer: str, prompt: str, keep: bool, dtype: SentenceDtype = "float32"
) -> tuple[SentenceVectors, str]:
    """The vectors, and how they are made in a sentence; with a bar on stderr where a file is long."""
    settings = Settings.from_environment(any_folder=True)
    requested: Pooling | None = next((name for name in POOLINGS if name == pooling), None)
    if pooling and requested is None:
        raise TextError(f"There is no pooling {escape_controls(pooling[:20])!r}; choose {', '.join(POOLINGS)}.")
    source = resolve(model, settings)
    plan = recommended(source, settings)
    text = prompt_named(plan, prompt) if prompt else None
    loaded, tokenizer = load_model(source, settings), load_tokenizer(source, settings)
    entry = _entry(layer, loaded.num_hidden_layers, model)
    plan = adapted(plan, requested or plan.pooling, entry, text)
    if dtype == "bfloat16" and not fast_bfloat16(loaded.device):
        print_notices(("This machine has no bfloat16 of its own; float32 is quicker here.",))
    if not keep:
        return sentence_vectors(loaded, tokenizer, sentences, plan, dtype), plan.reason
    store = SentenceStore.of(settings)
    hidden = not sys.stderr.isatty()
    with typer.progressbar(length=len(set(sentences)), label="Sentences", file=sys.stderr, hidden=hidden) as bar:
        return sentence_vectors(
            loaded, tokenizer, sentences, plan, dtype, lambda done, _: bar.update(done - bar.pos), store
        ), plan.reason


def _entry(layer: str, last: int, model: str) -> int | None:
    """The entry that --layer names; None for the last."""
    if not layer.strip():
        return None
    if layer.strip() not in map(str, range(last + 1)):
        raise TextError(
            f"There is no layer {escape_controls(layer[:20])!r} in {model!r}; give 0 (the embedding output) to {last}."
        )
    return None if int(layer) == last else int(layer)
