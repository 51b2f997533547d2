"""Apply the masked-LM head to the hidden states of every layer (logit lens)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.lazy_imports import torch
from bertviz_core.predictions.loading import HeadModel
from bertviz_core.predictions.masked_lm import best_words, check_masks, check_top, masked_row, ranks
from bertviz_core.predictions.results import LogitLens
from bertviz_core.predictions.run import WordHead
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer

INSIDE_LAYER = re.compile(r"(^|\.)\d+\.")
ROWS_NBYTES = 1024**2
"""Bytes of logits processed at once: each logit is read six times, so they should stay in the cache."""
TRAINED = "The head was trained on the last layer alone; on the others it shows what that layer's state is close to."


def logit_lens(
    head: HeadModel, tokenizer: TextTokenizer, tokens: Tokens, masked: Sequence[int] = (), top: int = 5
) -> LogitLens:
    """Apply the masked-LM head to every hidden state h_l, the embedding output first: p_l = head(h_l).

    The last row is the model's prediction. The whole head is applied: transform, normalisation, decoder, bias. If the
    base normalises the output of its last layer, the states of the other layers are normalised the same way.

    Args:
        head: a model with its masked-LM head.
        tokenizer: tokenizer of the model.
        tokens: the text, with or without masks.
        masked: further positions to mask.
        top: number of words per cell.

    Raises:
        TextError: there are more than MAX_MASKS masks, a position is outside the text, or `top` is below 1.
        UnsupportedModelError: the head is of another task, or reads other states; or there is no mask token.
    """
    word_head = WordHead(head)
    mask, typed = check_masks(tokenizer, tokens, masked)
    count = check_top(top, word_head.vocab_size)
    if not word_head.reads_states:
        raise UnsupportedModelError(
            f"The head of {head.name!r} ({head.base.model_type}) reads more than one layer's states, so it cannot "
            "be applied layer by layer; its predictions can be shown."
        )
    norms = _FinalNorm(head.base.model)
    with norms:
        output = word_head.outputs([masked_row(tokens, masked, mask)], states=True)
    name, norm = norms.of(output["last_hidden_state"])
    states = _states(head, output, len(tokens), norm)
    cells = _Cells(len(states), len(tokens), count)
    for chunk in word_head.chunks(len(tokens)):
        cells.fill(word_head, output, [state[chunk] for state in states], chunk, tokens)
    cells.log_probability[:, typed], cells.rank[:, typed] = np.nan, 0
    at_mask = typed.copy()
    at_mask[list(masked)] = True
    for array in (at_mask, *cells.arrays.values()):
        array.setflags(write=False)
    return LogitLens(
        model=head.name,
        tokens=tokens,
        masked=at_mask,
        final_norm=name,
        notices=(TRAINED, *tokens.notices, *head.notices),
        **cells.arrays,
    )


class _Cells:
    """Arrays of all states and positions, filled in chunks."""

    def __init__(self, states: int, seq: int, top: int) -> None:
        shape = (states, seq)
        self.arrays: dict[str, Any] = {
            "top_ids": np.zeros((*shape, top), dtype=np.int64),
            "top_log_probability": np.zeros((*shape, top), dtype=np.float32),
            "rank": np.zeros(shape, dtype=np.int64),
        }
        self.arrays |= {
            name: np.zeros(shape, dtype=np.float32) for name in ("log_probability", "entropy", "divergence")
        }
        self.log_probability, self.rank = self.arrays["log_probability"], self.arrays["rank"]

    def fill(
        self,
        word_head: WordHead,
        output: Mapping[str, Any],
        states: "Sequence[torch.Tensor]",
        chunk: slice,
        tokens: Tokens,
    ) -> None:
        """Fill one chunk of positions in all states, with at most two distributions in memory."""
        ids = torch.tensor(tokens.input_ids[chunk], device=states[0].device)[:, None]
        last = word_head.logits(output, states[-1])
        last_log = last.log_softmax(dim=-1)
        step = max(1, ROWS_NBYTES // (4 * last.shape[-1]))
        for layer, state in enumerate(states):
            final = layer == len(states) - 1
            logits = last if final else word_head.logits(output, state)
            for start in range(0, len(ids), step):
                rows = slice(start, start + step)
                values = self._values(logits[rows], last_log[rows], ids[rows], final)
                place = slice(chunk.start + start, chunk.start + start + len(ids[rows]))
                for name, value in values.items():
                    self.arrays[name][layer, place] = value.cpu().numpy()

    def _values(
        self, logits: "torch.Tensor", last_log: "torch.Tensor", ids: "torch.Tensor", final: bool
    ) -> "dict[str, torch.Tensor]":
        """Compute the results for rows of logits (rows, vocab); those of the last layer equal the model's exactly."""
        own = logits.gather(1, ids)
        best_logits, best = best_words(logits, self.arrays["top_ids"].shape[-1])
        greatest = best_logits[:, :1]
        below = logits - greatest
        weights = below.exp()
        total = weights.sum(dim=-1)
        entropy = total.log() - (weights * below).sum(dim=-1) / total
        log_total = greatest + total[:, None].log()
        return {
            "top_ids": best,
            "top_log_probability": last_log.gather(1, best) if final else best_logits - log_total,
            "rank": ranks(logits, own[:, 0]),
            "log_probability": (last_log.gather(1, ids) if final else own - log_total)[:, 0],
            "entropy": entropy,
            "divergence": torch.zeros_like(entropy) if final else -entropy - (weights * last_log).sum(dim=-1) / total,
        }


def _states(head: HeadModel, output: Mapping[str, Any], seq: int, norm: Any) -> "list[torch.Tensor]":
    """Return the hidden states (seq, hidden) of the embeddings and every layer, the last as the head reads it."""
    layers, last = list(output.get("hidden_states") or ()), output["last_hidden_state"]
    if not layers or any(state.shape != last.shape for state in layers):
        raise UnsupportedModelError(
            f"{head.name!r} ({head.base.model_type}) does not keep one state of equal width per token in every layer, "
            "so its head cannot be applied layer by layer."
        )
    with torch.inference_mode():
        below = layers[:-1] if norm is None else [norm(state) for state in layers[:-1]]
    return [state[0, :seq] for state in (*below, last)]


class _FinalNorm:
    """Finds, during a run, a normalisation outside the layers whose output is the last hidden state."""

    def __init__(self, base: Any) -> None:
        self._base = base
        self._outputs: list[tuple[str, Any, Any]] = []
        self._handles: list[Any] = []

    def __enter__(self) -> None:
        for name, module in self._base.named_modules():
            if "norm" in type(module).__name__.lower() and not INSIDE_LAYER.search(f"{name}."):
                self._handles.append(module.register_forward_hook(self._hook(name)))

    def __exit__(self, *_: Any) -> None:
        for handle in self._handles:
            handle.remove()

    def _hook(self, name: str) -> Any:
        def note(module: Any, _: Any, output: Any) -> None:
            self._outputs.append((name, module, output))

        return note

    def of(self, last: "torch.Tensor") -> tuple[str, Any]:
        """Return name and module whose output is the last state; ("", None) if there is none."""
        for name, module, output in self._outputs:
            if output is last and not name.startswith("embeddings"):
                return name, module
        return "", None
