"""Search a corpus for a text, encoded like the texts of the corpus."""

from functools import lru_cache
from pathlib import Path
from time import perf_counter

import numpy as np
from jaxtyping import Float

from bertviz_core.corpus.column_values import plain_values
from bertviz_core.corpus.folder import TEXT_COLUMN, Corpus
from bertviz_core.corpus.manifest import sentence_plan
from bertviz_core.corpus.search.exact import nearest_rows
from bertviz_core.corpus.search.index import WORTHWHILE, SearchIndex, nearest_in_index
from bertviz_core.corpus.search.results import CorpusHit, CorpusHits, RankedRows
from bertviz_core.errors import CorpusError
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.safetensors.folder import weights_sha256
from bertviz_core.models.sources import ModelSource
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.settings import Settings
from bertviz_core.text import quoted
from bertviz_core.trace.tokenization import TextTokenizer

MAX_HITS = 1_000
"""Maximum number of requested rows."""


def query_vector(
    corpus: Corpus,
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    source: ModelSource,
    settings: Settings,
    text: str,
) -> Float[np.ndarray, " dimensions"]:
    """Encode a text by the corpus' model, pooling, layer and prompt.

    Args:
        corpus: the corpus to search.
        loaded: the model of the corpus, in float32.
        tokenizer: the model's tokenizer.
        source: location of the model.
        settings: limits of the instance.
        text: the query.

    Raises:
        CorpusError: the text is empty, or the weights are not those of the corpus.
        BertvizError: the model cannot encode the text.
    """
    if not text.strip():
        raise CorpusError("There is nothing to look for; give a text.")
    check_weights(corpus, source.name, _weights_of(weights_folder(source, settings), source.revision))
    plan = sentence_plan(corpus.manifest, source, settings, loaded.num_hidden_layers)
    vector: np.ndarray = sentence_vectors(loaded, tokenizer, (text,), plan).vectors[0]
    if len(vector) != corpus.dimensions:
        raise CorpusError(
            f"{quoted(loaded.name)} gives vectors of {len(vector):,} numbers, and those of {quoted(corpus.path.name)} "
            f"have {corpus.dimensions:,}; search it with the model that made it."
        )
    return vector


@lru_cache(maxsize=8)
def _weights_of(folder: Path, revision: str) -> str:
    """Return the SHA-256 of a model's weights, computed once per revision."""
    return weights_sha256(folder)


def check_weights(corpus: Corpus, name: str, weights_sha256: str) -> None:
    """Check that a corpus was made with these weights: cosines between vectors of two models are meaningless.

    Args:
        corpus: the corpus to search.
        name: name of the model.
        weights_sha256: SHA-256 of its weights, as in a manifest.

    Raises:
        CorpusError: the weights differ, whatever the name of the model.
    """
    if weights_sha256 != corpus.manifest.weights_sha256:
        same = name == corpus.manifest.model
        what = "other weights of that name are here" if same else f"{quoted(name)} has other weights"
        raise CorpusError(
            f"The corpus {quoted(corpus.path.name)} was made with {quoted(corpus.manifest.model)}, revision "
            f"{quoted(corpus.manifest.revision)}; {what}. Search it with the model that made it, or embed it again."
        )


def search(
    corpus: Corpus,
    text: str,
    vector: Float[np.ndarray, " dimensions"],
    count: int = 10,
    where: str = "",
    index: SearchIndex | None = None,
) -> CorpusHits:
    """Find the rows of a corpus nearest to a query, with their texts and columns.

    With a filter, all rows that pass it are compared exactly, even with an index.

    Args:
        corpus: the corpus to search.
        text: the query.
        vector: vector of the query, from query_vector.
        count: number of rows.
        where: a filter, see Corpus.mask; "" for none.
        index: an index of the corpus; None compares every row.

    Raises:
        CorpusError: the count is out of range, the filter is invalid, or a shard cannot be read.
    """
    if not 1 <= count <= MAX_HITS:
        raise CorpusError(f"{count:,} rows were requested; give 1 to {MAX_HITS:,}.")
    mask, notices = (corpus.mask(where) if where else None), []
    vectors, started = corpus.vectors(), perf_counter()
    used = index if mask is None else None
    if used is not None:
        ranked = nearest_in_index(used, vectors, vector, count)
        notices.append(
            f"Found by an index whose recall@{used.facts.count} was {used.facts.recall:.1%} on {used.facts.queries:,} "
            "held-out rows: some of the nearest rows may be missing."
        )
    else:
        ranked = nearest_rows(vectors, vector, count, mask)
    seconds = perf_counter() - started
    if index is not None and used is None:
        notices.append("With a filter every row that it leaves is compared; the index is not used.")
    if index is None and corpus.rows >= WORTHWHILE:
        notices.append(f"Every one of {corpus.rows:,} rows was compared; an index (--index) would be quicker.")
    searched = corpus.rows if mask is None else int(mask.sum())
    if where and not searched:
        notices.append(f"No row has {where}.")
    return CorpusHits(
        query=text,
        corpus=corpus.path.name,
        model=corpus.manifest.model,
        hits=_hits(corpus, ranked),
        method="exact" if used is None else "index",
        where=where,
        searched=searched,
        rows=corpus.rows,
        recall=None if used is None else used.facts.recall,
        seconds=seconds,
        notices=tuple(notices),
    )


def _hits(corpus: Corpus, ranked: RankedRows) -> tuple[CorpusHit, ...]:
    """Read texts and columns of the rows."""
    own = [column.name for column in corpus.manifest.columns]
    has_text = corpus.manifest.text_column is not None
    table = corpus.read(ranked.rows.tolist(), [*own, TEXT_COLUMN] if has_text else own)
    columns = {name: plain_values(table.column(name)) for name in table.column_names}
    cells = [{name: values[place] for name, values in columns.items()} for place in range(len(ranked.rows))]
    return tuple(
        CorpusHit(row, score, str(cell.pop(TEXT_COLUMN) or "") if has_text else None, cell)
        for row, score, cell in zip(ranked.rows.tolist(), ranked.scores.tolist(), cells, strict=True)
    )
