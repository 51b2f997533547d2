"""Score a query with each text of a list by a cross-encoder or an NLI head."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import Named, Progress, TextError
from bertviz_core.models.families import PADDED_TOGETHER
from bertviz_core.models.sources import ModelSource
from bertviz_core.predictions.classes import class_place, output_names, output_scoring, softmax
from bertviz_core.predictions.loading import HeadModel
from bertviz_core.predictions.run import check_task, row_outputs
from bertviz_core.predictions.scoring.activation import PairSettings, activated, pair_settings
from bertviz_core.predictions.scoring.results import ScoreName
from bertviz_core.settings import Settings
from bertviz_core.text import quoted
from bertviz_core.trace.tokenization import TextTokenizer, tokenize

TASK = "sequence-classification"
DEFAULT_CLASS = "entailment"
"""Class that ranks if none is named; the case of its letters does not matter."""


class PairScores(NamedTuple):
    """Scores of a query with each text."""

    label: str
    """The class that ranks; "" for a head with one output."""
    score_name: ScoreName
    """How the logit becomes the score."""
    logits: Float[np.ndarray, " texts"]
    """Logit of the head, or of the class."""
    scores: Float[np.ndarray, " texts"]
    """The scores."""
    truncated: int
    """Number of texts that were cut, with the query."""
    notices: tuple[str, ...]
    """Notices, one sentence each."""


def pair_scores(
    head: HeadModel,
    tokenizer: TextTokenizer,
    source: ModelSource,
    settings: Settings,
    query: str,
    texts: Sequence[str],
    label: str = "",
    progress: Progress | None = None,
) -> PairScores:
    """Score the pairs (query, text), run in batches of equal length.

    A head with one output is a cross-encoder: its score is the activation that its settings name, the sigmoid by
    default, of its logit, as sentence-transformers computes it. Of several classes the score is the probability of one.

    Args:
        head: a model with its head for sequence-classification.
        tokenizer: tokenizer of the model.
        source: location of the model, with its settings.
        settings: settings of this instance.
        query: the query, the first text of every pair.
        texts: the texts, each the second text of a pair.
        label: the class that ranks; "" for "entailment".
        progress: called as progress(texts done, texts); may raise to cancel.

    Raises:
        TextError: the query or a text is too long, or there is no such class.
        UnsupportedModelError: the head is of another task.
        CheckpointError: a file of settings is damaged.
    """
    check_task(head, TASK)
    place, name, notices = ranking_class(head, label)
    read = pair_settings(source, settings) if not name else PairSettings("softmax", None, "", ())
    shorter = _shortened(tokenizer, read.max_seq_length)
    rows = [tokenize(shorter, f"{read.prompt}{query}", text) for text in texts]
    logits = np.zeros(len(rows), dtype=np.float32)
    scores = np.zeros(len(rows), dtype=np.float32)
    scoring, padded = output_scoring(head), head.base.model_type in PADDED_TOGETHER
    score_name: ScoreName = read.score_name if not name else "sigmoid" if scoring == "sigmoid" else "softmax"
    for done, (index, (row,)) in enumerate(row_outputs(head, rows, padded=padded), start=1):
        logits[index] = row[place]
        scores[index] = softmax(row)[place] if score_name == "softmax" else np.nan
        if progress is not None:
            progress(done, len(rows))
    scores = scores if score_name == "softmax" else activated(logits, score_name)
    for array in (logits, scores):
        array.setflags(write=False)
    truncated = sum(any(row.tokens_cut) for row in rows)
    prompted = (f"The checkpoint puts {quoted(read.prompt)} in front of the query.",) if read.prompt else ()
    every = (*head.notices, *tokenizer.notices, *notices, *read.notices, *prompted)
    return PairScores(name, score_name, logits, scores, truncated, every)


def ranking_class(head: HeadModel, label: str = "") -> tuple[int, str, tuple[str, ...]]:
    """Return the index and name of the class that ranks, and notices on the names; the name is "" for one output.

    Raises:
        TextError: there is no such class, or none is named and the head has no entailment.
    """
    count = int(head.model.config.num_labels)
    labels, notices = output_names(head, count)
    if count == 1:
        if label and label != labels[0]:
            class_place(labels, label, head.name)
        return 0, "", ()
    if label:
        return class_place(labels, label, head.name), label, notices
    place = next((index for index, each in enumerate(labels) if each.lower() == DEFAULT_CLASS), None)
    if place is None:
        known = ", ".join(quoted(each, 30) for each in labels[:12]) + (", ..." if len(labels) > 12 else "")
        what = f"{quoted(head.name, 60)} has several classes and none is called {DEFAULT_CLASS}; name one that ranks ("
        raise TextError(what, Named("label"), f"): {known}.")
    return place, labels[place], notices


def _shortened(tokenizer: TextTokenizer, most: int | None) -> TextTokenizer:
    """The tokenizer with the length of the checkpoint's settings, if it has one."""
    return tokenizer.limited(most, f"the checkpoint's max_seq_length is {most or 0:,}")
