"""Effects of heads that are removed, alone and together."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from bertviz_core.errors import Progress, TextError, no_progress
from bertviz_core.interventions.hooks import Gated, GateRows, head_gates
from bertviz_core.interventions.results import (
    AblationCurve,
    AblationEffects,
    EffectComparison,
    EffectKind,
    EffectSpread,
    JointAblation,
    MeanActivations,
    RemovalOrder,
)
from bertviz_core.interventions.runs import NUMBER_NBYTES, InterventionRuns, chosen, states_nbytes
from bertviz_core.interventions.targets import Target
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.settings import MAX_BATCH_BYTES, MAX_GRADIENT_BYTES
from bertviz_core.text import counted
from bertviz_core.trace.run import RUN_LOCK

SAME_LAYERS = "All layers share their weights, so the model is the same whichever whole layer is taken away."


def ablation_effects(
    target: Target,
    kind: EffectKind = "zero",
    means: MeanActivations | None = None,
    progress: Progress = no_progress,
    max_batch_bytes: int = MAX_BATCH_BYTES,
    max_gradient_bytes: int = MAX_GRADIENT_BYTES,
    on_partial: Callable[[AblationEffects], None] | None = None,
) -> AblationEffects:
    """Measure the change of a target with each head, feed-forward block and layer ablated, one at a time.

    Rows that ablate a layer share the run of the layers below it if the family's layers are separate modules.
    """
    started = perf_counter()
    if (kind == "mean") != (means is not None) or (
        means is not None and (means.model, means.revision) != (target.loaded.name, target.loaded.revision)
    ):
        raise ValueError(f"{kind} with means of {means.model if means is not None else 'nothing'}")
    runs = InterventionRuns(target, max_batch_bytes)

    def found(heads: Any, feed_forward: Any, layers: Any) -> AblationEffects:
        whole = layers if runs.parts.layers else None
        alike = whole is not None and len(whole) > 1 and np.allclose(whole, whole[0], rtol=1e-4)
        shares = (SAME_LAYERS,) if alike and family(target.loaded.model_type).shared_layers else ()
        return AblationEffects(
            model=target.loaded.name,
            target=target.name,
            title=target.title,
            unit=target.unit,
            kind=kind,
            tokens=target.tokens,
            clean=runs.clean,
            heads=heads,
            feed_forward=feed_forward if runs.parts.feed_forward else None,
            layers=whole,
            reference="" if means is None else reference_phrase(means),
            shared=runs.shares,
            seconds=perf_counter() - started,
            notices=(*target.notices, *shares),
        )

    if kind == "gradient":
        estimated = found(*_estimated(runs, max_gradient_bytes))
        progress(runs.layers, runs.layers)
        return estimated

    def layer_done(done: int, *so_far: Any) -> None:
        if on_partial is not None:
            on_partial(found(*(each.copy() for each in so_far)))
        progress(done, runs.layers)

    return found(*_measured(runs, means, layer_done))


def all_effects(
    target: Target,
    kinds: Sequence[EffectKind],
    means: MeanActivations | None = None,
    progress: Progress = no_progress,
    max_batch_bytes: int = MAX_BATCH_BYTES,
    max_gradient_bytes: int = MAX_GRADIENT_BYTES,
    on_partial: Callable[[EffectComparison], None] | None = None,
    cached: Callable[[EffectKind, Callable[[], AblationEffects]], AblationEffects] = lambda _, measure: measure(),
) -> EffectComparison:
    """Measure the effects of several kinds, one kind after another, and their agreement on the heads.

    Args:
        cached: returns the effects of a kind, from a cache or by calling its second argument.
    """
    done: list[AblationEffects] = []

    def layer_done(layer: int, layers: int) -> None:
        progress(len(done) * layers + layer, len(kinds) * layers)

    def so_far(effects: AblationEffects) -> None:
        if on_partial is not None:
            on_partial(compared([*done, effects, *(_unknown(effects, later) for later in kinds[len(done) + 1 :])]))

    for kind in kinds:
        mean = means if kind == "mean" else None
        limits = max_batch_bytes, max_gradient_bytes
        done.append(cached(kind, partial(ablation_effects, target, kind, mean, layer_done, *limits, so_far)))
    return compared(done)


def _unknown(like: AblationEffects, kind: EffectKind) -> AblationEffects:
    blank = [None if each is None else np.full_like(each, np.nan) for each in (like.feed_forward, like.layers)]
    heads = np.full_like(like.heads, np.nan)
    return replace(like, kind=kind, heads=heads, feed_forward=blank[0], layers=blank[1])


def reference_phrase(means: MeanActivations) -> str:
    """Describe the reference set of the mean: its name, texts and tokens."""
    return f"{means.reference} ({counted(means.texts, 'text')}, {counted(means.tokens, 'token')})"


def compared(effects: Sequence[AblationEffects]) -> EffectComparison:
    """Compare effects of several kinds on one target by the heads that all of them have."""
    rows = np.stack([each.heads.ravel() for each in effects]).astype(np.float64)
    known = rows[:, ~np.isnan(rows).any(axis=0)]
    centred = known - known.sum(axis=1, keepdims=True) / max(1, known.shape[1])
    norms = np.sqrt((centred**2).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = (centred @ centred.T) / (norms[:, None] * norms)
    return EffectComparison(tuple(effects), correlations.astype(np.float32))


def effect_spread(effects: Iterable[AblationEffects]) -> EffectSpread:
    """Compute mean and standard deviation of each head's effect over texts."""
    started, listed = perf_counter(), list(effects)
    if not listed:
        raise TextError("The list has no text; give at least one sentence.")
    heads = np.stack([each.heads for each in listed]).astype(np.float64)
    spread = heads.std(axis=0, ddof=1) if len(listed) > 1 else np.full(heads.shape[1:], np.nan)
    first = listed[0]
    return EffectSpread(
        model=first.model,
        target=first.target,
        title=first.title,
        unit=first.unit,
        kind=first.kind,
        texts=len(listed),
        mean=heads.mean(axis=0).astype(np.float32),
        spread=spread.astype(np.float32),
        clean=np.array([each.clean for each in listed], dtype=np.float32),
        seconds=perf_counter() - started,
    )


def _measured(
    runs: InterventionRuns, means: MeanActivations | None, layer_done: Callable[..., None]
) -> tuple[Any, Any, Any]:
    """Measure the effects of heads, feed-forward blocks and layers, layer by layer."""
    heads = np.full((runs.layers, max(runs.head_counts)), np.nan, dtype=np.float32)
    feed_forward, layers = (np.full(runs.layers, np.nan, dtype=np.float32) for _ in range(2))
    for layer, count in enumerate(runs.head_counts):
        gates = runs.gates(count + bool(runs.parts.feed_forward) + bool(runs.parts.layers))
        for head in range(count):
            gates.heads[head, layer, head] = 0
        if runs.parts.feed_forward:
            gates.feed_forward[count, layer] = 0
        if runs.parts.layers:
            gates.layers[-1, layer] = 0
        effects = runs.effects(gates, means)
        heads[layer, :count] = effects[:count]
        feed_forward[layer] = effects[count] if runs.parts.feed_forward else np.nan
        layers[layer] = effects[-1] if runs.parts.layers else np.nan
        layer_done(layer + 1, heads, feed_forward, layers)
    return heads, feed_forward, layers


def _estimated(runs: InterventionRuns, max_nbytes: int) -> tuple[Any, Any, Any]:
    """Compute -d target / d gate at open gates, the first-order effect of closing a gate."""
    nbytes = gradient_nbytes(runs.target.loaded, len(runs.target.tokens), max(runs.head_counts))
    if nbytes > max_nbytes:
        raise TextError(
            f"A run with gradients keeps every layer of {counted(len(runs.target.tokens), 'token')}, about "
            f"{nbytes / 1e6:,.0f} MB; {max_nbytes / 1e6:,.0f} MB are allowed (INSIDE_BERT_MAX_GRADIENT_BYTES). Give a "
            "shorter text, or measure instead."
        )
    with RUN_LOCK, torch.enable_grad():
        opened = runs.gates(1)
        gates = GateRows(*(each.requires_grad_() for each in (opened.heads, opened.feed_forward, opened.layers)))
        value = runs.run(Gated(gates), runs.target.tokens, 1)
        inputs = (gates.heads, gates.feed_forward, gates.layers)
        gradients = torch.autograd.grad(value.sum(), inputs, allow_unused=True)
    estimates = [
        np.full(each.shape[1:], np.nan, dtype=np.float32) if gradient is None else -gradient[0].float().cpu().numpy()
        for each, gradient in zip(inputs, gradients, strict=True)
    ]
    for layer, count in enumerate(runs.head_counts):
        estimates[0][layer, count:] = np.nan
    return estimates[0], estimates[1], estimates[2]


def gradient_nbytes(loaded: LoadedModel, tokens: int, heads: int) -> int:
    """Estimate the bytes of a run with gradients: activations and attention maps of every layer."""
    copies = 4 if loaded.attention_source == "eager" else 2
    maps = copies * NUMBER_NBYTES * heads * tokens * tokens
    return loaded.num_hidden_layers * (states_nbytes(loaded, tokens) + maps)


Places = Sequence[tuple[int, int]]
"""Layer and head of each ablated head."""
RANDOM_ORDERS = 20
"""Number of random orders, enough to estimate the width of their band."""


def joint_ablation(runs: InterventionRuns, places: Places, means: MeanActivations | None = None) -> JointAblation:
    """Measure the joint effect of ablating several heads, and the effect of each alone.

    Args:
        means: mean activations that replace the heads; None for zero ablation.
    """
    removed = chosen(places, runs)
    if not removed:
        raise TextError("No head to remove was chosen; choose at least one.")
    effects = runs.effects(_gates(runs, [removed, *([place] for place in removed)]), means)
    return JointAblation(
        title=runs.target.title,
        unit=runs.target.unit,
        kind="zero" if means is None else "mean",
        clean=runs.clean,
        places=np.array(removed),
        single=effects[1:],
        joint=float(effects[0]),
    )


def greedy_order(
    listed: InterventionRuns | Sequence[InterventionRuns],
    count: int,
    means: MeanActivations | None = None,
    progress: Progress = no_progress,
) -> list[tuple[int, int]]:
    """Order heads by greedy search: at each step, ablate the head that moves the target furthest from clean.

    Args:
        listed: the target; the mean is used for several targets of one model.
    """
    each = [listed] if isinstance(listed, InterventionRuns) else list(listed)
    _check_count(each[0], count)
    order: list[tuple[int, int]] = []
    for step in range(count):
        moved: dict[tuple[int, int], float] = {}
        for done, runs in enumerate(each, start=step * len(each) + 1):
            before = _gates(runs, [order])
            base = float(runs.effects(before, means)[0]) if order else 0.0
            for layer in range(runs.layers):  # by layer, so that rows share the layers below
                left = [place for place in runs.places if place[0] == layer and place not in order]
                if left:
                    effects = base + runs.effects(_gates(runs, [[*order, place] for place in left]), means, before)
                    for place, effect in zip(left, effects.tolist(), strict=True):
                        moved[place] = moved.get(place, 0.0) + effect
            progress(done, count * len(each))
        order.append(max(moved, key=lambda place: abs(moved[place])))
    return order


def gradient_order(
    listed: InterventionRuns | Sequence[InterventionRuns], count: int, max_gradient_bytes: int = MAX_GRADIENT_BYTES
) -> list[tuple[int, int]]:
    """Order heads by the gradient estimate of their effect, the largest magnitude first.

    For several targets of one model, magnitudes are averaged (Michel et al. 2019, section 3.2).
    """
    each = [listed] if isinstance(listed, InterventionRuns) else list(listed)
    _check_count(each[0], count)
    estimates = [
        ablation_effects(runs.target, "gradient", None, no_progress, runs.max_nbytes, max_gradient_bytes).heads
        for runs in each
    ]
    sizes = np.abs(np.stack(estimates).astype(np.float64)).mean(axis=0)
    return sorted(each[0].places, key=lambda place: -sizes[place])[:count]


def random_orders(
    runs: InterventionRuns, count: int, orders: int = RANDOM_ORDERS, seed: int = 0
) -> list[list[tuple[int, int]]]:
    """Draw orders of heads uniformly at random."""
    _check_count(runs, count)
    draw = np.random.default_rng(seed)
    return [[runs.places[index] for index in draw.permutation(len(runs.places))[:count]] for _ in range(orders)]


def ablation_curve(
    runs: InterventionRuns,
    orders: Sequence[Places],
    order: RemovalOrder,
    means: MeanActivations | None = None,
    progress: Progress = no_progress,
) -> AblationCurve:
    """Measure the target with 0, 1, 2, ... heads ablated, in several orders of one length."""
    values = []
    for done, places in enumerate(orders, start=1):
        removed = chosen(places, runs)
        gates = _gates(runs, [removed[:step] for step in range(len(removed) + 1)])
        values.append(runs.clean + runs.effects(gates, means))
        progress(done, len(orders))
    return AblationCurve(
        title=runs.target.title,
        unit=runs.target.unit,
        kind="zero" if means is None else "mean",
        order=order,
        places=np.array([list(places) for places in orders]),
        values=np.stack(values).astype(np.float32),
    )


def ablation_curves(
    runs: InterventionRuns,
    count: int,
    means: MeanActivations | None = None,
    progress: Progress = no_progress,
    max_gradient_bytes: int = MAX_GRADIENT_BYTES,
) -> tuple[AblationCurve, ...]:
    """Measure the target as heads are ablated: greedy, random, and by the gradient estimate if memory allows."""
    after = partial(_after, progress, count + RANDOM_ORDERS)
    greedy = greedy_order(runs, count, means, after(0))
    found = [ablation_curve(runs, [greedy], "greedy", means)]
    with suppress(TextError):
        by_gradient = gradient_order(runs, count, max_gradient_bytes)
        found.append(ablation_curve(runs, [by_gradient], "gradient", means))
    found.append(ablation_curve(runs, random_orders(runs, count), "random", means, after(count)))
    return tuple(found)


def accuracy_curve(
    runs: InterventionRuns,
    orders: Sequence[Places],
    order: RemovalOrder,
    answers: Callable[[], Sequence[str]],
    labels: Sequence[str],
    means: MeanActivations | None = None,
    progress: Progress = no_progress,
) -> AblationCurve:
    """Measure the accuracy over labelled texts with 0, 1, 2, ... heads ablated.

    Args:
        runs: a target of the model that predicts.
    """
    steps = [[chosen(places, runs)[:step] for step in range(len(places) + 1)] for places in orders]
    shares, done, total = [], 0, sum(map(len, steps))
    for row in steps:
        right = []
        for removed in row:
            with runs.removed(_gates(runs, [removed]), means):
                result = answers()
            right.append(float(np.mean([one == other for one, other in zip(result, labels, strict=True)])))
            done += 1
            progress(done, total)
        shares.append(right)
    return AblationCurve(
        title=f"right answers to {len(labels):,} labelled texts",
        unit="share",
        kind="zero" if means is None else "mean",
        order=order,
        places=np.array([list(places) for places in orders]),
        values=np.array(shares, dtype=np.float32),
    )


def accuracy_curves(
    listed: Sequence[InterventionRuns],
    count: int,
    answers: Callable[[], Sequence[str]],
    labels: Sequence[str],
    means: MeanActivations | None = None,
    progress: Progress = no_progress,
    max_gradient_bytes: int = MAX_GRADIENT_BYTES,
) -> tuple[AblationCurve, ...]:
    """Measure the accuracy as heads are ablated: greedy, by the gradient estimate if memory allows, and random.

    Args:
        listed: one target per text to search the orders by, such as the margin of its label.
    """
    searched = count * len(listed)
    after = partial(_after, progress, accuracy_steps(len(listed), count))

    def curve(orders: Sequence[Places], order: RemovalOrder, before: int) -> AblationCurve:
        return accuracy_curve(listed[0], orders, order, answers, labels, means, after(before))

    found = [curve([greedy_order(listed, count, means, after(0))], "greedy", searched)]
    with suppress(TextError):
        by_gradient = gradient_order(listed, count, max_gradient_bytes)
        found.append(curve([by_gradient], "gradient", searched + count + 1))
    found.append(curve(random_orders(listed[0], count), "random", searched + 2 * (count + 1)))
    return tuple(found)


def accuracy_steps(texts: int, count: int) -> int:
    """Return the number of progress steps of accuracy_curves: those of the search, then one per evaluation."""
    return count * texts + (2 + RANDOM_ORDERS) * (count + 1)


def _after(progress: Progress, total: int, before: int) -> Progress:
    return lambda done, _: progress(before + done, total)


def _gates(runs: InterventionRuns, removed: Sequence[Places]) -> GateRows:
    return head_gates(removed, runs.layers, max(runs.head_counts), runs.target.loaded.device)


def _check_count(runs: InterventionRuns, count: int) -> None:
    if not 1 <= count <= len(runs.places):
        raise TextError(f"{count:,} heads cannot be removed one by one; give a number from 1 to {len(runs.places):,}.")
