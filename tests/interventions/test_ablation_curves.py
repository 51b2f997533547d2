"""Joint ablations equal one run without all parts; every curve starts at the clean value and follows its order."""

from itertools import product

import numpy as np
import pytest

from bertviz_core.errors import TextError
from bertviz_core.interventions.ablation import (
    ablation_curve,
    ablation_curves,
    ablation_effects,
    accuracy_curve,
    accuracy_curves,
    accuracy_steps,
    gradient_order,
    greedy_order,
    joint_ablation,
    random_orders,
)
from bertviz_core.interventions.hooks import head_gates
from bertviz_core.interventions.runs import InterventionRuns
from bertviz_core.interventions.targets import class_target
from bertviz_core.predictions.classes import class_predictions
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.tiny_causes import cut_head, opened, plain_value, tiny_runs, tiny_target
from tests.helpers.tiny_heads import tiny_head
from tests.helpers.tiny_models import HEADS, LAYERS, PAIR, TEXT


def effect(runs: InterventionRuns, places: list[tuple[int, int]]) -> float:
    return float(runs.effects(head_gates([places], LAYERS, HEADS, "cpu"))[0])


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_heads_removed_together_are_zeroed_columns_together(family: str) -> None:
    runs, model = tiny_runs(family), opened(family)[0]
    removal = joint_ablation(runs, [(0, 1), (2, 0)])
    with cut_head(model, 0, 1), cut_head(model, 2, 0):
        assert removal.joint == pytest.approx(plain_value(runs.target) - runs.clean, abs=1e-5)
    assert removal.total == pytest.approx(effect(runs, [(0, 1)]) + effect(runs, [(2, 0)]), abs=1e-6)
    assert joint_ablation(runs, [(1, 1)]).joint == pytest.approx(joint_ablation(runs, [(1, 1)]).total, abs=1e-7)
    with pytest.raises(TextError, match="No head"):
        joint_ablation(runs, [])


def test_the_greedy_order_is_the_best_head_at_each_step() -> None:
    runs = tiny_runs("bert")
    order = greedy_order(runs, 3)
    for step in range(3):
        left = [place for place in product(range(LAYERS), range(HEADS)) if place not in order[:step]]
        by_hand = max(left, key=lambda place: abs(effect(runs, [*order[:step], place])))
        assert order[step] == by_hand


def test_a_curve_begins_at_clean_and_each_step_is_a_joint_removal() -> None:
    runs = tiny_runs("bert")
    orders = random_orders(runs, 4, orders=3, seed=2)
    assert [len(set(order)) for order in orders] == [4, 4, 4]
    assert orders == random_orders(runs, 4, orders=3, seed=2)
    curve = ablation_curve(runs, orders, "random")
    assert curve.values.shape == (3, 5)
    np.testing.assert_allclose(curve.values[:, 0], runs.clean, atol=1e-7)
    for row, order in enumerate(orders):
        for step in range(1, 5):
            assert curve.values[row, step] == pytest.approx(runs.clean + effect(runs, order[:step]), abs=1e-6)
    assert len(gradient_order(runs, 6)) == len(set(gradient_order(runs, 6))) == LAYERS * HEADS
    for count in (0, 7):
        with pytest.raises(TextError, match="from 1 to 6"):
            greedy_order(runs, count)


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_the_accuracy_with_heads_removed_is_that_of_the_model_without_them(family: str) -> None:
    head, tokenizer, _ = tiny_head(family, "sequence-classification", num_labels=4)
    texts = [tokenize(tokenizer, text) for text in (TEXT, PAIR, "the bank", "my pet", "river bank python", "i love")]
    runs = InterventionRuns(class_target(head, texts[0], "LABEL_0"))

    def answers() -> list[str]:
        return [each.labels[int(each.logits.argmax())] for each in class_predictions(head, texts)]

    labels = answers()
    order = [(2, 1), (0, 0), (1, 1), (2, 0)]
    curve = accuracy_curve(runs, [order], "gradient", answers, labels)
    assert curve.values[0, 0] == 1
    with cut_head(head.base, 2, 1), cut_head(head.base, 0, 0):
        without = answers()
    assert curve.values[0, 2] == pytest.approx(
        np.mean([one == other for one, other in zip(without, labels, strict=True)])
    )
    assert answers() == labels


@pytest.mark.slow
def test_all_orders_are_those_of_their_own_functions() -> None:
    runs = tiny_runs("bert")
    greedy, gradient, random = ablation_curves(runs, 3)
    assert [each.order for each in (greedy, gradient, random)] == ["greedy", "gradient", "random"]
    assert greedy.places[0].tolist() == [list(place) for place in greedy_order(runs, 3)]
    assert gradient.places[0].tolist() == [list(place) for place in gradient_order(runs, 3)]
    assert random.places.tolist() == [[list(place) for place in order] for order in random_orders(runs, 3)]
    without = ablation_curves(runs, 3, max_gradient_bytes=1)
    assert [each.order for each in without] == ["greedy", "random"]


@pytest.mark.slow
def test_orders_of_a_list_move_the_mean_and_answers_are_counted_in_each() -> None:
    listed = [InterventionRuns(tiny_target("bert", text)) for text in (TEXT, "the bank", "my pet")]
    order = greedy_order(listed, 2)
    for step in range(2):
        left = [place for place in product(range(LAYERS), range(HEADS)) if place not in order[:step]]
        means = {place: np.mean([effect(runs, [*order[:step], place]) for runs in listed]) for place in left}
        assert order[step] == max(left, key=lambda place: abs(means[place]))
    sizes = np.mean([np.abs(ablation_effects(runs.target, "gradient").heads) for runs in listed], axis=0)
    assert gradient_order(listed, 2) == sorted(listed[0].places, key=lambda place: -sizes[place])[:2]
    calls: list[tuple[int, int]] = []
    answers = ["a", "b", "b"]
    curves = accuracy_curves(
        listed, 2, lambda: answers, ["a", "b", "c"], progress=lambda done, steps: calls.append((done, steps))
    )
    assert [each.order for each in curves] == ["greedy", "gradient", "random"]
    assert curves[0].places[0].tolist() == [list(place) for place in order]
    assert all(each.values == pytest.approx(2 / 3) for each in curves)
    assert calls[-1] == (accuracy_steps(3, 2),) * 2
    assert [done for done, _ in calls] == list(range(1, accuracy_steps(3, 2) + 1))
