"""Compute the sparse term weights of a SPLADE head, and the score of a pair as a sum over shared words.

Formal, Piwowarski and Clinchant 2021; weights by the maximum over the tokens, see Formal et al. 2021 (v2).
"""

import numpy as np

from bertviz_core.lazy_imports import torch
from bertviz_core.predictions.loading import HeadModel
from bertviz_core.predictions.results import TermLedger, TermWeights
from bertviz_core.predictions.run import WordHead
from bertviz_core.trace.results import Tokens


def term_weights(head: HeadModel, tokens: Tokens) -> TermWeights:
    """Compute w_v = max over the tokens i of log(1 + ReLU(logit_iv)) for every word v with a weight above 0.

    Special tokens are included. Every weight comes from exactly one token.

    Raises:
        UnsupportedModelError: the head is of another task.
    """
    word_head = WordHead(head)
    output = word_head.outputs([tokens])
    states = word_head.states(output)[0]
    greatest: torch.Tensor | None = None
    places: torch.Tensor | None = None
    for chunk in word_head.chunks(len(tokens)):
        values, rows = word_head.logits(output, states[chunk]).max(dim=0)
        rows = rows + chunk.start
        if greatest is None or places is None:
            greatest, places = values, rows
        else:
            later = values > greatest
            greatest, places = torch.where(later, values, greatest), torch.where(later, rows, places)
    weights = np.zeros(0, np.float32) if greatest is None else greatest.relu().log1p().cpu().numpy()
    order = np.argsort(-weights, kind="stable")[: int((weights > 0).sum())]
    positions = np.zeros(0, np.int64) if places is None else places.cpu().numpy()
    arrays = (order, weights[order], positions[order])
    for array in arrays:
        array.setflags(write=False)
    return TermWeights(head.name, tokens, *arrays, notices=(*tokens.notices, *head.notices))


def term_ledger(first: TermWeights, second: TermWeights) -> TermLedger:
    """Decompose the score of two texts by words: sum over the words v of w_v(first) w_v(second).

    Law: the shares sum to the score, and each belongs to one token of either text.
    """
    ids, at_first, at_second = np.intersect1d(first.ids, second.ids, assume_unique=True, return_indices=True)
    shares = first.weights[at_first] * second.weights[at_second]
    order = np.argsort(-shares, kind="stable")
    arrays = (
        ids[order],
        first.positions[at_first][order],
        second.positions[at_second][order],
        shares[order],
    )
    for array in arrays:
        array.setflags(write=False)
    return TermLedger(float(shares.astype(np.float64).sum()), *arrays)
