"""Questions about the same sentences in two models: their cosines, and agreement with gold similarities."""

from bertviz_core.checkpoints.layer_similarity import LEAST_TEXTS, NEIGHBOURS, layer_similarity
from bertviz_core.checkpoints.rounding import COPIES
from bertviz_core.errors import Progress, TextError
from bertviz_core.questions.models.checkpoints import OTHER, other_name
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer, AnswerCost, AnswerJob, after, long_question
from bertviz_core.questions.texts.sentences import PLAN, given_sentences, own_plan, sentence_plan
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.results import SentenceVectors
from bertviz_core.sentences.two_models.comparison import LEAST_SENTENCES, evenly_chosen, sentence_comparison
from bertviz_core.sentences.two_models.results import SentenceComparison


def compared_sentences(options: Options) -> tuple[str, ...]:
    """The sentences that are compared: all, or as many as can be drawn, spread evenly over the list.

    Raises:
        TextError: there are too few.
    """
    sentences = given_sentences(options)
    if len(sentences) < LEAST_SENTENCES:
        raise TextError(
            f"Two models are compared on at least {LEAST_SENTENCES} sentences, and {len(sentences)} came; add another."
        )
    return tuple(sentences[place] for place in evenly_chosen(len(sentences)))


def _cost(opened: Opened, options: Options) -> AnswerCost:
    sentences, other = compared_sentences(options), other_name(options)
    _ = opened.rounded(COPIES[other]) if other in COPIES else opened.other(other).loaded  # load before the work begins
    return AnswerCost(2 * len(sentences))


@long_question(_cost, figures=("sentences-compared", "pair-cosines"), params=(OTHER, *PLAN), noun="sentences")
def two_models(
    opened: Opened, options: Options, job: AnswerJob[Answer[SentenceComparison]]
) -> Answer[SentenceComparison]:
    """Cosines of the same sentences in two models, their range, and which sentences are nearest in each."""
    chosen, total = compared_sentences(options), len(given_sentences(options))
    sides = vectors_of_both(opened, options, chosen, job)
    first, second = (each.vectors for each in sides)
    names = sides[0].model, sides[1].model
    cka: float | None = None
    about_cka: tuple[str, ...] = ()
    if len(chosen) >= LEAST_TEXTS:
        layers = layer_similarity(names, first[None], second[None])
        value, about_cka = float(layers.cka[0, 0]), layers.notices
        cka = value if value == value else None
    notices = [f"{len(chosen)} of the {total:,} sentences are compared, evenly spaced in the list."]
    notices = [*(notices if len(chosen) < total else ()), *plan_notices(opened, options)]
    notices += [*sides[0].notices, *sides[1].notices, *about_cka]
    neighbours = max(1, min(NEIGHBOURS, (len(chosen) - 1) // 2))
    compared = sentence_comparison(names, chosen, first, second, neighbours, cka, tuple(dict.fromkeys(notices)))
    return Answer(compared, models_of(opened, options), chosen, compared.notices, {"sentence_comparison": compared})


def vectors_of_both(
    opened: Opened, options: Options, sentences: tuple[str, ...], progress: Progress
) -> tuple[SentenceVectors, SentenceVectors]:
    """Vectors of the sentences in the model and in the other one, each by its own plan with the given options.

    Args:
        opened: the first model.
        options: name the other; pooling, layer and prompt count for both.
        sentences: the sentences.
        progress: called with sentences done in both models and twice their number.

    Raises:
        BertvizError: a model cannot be loaded, or cannot embed the sentences in this way.
    """
    other, total = other_name(options), 2 * len(sentences)
    plan = sentence_plan(opened, options)
    first = sentence_vectors(opened.loaded, opened.tokenizer, sentences, plan, progress=after(progress, 0, total))
    done = after(progress, len(sentences), total)
    if other in COPIES:
        return first, sentence_vectors(opened.rounded(COPIES[other]), opened.tokenizer, sentences, plan, progress=done)
    second = opened.other(other)
    plan = sentence_plan(second, options)
    return first, sentence_vectors(second.loaded, second.tokenizer, sentences, plan, progress=done)


def plan_notices(opened: Opened, options: Options) -> list[str]:
    """For each model whose checkpoint says nothing about sentence vectors, how they are made all the same."""
    other = other_name(options)
    both = (opened,) if other in COPIES else (opened, opened.other(other))
    plans = [(each.source.name, own_plan(each)) for each in both]
    return [f"{name}: {plan.reason}" for name, plan in plans if not plan.from_checkpoint]


def models_of(opened: Opened, options: Options) -> tuple[tuple[str, str], ...]:
    """Name and revision of both models; of one, if the other is a rounded copy."""
    other = other_name(options)
    both = (opened,) if other in COPIES else (opened, opened.other(other))
    return tuple(dict.fromkeys((each.source.name, each.source.revision) for each in both))
