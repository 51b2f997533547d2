"""The background of a similarity: what the model says of pairs of texts that have nothing to do with each other."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import TextError
from bertviz_core.sentences.analysis.results import Background, BackgroundOf, ListedPairs
from bertviz_core.sentences.encoding import SentenceRow, tokenized
from bertviz_core.sentences.results import Measure, SentencePlan, SentenceVectors, off_diagonal
from bertviz_core.sentences.similarity import similarity_matrix
from bertviz_core.sentences.two_models import evenly_chosen, require_finite
from bertviz_core.trace.tokenization import TextTokenizer

UNRELATED = Path(__file__).with_name("unrelated_texts.txt")
"""The shipped texts, one on each line, no two of one subject."""
LEAST_TEXTS, MOST_TEXTS = 3, 500
"""Least texts of a background, and most of them, so that all pairs are quick to compare."""
LEAST_KNOWN = 50
"""Least shipped texts whose words a tokenizer knows, so that the others are left out."""


@cache
def unrelated_texts() -> tuple[str, ...]:
    """The shipped texts."""
    return tuple(UNRELATED.read_text(encoding="utf-8").splitlines())


def known_texts(tokenizer: TextTokenizer, plan: SentencePlan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The shipped texts that a tokenizer can read, with a notice if it cannot read all.

    A text of unknown tokens is like any other such text to the model, whatever it is about.
    """
    texts, backend = unrelated_texts(), tokenizer.tokenizer
    unknown, special = getattr(backend, "unk_token_id", None), set(getattr(backend, "all_special_ids", ()))
    rows = dict(zip(texts, _rows(tokenizer, plan, texts), strict=True))
    known = tuple(text for text in texts if _is_known(rows[text], unknown, special))
    if len(known) == len(texts):
        return texts, ()
    if len(known) < LEAST_KNOWN:
        readable = tuple(text for text in texts if rows[text] is not None)
        return readable, ("The tokenizer knows few words of the unrelated texts, so that they say little.",)
    left_out = len(texts) - len(known)
    return known, (f"{left_out} of the {len(texts)} unrelated texts are left out: the tokenizer does not know them.",)


def _rows(tokenizer: TextTokenizer, plan: SentencePlan, texts: Sequence[str]) -> list[SentenceRow | None]:
    """The tokens of texts; None for a text of which the tokenizer makes none."""
    try:
        return [row for chunk in tokenized(tokenizer, texts, plan) for row in chunk]
    except TextError:
        return [None] if len(texts) == 1 else [row for text in texts for row in _rows(tokenizer, plan, (text,))]


def _is_known(row: SentenceRow | None, unknown: int | None, special: set[int]) -> bool:
    """Whether at most half of the tokens of a text, without special ones, are unknown."""
    if row is None:
        return False
    ids: list[int] = row.input_ids.tolist()
    count = sum(each == unknown for each in ids)
    return 2 * count <= sum(each == unknown or each not in special for each in ids)


def listed_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """The texts of a list that are a background: different ones, at most 500, evenly spaced."""
    different = list(dict.fromkeys(texts))
    if len(different) < LEAST_TEXTS:
        raise TextError(
            f"The background of a list needs at least {LEAST_TEXTS} different texts, and {len(different) or 'none'} "
            "came; add another, or compare with unrelated texts."
        )
    return tuple(different[place] for place in evenly_chosen(len(different), MOST_TEXTS))


def background(
    vectors: SentenceVectors,
    of: BackgroundOf,
    measure: Measure = "cosine",
    queries: SentenceVectors | None = None,
    notices: Sequence[str] = (),
) -> Background:
    """Compare all pairs of different texts.

    Args:
        vectors: the vectors of the texts, at least 3.
        of: which texts they are.
        queries: the vectors of the same texts with the prompt of a query; None where it has no other.
    """
    for each in (vectors, *([queries] if queries else [])):
        require_finite(each.model, each.vectors)
    return Background(
        model=vectors.model,
        revision=vectors.revision,
        pooling=vectors.pooling,
        layer=vectors.layer,
        prompt=vectors.prompt,
        query_prompt=vectors.prompt if queries is None else queries.prompt,
        measure=measure,
        of=of,
        texts=vectors.sentences,
        similarities=np.sort(_pairs(vectors, queries, measure)),
        notices=tuple(dict.fromkeys(notices)),
    )


def _pairs(
    vectors: SentenceVectors, queries: SentenceVectors | None, measure: Measure
) -> Float[np.ndarray, " pairs"]:  # fmt: skip
    if queries is None:
        return off_diagonal(similarity_matrix(vectors.vectors, measure))
    count = len(vectors.sentences)
    both = similarity_matrix(np.concatenate((queries.vectors, vectors.vectors)), measure)[:count, count:]
    return np.asarray(both[~np.eye(count, dtype=bool)])


def listed_pairs(vectors: SentenceVectors, measure: Measure) -> ListedPairs:
    """All pairs of at most 500 sentences of a list, evenly spaced."""
    places = evenly_chosen(len(vectors.sentences), MOST_TEXTS)
    similarities = off_diagonal(similarity_matrix(vectors.vectors[places], measure))
    notice = f"{len(places):,} of the {len(vectors.sentences):,} sentences are drawn, evenly spaced in the list."
    notices = (notice,) if len(places) < len(vectors.sentences) else ()
    return ListedPairs(tuple(vectors.sentences[place] for place in places), similarities, notices=notices)


def percentile_matrix(vectors: SentenceVectors, compared_with: Background) -> Float[np.ndarray, "sentences sentences"]:
    """Percentile ranks of the similarities of all pairs of sentences; NaN on the diagonal."""
    ranks = compared_with.percentile_ranks(similarity_matrix(vectors.vectors, compared_with.measure))
    np.fill_diagonal(ranks, np.nan)
    return ranks
