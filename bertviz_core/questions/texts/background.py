"""The question how alike unrelated texts are to a model, by which the height of a cosine is judged."""

from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from bertviz_core.checkpoints.rounding import COPIES
from bertviz_core.errors import Progress
from bertviz_core.questions.models.checkpoints import OTHER, second_model
from bertviz_core.questions.opened import Opened, names_of
from bertviz_core.questions.parameters import Options, Param, flag
from bertviz_core.questions.question import Answer, AnswerCost, Job, after, long_question
from bertviz_core.questions.texts.sentences import (
    AS_LIST,
    BFLOAT16,
    MEASURE,
    OWN,
    PLAN,
    POOLING,
    PROMPT,
    QUERY_PROMPT,
    STATE,
    VECTORS,
    encoded_by,
    own_measures,
    prompt_texts,
    query_prompt,
    sentence_plan,
    sentence_vectors,
    vector_options,
)
from bertviz_core.sentences.analysis.background import background as background_of
from bertviz_core.sentences.analysis.background import known_texts, listed_pairs, listed_texts, unrelated_texts
from bertviz_core.sentences.analysis.results import BACKGROUNDS, Background
from bertviz_core.sentences.encoding import sentence_tokens
from bertviz_core.sentences.results import SentenceDtype, SentencePlan, SentenceVectors
from bertviz_core.trace.cost import run_cost

BACKGROUND = Param(
    "background",
    "choice",
    "the pairs that a similarity is compared with",
    BACKGROUNDS,
    "Compared with",
    lambda *_: BACKGROUNDS,
)
QUICK_SECONDS = 3.0
"""Estimated seconds up to which the background is computed with the first similarity that is shown."""
SCALED = replace(
    flag("scaled", "whether similarities are compared with those of unrelated texts, which takes a while once"),
    label="Is that high for this model?",
    applies=lambda opened, options: not is_quick(opened, options),
)


def _longest() -> tuple[str, int]:
    """The longest shipped text, and to how many of its length all of them come."""
    texts = unrelated_texts()
    longest = max(texts, key=len)
    return longest, -(-sum(map(len, texts)) // len(longest))


def is_quick(opened: Opened, options: Options) -> bool:
    """Whether the background is computed without being asked for: of quick models, by their own recipe."""
    if not _is_own(opened, options):
        return False
    other = options.get(OTHER.key)
    models = [opened, *([opened.other(other)] if other and other not in COPIES else [])]
    return all(_seconds(each) <= QUICK_SECONDS for each in models)


def _is_own(opened: Opened, options: Options) -> bool:
    """Whether the options leave the recipe of the vectors to the model."""
    prompt = options.get(PROMPT.key)
    own_prompt = next(iter(prompt_texts(opened)), "") if prompt else ""
    return (
        options.get(POOLING.key) in ("", OWN)
        and options.get(STATE.key) in ("", str(opened.loaded.num_hidden_layers))
        and prompt == own_prompt
        and options.get(QUERY_PROMPT.key) in ("", AS_LIST)
    )


_SECONDS: WeakKeyDictionary[Any, float] = WeakKeyDictionary()
"""Model in memory -> estimated seconds of its background, which each click on a page asks for."""


def _seconds(opened: Opened) -> float:
    model = opened.loaded.model
    if model not in _SECONDS:
        longest, runs = _longest()
        tokens = len(sentence_tokens(opened.tokenizer, longest, sentence_plan(opened, Options())))
        _SECONDS[model] = run_cost(opened.loaded, tokens, runs).seconds
    return _SECONDS[model]


def _cost(opened: Opened, options: Options) -> AnswerCost:
    if options.choice(BACKGROUND) != BACKGROUNDS[0]:
        return AnswerCost(len(options.texts))
    plan = sentence_plan(opened, options)
    longest, runs = _longest()
    return AnswerCost(len(unrelated_texts()), sentence_tokens(opened.tokenizer, longest, plan), runs)


@long_question(_cost, figures=("background",), params=(*VECTORS, MEASURE, QUERY_PROMPT, BACKGROUND), noun="texts")
def background(opened: Opened, options: Options, job: Job[Background]) -> Answer[Background]:
    """Similarities of all pairs of unrelated texts in the model, or of a list of texts."""
    listed = sentence_vectors(opened, vector_options(opened, options)).result if options.texts else None
    if options.choice(BACKGROUND) != BACKGROUNDS[0]:
        texts = listed_texts(() if listed is None else listed.sentences)
        count = len(set(options.texts))
        cut = (f"{len(texts)} of the {count:,} different texts are compared, evenly spaced in the list.",)
        return _compared(opened, options, texts, cut if len(texts) < count else (), job)
    if listed is None:
        return _compared(opened, options, *known_texts(opened.tokenizer, sentence_plan(opened, options)), job)
    made = background(opened, replace(options, texts=()), job)  # it does not depend on the list
    drawn = listed_pairs(listed, options.choice(MEASURE, own_measures(opened, options)))
    shown = made.of(made.result, drawn.notices, background=made.result, listed=drawn)
    return replace(shown, texts=drawn.sentences)


def _compared(
    opened: Opened, options: Options, texts: tuple[str, ...], notices: tuple[str, ...], job: Job[Background]
) -> Answer[Background]:
    """The similarities of all pairs of texts, one text of each with the prompt of a query where that is another."""
    plan, total = sentence_plan(opened, options), 2 * len(texts)
    prompt = query_prompt(opened, options)
    dtype: SentenceDtype = "bfloat16" if options.flag(BFLOAT16) else "float32"

    def vectors(used: SentencePlan, progress: Progress) -> Answer[SentenceVectors]:
        return encoded_by(opened, used, texts, dtype, progress, opened.vector_store)

    made = vectors(plan, job if prompt == plan.prompt else after(job, 0, total))
    queries: SentenceVectors | None = None
    if prompt != plan.prompt:
        queries = vectors(replace(plan, prompt=prompt), after(job, len(texts), total)).result
    of, measure = options.choice(BACKGROUND, BACKGROUNDS), options.choice(MEASURE, own_measures(opened, options))
    of_unrelated = background_of(made.result, of, measure, queries, (*made.notices, *notices))
    shown = made.of(of_unrelated, notices, background=of_unrelated, listed=None)
    return shown if of != BACKGROUNDS[0] else replace(shown, texts=())


def _both_costs(opened: Opened, options: Options) -> AnswerCost:
    second = second_model(opened, options)
    _ = second.loaded  # before the work begins
    slower = max((opened, second), key=_seconds)
    cost = _cost(slower, options)
    return replace(cost, steps=2 * cost.steps, runs=2 * cost.runs)


@long_question(_both_costs, params=(OTHER, *PLAN, BACKGROUND), noun="texts")
def two_backgrounds(
    opened: Opened, options: Options, job: Job[tuple[Background, Background]]
) -> Answer[tuple[Background, Background]]:
    """The backgrounds of two models, each by its own recipe; cosines of two models are compared by them alone."""
    other = second_model(opened, options)
    plain = options.only(*PLAN, BACKGROUND)
    steps = _cost(opened, options).steps
    first = background(opened, plain, after(job, 0, 2 * steps))
    second = background(other, plain, after(job, steps, 2 * steps))
    models = names_of(opened, other)
    notices = tuple(dict.fromkeys((*first.notices, *second.notices)))
    return Answer((first.result, second.result), models, first.texts, notices)


def background_options(opened: Opened, options: Options, plain: Options) -> Options:
    """Options of the background that similarities of a list are compared with, which does not depend on the list.

    Args:
        options: those of the similarities.
        plain: those of the vectors of the list.
    """
    values = {key: value for key in (MEASURE.key, QUERY_PROMPT.key) if (value := options.get(key))}
    own = (own_measures(opened, plain)[0], AS_LIST)
    values = {key: value for key, value in values.items() if value not in own}
    return Options(values={**plain.values, **values})
