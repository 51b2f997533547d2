"""The `similarity`, `embed`, `vocabulary` and `background` commands."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from bertviz_core.cli.opened import opened_model, opened_table, progress_bar
from bertviz_core.cli.options import JsonOption, ModelArgument, app, print_notices, show, typed_texts, write_file
from bertviz_core.errors import TextError
from bertviz_core.models.loading import fast_formats
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.tables.background import BACKGROUND as BACKGROUND_TABLE
from bertviz_core.questions.tables.background import SCALED, SCALED_COMPARISON, Scaled, ScaledComparison
from bertviz_core.questions.tables.texts import SIMILARITY
from bertviz_core.questions.tables.two_models.sentences import COMPARED_SENTENCES, GOLD
from bertviz_core.questions.tables.two_models.sentences import DIMENSIONS as CUT
from bertviz_core.questions.tables.vocabulary import VOCABULARY
from bertviz_core.questions.texts.background import BACKGROUND, background, two_backgrounds
from bertviz_core.questions.texts.dimensions import DIMENSIONS, fewer_dimensions
from bertviz_core.questions.texts.sentences import MEASURE, POOLING, PROMPT, STATE, encoded_sentences, sentence_vectors
from bertviz_core.questions.texts.tokens import vocabulary as vocabulary_use
from bertviz_core.questions.texts.two_models import gold_options, gold_pairs, two_models
from bertviz_core.sentences.analysis.background import unrelated_texts
from bertviz_core.sentences.analysis.results import BACKGROUNDS
from bertviz_core.sentences.results import MEASURES, POOLINGS, SentenceDtype
from bertviz_core.sentences.store.shards import FILE_WRITERS, WITH_SIDE_FILE, about_json
from bertviz_core.sentences.store.vectors import SentenceStore
from bertviz_core.sentences.two_models import SCORE_COLUMNS, SECOND_COLUMNS, table_pairs
from bertviz_core.text import counted, escape_controls, with_notices

PoolingOption = Annotated[
    str,
    typer.Option("--pooling", metavar="POOLING", help=f"{', '.join(POOLINGS)}; the checkpoint's own by default."),
    POOLING,
]
LAYER_HELP = "Entry of the hidden states to pool, 0 for the embedding output; the last by default."
LayerOption = Annotated[str, typer.Option("--layer", metavar="L", help=LAYER_HELP), STATE]
PROMPT_HELP = (
    "Prompt put in front of every sentence, by its name in the checkpoint; none for none, its default otherwise."
)
PromptOption = Annotated[str, typer.Option("--prompt", metavar="NAME", help=PROMPT_HELP)]
OTHER_HELP = "A second model: its cosines of the same sentences, the differences, and the neighbours that agree."
OtherOption = Annotated[str, typer.Option("--other", metavar="OTHER", help=OTHER_HELP)]
DIMENSIONS_HELP = "What the first dimensions of the vectors keep: numbers after commas, or auto for powers of two."
DimensionsOption = Annotated[str, typer.Option("--dimensions", metavar="D", help=DIMENSIONS_HELP)]
SENTENCES_HELP = "The sentences; - stands for the lines of the standard input."
SentencesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="S1 S2 ...", help=SENTENCES_HELP, callback=typed_texts)
]
PAIRS_HELP = "Pairs with their similarities instead of sentences: .csv, .tsv, .jsonl or .parquet."
SECOND_HELP = f"Column with the second ones; {SECOND_COLUMNS[0]} by default."
SCORE_HELP = f"Column with the similarities; {SCORE_COLUMNS[0]} by default."
SCALE_HELP = "The percentile rank of every cosine among the pairs of unrelated texts in the model."
PairsOption = Annotated[Path | None, typer.Option("--file", metavar="FILE", help=PAIRS_HELP)]
FILE_HELP = "Text (one sentence per line), .csv, .tsv, .jsonl or .parquet; - for lines of the standard input."
OUT_HELP = "File to write: .parquet, .csv or .npy; the last two get a .json beside them that says what made it."


@app.command()
def similarity(
    model: ModelArgument,
    sentences: SentencesArgument = None,
    pooling: PoolingOption = "",
    layer: LayerOption = "",
    prompt: PromptOption = "",
    other: OtherOption = "",
    file: PairsOption = None,
    column: Annotated[str, typer.Option("--column", metavar="C", help="Column with the first sentences.")] = "",
    pair: Annotated[str, typer.Option("--pair", metavar="C", help=SECOND_HELP)] = "",
    gold: Annotated[str, typer.Option("--gold", metavar="C", help=SCORE_HELP)] = "",
    dimensions: DimensionsOption = "",
    scale: Annotated[bool, typer.Option("--scale", help=SCALE_HELP)] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare sentences: the cosine of every two of them, also beside another model's or gold similarities."""
    if bool(sentences) == (file is not None):
        raise TextError("Give either sentences or a --file of pairs with their similarities.")
    columns = {"--column": column, "--pair": pair, "--gold": gold}
    if file is None and (unused := next((name for name, value in columns.items() if value), "")):
        raise TextError(f"{unused} names a column of a --file of pairs, and no --file is given.")
    opened, options = opened_model(model), plan_options(pooling, layer, prompt, tuple(sentences or ()))
    values = {**options.values, **({OTHER.key: other} if other else {})}
    if scale:
        if dimensions or file is not None:
            raise TextError("--scale goes with sentences; leave out --dimensions and --file.")
        return _scaled(opened, replace(options, values=values), as_json)
    if dimensions:
        if other or file is not None:
            raise TextError("--dimensions goes with the sentences of one model; leave out --other and --file.")
        cut = {**options.values, DIMENSIONS.key: "" if dimensions == "auto" else dimensions}
        curve = fewer_dimensions(opened, replace(options, values=cut))
        return show(CUT, curve.result, curve.notices, as_json)
    if file is not None:
        table = opened_table(file, column)
        firsts, seconds, scores, notices = table_pairs(table, pair or SECOND_COLUMNS[0], gold or SCORE_COLUMNS[0])
        print_notices(notices[len(table.notices) :])
        pairs = gold_pairs(opened, gold_options((firsts, seconds, scores), values))
        return show(GOLD, pairs.result, pairs.notices, as_json)
    if other:
        both = two_models(opened, replace(options, values=values))
        return show(COMPARED_SENTENCES, both.result, both.notices, as_json)
    vectors = sentence_vectors(opened, options)
    return show(SIMILARITY, vectors.result, vectors.notices, as_json)


@app.command()
def embed(
    model: ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help=FILE_HELP)],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="OUT", help=OUT_HELP)],
    column: Annotated[str, typer.Option("--column", metavar="C", help="Column with the sentences.")] = "",
    pooling: PoolingOption = "",
    layer: LayerOption = "",
    prompt: PromptOption = "",
    dtype: Annotated[str, typer.Option("--dtype", help="float32; bfloat16 or float16 where it is quick.")] = "float32",
) -> None:
    """Write the vectors of a file's sentences, with the model, its revision, pooling and layer."""
    if out.suffix not in FILE_WRITERS:
        raise TextError(
            f"{escape_controls(out.name)!r} has an unsupported file extension; use one of {', '.join(FILE_WRITERS)}."
        )
    if not out.absolute().parent.is_dir():
        raise TextError(f"There is no folder {escape_controls(str(out.parent))!r}; make it first.")
    if dtype not in get_args(SentenceDtype):
        raise TextError(f"There is no --dtype {escape_controls(dtype[:20])!r}; give float32, bfloat16 or float16.")
    table = opened_table(file, column)
    opened = opened_model(model)
    if dtype != "float32" and dtype not in fast_formats(opened.loaded.device):
        print_notices((f"This machine has no {dtype} of its own; float32 is quicker here.",))
    with progress_bar(len(set(table.sentences)), "Sentences") as bar:
        answer = encoded_sentences(
            opened,
            plan_options(pooling, layer, prompt),
            table.sentences,
            cast(SentenceDtype, dtype),
            bar,
            SentenceStore.of(opened.settings),
        )
    vectors = answer.result
    print_notices(answer.notices)
    write_file(out, FILE_WRITERS[out.suffix](vectors))
    if out.suffix in WITH_SIDE_FILE:
        write_file(out.with_name(f"{out.name}.json"), about_json(vectors))
    written = counted(len(vectors.sentences), "vector")
    print_notices((f"{written} of {vectors.dimensions:,} numbers written to {out}.",))


def plan_options(
    pooling: str, layer: str, prompt: str, sentences: tuple[str, ...] = (), values: Mapping[str, str] | None = None
) -> Options:
    """The options of sentences and of how they become vectors, with further values."""
    return Options(sentences, values={POOLING.key: pooling, STATE.key: layer, PROMPT.key: prompt, **(values or {})})


def _scaled(opened: Opened, options: Options, as_json: bool) -> None:
    """Print the similarities with their percentile ranks among pairs of unrelated texts, in one model or in two."""
    plain = replace(options, texts=())
    if options.get(OTHER.key):
        both, backgrounds = two_models(opened, options), two_backgrounds(opened, plain)
        notices = with_notices(both.notices, backgrounds.notices)
        return show(SCALED_COMPARISON, ScaledComparison(both.result, backgrounds.result), notices, as_json)
    vectors, compared_with = sentence_vectors(opened, options), background(opened, plain)
    scaled = Scaled(vectors.result, compared_with.result)
    return show(SCALED, scaled, with_notices(vectors.notices, compared_with.notices), as_json)


MOST_COUNTED = 1_000_000
"""Texts that are counted at least: a million short ones take about two minutes."""
VOCABULARY_HELP = "Texts: one per line, .csv, .tsv, .jsonl or .parquet; - for lines of the standard input."


@app.command()
def vocabulary(
    model: ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help=VOCABULARY_HELP)],
    column: Annotated[str, typer.Option("--column", metavar="C", help="Column with the texts.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Count which rows of the vocabulary texts use, by script and frequency, and how many pieces their words have."""
    texts = opened_table(file, column, MOST_COUNTED).sentences
    with progress_bar(len(texts), "Texts") as bar:
        answer = vocabulary_use(opened_model(model), Options(texts), bar)
    show(VOCABULARY, answer.result, answer.notices, as_json)


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
    show(BACKGROUND_TABLE, answer.result, answer.notices, as_json)
