"""Ablate several heads together, and one after another as a curve.

The joint effect is not the sum of the single effects: heads are redundant, and normalisations rescale what remains.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import numpy as np

from bertviz_core.errors import Progress, TextError
from bertviz_core.interventions.ablation_effects import ablation_effects
from bertviz_core.interventions.gates import GateRows, head_gates
from bertviz_core.interventions.results import AblationCurve, JointAblation, MeanActivations, RemovalOrder
from bertviz_core.interventions.runs import InterventionRuns, chosen
from bertviz_core.settings import MAX_GRADIENT_BYTES

Places = Sequence[tuple[int, int]]
"""Layer and head of each ablated head."""
RANDOM_ORDERS = 20
"""Number of random orders, enough to estimate the width of their band."""


def joint_ablation(runs: InterventionRuns, places: Places, means: MeanActivations | None = None) -> JointAblation:
    """Measure the joint effect of ablating several heads, and the effect of each alone.

    Args:
        runs: the target.
        places: layer and head of each.
        means: mean activations that replace the heads; None for zero ablation.

    Raises:
        TextError: there is no head, or one does not exist.
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
    progress: Progress | None = None,
) -> list[tuple[int, int]]:
    """Order heads by greedy search: at each step, ablate the head that moves the target furthest from clean.

    Args:
        listed: the target; the mean is used for several targets of one model.
        count: number of heads to ablate.
        means: mean activations that replace ablated parts; None for zero ablation.
        progress: called as progress(steps done, steps), a step for each head and target; may raise to cancel.

    Raises:
        TextError: the model has fewer heads.
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
            if progress is not None:
                progress(done, count * len(each))
        order.append(max(moved, key=lambda place: abs(moved[place])))
    return order


def gradient_order(
    listed: InterventionRuns | Sequence[InterventionRuns], count: int, max_gradient_bytes: int = MAX_GRADIENT_BYTES
) -> list[tuple[int, int]]:
    """Order heads by the gradient estimate of their effect, the largest magnitude first.

    For several targets of one model, magnitudes are averaged (Michel et al. 2019, section 3.2).

    Raises:
        TextError: the model has fewer heads, or the run with gradients needs more memory.
    """
    each = [listed] if isinstance(listed, InterventionRuns) else list(listed)
    _check_count(each[0], count)
    estimates = [
        ablation_effects(runs.target, "gradient", None, None, runs.max_nbytes, max_gradient_bytes).heads
        for runs in each
    ]
    sizes = np.abs(np.stack(estimates).astype(np.float64)).mean(axis=0)
    return sorted(each[0].places, key=lambda place: -sizes[place])[:count]


def random_orders(
    runs: InterventionRuns, count: int, orders: int = RANDOM_ORDERS, seed: int = 0
) -> list[list[tuple[int, int]]]:
    """Draw orders of heads uniformly at random.

    Raises:
        TextError: the model has fewer heads.
    """
    _check_count(runs, count)
    draw = np.random.default_rng(seed)
    return [[runs.places[index] for index in draw.permutation(len(runs.places))[:count]] for _ in range(orders)]


def ablation_curve(
    runs: InterventionRuns,
    orders: Sequence[Places],
    order: RemovalOrder,
    means: MeanActivations | None = None,
    progress: Progress | None = None,
) -> AblationCurve:
    """Measure the target with 0, 1, 2, ... heads ablated, in several orders of one length.

    Args:
        runs: the target.
        orders: layer and head in the order of ablation.
        order: how these orders were chosen.
        means: mean activations that replace ablated parts; None for zero ablation.
        progress: called as progress(orders done, orders); may raise to cancel.

    Raises:
        TextError: a head does not exist.
    """
    values = []
    for done, places in enumerate(orders, start=1):
        removed = chosen(places, runs)
        gates = _gates(runs, [removed[:step] for step in range(len(removed) + 1)])
        values.append(runs.clean + runs.effects(gates, means))
        if progress is not None:
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
    progress: Progress | None = None,
    max_gradient_bytes: int = MAX_GRADIENT_BYTES,
) -> tuple[AblationCurve, ...]:
    """Measure the target as heads are ablated: greedy, random, and by the gradient estimate if memory allows.

    Args:
        runs: the target.
        count: number of heads to ablate.
        means: mean activations that replace ablated parts; None for zero ablation.
        progress: called as progress(steps done, steps); may raise to cancel.
        max_gradient_bytes: approximate limit in bytes for the run with gradients.

    Raises:
        TextError: the model has fewer heads.
    """
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
    progress: Progress | None = None,
) -> AblationCurve:
    """Measure the accuracy over labelled texts with 0, 1, 2, ... heads ablated.

    Args:
        runs: a target of the model that predicts.
        orders: layer and head in the order of ablation.
        order: how these orders were chosen.
        answers: computes the model's answer to every text, like class_predictions or probe_predictions.
        labels: gold labels.
        means: mean activations that replace ablated parts; None for zero ablation.
        progress: called as progress(steps done, steps); may raise to cancel.

    Raises:
        TextError: a head does not exist.
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
            if progress is not None:
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
    progress: Progress | None = None,
    max_gradient_bytes: int = MAX_GRADIENT_BYTES,
) -> tuple[AblationCurve, ...]:
    """Measure the accuracy as heads are ablated: greedy, by the gradient estimate if memory allows, and random.

    Args:
        listed: one target per text to search the orders by, such as the margin of its label.
        count: number of heads to ablate.
        answers: computes the model's answer to every text, like class_predictions or probe_predictions.
        labels: gold labels.
        means: mean activations that replace ablated parts; None for zero ablation.
        progress: called as progress(steps done, steps); may raise to cancel.
        max_gradient_bytes: approximate limit in bytes for the run with gradients.

    Raises:
        TextError: the model has fewer heads.
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


def _after(progress: Progress | None, total: int, before: int) -> Progress:
    """Report the steps of a part that follows others."""
    return lambda done, _: None if progress is None else progress(before + done, total)


def _gates(runs: InterventionRuns, removed: Sequence[Places]) -> GateRows:
    return head_gates(removed, runs.layers, max(runs.head_counts), runs.target.loaded.device)


def _check_count(runs: InterventionRuns, count: int) -> None:
    if not 1 <= count <= len(runs.places):
        raise TextError(f"{count:,} heads cannot be removed one by one; give a number from 1 to {len(runs.places):,}.")
