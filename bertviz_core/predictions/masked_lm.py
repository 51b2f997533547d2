"""Words of a masked-LM head, and after every layer."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.lazy_imports import torch
from bertviz_core.predictions.results import ComparedWord, LogitLens, WordPrediction, WordShift
from bertviz_core.predictions.run import HeadModel, WordHead
from bertviz_core.text import counted, escape_controls, quoted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer
from bertviz_core.trace.two_tokenizers import unchanged_positions
from bertviz_core.trace.words_in_context import piece_ids

MAX_MASKS = 32
"""Maximum number of masks in a text: with more, the context says nothing about them."""
BLOCK = 64
"""Words of the vocabulary whose greatest logit is found before they are sorted."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskedRow:
    """A text with some tokens masked or removed, for bertviz_core.trace.verification.model_inputs."""

    input_ids: Int[np.ndarray, " seq"]
    token_type_ids: Int[np.ndarray, " seq"] | None
    other_inputs: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.input_ids)


def mask_id(tokenizer: TextTokenizer, instead: str = "add it with tokenizer.add_special_tokens") -> int:
    """Return the id of the mask token.

    Args:
        instead: advice in the message if there is none, besides using another model.
    """
    token_id = tokenizer.tokenizer.mask_token_id
    if token_id is None:
        raise UnsupportedModelError(
            f"The tokenizer of {tokenizer.name!r} has no mask token to put in a word's place; {instead}, or take a "
            "model that has one."
        )
    return int(token_id)


def masked_row(tokens: Tokens, positions: Iterable[int], mask: int) -> MaskedRow:
    """Return the text with some positions masked."""
    ids = np.array(tokens.input_ids)
    ids[list(positions)] = mask
    return MaskedRow(ids, tokens.token_type_ids, tokens.other_inputs)


def check_masks(tokenizer: TextTokenizer, tokens: Tokens, masked: Sequence[int]) -> tuple[int, Any]:
    """Return the id of the mask token, and a boolean array of the positions that are masked in the text itself."""
    mask = mask_id(tokenizer)
    wrong = [position for position in masked if not 0 <= position < len(tokens)]
    if wrong:
        raise TextError(f"There is no token {wrong[0]} to mask; the text has tokens 0 to {len(tokens) - 1}.")
    typed = np.asarray(tokens.input_ids) == mask
    count = len({*np.flatnonzero(typed).tolist(), *masked})
    if count > MAX_MASKS:
        raise TextError(f"The text has {count:,} masks; at most {MAX_MASKS} are read at once. Take some away.")
    return mask, typed


def predicted_words(
    head: HeadModel, tokenizer: TextTokenizer, tokens: Tokens, masked: Sequence[int] = (), top: int = 10
) -> WordPrediction:
    """Predict the best words at every position, and score the original token there."""
    check_top(top, WordHead(head).vocab_size)
    return words_of(head, read_masked(head, tokenizer, tokens, masked), top)


@dataclass(frozen=True, slots=True, eq=False)
class MaskedReading:
    """The output of the base model for a masked text, before the head is applied."""

    tokens: Tokens
    masked: tuple[int, ...]
    """Masked positions besides those masked in the text itself."""
    typed: Any
    """(seq,) whether the text itself has a mask at each position."""
    output: Mapping[str, Any]
    """Output of the base model."""


def read_masked(head: HeadModel, tokenizer: TextTokenizer, tokens: Tokens, masked: Sequence[int] = ()) -> MaskedReading:
    """Run the base model on a text with some tokens masked; arguments and errors are those of `predicted_words`."""
    mask, typed = check_masks(tokenizer, tokens, masked)
    output = WordHead(head).outputs([masked_row(tokens, masked, mask)])
    return MaskedReading(tokens, tuple(masked), typed, output)


def words_of(
    head: HeadModel, reading: MaskedReading, top: int = 10, positions: Sequence[int] | None = None
) -> WordPrediction:
    """Predict the words at all or some positions of a run; other positions contain NaN, rank 0 and words -1."""
    word_head, tokens, typed = WordHead(head), reading.tokens, reading.typed
    count = check_top(top, word_head.vocab_size)
    states = word_head.states(reading.output)[0]
    places = np.arange(len(tokens)) if positions is None else np.array(positions)
    parts = []
    for chunk in word_head.chunks(len(places)):
        logits = word_head.logits(reading.output, states[torch.as_tensor(places[chunk], device=states.device)])
        ids = torch.tensor(tokens.input_ids[places[chunk]], device=logits.device)
        parts.append(_of_chunk(logits, ids, count))
    top_ids, top_log_probability, top_logits, own, rank = (
        _placed(np.concatenate([part[index].cpu().numpy() for part in parts]), places, len(tokens), empty)
        for index, empty in enumerate((-1, np.nan, np.nan, np.nan, 0))
    )
    own[typed], rank[typed] = np.nan, 0
    at_mask = typed.copy()
    at_mask[list(reading.masked)] = True
    return WordPrediction(
        model=head.name,
        tokens=tokens,
        masked=at_mask,
        typed=typed,
        log_probability=own,
        rank=rank,
        top_ids=top_ids,
        top_log_probability=top_log_probability,
        top_logits=top_logits,
        notices=(*tokens.notices, *head.notices),
    )


def word_shift(
    head: HeadModel, tokenizer: TextTokenizer, tokens: Tokens, edited: Tokens, position: int, top: int = 8
) -> WordShift:
    """Compare the words at a masked position of a text with those at the same token of its edited version.

    Args:
        position: position of a token that the edit did not remove.
    """
    unchanged = unchanged_positions(tokens, edited)
    if position not in unchanged:
        raise TextError(f"The edit changed token {position}; choose one that is in both texts.")
    logs = [
        _log_probabilities(head, tokenizer, text, place)
        for text, place in ((tokens, position), (edited, unchanged[position]))
    ]
    count = check_top(top, len(logs[0]))
    listed = np.unique(np.concatenate([np.argsort(-each, kind="stable")[:count] for each in logs]))
    before, after = (np.exp(each[listed]).astype(np.float32) for each in logs)
    order = np.argsort(-np.abs(after - before), kind="stable")
    possible = np.exp(logs[0]) > 0
    return WordShift(
        position=position,
        edited_position=unchanged[position],
        words=tokenizer.spelled(listed[order].tolist()),
        before=before[order],
        after=after[order],
        divergence=max(0.0, float((np.exp(logs[0]) * (logs[0] - logs[1]))[possible].sum())),
        notices=(*dict.fromkeys((*tokens.notices, *edited.notices)), *head.notices),
    )


def shift_position(tokenizer: TextTokenizer, tokens: Tokens, edited: Tokens) -> int:
    """Return the default token to compare: a mask in the text, else the longest token that the edit did not change."""
    unchanged = unchanged_positions(tokens, edited)
    mask = tokenizer.tokenizer.mask_token_id
    typed = [place for place in unchanged if tokens.input_ids[place] == mask]
    own = [place for place in unchanged if not tokens.special[place]]
    return typed[0] if typed else max(own, key=lambda place: len(tokens.tokens[place]), default=0)


def _log_probabilities(head: HeadModel, tokenizer: TextTokenizer, tokens: Tokens, position: int) -> np.ndarray:
    """Return the log-probability of every word at a masked position, in nats, float64."""
    word_head = WordHead(head)
    mask, _ = check_masks(tokenizer, tokens, [position])
    output = word_head.outputs([masked_row(tokens, [position], mask)])
    logits = word_head.logits(output, word_head.states(output)[0][position : position + 1])
    logs: np.ndarray = logits[0].cpu().double().log_softmax(dim=-1).numpy()
    return logs


def check_top(top: int, most: int) -> int:
    """Return the number of words to list, at most the size of the vocabulary."""
    if top < 1:
        raise TextError(f"{top:,} words were requested; give a whole number from 1.")
    return min(top, most)


def best_words(logits: "torch.Tensor", top: int) -> "tuple[torch.Tensor, torch.Tensor]":
    """Return the `top` greatest logits of every row of (positions, vocab), in descending order, and their ids.

    The greatest are in the blocks with the greatest maxima, so a row is read once for these, and a few blocks are
    sorted: for 30,522 words a fifth of the time of torch.topk over the whole row.
    """
    blocks = logits.shape[1] // BLOCK
    if blocks <= top:
        return torch.topk(logits, top, dim=-1)
    whole = logits[:, : blocks * BLOCK].reshape(-1, blocks, BLOCK)
    best_blocks = whole.amax(dim=-1).topk(top, dim=-1).indices[:, :, None]
    ids = (best_blocks * BLOCK + torch.arange(BLOCK, device=logits.device)).flatten(1)
    rest = torch.arange(blocks * BLOCK, logits.shape[1], device=logits.device).expand(len(logits), -1)
    ids = torch.cat([ids, rest], dim=1)
    values, places = logits.gather(1, ids).topk(top, dim=-1)
    return values, ids.gather(1, places)


def ranks(logits: "torch.Tensor", own: "torch.Tensor") -> "torch.Tensor":
    """Compute 1 + the number of logits (positions, vocab) greater than the one of the original token (positions,)."""
    # Floats are summed ten times as fast as booleans, and exactly up to 16.7 million words.
    greater = torch.gt(logits, own[:, None], out=torch.empty_like(logits))
    return greater.sum(dim=-1).long() + 1


def _of_chunk(logits: "torch.Tensor", ids: "torch.Tensor", top: int) -> "tuple[torch.Tensor, ...]":
    """Return the best words with log-probability and logit, and log-probability and rank of the original."""
    log_probability = logits.log_softmax(dim=-1)
    best_logits, best = best_words(logits, top)
    rows = ids[:, None]
    return (
        best,
        log_probability.gather(1, best),
        best_logits,
        log_probability.gather(1, rows)[:, 0],
        ranks(logits, logits.gather(1, rows)[:, 0]),
    )


def _placed(values: Any, places: np.ndarray, length: int, empty: float) -> Any:
    array = np.full((length, *values.shape[1:]), empty, dtype=values.dtype)
    array[places] = values
    return array


def compared_word(
    head: HeadModel, tokenizer: TextTokenizer, tokens: Tokens, position: int, word: str, masked: Sequence[int] = ()
) -> ComparedWord:
    """Score a word at a masked position.

    A word of several pieces gets as many masks, and the log-probabilities of its pieces are summed. Each piece is
    predicted with the others masked, so the sum is comparable between words with the same number of pieces.
    """
    word_head = WordHead(head)
    mask, _ = check_masks(tokenizer, tokens, [*masked, position])
    ids = piece_ids(tokenizer, tokens, position, word)
    if len(ids) + len(masked) > MAX_MASKS:
        raise TextError(f"{_shown(word)} has {len(ids):,} pieces; at most {MAX_MASKS} masks are read at once.")
    row = _widened(masked_row(tokens, [*masked, position], mask), position, len(ids))
    limit = tokenizer.limit.tokens
    if limit is not None and len(row) > limit:
        raise TextError(f"With {_shown(word)} the text has {len(row):,} tokens; the model reads {limit:,}. Shorten it.")
    output = word_head.outputs([row])
    logits = word_head.logits(output, word_head.states(output)[0][position : position + len(ids)])
    pieces = torch.as_tensor(ids, device=logits.device)[:, None]
    parts = logits.log_softmax(dim=-1).gather(1, pieces)[:, 0].tolist()
    rank = int(ranks(logits, logits.gather(1, pieces)[:, 0])[0]) if len(ids) == 1 else None
    note = "One piece of the vocabulary: its probability at the mask."
    if len(ids) > 1:
        note = (
            f"{counted(len(ids), 'piece')} at as many masks: the sum of their log-probabilities, each with the others "
            "masked. Compare it with words of as many pieces only."
        )
    return ComparedWord(word, tokenizer.spelled(ids), math.fsum(parts), rank, note)


def _widened(row: MaskedRow, position: int, count: int) -> MaskedRow:

    def repeated(values: Any) -> Any:
        return np.concatenate([values[:position], np.repeat(values[position], count), values[position + 1 :]])

    types = None if row.token_type_ids is None else repeated(row.token_type_ids)
    return MaskedRow(
        repeated(row.input_ids), types, {name: repeated(values) for name, values in row.other_inputs.items()}
    )


def _shown(word: str) -> str:
    return quoted(escape_controls(word), 40)


INSIDE_LAYER = re.compile(r"(^|\.)\d+\.")
ROWS_NBYTES = 1024**2
"""Bytes of logits processed at once: each logit is read six times, so they should stay in the cache."""
TRAINED = "The task head was trained on the last layer alone; on others it shows what that layer's state is close to."


def logit_lens(
    head: HeadModel, tokenizer: TextTokenizer, tokens: Tokens, masked: Sequence[int] = (), top: int = 5
) -> LogitLens:
    """Apply the masked-LM head to every hidden state h_l, the embedding output first: p_l = head(h_l).

    The last row is the model's prediction. The whole head is applied: transform, normalisation, decoder, bias. If the
    base normalises the output of its last layer, the states of the other layers are normalised the same way.
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
        # In place: a chunk of several megabytes more is memory that the system has to give anew each time.
        entropy = total.log() - below.mul_(weights).sum(dim=-1) / total
        log_total = greatest + total[:, None].log()
        return {
            "top_ids": best,
            "top_log_probability": last_log.gather(1, best) if final else best_logits - log_total,
            "rank": ranks(logits, own[:, 0]),
            "log_probability": (last_log.gather(1, ids) if final else own - log_total)[:, 0],
            "entropy": entropy,
            "divergence": torch.zeros_like(entropy) if final else -entropy - weights.mul_(last_log).sum(dim=-1) / total,
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
