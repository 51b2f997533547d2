"""The question which threshold of a score divides labelled pairs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bertviz_core.errors import Named, TextError
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.predictions.late_interaction import interaction_scores
from bertviz_core.predictions.results import LATE_INTERACTION
from bertviz_core.predictions.saturation import equal_scores
from bertviz_core.predictions.scoring import paired_scores, ranking_class
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.predictions.ranking import (
    BY_HEAD,
    BY_TOKENS,
    LABEL,
    default_ranking,
    interaction_encoder,
    offered_classes,
    offered_ways,
    ranking_head,
)
from bertviz_core.questions.question import Answer, AnswerCost, Job, PartOfJob, after, long_question
from bertviz_core.questions.texts.sentences import PLAN, QUERY_PROMPT, own_plan, query_prompt, sentence_plan
from bertviz_core.resources import retained_nbytes
from bertviz_core.sentences.analysis.results import PairThresholds
from bertviz_core.sentences.analysis.thresholds import (
    SEED,
    best_place,
    check_count,
    check_pairs,
    check_scores,
    gold_labels,
    reaching_place,
    resampled_threshold,
    threshold_at,
    threshold_curve,
)
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.text import counted, quoted, repair_surrogates

BY_COSINE = "cosine"
SCORED_BY_OPTIONS = (BY_COSINE, BY_HEAD, BY_TOKENS)
NUMBERS = SCORE, LOGIT = ("score", "logit")
PRECISIONS = ("0.9", "0.8", "0.95", "0.99")
"""Precisions that a page offers, the default first."""


def offered_scores(opened: Opened, options: Options) -> Sequence[str]:
    """What may score the pairs, the default first: the head of a model that ranks by one, else its vectors."""
    ways = offered_ways(opened, options)
    if default_ranking(opened) == BY_TOKENS:
        return (BY_TOKENS, BY_COSINE, *(each for each in ways if each == BY_HEAD))
    if ways and _scores_pairs(opened):
        return (BY_HEAD, BY_COSINE, BY_TOKENS)
    return (BY_COSINE, BY_TOKENS, *(each for each in ways if each == BY_HEAD))


def _scores_pairs(opened: Opened) -> bool:
    """Whether the head has one output, or the class that ranks by default."""
    try:
        ranking_class(ranking_head(opened))
    except TextError:
        return False
    return True


def head_classes(opened: Opened, options: Options) -> Sequence[str]:
    """The classes of the head that scores; () for one output, or another score."""
    by_head = _scored_by(opened, options) == BY_HEAD
    return offered_classes(opened, replace(options, values={"ranked_by": BY_HEAD})) if by_head else ()


SCORED_BY = Param(
    "scored_by",
    "choice",
    "what scores the pairs: the head of a reranker, otherwise the cosine of their vectors, by default",
    SCORED_BY_OPTIONS,
    "Scored by",
    offered_scores,
    parts=True,
)
NUMBER = Param(
    "threshold_of",
    "choice",
    "whether the threshold is one of the score, or of the logit that the score is made of",
    NUMBERS,
    "Threshold of",
    lambda opened, options: NUMBERS if _scored_by(opened, options) == BY_HEAD else (),
    control="few",
)
CUT = Param(
    "cut",
    "text",
    "the least gold similarity of a positive pair; 1 for labels 0 and 1, otherwise the middle of the scale",
    label="Positive from",
)
PRECISION = Param(
    "precision",
    "text",
    "the precision that is to be reached, 0 to 1",
    label="Precision to reach",
    values=lambda *_: PRECISIONS,
)
SCORES = (SCORED_BY, replace(LABEL, values=head_classes, label="Class of the score"), NUMBER)
"""Parameters of the score, as a page has them."""


def by_cosine(opened: Opened, options: Options) -> bool:
    """Whether the cosine scores the pairs."""
    return _scored_by(opened, options) == BY_COSINE


VECTORS = tuple(replace(each, applies=by_cosine) for each in (*PLAN, QUERY_PROMPT))
"""Parameters of the vectors, as a page has them."""


class LabelledPairs(NamedTuple):
    """Pairs of texts with their labels."""

    firsts: tuple[str, ...]
    seconds: tuple[str, ...]
    gold: Float[np.ndarray, " pairs"]

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self.gold)


def threshold_options(
    pairs: tuple[Sequence[str], Sequence[str], Sequence[float]], values: Mapping[str, str], task: str | None = None
) -> Options:
    """Options for labelled pairs.

    Args:
        pairs: first texts, second texts, and labels.
        values: key of a parameter -> its unparsed value; "" for the default.
    """
    rows = zip(*pairs, strict=True)
    cells = tuple(cell for one, other, label in rows for cell in (one, other, repr(float(label))))
    return Options(cells, task=task, values={key: value for key, value in values.items() if value})


def labelled_pairs(
    pairs: Sequence[Sequence[str]], labels: ArrayLike
) -> tuple[list[str], list[str], list[float]]:  # fmt: skip
    """Check pairs and labels of a program of the reader's: first texts, second texts, and labels as numbers."""
    try:
        numbers = np.asarray(labels, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TextError("A label is no number; give each pair 0 or 1, or a similarity.") from error
    if numbers.shape != (len(pairs),):
        raise TextError(
            f"{counted(len(pairs), 'pair')} came with labels of the shape {numbers.shape}; give one for each."
        )
    wrong = next((place for place, pair in enumerate(pairs, start=1) if len(pair) != 2), 0)
    if wrong:
        raise TextError(f"Pair {wrong:,} is not two texts; give pairs (first, second).")
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs], numbers.tolist()


def _pairs(options: Options) -> LabelledPairs:
    texts = options.texts
    if not texts or len(texts) % 3:
        raise TextError(f"Pairs are given as text, text, label, one after the other; {len(texts) or 'none'} came.")
    try:
        gold = np.array([float(each) for each in texts[2::3]], dtype=np.float64)
    except ValueError as error:
        raise TextError("Every third text must be the label of the two before it, a number: 0 or 1.") from error
    pairs = LabelledPairs(tuple(map(repair_surrogates, texts[::3])), tuple(map(repair_surrogates, texts[1::3])), gold)
    check_count(len(pairs))
    check_pairs(pairs.firsts, pairs.seconds)
    return pairs


def _parsed(param: Param, options: Options, least: float, most: float, default: float | None) -> float | None:
    """A number of the options."""
    typed = options.get(param.key).strip()
    if not typed:
        return default
    try:
        value = float(typed)
    except ValueError:
        value = math.nan
    if not least <= value <= most or math.isinf(value):
        bounds = "" if math.isinf(most) else f" above {least:.0f}, up to {most:.0f}"
        raise TextError("There is no ", Named(param.key), f"={quoted(typed, 20)}; give a number{bounds}.")
    return value


def _precision(options: Options) -> float:
    precision = _parsed(PRECISION, options, 0, 1, float(PRECISIONS[0]))
    if not precision:
        raise TextError("Every threshold has a precision above 0; give ", Named(PRECISION.key), " above 0, up to 1.")
    return precision


def _scored_by(opened: Opened, options: Options) -> str:
    """What scores the pairs."""
    chosen = options.get(SCORED_BY.key)
    if not chosen and options.task is not None:
        return BY_HEAD
    return options.choice(SCORED_BY) if chosen else offered_scores(opened, options)[0]


class Scored(NamedTuple):
    """Scores of pairs."""

    name: str
    """What the score is."""
    label: str
    """The class whose score it is; "" for none."""
    scores: np.ndarray
    logits: np.ndarray | None
    truncated: int
    """Number of pairs that were cut."""
    notices: tuple[str, ...]


def _by_head(opened: Opened, options: Options, pairs: LabelledPairs, job: Job[PairThresholds]) -> Scored:
    head, label = ranking_head(opened, options.task), options.get(LABEL.key)
    both = list(zip(pairs.firsts, pairs.seconds, strict=True))
    made = paired_scores(head, opened.tokenizer, opened.source, opened.settings, both, label, job)
    return Scored(made.score_name, made.label, made.scores, made.logits, made.truncated, made.notices)


def _by_tokens(opened: Opened, options: Options, pairs: LabelledPairs, job: Job[PairThresholds]) -> Scored:
    """Score each query with its texts."""
    encoder, scores = interaction_encoder(opened), np.zeros(len(pairs), dtype=np.float32)
    texts_of: dict[str, list[int]] = {}
    for place, query in enumerate(pairs.firsts):
        texts_of.setdefault(query, []).append(place)
    truncated, done, notices = 0, 0, dict[str, None]()
    for query, places in texts_of.items():
        texts = [pairs.seconds[place] for place in places]
        scores[places], cut, remarks = interaction_scores(encoder, query, texts, after(job, done, len(pairs)))
        truncated, done = truncated + cut, done + len(places)
        notices |= dict.fromkeys(remarks)
    return Scored(LATE_INTERACTION, "", scores, None, truncated, tuple(notices))


def _by_cosine(opened: Opened, options: Options, pairs: LabelledPairs, job: Job[PairThresholds]) -> Scored:
    """Score by the cosines of vectors; the first texts may have a prompt of their own."""
    plan, count = sentence_plan(opened, options), len(pairs)
    first_plan = replace(plan, prompt=query_prompt(opened, options))
    sides = []
    for done, texts, one in ((0, pairs.firsts, first_plan), (count, pairs.seconds, plan)):
        progress: PartOfJob = after(job, done, 2 * count)
        sides.append(sentence_vectors(opened.loaded, opened.tokenizer, texts, one, progress=progress))
    first, second = (unit(each.vectors) for each in sides)
    cosines = np.clip(np.einsum("pd,pd->p", first, second, dtype=np.float64), -1, 1)
    notices: tuple[str, ...] = () if own_plan(opened).from_checkpoint else (plan.reason,)
    notices += tuple(notice for each in sides for notice in each.notices)
    return Scored(BY_COSINE, "", cosines, None, 0, notices)


def _equal(scored: Scored) -> list[str]:
    """How many scores are equal although their logits differ, which a threshold cannot divide."""
    equal = 0 if scored.logits is None else equal_scores(scored.scores, scored.logits)["float32"]
    what = f"{equal:,} of {counted(len(scored.scores), 'score')} equal another one although their logits differ: the "
    return [f"{what}{scored.name} rounds them to one number. Take a threshold of the logit."] if equal else []


WAYS = {BY_COSINE: _by_cosine, BY_HEAD: _by_head, BY_TOKENS: _by_tokens}


def _cost(opened: Opened, options: Options) -> AnswerCost:
    pairs = _pairs(options)
    by = _check(opened, options, pairs)
    if by == BY_HEAD:
        ranking_class(ranking_head(opened, options.task), options.get(LABEL.key))
    return AnswerCost(len(pairs) * (2 if by == BY_COSINE else 1), nbytes=retained_nbytes(options.texts))


def _check(opened: Opened, options: Options, pairs: LabelledPairs) -> str:
    """Check the options before any run; returns what scores the pairs."""
    gold_labels(pairs.gold, _parsed(CUT, options, -math.inf, math.inf, None))
    _precision(options)
    by, number = _scored_by(opened, options), options.choice(NUMBER)
    for param, value in ((NUMBER, number == LOGIT), (LABEL, options.get(LABEL.key))):
        if value and by != BY_HEAD:
            raise TextError(f"The {by} has no logit and no class; leave out ", Named(param.key), ".")
    return by


@long_question(
    _cost, figures=("thresholds",), params=(SCORED_BY, LABEL, NUMBER, CUT, PRECISION, *PLAN, QUERY_PROMPT), noun="texts"
)
def thresholds(opened: Opened, options: Options, job: Job[PairThresholds]) -> Answer[PairThresholds]:
    """Precision, recall and F1 of labelled pairs for every threshold of a score."""
    pairs = _pairs(options)
    scored = WAYS[_check(opened, options, pairs)](opened, options, pairs, job)
    check_scores(opened.source.name, scored.scores)
    by_logit = options.choice(NUMBER) == LOGIT and scored.logits is not None
    scores = np.asarray(scored.logits if by_logit else scored.scores)
    gold = gold_labels(pairs.gold, _parsed(CUT, options, -math.inf, math.inf, None))
    curve, target = threshold_curve(scores, gold.labels), _precision(options)
    count, reaching, resampled = len(pairs), reaching_place(curve, target), resampled_threshold(scores, gold.labels)
    cut = (f"{counted(scored.truncated, 'pair')} cut to the length that the model reads.",) if scored.truncated else ()
    result = PairThresholds(
        model=opened.source.name,
        first_texts=pairs.firsts,
        second_texts=pairs.seconds,
        gold=pairs.gold,
        cut=gold.cut,
        labels=gold.labels,
        score_name=LOGIT if by_logit else scored.name,
        label=scored.label,
        scores=scores,
        logits=scored.logits,
        curve=curve,
        best=threshold_at(curve, best_place(curve), count),
        resampled=resampled.interval,
        resamples=resampled.samples,
        seed=SEED,
        target=target,
        reaching=None if reaching is None else threshold_at(curve, reaching, count),
        notices=tuple(dict.fromkeys((*cut, *gold.notices, *([] if by_logit else _equal(scored)), *scored.notices))),
    )
    return replace(
        answered(opened, result, result.notices, pair_thresholds=result), texts=(*pairs.firsts, *pairs.seconds)
    )
