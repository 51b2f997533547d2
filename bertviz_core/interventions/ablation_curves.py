"""Ablate several heads together, and one after the other as a curve.

Joint removal is not the sum of single removals: heads do each other's work, and normalisations divide by what is left.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from bertviz_core.errors import Progress, TextError
from bertviz_core.interventions.ablation_effects import ablation_effects
from bertviz_core.interventions.gates import GateRows, head_gates
from bertviz_core.interventions.results import AblationCurve, JointAblation, MeanActivations, RemovalOrder
from bertviz_core.interventions.runs import InterventionRuns, chosen
from bertviz_core.settings import MAX_GRADIENT_BYTES

Places = Sequence[tuple[int, int]]
"""Layer and head of each."""
RANDOM_ORDERS = 20
"""Orders of a random band: so many that its width means something."""


def joint_ablation(runs: InterventionRuns, places: Places, means: MeanActivations | None = None) -> JointAblation:
    """The effect of some heads removed together, and of each alone.

    Args:
        runs: the target.
        places: layer and head of each.
        means: what stands in their place; None for nothing.

    Raises:
        TextError: no head, or one that does not exist.
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
    """Heads in the order of a greedy search: at each step the one whose removal moves the target furthest from clean.

    Args:
        listed: the target; for several, of one model, what is moved is their mean.
        count: heads to remove.
        means: what stands in the place of a removed head; None for nothing.
        progress: called as progress(steps done, steps), a step for each head and target; may raise to stop the work.

    Raises:
        TextError: there are not so many heads.
    """
    each = [listed] if isinstance(listed, InterventionRuns) else list(listed)
    _check_count(each[0], count)
    order: list[tuple[int, int]] = []
    for step in range(count):
        moved: dict[tuple[int, int], float] = {}
        for done, runs in enumerate(each, start=step * len(each) + 1):
            before = _gates(runs, [order])
            base = float(runs.effects(before, means)[0]) if order else 0.0
            for layer in range(runs.layers):  # by layer, so that rows share what is below it
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
    """Heads by the size of the gradient estimate of their effect, the largest first.

    For several targets of one model it is the mean of the sizes (Michel et al. 2019, section 3.2).

    Raises:
        TextError: there are not so many heads, or as ablation_effects.
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
    """Heads in orders drawn at random, every order as likely.

    Raises:
        TextError: there are not so many heads.
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
    """The target with 0, 1, 2, ... heads removed, in each of some orders of one length.

    Args:
        runs: the target.
        orders: layer and head in the order of their removal.
        order: what these orders are.
        means: what stands in the place of a removed head; None for nothing.
        progress: called as progress(orders done, orders); may raise to stop the work.

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
    """The target as heads go: greedy, in random orders, and by the gradient estimate where its memory is allowed.

    Args:
        runs: the target.
        count: heads to remove.
        means: what stands in the place of a removed head; None for nothing.
        progress: called as progress(steps done, steps); may raise to stop the work.
        max_gradient_bytes: about how many bytes the run with gradients may take.

    Raises:
        TextError: there are not so many heads.
    """
    total = count + RANDOM_ORDERS

    def after(before: int) -> Progress:
        return lambda done, _: None if progress is None else progress(before + done, total)

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
    """The share of right answers over labelled texts with 0, 1, 2, ... heads removed.

    Args:
        runs: a target of the model that answers.
        orders: layer and head in the order of their removal.
        order: what these orders are.
        answers: asks the model for its answer to every text, as class_predictions or probe_predictions do.
        labels: the right answers.
        means: what stands in the place of a removed head; None for nothing.
        progress: called as progress(steps done, steps); may raise to stop the work.

    Raises:
        TextError: a head does not exist.
    """
    steps = [[chosen(places, runs)[:step] for step in range(len(places) + 1)] for places in orders]
    shares, done, total = [], 0, sum(map(len, steps))
    for row in steps:
        right = []
        for removed in row:
            with runs.removed(_gates(runs, [removed]), means):
                given = answers()
            right.append(float(np.mean([one == other for one, other in zip(given, labels, strict=True)])))
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
    """The share of right answers as heads go: greedy, by the gradient estimate where it is allowed, and at random.

    Args:
        listed: what the orders are searched by: for each text a target, such as the margin of its label.
        count: heads to remove.
        answers: asks the model for its answer to every text, as class_predictions or probe_predictions do.
        labels: the right answers.
        means: what stands in the place of a removed head; None for nothing.
        progress: called as progress(steps done, steps); may raise to stop the work.
        max_gradient_bytes: about how many bytes the run with gradients may take.

    Raises:
        TextError: there are not so many heads.
    """
    searched, total = count * len(listed), accuracy_steps(len(listed), count)

    def after(before: int) -> Progress:
        return lambda done, _: None if progress is None else progress(before + done, total)

    def curve(orders: Sequence[Places], order: RemovalOrder, before: int) -> AblationCurve:
        return accuracy_curve(listed[0], orders, order, answers, labels, means, after(before))

    found = [curve([greedy_order(listed, count, means, after(0))], "greedy", searched)]
    with suppress(TextError):
        by_gradient = gradient_order(listed, count, max_gradient_bytes)
        found.append(curve([by_gradient], "gradient", searched + count + 1))
    found.append(curve(random_orders(listed[0], count), "random", searched + 2 * (count + 1)))
    return tuple(found)


def accuracy_steps(texts: int, count: int) -> int:
    """Steps that accuracy_curves tells for so many texts and heads: those of the search, then one for each asking."""
    return count * texts + (2 + RANDOM_ORDERS) * (count + 1)


def _gates(runs: InterventionRuns, removed: Sequence[Places]) -> GateRows:
    return head_gates(removed, runs.layers, max(runs.head_counts), runs.target.loaded.device)


def _check_count(runs: InterventionRuns, count: int) -> None:
    if not 1 <= count <= len(runs.places):
        raise TextError(f"{count:,} heads cannot be removed one by one; give a number from 1 to {len(runs.places):,}.")
