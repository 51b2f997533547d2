"""Profiles of heads and probes of layers over a corpus."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Int

from bertviz_core.attention.atlas import PROFILE_MEASURES, head_profile
from bertviz_core.corpus.analysis.duplicates import column_values
from bertviz_core.corpus.analysis.results import HeadProfile, HeadProfiles
from bertviz_core.corpus.analysis.row_samples import sampled_rows, texts_of
from bertviz_core.corpus.folder import Corpus, plain_values
from bertviz_core.errors import CorpusError, Progress, no_progress
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.probing.reading import LEAST_TEXTS, MAX_TEXTS, checked
from bertviz_core.predictions.probing.results import LabelledTexts, ProbeScores
from bertviz_core.predictions.probing.scores import layer_vectors, probe_scores
from bertviz_core.sentences.results import Pooling
from bertviz_core.tables.cells import label_text
from bertviz_core.text import counted, quoted
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import TextTokenizer, tokenize

SENTENCES = 200
"""Number of sampled sentences, enough for a stable mean."""
MAX_SENTENCES = 5_000


def head_profiles(
    corpus: Corpus,
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    sentences: int = SENTENCES,
    column: str = "",
    seed: int = 0,
    progress: Progress | None = None,
) -> HeadProfiles:
    """Compute mean and standard deviation of every measure of every head over sampled sentences and parts of them.

    Each sentence is traced separately and has equal weight; its measures (bertviz_core.attention.atlas.head_profile)
    are accumulated in float64 (Welford 1962), so that memory does not grow with the number of sentences.

    Args:
        corpus: corpus with the texts.
        loaded: any model with attention, not necessarily that of the corpus.
        sentences: number of sampled sentences.
        column: column with the most frequent values as parts; "" for none.
        seed: seed of the sample.
        progress: called as progress(sentences done, sentences); may raise to cancel.
    """
    if not 1 <= sentences <= MAX_SENTENCES:
        raise CorpusError(f"A sample of {sentences:,} sentences was requested; give 1 to {MAX_SENTENCES:,}.")
    rows = sampled_rows(corpus.rows, sentences, seed)
    texts = texts_of(corpus, rows)
    values = column_values(corpus.column(column)) if column else None
    overall = _Running("")
    parts = [_Running(name) for name in values.names] if values is not None else []
    read, cut = [], 0
    for done, (row, text) in enumerate(zip(rows.tolist(), texts, strict=True), start=1):
        if text.strip():
            tokens = tokenize(tokenizer, text)
            cut += tokens.tokens_cut[0] > 0
            profile = head_profile(trace(loaded, tokens))
            overall.add(profile)
            if values is not None:
                parts[values.codes[row]].add(profile)
            read.append(row)
        if progress is not None:
            progress(done, len(rows))
    if not read:
        raise CorpusError(
            f"None of the {counted(len(rows), 'row')} sampled from {quoted(corpus.path.name)} has a text."
        )
    notices = list(loaded.notices)
    if missing := len(rows) - len(read):
        notices.append(f"{counted(missing, 'row')} without a text left out.")
    if cut:
        notices.append(f"{counted(cut, 'text')} cut off at the {tokenizer.cut_side}: {tokenizer.limit.reason}.")
    return HeadProfiles(
        corpus=corpus.path.name,
        model=loaded.name,
        revision=loaded.revision,
        measures=PROFILE_MEASURES,
        overall=overall.profile(),
        column=column,
        parts=tuple(part.profile() for part in parts if part.count),
        rows=np.array(read, dtype=np.int64),
        seed=seed,
        notices=tuple(notices),
    )


class _Running:
    """Running mean and standard deviation over sentences."""

    def __init__(self, name: str) -> None:
        self.name, self.count = name, 0
        self._mean: np.ndarray = np.zeros(())
        self._squares: np.ndarray = np.zeros(())  # sum of squared deviations from the mean

    def add(self, numbers: Float[np.ndarray, "measures layers heads"]) -> None:
        """Add one sentence's measures."""
        self.count += 1
        distance = numbers.astype(np.float64) - self._mean
        self._mean = self._mean + distance / self.count
        self._squares = self._squares + distance * (numbers - self._mean)

    def profile(self) -> HeadProfile:
        """Return the profile of all sentences so far."""
        spread = np.sqrt(self._squares / self.count)
        return HeadProfile(self.name, self.count, self._mean.astype(np.float32), spread.astype(np.float32))


TEXTS = 1_000
"""Number of labelled texts of a sample."""


def corpus_probe_scores(
    corpus: Corpus,
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    column: str,
    pooling: Pooling = "mean",
    texts: int = TEXTS,
    seed: int = 0,
    progress: Progress = no_progress,
    on_partial: Callable[[ProbeScores], None] | None = None,
) -> ProbeScores:
    """Score linear probes that predict the values of a column from each layer's vectors of sampled texts.

    The texts are run once for all layers; then a probe and its control task are fitted on each layer
    (bertviz_core.predictions.probing.scores.probe_scores).

    Args:
        corpus: corpus with the texts and the column.
        loaded: any model, not necessarily that of the corpus.
        column: column of the labels.
        texts: number of sampled rows with a text and a label.
        seed: seed of the sample, the folds and the shuffled labels.
        progress: called as progress(texts run, texts), then as progress(fits done, fits); may raise to cancel.
    """
    labelled = labelled_sample(corpus, column, texts, seed)
    vectors = layer_vectors(loaded, tokenizer, labelled.texts, pooling, progress)
    return probe_scores(loaded, labelled, pooling, vectors, seed, progress, on_partial)


def labelled_sample(corpus: Corpus, column: str, texts: int = TEXTS, seed: int = 0) -> LabelledTexts:
    """Sample texts of a corpus with labels from a column, from the rows that have a label.

    A class with fewer than two sampled texts is left out, with a notice.
    """
    if not 4 <= texts <= MAX_TEXTS:
        raise CorpusError(f"A sample of {texts:,} texts was requested; give 4 to {MAX_TEXTS:,}.")
    cells = corpus.column(column)
    having = _labelled_rows(cells)
    rows = having[sampled_rows(len(having), texts, seed)]
    labels = [label_text(cell) for cell in plain_values(cells.take(rows))]
    pairs = [
        (text, label) for text, label in zip(texts_of(corpus, rows), labels, strict=True) if text.strip() and label
    ]
    counts = Counter(label for _, label in pairs)
    rare = [label for label, count in counts.items() if count < LEAST_TEXTS]
    usable = [(text, label) for text, label in pairs if counts[label] >= LEAST_TEXTS]
    name = f"column {quoted(column)} of {corpus.path.name}"
    if not usable:
        raise CorpusError(
            f"No two rows of the sample ({counted(len(rows), 'row')}) of {quoted(corpus.path.name)} share a value of "
            f"{quoted(column)}; choose a column of classes."
        )
    notices = []
    if len(having) > len(rows):
        notices.append(f"{len(rows):,} of {len(having):,} rows with a label, drawn by seed {seed}.")
    if rare:
        notices.append(f"Classes left out for having fewer than {LEAST_TEXTS} sampled texts: {len(rare):,}.")
    return checked(name, [text for text, _ in usable], [label for _, label in usable], notices)


def _labelled_rows(cells: pa.ChunkedArray) -> Int[np.ndarray, " labelled"]:
    """Indices of the cells that contain a label; a null or blank cell contains none."""
    kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    is_label = pc.invert(pc.is_null(cells, nan_is_null=True))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        is_label = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(cells.cast(kind)), ""), False)
    return np.asarray(pc.indices_nonzero(is_label).to_numpy(), dtype=np.int64)
