"""Questions about the same sentences in two models: their cosines, and agreement with gold similarities."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from bertviz_core.checkpoints.layer_similarity import LEAST_TEXTS, NEIGHBOURS, layer_similarity
from bertviz_core.checkpoints.rounding import COPIES
from bertviz_core.errors import Progress, TextError
from bertviz_core.questions.models.checkpoints import OTHER, other_name
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer, AnswerCost, AnswerJob, after, long_question
from bertviz_core.questions.texts.sentences import PLAN, encoded_sentences, option_sentences, own_plan, sentence_plan
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.results import GoldPairs, SentenceComparison, SentenceVectors
from bertviz_core.sentences.two_models import (
    LEAST_SENTENCES,
    check_gold,
    evenly_chosen,
    gold_cosines,
    sentence_comparison,
)
from bertviz_core.text import repair_surrogates


def compared_sentences(options: Options) -> tuple[str, ...]:
    """The sentences that are compared: all, or as many as can be drawn, spread evenly over the list.

    Raises:
        TextError: there are too few.
    """
    sentences = option_sentences(options)
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
    chosen, total = compared_sentences(options), len(option_sentences(options))
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


def gold_options(pairs: tuple[Sequence[str], Sequence[str], Sequence[float]], values: Mapping[str, str]) -> Options:
    """Options for pairs of sentences with gold similarities.

    Args:
        pairs: first sentences, second sentences and gold similarities.
        values: the other model, pooling, layer and prompt.
    """
    rows = zip(*pairs, strict=True)
    return Options(tuple(cell for one, other, score in rows for cell in (one, other, repr(score))), values=values)


def _pairs(options: Options) -> tuple[tuple[str, ...], tuple[str, ...], Float[np.ndarray, " pairs"]]:
    """First and second sentences and gold similarities.

    Raises:
        TextError: the texts are no such triples, or cannot be correlated.
    """
    texts = options.texts
    if not texts or len(texts) % 3:
        raise TextError(f"Pairs are given as sentence, sentence, similarity, one after the other; {len(texts)} came.")
    try:
        gold = np.array([float(each) for each in texts[2::3]], dtype=np.float64)
    except ValueError as error:
        raise TextError("Every third text must be the similarity of the two before it, a number.") from error
    if not np.isfinite(gold).all():
        raise TextError("Every similarity must be a finite number.")
    check_gold(gold)
    return tuple(map(repair_surrogates, texts[::3])), tuple(map(repair_surrogates, texts[1::3])), gold


def _gold_cost(opened: Opened, options: Options) -> AnswerCost:
    firsts, other = _pairs(options)[0], options.get(OTHER.key)
    if other:
        _ = opened.rounded(COPIES[other]) if other in COPIES else opened.other(other).loaded
    return AnswerCost((4 if other else 2) * len(firsts))


@long_question(_gold_cost, figures=("gold-cosines",), params=(OTHER, *PLAN), noun="sentences")
def gold_pairs(opened: Opened, options: Options, job: AnswerJob[Answer[GoldPairs]]) -> Answer[GoldPairs]:
    """Cosines of pairs of sentences beside their gold similarities, in one model or in two, and the correlations."""
    firsts, seconds, gold = _pairs(options)
    sentences, count = (*firsts, *seconds), len(firsts)
    sides: tuple[SentenceVectors, ...]
    if options.get(OTHER.key):
        sides, models = vectors_of_both(opened, options, sentences, job), models_of(opened, options)
        notices = plan_notices(opened, options)
    else:
        made = encoded_sentences(opened, options, sentences, progress=job)
        sides, models, notices = (made.result,), made.models, list(made.notices)
    found = tuple(gold_cosines(each.model, each.vectors[:count], each.vectors[count:], gold) for each in sides)
    notices += [notice for each in sides for notice in each.notices]
    notices += [f"All cosines of {each.model} are equal." for each in found if not np.isfinite(each.pearson)]
    result = GoldPairs(firsts, seconds, gold, found, tuple(dict.fromkeys(notices)))
    return Answer(result, models, sentences, result.notices, {"gold_pairs": result})


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
