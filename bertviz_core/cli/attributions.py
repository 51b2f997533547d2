"""Commands about why a model answers so."""

from typing import Annotated

import typer

from bertviz_core.attribution.results import METHODS, REPLACEMENTS
from bertviz_core.cli.opened import opened_model
from bertviz_core.cli.options import JsonOption, ModelArgument, app, show, typed_text
from bertviz_core.cli.tokens import PairOption, TextArgument
from bertviz_core.interventions.results import EFFECT_KINDS
from bertviz_core.interventions.target_parsing import FORMS
from bertviz_core.interventions.targets import MEASURES
from bertviz_core.questions.interventions.attributions import LAYER, pair_attributions, share_values, word_attributions
from bertviz_core.questions.interventions.effects import KIND, ablation_effects
from bertviz_core.questions.interventions.targets import MEASURE, TARGET
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.tables.interventions import EFFECTS, WORD_PAIRS, WORDS

DEFAULTS = "By default the cosine of two texts, and of one text what the model itself answers."
TargetOption = Annotated[str | None, typer.Option("--target", metavar="T", help=f"{FORMS}. {DEFAULTS}")]
MeasureOption = Annotated[
    str, typer.Option("--measure", help=f"What of a class or a tag: {', '.join(MEASURES)}."), MEASURES
]
KindOption = Annotated[
    str, typer.Option("--kind", help=f"Replacement of a head: {', '.join(EFFECT_KINDS)}."), EFFECT_KINDS
]


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
    show(EFFECTS, answer.result, answer.notices, as_json)


MethodOption = Annotated[str, typer.Option("--method", help=f"How: {', '.join(METHODS)}."), METHODS]
InsteadOption = Annotated[
    str, typer.Option("--instead", help=f"What leave-one-out does to a word: {', '.join(REPLACEMENTS)}."), REPLACEMENTS
]
TokensOption = Annotated[bool, typer.Option("--tokens", help="Each token for itself, not whole words.")]


@app.command()
def words(
    model: ModelArgument,
    text: TextArgument,
    pair: PairOption = None,
    target: TargetOption = None,
    measure: MeasureOption = "logit",
    method: MethodOption = "leave-one-out",
    instead: InsteadOption = "mask",
    single_tokens: TokensOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print what each word of a text adds to a number of the model."""
    values = {MEASURE.key: measure, **share_values(method, instead, single_tokens)}
    values |= {} if target is None else {TARGET.key: target}
    answer = word_attributions(opened_model(model), Options((text,), pair, values=values))
    show(WORDS, answer.result, answer.notices, as_json)


FirstArgument = Annotated[str, typer.Argument(metavar="TEXT1", help="One text.", callback=typed_text)]
SecondArgument = Annotated[str, typer.Argument(metavar="TEXT2", help="The other.", callback=typed_text)]
FromLayerOption = Annotated[
    int, typer.Option("--from-layer", metavar="L", help="Entry of the hidden states at which tokens are distinguished.")
]


@app.command("word-pairs")
def word_pairs(
    model: ModelArgument,
    text: FirstArgument,
    pair: SecondArgument,
    from_layer: FromLayerOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Print what pairs of tokens add to a cosine, compared with texts of masks."""
    answer = pair_attributions(opened_model(model), Options((text,), pair, values={LAYER.key: str(from_layer)}))
    show(WORD_PAIRS, answer.result, answer.notices, as_json)
