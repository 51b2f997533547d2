"""Compute the pseudo-log-likelihood of a text: each token is masked in turn and predicted."""

from typing import Any

import numpy as np

from bertviz_core.errors import Progress, TextError
from bertviz_core.lazy_imports import torch
from bertviz_core.predictions.loading import HeadModel
from bertviz_core.predictions.masked_lm import mask_id, masked_row
from bertviz_core.predictions.results import PseudoLikelihood
from bertviz_core.predictions.run import CHUNK_NBYTES, WordHead, groups
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer


def pseudo_likelihood(
    head: HeadModel, tokenizer: TextTokenizer, tokens: Tokens, progress: Progress | None = None
) -> PseudoLikelihood:
    """Compute the surprise -log p(token | all others) of every token that is not special (Salazar et al. 2020).

    Rows run in batches within a memory budget; the results equal those of single rows.

    Args:
        head: a model with its masked-LM head.
        tokenizer: tokenizer of the model.
        tokens: the text.
        progress: called as progress(tokens done, tokens); may raise to cancel.

    Raises:
        TextError: the text has no token of its own, or contains a mask, whose original word is unknown.
        UnsupportedModelError: the head is of another task, or the tokenizer has no mask.
    """
    word_head = WordHead(head)
    mask = mask_id(tokenizer)
    if (np.asarray(tokens.input_ids) == mask).any():
        raise TextError("The text has a mask: its word is not known, so neither is its surprise. Write the word.")
    positions = np.flatnonzero(~np.asarray(tokens.special)).tolist()
    if not positions:
        raise TextError("The text has no token of its own whose surprise could be computed; write a word.")
    surprise = np.full(len(tokens), np.nan, dtype=np.float32)
    done = 0
    for batch in _batches(head, word_head, len(tokens), positions):
        output = word_head.outputs([masked_row(tokens, [position], mask) for position in batch])
        rows = torch.arange(len(batch))
        states = word_head.states(output)[rows, torch.as_tensor(batch)]
        for chunk in word_head.chunks(len(batch)):
            logits = word_head.logits(output, states[chunk])
            ids = torch.tensor(tokens.input_ids[batch[chunk]], device=logits.device)[:, None]
            surprise[batch[chunk]] = -logits.log_softmax(dim=-1).gather(1, ids)[:, 0].cpu().numpy()
        done += len(batch)
        if progress is not None:
            progress(done, len(positions))
    surprise.setflags(write=False)
    return PseudoLikelihood(head.name, tokens, surprise, (*tokens.notices, *head.notices))


def _batches(head: HeadModel, word_head: WordHead, seq: int, positions: list[int]) -> Any:
    """Group the positions into batches."""
    most = len(positions)
    if not word_head.reads_states:  # the whole model computes the logits of every position
        most = max(1, CHUNK_NBYTES // (4 * seq * word_head.vocab_size))
    for group in groups(head, [seq] * len(positions)):
        for start in range(0, len(group), most):
            yield [positions[index] for index in group[start : start + most]]
