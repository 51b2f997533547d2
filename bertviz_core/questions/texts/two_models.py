"""Questions about the same sentences in two models: their cosines, and agreement with gold similarities."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.results import OF_LAYERS, AttentionComparison, AttentionMap
from bertviz_core.attention.value_zeroing import compared_attention as compared_maps
from bertviz_core.attention.value_zeroing import relative_place
from bertviz_core.checkpoints.behaviour import compared_heads, compared_states, require_same_tokens
from bertviz_core.checkpoints.layer_similarity import LEAST_TEXTS, NEIGHBOURS, layer_similarity
from bertviz_core.checkpoints.results import Behaviour
from bertviz_core.checkpoints.rounding import COPIES
from bertviz_core.errors import Progress, TextError
from bertviz_core.predictions.two_models import comparison_notices
from bertviz_core.questions.models.checkpoints import OTHER, both_models, other_name, second_model
from bertviz_core.questions.opened import Opened, names_of
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.question import Answer, AnswerCost, Job, after, long_question, question
from bertviz_core.questions.texts.attention import MAP, WEIGHTS, attending_run, attention_map
from bertviz_core.questions.texts.hidden_states import HEAD, LAYER, run
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
from bertviz_core.trace.results import Trace


def compared_sentences(options: Options) -> tuple[str, ...]:
    """The sentences that are compared: all, or as many as can be drawn, spread evenly over the list."""
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
def two_models(opened: Opened, options: Options, job: Job[SentenceComparison]) -> Answer[SentenceComparison]:
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
    models = names_of(*both_models(opened, options))
    return Answer(compared, models, chosen, compared.notices, {"sentence_comparison": compared})


def gold_options(pairs: tuple[Sequence[str], Sequence[str], Sequence[float]], values: Mapping[str, str]) -> Options:
    """Options for pairs of sentences with gold similarities."""
    rows = zip(*pairs, strict=True)
    return Options(tuple(cell for one, other, score in rows for cell in (one, other, repr(score))), values=values)


def _pairs(options: Options) -> tuple[tuple[str, ...], tuple[str, ...], Float[np.ndarray, " pairs"]]:
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
def gold_pairs(opened: Opened, options: Options, job: Job[GoldPairs]) -> Answer[GoldPairs]:
    """Cosines of pairs of sentences beside their gold similarities, in one model or in two, and the correlations."""
    firsts, seconds, gold = _pairs(options)
    sentences, count = (*firsts, *seconds), len(firsts)
    sides: tuple[SentenceVectors, ...]
    if options.get(OTHER.key):
        sides, models = vectors_of_both(opened, options, sentences, job), names_of(*both_models(opened, options))
        notices = plan_notices(opened, options)
    else:
        made = encoded_sentences(opened, options, sentences, progress=job)
        sides, models, notices = (made.result,), made.models, list(made.notices)
    found = tuple(gold_cosines(each.model, each.vectors[:count], each.vectors[count:], gold) for each in sides)
    notices += [notice for each in sides for notice in each.notices]
    notices += [f"All cosines of {each.model} are equal." for each in found if not np.isfinite(each.pearson)]
    result = GoldPairs(firsts, seconds, gold, found, notices=tuple(dict.fromkeys(notices)))
    return Answer(result, models, sentences, result.notices, {"gold_pairs": result})


def vectors_of_both(
    opened: Opened, options: Options, sentences: tuple[str, ...], progress: Progress
) -> tuple[SentenceVectors, SentenceVectors]:
    """Vectors of the sentences in the model and in the other one, each by its own plan with the given options.

    Args:
        options: name the other; pooling, layer and prompt count for both.
        progress: called with sentences done in both models and twice their number.
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
    plans = [(each.source.name, own_plan(each)) for each in both_models(opened, options)]
    return [f"{name}: {plan.reason}" for name, plan in plans if not plan.from_checkpoint]


OTHER_LAYER = Param("other_layer", "layer", "the layer of the second model, by default at the same relative depth")
OTHER_HEAD = Param("other_head", "head", "the head of the second model, by default at the same relative place")
SAME_STATES = "The same model twice: every cosine is 1, but for rounding."


@question(figures=("attention-compared",), params=(OTHER, LAYER, HEAD, OTHER_LAYER, OTHER_HEAD, WEIGHTS, *MAP))
def compared_attention(opened: Opened, options: Options) -> Answer[AttentionComparison]:
    """Attention of one head in each of two models, with the difference where their rows and columns are the same."""
    second = second_model(opened, options)
    reading = {param.key: options.get(param.key) for param in (WEIGHTS, *MAP) if options.get(param.key)}
    texts = (options.text(),), options.pair
    first_values = {key: value for key in (LAYER.key, HEAD.key) if (value := options.get(key))}
    one = attention_map(opened, Options(*texts, values={**reading, **first_values}))
    runs = one.drawn["trace"], attending_run(second, Options(*texts)).result
    place = _second_place(second, options, one.result, runs)
    there = {LAYER.key: str(place[0]), HEAD.key: str(place[1])}
    other = attention_map(second, Options(*texts, values={**reading, **there}))
    names = runs[0].model, runs[1].model
    compared = compared_maps(names, (runs[0].tokens, runs[1].tokens), (one.result, other.result))
    about = [*compared.notices, *_place_notice(names, runs, compared), *one.notices, *other.notices]
    same_place = (one.result.layer, one.result.head) == (other.result.layer, other.result.head)
    notices = comparison_notices(*names, about) if same_place else tuple(dict.fromkeys(about))
    compared = replace(compared, notices=notices)
    models = tuple(dict.fromkeys((*one.models, *other.models)))
    return Answer(compared, models, one.texts, compared.notices, {"attention_comparison": compared})


def second_sizes(opened: Opened, options: Options) -> tuple[int, int]:
    """Number of layers and of heads a layer of the second model, which is run on the text."""
    ran = attending_run(second_model(opened, options), Options((options.text(),), options.pair)).result
    return ran.num_hidden_layers, ran.num_attention_heads


def _second_place(
    second: Opened, options: Options, first: AttentionMap, runs: tuple[Trace, Trace]
) -> tuple[int, int]:  # fmt: skip
    """Layer and head of the second model: the given ones, or those at the same relative place."""
    layers, heads = ([run.num_hidden_layers for run in runs], [run.num_attention_heads for run in runs])
    layer, head = relative_place(first.layer, *layers), relative_place(first.head or 0, *heads)
    return (
        options.numbered(OTHER_LAYER.key, layers[1], layer, second.name),
        options.numbered(OTHER_HEAD.key, heads[1], head, second.name),
    )


def _place_notice(names: tuple[str, str], runs: tuple[Trace, Trace], compared: AttentionComparison) -> list[str]:
    """Which layer and head of the second model is shown, in one sentence, where it has other numbers of them."""
    sizes = [(each.num_hidden_layers, each.num_attention_heads) for each in runs]
    if sizes[0] == sizes[1]:
        return []
    of_layer = compared.first.options.weights in OF_LAYERS
    where = f"layer {compared.second.layer}" + ("" if of_layer else f", head {compared.second.head}")
    numbers = [f"{layers} layers of {heads} heads" for layers, heads in sizes]
    return [f"{names[0]} has {numbers[0]} and {names[1]} {numbers[1]}: of the second, {where} is shown."]


def _heads_cost(opened: Opened, options: Options) -> AnswerCost:
    first, other = _attending_runs(opened, options)
    require_same_tokens(first, other, "their heads have no divergence")
    return AnswerCost(first.num_hidden_layers, first.tokens, 2)


@long_question(_heads_cost, figures=("attention-changed",), params=(OTHER,), noun="layers")
def changed_heads(opened: Opened, options: Options, job: Job[Behaviour]) -> Answer[Behaviour]:
    """Jensen-Shannon divergence of the attention of every head in two models."""
    compared = compared_heads(*_attending_runs(opened, options), job)
    return _answer(opened, options, compared, comparison_notices(compared.first, compared.second, compared.notices))


@question(figures=("states-compared",), params=(OTHER,))
def cosines_of_states(opened: Opened, options: Options) -> Answer[Behaviour]:
    """Cosine of every token's hidden states in two models."""
    plain = Options((options.text(),), options.pair)
    compared = compared_states(run(opened, plain).result, run(second_model(opened, options), plain).result)
    same = [SAME_STATES] if compared.first == compared.second else []
    return _answer(opened, options, compared, (*same, *compared.notices))


def _attending_runs(opened: Opened, options: Options) -> tuple[Trace, Trace]:
    plain = Options((options.text(),), options.pair)
    return attending_run(opened, plain).result, attending_run(second_model(opened, options), plain).result


def _answer(opened: Opened, options: Options, compared: Behaviour, notices: tuple[str, ...]) -> Answer[Behaviour]:
    compared = replace(compared, notices=notices)
    models = names_of(opened, second_model(opened, options))
    texts = compared.tokens.text, compared.tokens.pair
    return Answer(compared, models, texts, notices, {"run_comparison": compared})
