"""Score a query with documents by late interaction: the sum of the largest cosine of each token of the query.

The score is that of Khattab and Zaharia 2020, equation 3 (MaxSim), as sentence-transformers computes it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import Progress
from bertviz_core.lazy_imports import torch
from bertviz_core.predictions.scoring.late_interaction.encoding import InteractionEncoder
from bertviz_core.predictions.scoring.late_interaction.results import LateInteraction
from bertviz_core.text import quoted

DOT_PRODUCT = "The checkpoint does not normalise its vectors, so the numbers are dot products, not cosines."
MEAN = "The checkpoint's score is the mean over the tokens of the query, not the sum."


class InteractionScores(NamedTuple):
    """Scores of a query with each document of a list."""

    scores: Float[np.ndarray, " documents"]
    """Their scores."""
    truncated: int
    """Number of documents that were cut."""
    notices: tuple[str, ...]
    """Notices, one sentence each."""


def late_interaction(encoder: InteractionEncoder, query: str, document: str) -> LateInteraction:
    """Compare every token of a query with every token of a document.

    Raises:
        BertvizError: a text has no token, or the model cannot be run on it.
    """
    plan, spelled = encoder.plan, encoder.tokenizer.spelled
    first = encoder.query(query)
    ((_, (second,)),) = encoder.documents([document])
    cosines = np.asarray(first.vectors @ second.vectors.T)
    for array in (cosines, first.expanded):
        array.setflags(write=False)
    cut = [name for name, each in (("query", first), ("document", second)) if each.truncated]
    return LateInteraction(
        model=encoder.loaded.name,
        query=query,
        document=document,
        query_tokens=spelled(first.ids.tolist()),
        expanded=first.expanded,
        document_tokens=spelled(second.ids.tolist()),
        skipped=spelled(second.skipped.tolist()),
        cosines=cosines,
        normalized=plan.normalize,
        mean=plan.mean,
        dimensions=int(first.vectors.shape[1]),
        trained=plan.trained,
        notices=(*_notices(encoder), *(f"The {name} was cut to the length that the model reads." for name in cut)),
    )


def interaction_scores(
    encoder: InteractionEncoder, query: str, documents: Sequence[str], progress: Progress | None = None
) -> InteractionScores:
    """Score a query with each document.

    Args:
        encoder: the model.
        query: the query.
        documents: the documents, at least one.
        progress: called as progress(documents done, documents); may raise to cancel.

    Raises:
        BertvizError: a text has no token, or the model cannot be run on it.
    """
    first = encoder.query(query)
    scores, truncated, done = np.zeros(len(documents), dtype=np.float32), 0, 0
    for batch, made in encoder.documents(documents):
        scores[batch] = max_sims(first.vectors, [each.vectors for each in made])
        truncated += sum(each.truncated for each in made)
        done += len(batch)
        if progress is not None:
            progress(done, len(documents))
    if encoder.plan.mean:
        scores /= np.float32(len(first.ids))
    scores.setflags(write=False)
    return InteractionScores(scores, truncated, _notices(encoder))


def max_sims(
    query: Float[np.ndarray, "tokens dimensions"], documents: Sequence[Float[np.ndarray, "_ dimensions"]]
) -> Float[np.ndarray, " documents"]:
    """Sum, over the tokens of a query, of the largest dot product with a token of each document.

    Args:
        query: vectors of the query.
        documents: vectors of each document, at least one token each.
    """
    starts = np.cumsum([0, *map(len, documents[:-1])])
    # By torch: the threads of NumPy's product wait busily for more, and slow down the run of the next documents.
    products = (torch.from_numpy(query) @ torch.from_numpy(np.concatenate(documents)).T).numpy()
    return np.asarray(np.maximum.reduceat(products, starts, axis=1).sum(axis=0))


def _notices(encoder: InteractionEncoder) -> tuple[str, ...]:
    """What to know about the model and its plan."""
    plan = encoder.plan
    prompts = [
        f"The checkpoint puts {quoted(side.prompt, 40)} in front of {name}."
        for name, side in (("a query", plan.query), ("a document", plan.document))
        if side.prompt and not side.marker
    ]
    own = [] if plan.normalize else [DOT_PRODUCT]
    own += [MEAN] if plan.mean else []
    return (*encoder.loaded.notices, plan.reason, *prompts, *own)
