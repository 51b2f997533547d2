"""Embed an input into a corpus folder; an interrupted run is resumed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bertviz_core.corpus.folder import SHARDS_FOLDER, open_corpus, opened, shard_path, write_vectors
from bertviz_core.corpus.int8 import ROWS, agreement, int8_model, receipt
from bertviz_core.corpus.manifest import FILE, FORMAT_VERSION, MAX_SHARDS, difference, read_manifest, write_manifest
from bertviz_core.corpus.reading import shard_table, survey
from bertviz_core.corpus.results import (
    InputSurvey,
    Int8Receipt,
    Manifest,
    RunDtype,
    ShardOutcome,
    ShardRows,
    VectorDtype,
)
from bertviz_core.corpus.runners.number_format import fastest_format
from bertviz_core.corpus.shards import Encoder, ShardWork, vectors_of
from bertviz_core.corpus.writing import LOCK_FILE, only_writer, refusal, remove_leftovers
from bertviz_core.errors import CorpusError, Progress
from bertviz_core.models.loading import load_model
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.safetensors.folder import weights_sha256
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.sentences.encoding import limited, plan_layer, sentence_vectors
from bertviz_core.sentences.plan import adapted, prompt_named, recommended
from bertviz_core.sentences.results import Pooling
from bertviz_core.sentences.two_models import evenly_chosen
from bertviz_core.settings import Settings
from bertviz_core.tables.inputs import input_files
from bertviz_core.text import quoted
from bertviz_core.trace.tokenization import load_tokenizer
from bertviz_core.version import __version__

ROWS_PER_SHARD = 4096
"""Rows per shard: the maximum loss of a kill, and the unit of sorting by length."""
Runner = Callable[[ShardWork, Sequence[ShardRows]], Iterator[ShardOutcome]]
"""Embeds shards, and yields the outcome of each when it is complete."""


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    """Options of a corpus."""

    column: str | None = None
    """Column of the texts; None for the default name, or the first column of texts."""
    pooling: Pooling | None = None
    """Pooling of the token vectors; None for the checkpoint's own."""
    layer: int | None = None
    """Pooled entry of hidden_states; None for the last."""
    prompt: str | None = None
    """Name of the prompt, "none" for none; None for the checkpoint's default."""
    vector_dtype: VectorDtype = "float16"
    """Number format of the stored vectors."""
    run_dtype: RunDtype | None = "float32"
    """Number format of the model's run; None for the fastest in a trial of one batch, or that of a corpus begun."""
    keep_text: bool = True
    """Whether to store the texts."""
    rows_per_shard: int = ROWS_PER_SHARD
    """Maximum number of rows of a shard."""
    batch_tokens: int | None = None
    """Maximum number of tokens per batch; None for the default of the device."""


def embed_corpus(
    model: str,
    address: str,
    folder: Path,
    settings: Settings,
    options: EmbeddingOptions,
    runner: Runner,
    progress: Progress | None = None,
    notify: Callable[[str], None] | None = None,
) -> Manifest:
    """Embed a corpus, or resume an interrupted call; return the manifest when it is complete.

    Shards are written atomically, so that a kill loses only unfinished shards. The result depends neither on the runner
    nor on interruptions.

    Args:
        address: the input, see bertviz_core.corpus.reading.survey.
        folder: the corpus folder: new, empty, or of the same input, model and options.
        options: options of the corpus.
        runner: embeds the shards.
        progress: called as progress(done, total) in rows.
        notify: called once with every notice.
    """
    notices, report = _Notices(notify), progress or (lambda done, total: None)
    check_folder(folder)
    source = resolve(model, settings)
    if options.run_dtype is None and (folder / FILE).exists():
        options = replace(options, run_dtype=read_manifest(folder).run_dtype)
    found, manifest = _looked_at(source, address, settings, options, notices)
    try:
        (folder / SHARDS_FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refusal(folder, error) from error
    with only_writer(folder):
        begun = _begun(folder, manifest)
        manifest = replace(manifest, int8=begun.int8)
        if begun.complete:
            open_corpus(folder).vectors()
            notices.all((f"{quoted(str(folder))} is complete already; nothing was embedded.",))
            return replace(manifest, complete=True)
        remove_leftovers(folder)
        remove_leftovers(folder / SHARDS_FOLDER)
        missing = [shard for shard in found.shards if not shard_path(folder, shard.index).exists()]
        work = ShardWork(
            folder=folder.absolute(),
            model=str(Path(source.path).absolute()) if source.path else model,
            manifest=manifest,
            survey=replace(found, shards=()),
            # The model is already allowed, by its absolute path.
            settings=replace(settings, models_dir=settings.models_dir.absolute(), any_folder=True, allowed_models=()),
            batch_tokens=options.batch_tokens,
        )
        _make(work, missing, runner, report, notices)
        return _finished(folder, manifest, address)


def check_folder(folder: Path) -> None:
    """Check that a folder is empty or a corpus."""
    try:
        names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    except OSError as error:
        raise CorpusError(f"{quoted(str(folder))} is no folder that can be used ({error.strerror}).") from error
    strangers = [name for name in names if name not in (SHARDS_FOLDER, LOCK_FILE)]
    if strangers and FILE not in names and not all(name.startswith(f"{FILE}.") for name in strangers):
        raise CorpusError(
            f"{quoted(str(folder))} is not empty and no corpus ({quoted(strangers[0])} is in it); give a new folder."
        )


def _looked_at(
    source: ModelSource, address: str, settings: Settings, options: EmbeddingOptions, notices: "_Notices"
) -> tuple[InputSurvey, Manifest]:
    """Survey the input and describe the corpus; the model is only loaded meanwhile."""
    encoder = _encoder(source, settings, options)
    notices.all((encoder.plan.reason,))
    found = survey(address, options.column, options.rows_per_shard, settings.max_characters)
    notices.all(found.notices)
    if len(found.shards) > MAX_SHARDS:
        raise CorpusError(
            f"The input would become {len(found.shards):,} shards; a corpus has at most {MAX_SHARDS:,}. Give more "
            "--rows-per-shard."
        )
    dtype, int8 = options.run_dtype, None
    if dtype == "int8":
        encoder = replace(encoder, int8=int8_model(encoder.loaded, encoder.tokenizer, encoder.plan))
        int8 = _int8_receipt(encoder, found)
        notices.all((f"Runs are in int8: {agreement(int8)}.",))
    if dtype is None:
        texts = shard_table(found, found.shards[0]).column(found.text_column).to_pylist()
        dtype, notice = fastest_format(encoder, texts)
        notices.all((notice,))
    return found, replace(_manifest(source, settings, options, encoder, found, dtype), int8=int8)


def _int8_receipt(encoder: Encoder, found: InputSurvey) -> Int8Receipt:
    """Embed some rows of the input, evenly spaced, in float32 and in int8, and compare."""
    texts: list[str] = []
    first, chosen = 0, evenly_chosen(found.rows, ROWS)
    for shard in found.shards:
        if inside := [row - first for row in chosen if first <= row < first + shard.rows]:
            texts += shard_table(found, shard).column(found.text_column).take(inside).to_pylist()
        first += shard.rows
    exact, rounded = (
        sentence_vectors(encoder.loaded, encoder.tokenizer, texts, encoder.plan, model=model).vectors
        for model in (None, encoder.int8)
    )
    return receipt(encoder.loaded.name, exact, rounded)


def _encoder(source: ModelSource, settings: Settings, options: EmbeddingOptions) -> Encoder:
    """Load the model and its tokenizer, with the plan of the options."""
    plan = recommended(source, settings)
    prompt = None if options.prompt is None else prompt_named(plan, options.prompt)
    loaded = load_model(source, settings)
    layer = None if options.layer == loaded.num_hidden_layers else options.layer
    plan = adapted(plan, options.pooling or plan.pooling, layer, prompt)
    plan_layer(loaded, plan)
    return Encoder(loaded, load_tokenizer(source, settings), plan)


def _manifest(
    source: ModelSource,
    settings: Settings,
    options: EmbeddingOptions,
    encoder: Encoder,
    found: InputSurvey,
    run_dtype: RunDtype,
) -> Manifest:
    """Describe the corpus; one text is embedded to determine the dimensions."""
    plan = encoder.plan
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        code_version=__version__,
        model=source.name,
        revision=encoder.loaded.revision,
        weights_sha256=weights_sha256(weights_folder(source, settings)),
        pooling=plan.pooling,
        layer=plan_layer(encoder.loaded, plan),
        prompt=plan.prompt,
        normalized=plan.normalize,
        max_tokens=limited(encoder.tokenizer, plan).limit.tokens,
        run_dtype=run_dtype,
        vector_dtype=options.vector_dtype,
        dimensions=1,
        inputs=found.files,
        input_column=found.text_column,
        text_column="text" if options.keep_text else None,
        columns=found.columns,
        rows=found.rows,
        rows_per_shard=options.rows_per_shard,
        shards=len(found.shards),
        complete=False,
    )
    return replace(manifest, dimensions=vectors_of(encoder, ["a"], manifest, None).dimensions)


def _begun(folder: Path, manifest: Manifest) -> Manifest:
    """Return the folder's manifest; write it if there is none."""
    if not (folder / FILE).exists():
        if any((folder / SHARDS_FOLDER).glob("*.parquet")):
            raise CorpusError(f"{quoted(str(folder))} has shards and no {FILE}; give a new folder.")
        write_manifest(folder, manifest)
    begun = read_manifest(folder)
    if words := difference(begun, manifest):
        raise CorpusError(f"The corpus in {quoted(str(folder))} {words}; give a new folder, or remove this one.")
    return begun


def _make(work: ShardWork, missing: list[ShardRows], runner: Runner, report: Progress, notices: "_Notices") -> None:
    """Embed the missing shards."""
    total = work.manifest.rows
    done = total - sum(shard.rows for shard in missing)
    report(done, total)
    for outcome in runner(work, missing) if missing else ():
        if outcome.failure:
            raise CorpusError(outcome.failure)
        if not shard_path(work.folder, outcome.index).exists():
            raise CorpusError(
                f"Shard {outcome.index} was written on a machine whose {quoted(str(work.folder))} is not the folder of "
                "this machine; give one on storage that all share."
            )
        notices.all(outcome.notices)
        done += outcome.rows
        report(done, total)


def _finished(folder: Path, manifest: Manifest, address: str) -> Manifest:
    """Check and assemble the shards; return the complete manifest."""
    if input_files(address) != manifest.inputs:
        raise CorpusError(f"The input {quoted(address)} changed while it was embedded; embed it again in a new folder.")
    whole = replace(manifest, complete=True)
    write_vectors(opened(folder, whole))
    write_manifest(folder, whole)
    return whole


class _Notices:
    """Forwards each distinct notice once."""

    def __init__(self, notify: Callable[[str], None] | None) -> None:
        self._notify = notify
        self._known: set[str] = set()

    def all(self, notices: Sequence[str]) -> None:
        """Forward new notices."""
        for notice in notices:
            if self._notify is not None and notice and notice not in self._known:
                self._known.add(notice)
                self._notify(notice)
