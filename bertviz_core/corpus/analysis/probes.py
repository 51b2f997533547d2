"""Sample labelled texts from a column of a corpus, for probes by layer."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int

from bertviz_core.corpus.analysis.row_samples import sampled_rows, texts_of
from bertviz_core.corpus.column_values import plain_values
from bertviz_core.corpus.folder import Corpus
from bertviz_core.errors import CorpusError, Progress
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.probing.fitting import layer_vectors, probe_scores
from bertviz_core.predictions.probing.reading import LEAST_TEXTS, MAX_TEXTS, checked
from bertviz_core.predictions.probing.results import LabelledTexts, ProbeScores
from bertviz_core.sentences.results import Pooling
from bertviz_core.tables.cells import label_text
from bertviz_core.text import counted, quoted
from bertviz_core.trace.tokenization import TextTokenizer

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
    progress: Progress | None = None,
    on_partial: Callable[[ProbeScores], None] | None = None,
) -> ProbeScores:
    """Score linear probes that predict the values of a column from each layer's vectors of sampled texts.

    The texts are run once for all layers; then a probe and its control task are fitted on each layer
    (bertviz_core.predictions.probing.fitting.probe_scores).

    Args:
        corpus: corpus with the texts and the column.
        loaded: any model, not necessarily that of the corpus.
        tokenizer: tokenizer of the model.
        column: column of the labels.
        pooling: pooling of the token vectors.
        texts: number of sampled rows with a text and a label.
        seed: seed of the sample, the folds and the shuffled labels.
        progress: called as progress(texts run, texts), then as progress(fits done, fits); may raise to cancel.
        on_partial: called with the scores of the layers done so far, after each layer but the last.

    Raises:
        CorpusError: the corpus stores no texts, lacks the column, or has no text with a label in the sample.
        TextError: there is a single class, or too many.
        UnsupportedModelError: the model has no such pooling.
    """
    labelled = labelled_sample(corpus, column, texts, seed)
    vectors = layer_vectors(loaded, tokenizer, labelled.texts, pooling, progress)
    return probe_scores(loaded, labelled, pooling, vectors, seed, progress, on_partial)


def labelled_sample(corpus: Corpus, column: str, texts: int = TEXTS, seed: int = 0) -> LabelledTexts:
    """Sample texts of a corpus with labels from a column, from the rows that have a label.

    A class with fewer than two sampled texts is left out, with a notice.

    Raises:
        CorpusError: the corpus stores no texts, lacks the column, or has no text with a label.
        TextError: there is a single class, or too many.
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
    name = f"{column} in {corpus.path.name}"
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
