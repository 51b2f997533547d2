"""Compare all poolings and layers on the same sentences: mean cosine and spread of unrelated vectors."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from bertviz_core.errors import Progress, TextError
from bertviz_core.models.loading import LoadedModel
from bertviz_core.sentences.batches import batches, edge_tokens, tokenized
from bertviz_core.sentences.encoding import SentenceRun, plan_layer
from bertviz_core.sentences.pooling import offered_poolings
from bertviz_core.sentences.results import Pooling, PoolingComparison, SentencePlan
from bertviz_core.sentences.similarity import similarity_matrix
from bertviz_core.trace.tokenization import TextTokenizer

MAX_SENTENCES = 500
"""Maximum number of sentences; their vectors under all poolings and layers of BERT-base take 80 MB."""
MAX_SENTENCES_WITH_MATRICES = 64
"""Maximum number of sentences with returned matrices."""
NOTE = (
    "Mean cosine of two different sentences: near 1, all vectors point the same way and tell little apart "
    "(anisotropy, Ethayarajh 2019); a larger spread tells more apart."
)


def pooling_comparison(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    sentences: Sequence[str],
    layers: Sequence[int] | Literal["all"] = "all",
    max_seq_length: int | None = None,
    progress: Progress | None = None,
    own: Pooling = "mean",
) -> PoolingComparison:
    """Compute cosines of all pairs under every pooling and layer, without prompt, dense layers, normalisation.

    Args:
        loaded: the model, in float32.
        tokenizer: tokenizer of the model.
        sentences: at least two, at most 500.
        layers: entries of hidden_states; 0 is the embedding output.
        max_seq_length: maximum number of tokens per sentence; None for the limit of the model.
        progress: called as progress(done, total) in sentences; may raise to cancel.
        own: the checkpoint's own pooling, an additional row if the model does not offer it.

    Raises:
        TextError: there are fewer or more sentences, or the model lacks a layer.
        UnsupportedModelError: the model cannot be run on a text alone.
    """
    if not 2 <= len(sentences) <= MAX_SENTENCES:
        raise TextError(f"{len(sentences):,} sentences to compare poolings on; give 2 to {MAX_SENTENCES}.")
    entries = tuple(range(loaded.num_hidden_layers + 1)) if layers == "all" else tuple(layers)
    for layer in entries:
        plan_layer(loaded, SentencePlan("mean", layer))
    edges = edge_tokens(tokenizer)
    poolings = offered_poolings(edges.first, loaded.has_pooler, own)
    plan = SentencePlan("mean", max_seq_length=max_seq_length)
    rows = [row for chunk in tokenized(tokenizer, sentences, plan) for row in chunk]
    encoder, vectors, done = SentenceRun(loaded, plan, "float32", 0), np.zeros(0, dtype=np.float32), 0
    for batch in batches(loaded, [len(row) for row in rows]):
        batch_vectors = encoder.all_layers([rows[index] for index in batch], poolings, entries)
        if not done:
            vectors = np.empty((*batch_vectors.shape[:2], len(rows), batch_vectors.shape[3]), dtype=np.float32)
        vectors[:, :, batch] = batch_vectors
        done += len(batch)
        if progress is not None:
            progress(done, len(rows))
    return replace(_compared(tuple(sentences), poolings, entries, vectors), edges=edges)


def _compared(
    sentences: tuple[str, ...], poolings: tuple[Pooling, ...], entries: tuple[int, ...], vectors: np.ndarray
) -> PoolingComparison:
    count, shape = len(sentences), (len(poolings), len(entries))
    means, spreads = np.full(shape, np.nan, dtype=np.float32), np.full(shape, np.nan, dtype=np.float32)
    matrices = (
        np.full((*shape, count, count), np.nan, dtype=np.float32) if count <= MAX_SENTENCES_WITH_MATRICES else None
    )
    pairs = np.triu_indices(count, 1)
    for row, column in np.ndindex(shape):
        if np.isfinite(vectors[row, column]).all():
            matrix = similarity_matrix(vectors[row, column])
            means[row, column], spreads[row, column] = matrix[pairs].mean(), matrix[pairs].std()
            if matrices is not None:
                matrices[row, column] = matrix
    return PoolingComparison(sentences, poolings, entries, means, spreads, matrices, NOTE)
