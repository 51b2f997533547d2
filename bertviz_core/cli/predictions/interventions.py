"""The `causes` command."""

from typing import Annotated

import typer

from bertviz_core.cli.opened import opened_model
from bertviz_core.cli.options import JsonOption, ModelArgument, app
from bertviz_core.cli.output import print_json, print_lines, print_notices
from bertviz_core.cli.texts.tokens import PairOption, TextArgument
from bertviz_core.interventions.results import EFFECT_KINDS
from bertviz_core.interventions.target_parsing import FORMS
from bertviz_core.interventions.targets import MEASURES
from bertviz_core.questions.interventions.single_text import KIND, ablation_effects
from bertviz_core.questions.interventions.targets import MEASURE, TARGET
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.tables.interventions import effects_json, effects_lines

DEFAULTS = "By default the cosine of two texts, and of one text what the model itself answers."
TargetOption = Annotated[str | None, typer.Option("--target", metavar="T", help=f"{FORMS}. {DEFAULTS}")]
MeasureOption = Annotated[str, typer.Option("--measure", help=f"What of a class or a tag: {', '.join(MEASURES)}.")]
KindOption = Annotated[str, typer.Option("--kind", help=f"Replacement of a head: {', '.join(EFFECT_KINDS)}.")]


@app.command()
def causes(
    model: ModelArgument,
    text: TextArgument,
    pair: PairOption = None,
    target: TargetOption = None,
    measure: MeasureOption = "logit",
    kind: KindOption = "zero",
    as_json: JsonOption = False,
) -> None:
    """Print how much a number of the model changes without each head, feed-forward block and layer."""
    values = {MEASURE.key: measure, KIND.key: kind, **({} if target is None else {TARGET.key: target})}
    answer = ablation_effects(opened_model(model), Options((text,), pair, values=values))
    print_notices(answer.notices)
    if as_json:
        return print_json(effects_json(answer.result), answer.notices)
    return print_lines(effects_lines(answer.result))
