"""Operations of a layer: their order is that of the run, and their parameters those of the modules in the class."""

import pytest

from bertviz_core.architecture.results import Block, LayerFacts
from bertviz_core.journey.steps import layer_steps
from bertviz_core.parameters.results import Parameter
from bertviz_core.questions.models.architecture import architecture, parameters
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import HIDDEN, INTERMEDIATE, save_tiny

ATTENTION = 4 * (HIDDEN + 1) * HIDDEN
FEED_FORWARD = 2 * HIDDEN * INTERMEDIATE + INTERMEDIATE + HIDDEN
ADD, NORM = ("add what entered", None), ("norm", 2 * HIDDEN)


@pytest.mark.parametrize(
    ("family", "steps"),
    [
        ("bert", [("attention", ATTENTION), ADD, NORM, ("feed-forward", FEED_FORWARD), ADD, NORM]),
        ("gpt2", [NORM, ("attention", ATTENTION), ADD, NORM, ("feed-forward", FEED_FORWARD), ADD]),
        ("fnet", [("mixing of tokens", 0), ADD, NORM, ("feed-forward", FEED_FORWARD), ADD, NORM]),
    ],
)
def test_steps_are_in_the_order_of_the_run_with_the_parameters_of_their_modules(
    family: str, steps: list[tuple[str, int | None]], settings: Settings
) -> None:
    save_tiny(family, settings.models_dir / family)
    opened = OpenedModel(family, settings)
    facts, ledger = architecture(opened, Options()).result.facts, parameters(opened, Options()).result
    assert facts is not None
    owned = [row for row in ledger.parameters if row.layer == 0]
    assert [(step.name, step.numel) for step in layer_steps(facts.layers[0], owned)] == steps


def test_a_parameter_without_a_recorded_module_goes_to_its_role_or_to_a_step_without_a_place() -> None:
    block = Block(("attention",), (), (), ("layer.0.ln",), ("layer.0.q", "layer.0.ln"))
    fact = LayerFacts("encoder", 0, (block,), None, gated=False)
    names = [("layer.0.q.weight", "query"), ("layer.0.r_bias", "attention_other"), ("layer.0.ln.weight", "layer_norm")]
    names += [("layer.0.more.weight", "layer_norm"), ("layer.0.scale", "other")]
    owned = [
        Parameter(name, name, (1,), 10**place, "float32", True, None, "encoder", 0, part)
        for place, (name, part) in enumerate(names)
    ]
    steps = [(step.name, step.numel, step.placed) for step in layer_steps(fact, owned)]
    known = [("attention", 11, True), ("add what entered", None, True), ("norm", 100, True)]
    assert steps == [*known, ("norm", 1_000, False), ("other modules", 10_000, False)]
    assert sum(step.numel or 0 for step in layer_steps(None, owned)) == 11_111
