"""Split a text into removable words, and evaluate a target on the text without some of them.

Words are removed as token ids; nothing is decoded and tokenized again, so the other tokens stay the same.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

from bertviz_core.attribution.results import Replacement
from bertviz_core.errors import Progress, TextError
from bertviz_core.interventions.targets.parsing import parse_target
from bertviz_core.interventions.targets.target import Target
from bertviz_core.lazy_imports import torch
from bertviz_core.predictions.masked_lm import MaskedRow, mask_id, masked_row
from bertviz_core.predictions.run import one_length_groups
from bertviz_core.trace.inputs import ModelRow
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import TextTokenizer
from bertviz_core.trace.verification import check_recording
from bertviz_core.trace.word_alignment import Word, words

INSTEAD: dict[Replacement, str] = {"mask": "the mask token", "drop": "no token"}
"""Replacement of a removed token, in words."""


def text_units(tokens: Tokens, whole_words: bool) -> tuple[Word, ...]:
    """Return the words, or tokens, of a text without special tokens.

    Raises:
        TextError: the text has none.
    """
    found = [word for word in words(tokens) if not tokens.special[list(word.positions)].any()]
    if not whole_words:
        found = [word._replace(positions=(place,), text="") for word in found for place in word.positions]
    if not found:
        raise TextError("The text has no word of its own that could be taken away; write one.")
    return tuple(found)


def unit_names(tokens: Tokens, units: Iterable[Word]) -> tuple[str, ...]:
    """Return the spelling of each unit in the text, or in the vocabulary."""
    return tuple(word.text or " ".join(tokens.tokens[place] for place in word.positions) for word in units)


class Remover:
    """Builds rows of a text without some of its tokens."""

    def __init__(self, target: Target, tokenizer: TextTokenizer, replacement: Replacement) -> None:
        """Prepare the removal of words.

        Args:
            target: the number that is looked at; it knows the text.
            tokenizer: tokenizer of the model.
            replacement: how a removed word is replaced.

        Raises:
            UnsupportedModelError: the tokenizer has no mask.
            TextError: tokens would be dropped, and the position of the target would move.
        """
        self._tokens, self._replacement = target.tokens, replacement
        self._mask = reference_id(tokenizer) if replacement == "mask" else 0
        if replacement == "drop" and parse_target(target.name, has_pair=True).places:
            way = "replace words by the mask instead" if has_mask(tokenizer) else "take a target of the whole text"
            raise TextError(
                f"The {target.title} is read at a place of the text, which moves when tokens are dropped; {way}."
            )

    def without(self, positions: Iterable[int]) -> ModelRow:
        """Return the text without the tokens at some positions."""
        tokens, removed = self._tokens, sorted(set(positions))
        if self._replacement == "mask":
            return masked_row(tokens, removed, self._mask)
        types = tokens.token_type_ids
        return MaskedRow(
            np.delete(tokens.input_ids, removed),
            None if types is None else np.delete(types, removed),
            {name: np.delete(values, removed) for name, values in tokens.other_inputs.items()},
        )


def has_mask(tokenizer: TextTokenizer) -> bool:
    """Return whether the tokenizer has a mask token, which can replace a word."""
    return tokenizer.tokenizer.mask_token_id is not None


def reference_id(tokenizer: TextTokenizer) -> int:
    """Return the id of the mask token, the reference for a missing word.

    Raises:
        UnsupportedModelError: the tokenizer has none.
    """
    return mask_id(tokenizer, "measure with the words dropped")


def row_values(
    target: Target, rows: Sequence[ModelRow], progress: Progress | None = None
) -> Float[np.ndarray, "rows ..."]:
    """Compute the target of each row, one or several numbers; rows of equal length share a run if the family allows it.

    Args:
        target: the target.
        rows: texts as token ids.
        progress: called as progress(rows done, rows) after every batch; may raise to cancel.

    Raises:
        TextError: a row has no token, or a number is not finite.
        BertvizError: the target cannot be computed.
    """
    if not all(len(row) for row in rows):
        raise TextError("Without that word no token is left to run; write more words, or replace them by the mask.")
    values, done = np.empty(0), 0
    for group in one_length_groups(target.loaded, [len(row) for row in rows]):
        batch = [rows[index] for index in group]
        with RUN_LOCK, torch.inference_mode():
            check_recording(target.loaded)
            found = target.values(target.inputs(batch), [len(row) for row in batch])
        if not done:
            values = np.empty((len(rows), *found.shape[1:]), dtype=np.float64)
        values[group] = found.double().cpu().numpy()
        done += len(group)
        if progress is not None:
            progress(done, len(rows))
    if not np.isfinite(values).all():
        raise TextError(f"The {target.title} is no finite number for this text, so no change of it can be measured.")
    return values
