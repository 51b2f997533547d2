"""Questions about the same target in two models: attributions to words, effects of heads."""

from typing import Any, TypeVar

from bertviz_core.attribution.results import AttributionComparison
from bertviz_core.attribution.words import compared_attributions
from bertviz_core.interventions.results import TwoModelEffects
from bertviz_core.predictions.two_models import comparison_notices
from bertviz_core.questions.interventions.attributions import IN_PLACE, METHOD, UNITS, word_attributions
from bertviz_core.questions.interventions.same_target import first_options, second_options
from bertviz_core.questions.interventions.single_text import zero_effects
from bertviz_core.questions.interventions.targets import MEASURE, TARGET
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.models.rounded_copy import second_model
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer, AnswerCost, AnswerJob, Question, after, long_question

T = TypeVar("T")
U = TypeVar("U")


def _costs(
    question: Question[Opened, T], opened: Opened, options: Options
) -> tuple[tuple[AnswerCost, AnswerCost], Options]:
    """Cost of the answer about each model, whose weights are loaded, and the options of the second."""
    if question.cost is None:
        raise ValueError(f"{question.name} is no long question")
    second = second_model(opened, options)
    there = second_options(opened, second, options)
    return (question.cost(opened, first_options(options)), question.cost(second, there)), there


def _cost(question: Question[Opened, T], opened: Opened, options: Options) -> AnswerCost:
    (first, other), _ = _costs(question, opened, options)
    return AnswerCost(first.steps + other.steps, first.tokens, first.runs + other.runs, short=first.short)


def _both(
    question: Question[Opened, T], opened: Opened, options: Options, job: AnswerJob[Any]
) -> tuple[Answer[T], Answer[T]]:
    """The answer about each model; that about the first is the one that its own view has."""
    costs, there = _costs(question, opened, options)
    before, steps = costs[0].steps, costs[0].steps + costs[1].steps
    first = question(opened, first_options(options), after(job, 0, steps))
    return first, question(second_model(opened, options), there, after(job, before, steps))


def _compared(
    compared: U, answers: tuple[Answer[T], Answer[T]], notices: tuple[str, ...], **drawn: object
) -> Answer[U]:
    models = tuple(dict.fromkeys((*answers[0].models, *answers[1].models)))
    return Answer(compared, models, answers[0].texts, notices, drawn)


def _words_cost(opened: Opened, options: Options) -> AnswerCost:
    return _cost(word_attributions, opened, options)


@long_question(_words_cost, figures=("words-compared",), params=(OTHER, TARGET, MEASURE, METHOD, UNITS, IN_PLACE))
def compared_words(
    opened: Opened, options: Options, job: AnswerJob[Answer[AttributionComparison]]
) -> Answer[AttributionComparison]:
    """Contribution of each word to the same target in two models, with the difference."""
    both = _both(word_attributions, opened, options, job)
    whole_words = options.choice(UNITS) == UNITS.options[0]
    compared = compared_attributions(both[0].result, both[1].result, whole_words)
    return _compared(compared, both, compared.notices, attribution_comparison=compared)


def _effects_cost(opened: Opened, options: Options) -> AnswerCost:
    return _cost(zero_effects, opened, options)


@long_question(_effects_cost, figures=("effects-compared",), params=(OTHER, TARGET, MEASURE))
def compared_effects(
    opened: Opened, options: Options, job: AnswerJob[Answer[TwoModelEffects]]
) -> Answer[TwoModelEffects]:
    """Effect of taking away each head on the same target in two models, with the difference."""
    both = _both(zero_effects, opened, options, job)
    first, other = (each.result for each in both)
    sizes = [f"{each.heads.shape[0]} layers of {each.heads.shape[1]} heads" for each in (first, other)]
    uneven = [f"{first.model} has {sizes[0]} and {other.model} {sizes[1]}, so their heads have no difference."]
    about = [*([] if sizes[0] == sizes[1] else uneven), *first.notices, *other.notices]
    compared = TwoModelEffects(first, other, comparison_notices(first.model, other.model, about))
    return _compared(compared, both, compared.notices, effects_of_two=compared)
