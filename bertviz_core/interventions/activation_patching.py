"""Patch activations of one run into the run of another text of the same length.

The effect is (patched - corrupt) / (clean - corrupt): Vig et al. 2020 (causal mediation), Meng et al. 2022 (tracing).
"""

from time import perf_counter
from typing import Any

import numpy as np

from bertviz_core.errors import NoDifferenceError, Progress, TextError
from bertviz_core.interventions.hooks import Intervention
from bertviz_core.interventions.results import ActivationPatching
from bertviz_core.interventions.runs import InterventionRuns
from bertviz_core.lazy_imports import torch
from bertviz_core.text import counted, decimals
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK

LEAST_DIFFERENCE = 1e-4
"""Smallest usable difference of the two targets; smaller ones are indistinguishable from rounding."""


class Donor(Intervention):
    """Records the hidden states and heads' outputs of a run, to be copied into another."""

    def __init__(self) -> None:
        """Start without recordings."""
        self.states: dict[int, torch.Tensor] = {}
        self.outputs: dict[int, torch.Tensor] = {}

    def state(self, layer: int, state: "torch.Tensor") -> "torch.Tensor":
        """Record the input of a layer."""
        self.states[layer] = state
        return state

    def heads(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        """Record the output of the heads."""
        self.outputs[layer] = output
        return output


class Patched(Intervention):
    """A run with parts copied from a donor run; one row per choice of parts."""

    def __init__(
        self,
        donor: Donor,
        states: "dict[int, torch.Tensor] | None" = None,
        heads: "dict[int, torch.Tensor] | None" = None,
        shared_from: int | None = None,
    ) -> None:
        """Select the parts to copy.

        Args:
            donor: the run to copy from.
            states: layer -> (rows, seq), whether to copy its input state at each position.
            heads: layer -> (rows, heads), whether to copy the output of a head at all positions.
            shared_from: layer up to which all rows share one; None for separate rows from the start.
        """
        self._donor, self._states, self._heads = donor, states or {}, heads or {}
        self._shared_from = shared_from

    def state(self, layer: int, state: "torch.Tensor") -> "torch.Tensor":
        """Return the state with some positions copied."""
        copied = self._states.get(layer)
        if layer == self._shared_from:
            rows = copied if copied is not None else self._heads[layer]
            state = state.expand(len(rows), *state.shape[1:])
        return state if copied is None else torch.where(copied[:, :, None], self._donor.states[layer], state)

    def heads(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        """Return the outputs of the heads, some of them copied."""
        copied = self._heads.get(layer)
        return output if copied is None else torch.where(copied[:, None, :, None], self._donor.outputs[layer], output)


def patches(runs: InterventionRuns, corrupt: Tokens, progress: Progress | None = None) -> ActivationPatching:
    """Patch every hidden state and every head of the clean text into the corrupt one; return normalised effects.

    Args:
        runs: the target on the clean text.
        corrupt: the other text, from the same tokenizer.
        progress: called as progress(layers done, layers); may raise to cancel.

    Raises:
        TextError: the texts differ in their number of tokens.
        NoDifferenceError: the target is the same for both.
    """
    started, clean_tokens = perf_counter(), runs.target.tokens
    _check_lengths(clean_tokens, corrupt)
    donor = Donor()
    with RUN_LOCK, torch.inference_mode():
        clean = float(runs.run(donor, clean_tokens, 1)[0])
        other = float(runs.run(Intervention(), corrupt, 1)[0])
    if abs(clean - other) < LEAST_DIFFERENCE:
        raise NoDifferenceError(
            f"The {runs.target.title} is {decimals(clean)} for the one text and {decimals(other)} for the other: there "
            "is no difference that a patch could bring back. Take texts that the target tells apart."
        )
    rows = _LayerPatches(runs, donor, corrupt, clean, other)
    states, heads = [], np.full((runs.layers, max(runs.head_counts)), np.nan, dtype=np.float32)
    for layer, count in enumerate(runs.head_counts):
        heads[layer, :count] = rows.effects(layer, count, "heads")
        if donor.states:
            states.append(rows.effects(layer, len(corrupt), "states"))
        if progress is not None:
            progress(layer + 1, runs.layers)
    return ActivationPatching(
        model=runs.target.loaded.name,
        title=runs.target.title,
        unit=runs.target.unit,
        tokens=clean_tokens,
        corrupt_tokens=corrupt,
        clean=clean,
        corrupt=other,
        states=np.stack(states) if states else None,
        heads=heads,
        seconds=perf_counter() - started,
        notices=tuple(dict.fromkeys((*runs.target.notices, *corrupt.notices))),
    )


def _check_lengths(clean: Tokens, corrupt: Tokens) -> None:
    if len(clean) != len(corrupt):
        raise TextError(
            f"The texts have {counted(len(clean), 'token')} and {counted(len(corrupt), 'token')}. Both texts must have "
            "the same number of tokens: replace words by words of as many tokens."
        )


class _LayerPatches:
    """Rows of patches of one layer, in batches that fit in memory."""

    def __init__(self, runs: InterventionRuns, donor: Donor, corrupt: Tokens, clean: float, other: float) -> None:
        self.runs, self.donor, self.corrupt = runs, donor, corrupt
        self.other, self.difference = other, clean - other

    def effects(self, layer: int, count: int, kind: str) -> Any:
        """Return the normalised effect of copying each place of a layer alone."""
        step = max(1, self.runs.max_nbytes // self.runs.row_nbytes)
        chosen = torch.eye(count, dtype=torch.bool, device=self.runs.target.loaded.device)
        values = []
        for start in range(0, count, step):
            rows = chosen[start : start + step]
            width = self.donor.states[layer].shape[1] if kind == "states" else count
            whole = torch.nn.functional.pad(rows, (0, width - count))
            shared = layer if self.runs.shares else None
            patched = Patched(self.donor, **{kind: {layer: whole}}, shared_from=shared)
            with RUN_LOCK, torch.inference_mode():
                values.append(self.runs.run(patched, self.corrupt, 1 if self.runs.shares else len(rows)).cpu().numpy())
        return ((np.concatenate(values) - self.other) / self.difference).astype(np.float32)
