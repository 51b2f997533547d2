"""Compute the sparse term weights of a SPLADE head, and the score of a pair as a sum over shared words.

Formal, Piwowarski and Clinchant 2021; weights by the maximum over the tokens, see Formal et al. 2021 (v2).
"""

from collections.abc import Iterator

import numpy as np

from bertviz_core.isolation.regular_files import present
from bertviz_core.lazy_imports import torch
from bertviz_core.models.local_files import modules_folder, weights_folder
from bertviz_core.models.safetensors.folder import read_json
from bertviz_core.models.sentence_folder import class_end, listed_modules
from bertviz_core.models.sources import ModelSource
from bertviz_core.predictions.loading import HeadModel
from bertviz_core.predictions.results import TermLedger, TermWeights
from bertviz_core.predictions.run import WordHead
from bertviz_core.sentences.plan import sentence_config
from bertviz_core.settings import Settings
from bertviz_core.text import counted, quoted
from bertviz_core.trace.results import Tokens

SPARSE_POOLING = "SpladePooling"
"""End of the name of the class of sentence-transformers that makes weights of logits."""


def term_weights(head: HeadModel, tokens: Tokens, notices: tuple[str, ...] = ()) -> TermWeights:
    """Compute w_v = max over the tokens i of log(1 + ReLU(logit_iv)) for every word v with a weight above 0.

    Special tokens are included. Every weight comes from exactly one token.

    Args:
        head: the model.
        tokens: the text.
        notices: what the checkpoint does otherwise.

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
    return TermWeights(head.name, tokens, *arrays, notices=(*tokens.notices, *head.notices, *notices))


def sparse_notices(source: ModelSource, settings: Settings, tokens: Tokens) -> tuple[str, ...]:
    """What a folder of a sparse encoder says of its weights and is not followed, one sentence each.

    Raises:
        CheckpointError: a file of the folder is damaged.
    """
    folder = modules_folder(source, settings)
    places = [place for name, place in listed_modules(folder) or () if class_end(name) == SPARSE_POOLING]
    if not places:
        return ()
    name = f"{places[0]}/config.json"
    pooling = read_json(folder, name) if present(folder, name) else {}
    config = sentence_config(folder, weights_folder(source, settings))

    def differences() -> Iterator[str]:
        if (strategy := pooling.get("pooling_strategy", "max")) != "max":
            yield f"pools the weights of all tokens by {quoted(str(strategy), 40)}, and here the greatest counts"
        if (activation := pooling.get("activation_function", "relu")) != "relu":
            yield f"makes weights by {quoted(str(activation), 40)}, and here they are log(1 + ReLU)"
        if config.prompt:
            yield f"puts {quoted(config.prompt)} in front of a text, and here it is read alone"
        if config.lower_case:
            yield "lowercases its texts, which is not done here"
        if config.max_seq_length is not None and config.max_seq_length < len(tokens):
            yield f"reads at most {counted(config.max_seq_length, 'token')} of a text, and here it is read whole"

    return tuple(f"The checkpoint {each}; its weights differ." for each in differences())


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
