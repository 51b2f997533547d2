"""The question how a cross-encoder, an NLI head or late interaction orders a list of texts for a query."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bertviz_core.errors import Named, TextError, UnsupportedModelError
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.predictions.classes import output_names
from bertviz_core.predictions.late_interaction import InteractionEncoder, interaction_scores
from bertviz_core.predictions.late_interaction import late_interaction as compared
from bertviz_core.predictions.late_interaction_modules import own_heads, reading_plan
from bertviz_core.predictions.late_interaction_plan import InteractionPlan, interaction_plan
from bertviz_core.predictions.results import HEADS, LATE_INTERACTION, HeadScores, LateInteraction, Ranking
from bertviz_core.predictions.run import HeadModel, stored_tasks
from bertviz_core.predictions.scoring import DEFAULT_CLASS, TASK, PairScores, pair_scores, ranking_class
from bertviz_core.predictions.three_heads import head_scores
from bertviz_core.questions.opened import Opened, answered, names_of
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.question import Answer, AnswerCost, Job, PartOfJob, after, long_question, question
from bertviz_core.questions.texts.sentences import QUERY, check_width, encoded_by, own_plan, query_model
from bertviz_core.resources import retained_nbytes
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.text import counted, escape_controls, quoted, repair_surrogates

MOST_WEIGHT = 1_000
"""Largest weight of a score."""


def interaction_options(query: str, document: str) -> Options:
    """Options for the late interaction of a query and a document."""
    return Options((document,), values={QUERY.key: query} if query else {})


def own_interaction(opened: Opened) -> InteractionPlan:
    """How the checkpoint compares a query with a document."""
    return opened.get_or_compute(
        (__name__, "own_interaction"), lambda: interaction_plan(opened.source, opened.settings)
    )


def interaction_encoder(opened: Opened) -> InteractionEncoder:
    """The model, prepared to encode queries and documents."""
    return InteractionEncoder(opened.loaded, opened.tokenizer, own_interaction(opened))


@question(figures=("late-interaction",), params=(QUERY,))
def late_interaction(opened: Opened, options: Options) -> Answer[LateInteraction]:
    """The cosine of every token of a query with every token of a document, and the sum of the largest."""
    query, document = repair_surrogates(options.get(QUERY.key)).strip(), repair_surrogates(options.text())
    if options.pair is not None:
        raise TextError("Late interaction compares the query with one text; leave out ", Named("pair"), ".")
    if not query:
        raise TextError("The query is empty; write what the document is compared with.")
    if not document.strip():
        raise TextError("The document is blank; write what the query is compared with.")
    key = (__name__, "late_interaction", query, document)
    result = opened.get_or_compute(key, lambda: compared(interaction_encoder(opened), query, document))
    return replace(answered(opened, result, result.notices, interaction=result), texts=(query, document))


WEIGHTS = Param(
    "head_weights",
    "text",
    "weights of the dense, sparse and multi-vector score, after commas; 1,1,1 by default",
    label="Weights: dense, sparse, multi-vector",
)


def heads_options(query: str, texts: Sequence[str], weights: str = "") -> Options:
    """Options for the scores of the three heads of BGE-M3.

    Args:
        weights: of the dense, sparse and multi-vector score, after commas; "" for equal ones.
    """
    values = {QUERY.key: query, WEIGHTS.key: weights}
    return Options(tuple(texts), values={key: value for key, value in values.items() if value})


def _head_weights(options: Options) -> tuple[float, float, float]:
    written = options.get(WEIGHTS.key) or "1,1,1"
    try:
        numbers = [float(each) for each in written.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != len(HEADS) or not all(0 <= each <= MOST_WEIGHT for each in numbers) or not sum(numbers):
        raise TextError(
            f"{quoted(escape_controls(written), 40)} is not three weights of the {', '.join(HEADS)} score, each from "
            f"0 to {MOST_WEIGHT:,}, of which one is above 0; give ",
            Named(WEIGHTS.key),
            ", such as 0.4,0.2,0.4.",
        )
    return numbers[0], numbers[1], numbers[2]


def _heads_cost(opened: Opened, options: Options) -> AnswerCost:
    _, texts = _query_and_texts(options)
    _head_weights(options)
    own_heads(opened.source, opened.settings)
    return AnswerCost(len(texts), nbytes=retained_nbytes(texts))


@long_question(_heads_cost, figures=("three-heads",), params=(QUERY, WEIGHTS), noun="texts")
def three_heads(opened: Opened, options: Options, job: Job[HeadScores]) -> Answer[HeadScores]:
    """Texts scored for a query by the dense, sparse and multi-vector head of BGE-M3, and their weighted mean."""
    query, texts = _query_and_texts(options)
    heads, plan = own_heads(opened.source, opened.settings), reading_plan(opened.source, opened.settings)
    weights = _head_weights(options)
    result = head_scores(opened.loaded, opened.tokenizer, heads, plan, query, texts, weights, job)
    return replace(answered(opened, result, result.notices, head_scores=result), texts=texts)


OWN_ENCODER = "own"
"""Value that selects the model's own encoder for the cosines."""
BY_HEAD, BY_TOKENS = RANKED_BY_OPTIONS = ("head", "late interaction")


def offered_ways(opened: Opened, options: Options) -> Sequence[str]:
    """What may score the texts, the default first; () for a model without a head, which late interaction ranks."""
    try:
        ranking_head(opened)
    except UnsupportedModelError:
        return ()
    return RANKED_BY_OPTIONS if default_ranking(opened) == BY_HEAD else RANKED_BY_OPTIONS[::-1]


def offered_classes(opened: Opened, options: Options) -> Sequence[str]:
    """The classes of the head that ranks, entailment first; () for one output, or late interaction."""
    if options.get(RANKED_BY.key) != BY_HEAD:
        return ()
    head = ranking_head(opened)
    count = int(head.model.config.num_labels)
    labels, _ = output_names(head, count)
    return sorted(labels, key=lambda each: each.lower() != DEFAULT_CLASS) if count > 1 else ()


RANKED_BY = Param(
    "ranked_by",
    "choice",
    "what scores the texts; late interaction by default where a checkpoint without a head was trained for it",
    RANKED_BY_OPTIONS,
    "Ranked by",
    offered_ways,
)
LABEL = Param(
    "label",
    "text",
    "the class whose probability orders the texts, entailment by default",
    (),
    "Class that ranks",
    offered_classes,
)
BESIDE = Param(
    "beside",
    "text",
    "sentence model of the cosines, the bundled one by default; own for the model's own",
    (),
    "Compared with the cosines of",
    lambda opened, _: (default_beside(opened), OWN_ENCODER),
    shown=lambda name: "its own encoder" if name == OWN_ENCODER else name,
    control="model",
)


def ranking_options(
    query: str, texts: Sequence[str], label: str, beside: str, task: str | None = None, by: str = ""
) -> Options:
    """Options for a ranking.

    Args:
        label: the class that ranks; "" for the default.
        beside: the sentence model of the cosines; "" for the default.
        by: "head" or "late interaction"; "" for the default.
    """
    values = {QUERY.key: query, LABEL.key: label, BESIDE.key: beside, RANKED_BY.key: by}
    return Options(tuple(texts), task=task, values={key: value for key, value in values.items() if value})


def ranking_head(opened: Opened, task: str | None = None) -> HeadModel:
    """The head that ranks."""
    stored = _stored_tasks(opened) if task is None else ()
    if TASK not in (stored if task is None else (task,)):
        others = " or ".join(stored) if task is None else task
        what = f"a task head for {others}" if others else "no such head"
        raise UnsupportedModelError(
            f"Texts are ranked by a task head for {TASK} that reads query and text together, and {quoted(opened.name)} "
            f"has {what}; choose a cross-encoder or a model for natural language inference, or rank by late "
            "interaction. A causal model ranks where its folder has LogitScore of sentence-transformers, or a chat "
            "template that names query and document."
        )
    return opened.head(TASK)


def default_ranking(opened: Opened, task: str | None = None) -> str:
    """What scores the texts by default: late interaction if the checkpoint was trained for it and has no head."""
    if TASK in (_stored_tasks(opened) if task is None else (task,)) or not own_interaction(opened).trained:
        return BY_HEAD
    return BY_TOKENS


def _stored_tasks(opened: Opened) -> tuple[str, ...]:
    """The tasks of the heads in the checkpoint; () for none."""
    try:
        return stored_tasks(opened.source)
    except UnsupportedModelError:
        return ()


def sentence_model(opened: Opened, options: Options) -> Opened:
    """The model of the cosines."""
    name = options.get(BESIDE.key) or default_beside(opened)
    return opened if name == OWN_ENCODER else opened.other(name)


def default_beside(opened: Opened) -> str:
    """The bundled sentence model, or the model's own encoder where that may not be opened."""
    allowed = opened.settings.allowed_models
    return OWN_ENCODER if allowed and DEFAULT_MODEL not in allowed else DEFAULT_MODEL


def _query_and_texts(options: Options) -> tuple[str, tuple[str, ...]]:
    query = repair_surrogates(options.get(QUERY.key)).strip()
    if options.pair is not None:
        raise TextError("The second text of each pair is a text of the list; leave out ", Named("pair"), ".")
    if not query:
        raise TextError("The query is empty; write what the texts are ranked for.")
    if not options.texts:
        raise TextError("There are no texts to rank; give at least one.")
    blank = next((place for place, text in enumerate(options.texts, start=1) if not text.strip()), 0)
    if blank:
        raise TextError(f"Text {blank:,} is blank; leave it out, or write what is ranked.")
    return query, tuple(map(repair_surrogates, options.texts))


def _by_tokens(opened: Opened, options: Options) -> bool:
    """Whether late interaction scores the texts; a head otherwise."""
    chosen = options.choice(RANKED_BY) if options.get(RANKED_BY.key) else default_ranking(opened, options.task)
    if chosen == BY_TOKENS and options.get(LABEL.key):
        raise TextError("Late interaction has no classes; leave out ", Named(LABEL.key), ".")
    return chosen == BY_TOKENS


def _cost(opened: Opened, options: Options) -> AnswerCost:
    _, texts = _query_and_texts(options)
    if _by_tokens(opened, options):
        interaction_encoder(opened)
    else:
        ranking_class(ranking_head(opened, options.task), options.get(LABEL.key))
    _ = sentence_model(opened, options).loaded  # load before the work begins
    return AnswerCost(2 * len(texts) + 1, nbytes=retained_nbytes(texts))


def _scores(opened: Opened, options: Options, query: str, texts: tuple[str, ...], progress: PartOfJob) -> PairScores:
    """Score the texts by the head, or by late interaction, whose logits are the scores."""
    if _by_tokens(opened, options):
        scores, truncated, notices = interaction_scores(interaction_encoder(opened), query, texts, progress)
        return PairScores("", LATE_INTERACTION, scores, scores, truncated, notices)
    label, head = options.get(LABEL.key), ranking_head(opened, options.task)
    return pair_scores(head, opened.tokenizer, opened.source, opened.settings, query, texts, label, progress)


@long_question(_cost, figures=("ranking",), params=(QUERY, RANKED_BY, LABEL, BESIDE), noun="texts")
def ranked(opened: Opened, options: Options, job: Job[Ranking]) -> Answer[Ranking]:
    """Texts in the order of a head or of late interaction for a query, beside the order by a sentence model."""
    query, texts = _query_and_texts(options)
    beside, total = sentence_model(opened, options), 2 * len(texts) + 1
    scored = _scores(opened, options, query, texts, after(job, 0, total))
    reader = query_model(beside)
    vectors = encoded_by(beside, own_plan(beside), texts, progress=after(job, len(texts), total)).result
    query_vectors = encoded_by(reader, own_plan(reader), (query,), progress=after(job, 2 * len(texts), total)).result
    check_width(beside, query_vectors.vectors[0], vectors.vectors.shape[1])
    cosines = np.clip(unit(vectors.vectors) @ unit(query_vectors.vectors)[0], -1, 1).astype(np.float32)
    cosines.setflags(write=False)
    named = f"{beside.source.name}: "
    notices = [
        *scored.notices,
        *(f"{named}{each.removeprefix(named)}" for each in (*vectors.notices, *query_vectors.notices)),
    ]
    if scored.truncated:
        notices.insert(0, f"{counted(scored.truncated, 'text')} cut to the length that the model reads.")
    result = Ranking(
        model=opened.source.name,
        sentence_model=beside.source.name,
        query=query,
        texts=texts,
        label=scored.label,
        score_name=scored.score_name,
        logits=scored.logits,
        scores=scored.scores,
        cosines=cosines,
        truncated=scored.truncated,
        answers=scored.answers,
        token_logits=scored.token_logits if scored.answers else None,
        notices=tuple(dict.fromkeys(notices)),
    )
    return Answer(result, names_of(opened, beside), tuple(texts), result.notices, {"ranking": result})
