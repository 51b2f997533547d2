"""Attribute a target to words by integrated gradients, with the completeness error.

Integrated gradients (Sundararajan et al. 2017, equation 1): a token's share is (x - r) times the mean gradient of the
target on the straight path from the word embeddings r of the reference to those x of the text; positions and token
types stay fixed. The shares sum to F(x) - F(r); the deviation is the completeness error. The mean is a Clenshaw-Curtis
quadrature, refined until the shares no longer change.
"""

import inspect
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from jaxtyping import Float

from bertviz_core.attribution.results import ShareMethod, WordAttributions
from bertviz_core.attribution.words import INSTEAD, reference_id, text_units, unit_names
from bertviz_core.errors import Progress, TextError, UnsupportedModelError, no_progress
from bertviz_core.interventions.runs import NUMBER_NBYTES, states_nbytes
from bertviz_core.interventions.targets import Target
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.settings import MAX_GRADIENT_BYTES
from bertviz_core.text import counted
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import TextTokenizer
from bertviz_core.trace.verification import check_recording, input_table


def clenshaw_curtis(intervals: int) -> tuple[Float[np.ndarray, " nodes"], Float[np.ndarray, " nodes"]]:
    """Return the nodes in ascending order and their weights, which sum to 1; intervals + 1 of each.

    Exact for polynomials up to degree `intervals` (Trefethen 2000, Spectral Methods in MATLAB, chapter 12).
    """
    angles = np.pi * np.arange(intervals + 1) / intervals
    orders = np.arange(1, intervals // 2 + 1)
    terms = np.where(orders < intervals // 2, 2.0, 1.0) / (4.0 * orders**2 - 1)
    weights = (1 - np.cos(2 * np.outer(angles, orders)) @ terms) / intervals
    weights[[0, -1]] /= 2
    return (1 - np.cos(angles)) / 2, weights


def refined(
    known: Float[np.ndarray, "half ..."] | None,
    intervals: int,
    evaluate: Callable[[Float[np.ndarray, " points"], Progress], Float[np.ndarray, "points ..."]],
    progress: Progress = no_progress,
) -> Float[np.ndarray, "nodes ..."]:
    """Return the values of a function at all nodes.

    Args:
        known: its values at the nodes of half as many intervals, which are not evaluated again; None for none.
    """
    points, _ = clenshaw_curtis(intervals)
    done = 0 if known is None else len(known)

    def further(count: int, _: int) -> None:
        progress(done + count, len(points))

    if known is None:
        return evaluate(points, further)
    between = evaluate(points[1::2], further)
    values = np.empty((len(points), *between.shape[1:]), between.dtype)
    values[::2], values[1::2] = known, between
    return values


FIRST_INTERVALS, MOST_INTERVALS = 8, 512
LEAST_NODES = 2 * FIRST_INTERVALS + 1
"""Minimum number of nodes, since the intervals are doubled at least once."""
TOLERANCE = 1e-3
"""Accepted completeness error, relative to the difference of the targets."""
SHARE_TOLERANCE = 1e-2
"""Accepted change of a share in the last doubling, relative to the largest share."""
ROUNDING = 2e-6
"""Possible difference between two runs of one text, relative to the target."""
SAME = 1e-4
"""Accepted difference between the target from embeddings and from ids, relative to the target."""


def integrated_gradients(
    target: Target,
    tokenizer: TextTokenizer,
    whole_words: bool = True,
    progress: Progress = no_progress,
    max_gradient_bytes: int = MAX_GRADIENT_BYTES,
) -> WordAttributions:
    """Compute shares that sum to the target minus that of the fully masked text, up to the returned completeness error.

    The error of the sum may be small by chance, so the intervals are doubled until it is below TOLERANCE of the
    difference and no token's share has changed by more than SHARE_TOLERANCE of the largest; a notice reports if this is
    not reached.

    Args:
        whole_words: whether to sum the tokens of a word.
    """
    started, path = perf_counter(), _Path(target, tokenizer, max_gradient_bytes)
    intervals, notices, shares = FIRST_INTERVALS, target.notices, path.integral(FIRST_INTERVALS, progress)
    while True:
        intervals, before = 2 * intervals, shares
        shares = path.integral(intervals, progress)
        error, changes = abs(float(shares.sum()) - path.difference), np.abs(shares - before)
        rounding = ROUNDING * abs(path.clean)
        sum_is_small = error <= max(TOLERANCE * abs(path.difference), rounding)
        if sum_is_small and changes.max() <= max(SHARE_TOLERANCE * np.abs(shares).max(), rounding):
            break
        if intervals >= MOST_INTERVALS:
            notices = (
                *notices,
                f"After {intervals + 1} nodes the shares still miss the difference of the target by {error:.2g}, and "
                f"one has changed by {changes.max():.2g}; measure the words by leave-one-out instead.",
            )
            break
    return path.result("integrated-gradients", shares, shares - before, error, whole_words, started, notices)


def gradient_x_input(
    target: Target,
    tokenizer: TextTokenizer,
    whole_words: bool = True,
    progress: Progress = no_progress,
    max_gradient_bytes: int = MAX_GRADIENT_BYTES,
) -> WordAttributions:
    """Compute gradient times difference from the reference, (x - r) * dF/dx, in one run.

    Exact for a linear target; otherwise `error` is the deviation of the sum. Arguments and errors are those of
    integrated_gradients.
    """
    started, path = perf_counter(), _Path(target, tokenizer, max_gradient_bytes)
    (shares,) = path.slopes(np.ones(1), progress)
    error = abs(float(shares.sum()) - path.difference)
    return path.result("gradient-x-input", shares, 0 * shares, error, whole_words, started, target.notices)


GRADIENT_METHODS: dict[ShareMethod, Callable[..., WordAttributions]] = {
    "integrated-gradients": integrated_gradients,
    "gradient-x-input": gradient_x_input,
}
"""Method -> function that computes the shares."""


def gradient_nbytes(target: Target) -> int:
    """Estimate the bytes of activations and attention maps of all layers in a run with gradients."""
    heads = int(getattr(target.loaded.model.config, "num_attention_heads", 0) or 1)
    maps = 2 * NUMBER_NBYTES * heads * len(target.tokens) ** 2
    return target.loaded.num_hidden_layers * (states_nbytes(target.loaded, len(target.tokens)) + maps)


class _Path:
    """The straight path between the word embeddings of a text and of its reference."""

    def __init__(self, target: Target, tokenizer: TextTokenizer, max_gradient_bytes: int) -> None:
        tokens, nbytes = target.tokens, gradient_nbytes(target)
        if nbytes > max_gradient_bytes:
            raise TextError(
                f"A run with gradients keeps every layer of {counted(len(tokens), 'token')}, about "
                f"{nbytes / 1e6:,.0f} MB; {max_gradient_bytes / 1e6:,.0f} MB are allowed "
                "(INSIDE_BERT_MAX_GRADIENT_BYTES). Give a shorter text, or measure by leave-one-out instead."
            )
        self._target, self._step, self.runs = target, max(1, max_gradient_bytes // max(nbytes, 1)), 0
        self._places = sorted(place for unit in text_units(tokens, False) for place in unit.positions)
        table = input_table(target.loaded.model)
        if table is None or "inputs_embeds" not in inspect.signature(target.loaded.model.forward).parameters:
            raise self._refusal()
        ids = torch.tensor(tokens.input_ids, device=target.loaded.device)
        masked = ids.clone()
        masked[self._places] = reference_id(tokenizer)
        lookup = target.loaded.model.get_input_embeddings()
        with RUN_LOCK, torch.no_grad():
            check_recording(target.loaded)
            self._end, self._start = _rows(lookup(ids))[None], _rows(lookup(masked))[None]
            self.clean = float(target.values(target.inputs((tokens,)), [len(tokens)])[0])
            try:
                ends = [float(self._values(each)[0]) for each in (self._end, self._start)]
            except UnsupportedModelError as error:
                raise self._refusal() from error
        if not np.isfinite(ends).all():
            raise TextError(f"The {target.title} is no finite number for this text, so it has no shares.")
        if abs(ends[0] - self.clean) > SAME * max(1.0, abs(self.clean)):
            raise self._refusal()
        self.difference, self.reference = ends[0] - ends[1], ends[1]
        self._known: Float[np.ndarray, "nodes seq"] | None = None

    def integral(self, intervals: int, progress: Progress) -> Float[np.ndarray, " seq"]:
        """Compute the shares of every token by quadrature."""
        self._known = refined(self._known, intervals, self.slopes, progress)
        shares: np.ndarray = clenshaw_curtis(intervals)[1] @ self._known
        return shares

    def slopes(self, points: Float[np.ndarray, " points"], progress: Progress) -> Float[np.ndarray, "points seq"]:
        """Compute (x - r) times the gradient at points of the path (r at 0, x at 1), per token."""
        way, slopes = self._end - self._start, np.empty((len(points), self._end.shape[1]))
        for start in range(0, len(points), self._step):
            part = slice(start, start + self._step)
            at = torch.tensor(points[part])[:, None, None].to(way)
            with RUN_LOCK, torch.enable_grad():
                embeddings = (self._start + at * way).requires_grad_()
                (gradient,) = torch.autograd.grad(self._values(embeddings).sum(), embeddings)
            slopes[part] = (gradient.double() * way.double()).sum(dim=-1).cpu().numpy()
            progress(min(start + self._step, len(points)), len(points))
        return slopes

    def result(
        self,
        method: ShareMethod,
        shares: Float[np.ndarray, " seq"],
        changes: Float[np.ndarray, " seq"],
        error: float,
        whole_words: bool,
        started: float,
        notices: tuple[str, ...],
    ) -> WordAttributions:
        """Build the result from the shares of tokens, summed over words."""
        target = self._target
        units = text_units(target.tokens, whole_words)
        summed, changed = (
            np.array([each[list(unit.positions)].sum() for unit in units], dtype=np.float32)
            for each in (shares, changes)
        )
        return WordAttributions(
            model=target.loaded.name,
            target=target.name,
            title=target.title,
            unit=target.unit,
            method=method,
            instead=INSTEAD["mask"],
            tokens=target.tokens,
            words=unit_names(target.tokens, units),
            positions=tuple(unit.positions for unit in units),
            shares=summed,
            clean=self.clean,
            reference=self.reference,
            error=error,
            share_errors=np.abs(changed),
            runs=self.runs,
            seconds=perf_counter() - started,
            notices=notices,
        )

    def _values(self, embeddings: "torch.Tensor") -> "torch.Tensor":
        """Compute the target for rows of word embeddings; the caller holds RUN_LOCK."""
        target, rows = self._target, len(embeddings)
        inputs = target.inputs((target.tokens,) * rows)
        del inputs["input_ids"]
        self.runs += rows
        return target.values({**inputs, "inputs_embeds": embeddings}, [len(target.tokens)] * rows)

    def _refusal(self) -> UnsupportedModelError:
        title = family(self._target.loaded.model_type).title
        return UnsupportedModelError(
            f"{title} cannot be run on word embeddings in the place of token ids, so there are no gradients by them; "
            "measure the words by leave-one-out instead."
        )


def _rows(found: Any) -> Any:
    """The rows of an embedding table; that of I-BERT also returns the scale of its 8 bits."""
    return found[0] if isinstance(found, tuple) else found
