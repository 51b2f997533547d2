"""Runs with changed parts, and patched activations."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import Any

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import BertvizError, NoDifferenceError, Progress, TextError, UnsupportedModelError, no_progress
from bertviz_core.interventions.hooks import (
    Gated,
    GateRows,
    Intervention,
    Parts,
    intervening,
    joined,
    model_parts,
    open_gates,
)
from bertviz_core.interventions.results import ActivationPatching, MeanActivations
from bertviz_core.interventions.targets import Target
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.settings import MAX_BATCH_BYTES
from bertviz_core.text import counted, decimals
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.verification import ModelRow, check_recording

SAME = 1e-5
"""Largest relative difference of the target allowed between a run that starts as one row and one with all rows."""
NUMBER_NBYTES = 4
WIDTHS = 8
"""Hidden states per row in memory at once in a layer: input, query, key, value, output."""


class _Heads(Intervention):
    """Records the number of heads of each layer."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    def heads(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        self.counts[layer] = output.shape[2]
        return output


class InterventionRuns:
    """A target prepared for gated runs: its clean value, and the parts that can be ablated."""

    def __init__(self, target: Target, max_nbytes: int = MAX_BATCH_BYTES) -> None:
        """Run the unchanged text."""
        self.target, self.max_nbytes = target, max_nbytes
        self.layers = target.loaded.num_hidden_layers
        with RUN_LOCK:
            check_recording(target.loaded)
            self.parts = parts_inside(target)
            noted = _Heads()
            with torch.inference_mode():
                self.clean = float(self.run(noted, target.tokens, 1)[0])
        if not np.isfinite(self.clean):
            raise TextError(
                f"The {target.title} is no finite number for this text, so no change of it can be measured."
            )
        if set(noted.counts) != set(range(self.layers)):
            raise UnsupportedModelError(
                f"The heads of {family(target.loaded.model_type).title} cannot be reached in every layer here; choose "
                "another model."
            )
        self.head_counts = tuple(noted.counts[layer] for layer in range(self.layers))
        self.shares = self._can_share()

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """(layer, head) of every head."""
        return tuple((layer, head) for layer, count in enumerate(self.head_counts) for head in range(count))

    def gates(self, rows: int) -> GateRows:
        """Return rows of open gates, which change nothing."""
        return open_gates(rows, self.layers, max(self.head_counts), self.target.loaded.device)

    def effects(
        self,
        gates: GateRows,
        means: MeanActivations | None = None,
        against: GateRows | None = None,
        progress: Progress = no_progress,
    ) -> Float[np.ndarray, " rows"]:
        """Return the target under each row of gates minus that of an unchanged row in the same batch.

        Args:
            against: the row to compare with; None for the unchanged run.
        """
        effects = np.empty(len(gates), dtype=np.float32)
        step = max(1, self.max_nbytes // self.row_nbytes - 1)
        for start in range(0, len(gates), step):
            whole = joined(self.gates(1) if against is None else against, gates.part(slice(start, start + step)))
            with RUN_LOCK, torch.inference_mode():
                values = self.gated(whole, means).double().cpu().numpy()
            effects[start : start + step] = values[1:] - values[0]
            progress(min(start + step, len(gates)), len(gates))
        return effects

    def gated(self, gates: GateRows, means: MeanActivations | None = None) -> "torch.Tensor":
        """Compute the target under each row of gates; the caller holds RUN_LOCK."""
        first = gates.first_layer
        if self.shares and first < self.layers:
            return self.run(Gated(gates, means, first), self.target.tokens, 1)
        return self.run(Gated(gates, means), self.target.tokens, len(gates))

    def run(self, intervention: Intervention, row: ModelRow, rows: int) -> "torch.Tensor":
        """Compute the target of a text under an intervention, for `rows` copies of it; the caller holds RUN_LOCK."""
        inputs = self.target.inputs((row,) * rows)
        with intervening(self.target.model, self.parts, self.layers, intervention):
            return self.target.values(inputs, [len(row)])

    @contextmanager
    def removed(self, gates: GateRows, means: MeanActivations | None = None) -> Iterator[None]:
        """Apply one row of gates to every run of this thread inside the block, whatever its text."""
        with intervening(self.target.model, self.parts, self.layers, Gated(gates, means)):
            yield

    @property
    def row_nbytes(self) -> int:
        """Approximate bytes of one row while a batch runs."""
        seq = len(self.target.tokens)
        maps = 2 * seq * seq * max(self.head_counts) if self.parts.projections else 0
        return states_nbytes(self.target.loaded, seq) + NUMBER_NBYTES * maps

    def _can_share(self) -> bool:
        """Test with rows of ones whether a batch that starts as one row gives the same result as one with all rows."""
        if not self.parts.layers or not self.target.last_state:
            return False
        with suppress(BertvizError), RUN_LOCK, torch.inference_mode():
            values = self.run(Gated(self.gates(2), None, 0), self.target.tokens, 1)
            tolerance = SAME * max(1.0, abs(self.clean))
            return len(values) == 2 and bool(((values - self.clean).abs() <= tolerance).all())
        return False


def states_nbytes(loaded: LoadedModel, tokens: int) -> int:
    """Estimate the bytes of one row's activations inside a layer."""
    config = loaded.model.config
    hidden = int(getattr(config, "hidden_size", 0) or getattr(config, "d_model", 0))
    wide = int(getattr(config, "intermediate_size", 0) or 4 * hidden)
    return NUMBER_NBYTES * tokens * (WIDTHS * hidden + 2 * wide)


def parts_inside(target: Target, heads_needed: bool = True) -> Parts:
    """Find the parts of the base model, and check that they are inside the model with the head; see model_parts."""
    parts, inside = model_parts(target.loaded, heads_needed), set(target.model.modules())
    if target.loaded.model in inside:
        return parts
    if parts.projections:
        raise UnsupportedModelError(
            f"The class {type(target.model).__name__} keeps a base model of its own, whose heads cannot be changed "
            "here; take the cosine of two texts as the target."
        )
    return Parts({}, {}, {}, columns=0, heads=0, across=False)


def chosen(places: Sequence[tuple[int, int]], runs: InterventionRuns) -> list[tuple[int, int]]:
    """Return the requested heads without duplicates."""
    for layer, head in places:
        if not 0 <= layer < runs.layers or not 0 <= head < runs.head_counts[layer]:
            raise TextError(
                f"There is no head {head} in layer {layer} of {runs.target.loaded.name!r}; it has layers 0 to "
                f"{runs.layers - 1}, and heads 0 to {max(runs.head_counts) - 1} in each."
            )
    return list(dict.fromkeys(places))


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
            states: layer -> (rows, seq), whether to copy its input state at each position.
            heads: layer -> (rows, heads), whether to copy the output of a head at all positions.
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


def patches(runs: InterventionRuns, corrupt: Tokens, progress: Progress = no_progress) -> ActivationPatching:
    """Patch every hidden state and every head of the clean text into the corrupt one; return normalised effects."""
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
