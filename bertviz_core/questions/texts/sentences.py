"""Questions about sentence embeddings: similarities, blocks, neighbours, maps, pairs of tokens, poolings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import Named, Progress, TextError, UnsupportedModelError, no_progress
from bertviz_core.figures.sentences.poolings import Unit, pooling_word
from bertviz_core.figures.sentences.similarity import BLOCKS, NEIGHBOURS
from bertviz_core.models.loading import fast_formats
from bertviz_core.predictions.run import with_word_head
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import EMBEDDING_OUTPUT, Options, Param
from bertviz_core.questions.question import Answer, AnswerCost, Job, long_question, question
from bertviz_core.resources import retained_nbytes
from bertviz_core.sentences.conventions import search_notice
from bertviz_core.sentences.encoding import edge_tokens, prompt_tokens, sentence_tokens
from bertviz_core.sentences.encoding import sentence_vectors as encoded
from bertviz_core.sentences.plan import NO_PROMPT, adapted, offered_prompts, prompt_named, recommended
from bertviz_core.sentences.pooling import offered_poolings, token_pair_shares
from bertviz_core.sentences.results import (
    MEASURES,
    POOLINGS,
    SPARSE_POOLINGS,
    BlockSummary,
    MapMethod,
    Measure,
    Neighbours,
    PoolingComparison,
    ScoredPairs,
    SentenceDtype,
    SentenceMap,
    SentencePlan,
    SentenceVectors,
    TokenPairShares,
)
from bertviz_core.sentences.similarity import block_summary, cluster_order, nearest, similarity_matrix, umap_available
from bertviz_core.sentences.similarity import closest_pairs as most_alike
from bertviz_core.sentences.similarity import pooling_comparison as compared_poolings
from bertviz_core.sentences.similarity import sentence_map as map_of
from bertviz_core.sentences.store.vectors import SentenceStore
from bertviz_core.text import escape_controls, repair_surrogates

METHODS: tuple[MapMethod, ...] = ("pca", "umap")
UNITS: tuple[Unit, ...] = ("tokens", "words")
OWN = "recommended"
"""Value for the model's own pooling."""
AS_LIST = "as the list"
LONG, CONFIRMED, AT_ONCE = 2_000, 4_000, 4_000
"""Numbers of sentences above which bfloat16 is offered, vectors are confirmed, and closest pairs are queued."""
CONFIRM = (
    "{count:,} sentences take a while the first time; vectors that this model has computed before come from the store. "
    "You will see the progress, and can cancel."
)
LISTED_PAIRS = 20


def pooling_names(opened: Opened, options: Options) -> Mapping[str, str]:
    """Poolings of a model with their words, its own first."""
    own, edges = own_plan(opened), opened.get_or_compute((__name__, "edges"), lambda: edge_tokens(opened.tokenizer))
    first = edges.first
    offered = offered_poolings(first, opened.loaded.has_pooler, own.pooling)
    first_word = pooling_word(own.pooling, first) + (" (recommended)" if own.from_checkpoint else "")
    return {OWN: first_word, **{each: pooling_word(each, first) for each in offered if each != own.pooling}}


def state_names(opened: Opened, options: Options) -> Sequence[str]:
    """Entries of the hidden states that can be pooled, the last first; none for what reads the last only."""
    pooling = options.get(POOLING.key, OWN)
    pooler = (own_plan(opened).pooling if pooling == OWN else pooling) in ("pooler", *SPARSE_POOLINGS)
    return () if pooler else [str(state) for state in range(opened.loaded.num_hidden_layers, -1, -1)]


def prompt_texts(opened: Opened) -> Mapping[str, str]:
    """Name -> text of the prompts that a checkpoint offers, its own first, and of none; {} where it has no prompts."""
    own = own_plan(opened)
    texts = {name: (own.prompts or {})[name] for name in offered_prompts(own)}
    every = {**texts, NO_PROMPT: texts.get(NO_PROMPT, "")} if texts else {}
    return {name: every[name] for name in sorted(every, key=lambda name: every[name] != own.prompt)}


def offers_bfloat16(opened: Opened, options: Options) -> Sequence[str]:
    """The two values for a long list on a machine that is faster in bfloat16."""
    fast = len(options.texts) > LONG and "bfloat16" in fast_formats(opened.loaded.device)
    return ("false", "true") if fast else ()


POOLING = Param(
    "pooling",
    "choice",
    "how tokens become one vector, as the checkpoint says by default",
    POOLINGS,
    "Pooling",
    pooling_names,
)
STATE = Param(
    "layer", "layer", "entry of the hidden states that is pooled, the last by default", (), "After layer", state_names
)
MEASURE = Param(
    "measure",
    "choice",
    "what alike means",
    MEASURES,
    "Measure",
    lambda opened, options: own_measures(opened, options),
    shown=lambda each: {"dot": "dot product", "euclidean": "Euclidean"}.get(each, each),
)
ORDERS = ("as typed", "clustered")
ORDER = Param("order", "choice", "the order of the sentences", ORDERS, "Order", lambda *_: ORDERS)
QUERY = Param(
    "query_sentence", "text", "the query: its nearest sentences, the order of texts for it, or its tokens", (), "Query"
)
PLACED = Param(
    "placed",
    "choice",
    "how vectors become points",
    METHODS,
    "Projection",
    lambda *_: METHODS if umap_available() else (),
    shown=str.upper,
)
FIRST_ROW = Param("first_row", "whole", "number of the first vector that is drawn, from 1")
CELLS = Param("cells", "choice", "whether a cell is a pair of tokens or of words", UNITS, "Cells", lambda *_: UNITS)
PROMPT = Param(
    "prompt",
    "text",
    "name of the prompt in front of every sentence, none for none",
    (),
    "Prompt",
    lambda opened, _: tuple(prompt_texts(opened)),
)
QUERY_PROMPT = Param(
    "query_prompt",
    "text",
    "name of the prompt in front of the query",
    (),
    "Prompt of the query",
    lambda opened, _: (AS_LIST, *names) if (names := prompt_texts(opened)) else (),
)
BFLOAT16 = Param(
    "bfloat16", "choice", "vectors are computed in bfloat16", ("false", "true"), "Faster, in bfloat16", offers_bfloat16
)
PLAN = (POOLING, STATE, PROMPT)
VECTORS = (*PLAN, BFLOAT16)


def _vectors_cost(opened: Opened, options: Options) -> AnswerCost:
    sentences, _ = option_sentences(options), sentence_plan(opened, options)
    slow = CONFIRM.format(count=len(sentences)) if len(sentences) > CONFIRMED else ""
    return AnswerCost(len(sentences), slow=slow, action="Compute the vectors", nbytes=retained_nbytes(sentences))


@long_question(_vectors_cost, params=VECTORS, noun="sentences")
def sentence_vectors(opened: Opened, options: Options, job: Job[SentenceVectors]) -> Answer[SentenceVectors]:
    """Embeddings of the sentences."""
    dtype: SentenceDtype = "bfloat16" if options.flag(BFLOAT16) else "float32"
    return encoded_sentences(opened, options, option_sentences(options), dtype, job, opened.vector_store)


def vector_options(opened: Opened, options: Options, plan: SentencePlan | None = None) -> Options:
    """The sentences, and of the parameters those of their vectors that are not the model's own.

    Args:
        plan: the plan of the options, if it is known.
    """
    plan, own = plan or sentence_plan(opened, options), own_plan(opened)
    values = {
        POOLING.key: plan.pooling if plan.pooling != own.pooling else "",
        STATE.key: "" if plan.layer is None else str(plan.layer),
        PROMPT.key: options.get(PROMPT.key) if plan.prompt != own.prompt else "",
        BFLOAT16.key: "true" if options.flag(BFLOAT16) else "",
    }
    return Options(options.texts, values={key: value for key, value in values.items() if value})


def _vectors(opened: Opened, options: Options) -> Answer[SentenceVectors]:
    return sentence_vectors(opened, vector_options(opened, options))


def encoded_sentences(
    opened: Opened,
    options: Options,
    sentences: Sequence[str],
    dtype: SentenceDtype = "float32",
    progress: Progress = no_progress,
    store: SentenceStore | None = None,
) -> Answer[SentenceVectors]:
    """Embed other sentences than those of the options, such as those of a file.

    Args:
        options: pooling, layer and prompt.
        progress: called with sentences done and their number.
        store: cache on disk; None to compute all vectors.
    """
    return encoded_by(opened, sentence_plan(opened, options), sentences, dtype, progress, store)


def encoded_by(
    opened: Opened,
    plan: SentencePlan,
    sentences: Sequence[str],
    dtype: SentenceDtype = "float32",
    progress: Progress = no_progress,
    store: SentenceStore | None = None,
) -> Answer[SentenceVectors]:
    """Embed sentences according to a plan."""
    vectors = encoded(opened.loaded, opened.tokenizer, sentences, plan, dtype, progress, store)
    vectors = replace(vectors, notices=(*vectors.notices, *search_notice(plan, sentences)))
    return replace(answered(opened, vectors, (plan.reason, *vectors.notices)), texts=vectors.sentences)


@question(figures=("sentences",), params=(*VECTORS, MEASURE, ORDER))
def similarity(opened: Opened, options: Options) -> Answer[Float[np.ndarray, "sentences sentences"]]:
    """Similarities of all pairs of sentences."""
    made, measure = _vectors(opened, options), options.choice(MEASURE, own_measures(opened, options))
    matrix, clusters = similarity_matrix(made.result.vectors, measure), None
    if options.choice(ORDER) == ORDERS[1] and len(matrix) > 1:  # similar ones are grouped by their cosine
        clusters = cluster_order(matrix if measure == "cosine" else similarity_matrix(made.result.vectors))
    drawn = {"vectors": made.result, "similarity_measure": measure, "clusters": clusters}
    return made.of(matrix, similarity=matrix, **drawn)


@question(figures=("blocks",), params=VECTORS)
def blocks(opened: Opened, options: Options) -> Answer[BlockSummary]:
    """Similarities of many sentences, summarized by blocks of similar ones."""
    made = _vectors(opened, options)
    summary = block_summary(made.result.vectors, BLOCKS)
    return made.of(summary, block_summary=summary, vectors=made.result)


@long_question(
    lambda opened, options: AnswerCost(len(options.texts), short=AT_ONCE), params=(*VECTORS, MEASURE), noun="sentences"
)
def closest_pairs(opened: Opened, options: Options, job: Job[ScoredPairs]) -> Answer[ScoredPairs]:
    """The most similar pairs of sentences, in descending order."""
    made, measure = _vectors(opened, options), options.choice(MEASURE, own_measures(opened, options))
    return made.of(most_alike(made.result.vectors, LISTED_PAIRS, measure, job))


@question(figures=("query",), params=(*VECTORS, QUERY, QUERY_PROMPT, MEASURE))
def neighbours(opened: Opened, options: Options) -> Answer[Neighbours]:
    """The sentences nearest to a query."""
    query = repair_surrogates(options.get(QUERY.key)).strip()
    if not query:
        what = "This figure shows what is nearest to a query and none was given; give "
        raise TextError(what, Named(QUERY.key), "=TEXT.")
    made, vector = _vectors(opened, options), encoded_query(opened, options, query)
    check_width(opened, vector, made.result.vectors.shape[1])
    count = min(NEIGHBOURS, len(made.result.sentences))
    found = nearest(vector, made.result.vectors, count, options.choice(MEASURE, own_measures(opened, options)))
    return made.of(found, neighbours=found, vectors=made.result, query=query)


def encoded_query(
    opened: Opened, options: Options, query: str, plan: SentencePlan | None = None
) -> Float[np.ndarray, " dimensions"]:
    """The vector of a query, which may have a prompt of its own; by default under the plan of the options."""
    reader, plan = query_reader(opened, options, plan)
    vector: Float[np.ndarray, " dimensions"] = encoded(reader.loaded, reader.tokenizer, (query,), plan).vectors[0]
    return vector


def query_reader(opened: Opened, options: Options, plan: SentencePlan | None = None) -> tuple[Opened, SentencePlan]:
    """The model that reads queries, and its plan with the prompt of the query; see encoded_query."""
    reader = query_model(opened)
    own = None if reader is not opened else plan
    return reader, replace(own or sentence_plan(reader, options), prompt=query_prompt(opened, options))


def query_model(opened: Opened) -> Opened:
    """The model that reads queries: that of its folder for them, where there is another, or the model itself."""
    return opened.other(opened.source.query_name) if opened.source.query_name else opened


def check_width(opened: Opened, query: Float[np.ndarray, " dimensions"], width: int) -> None:
    """Check that the vector of a query has as many numbers as those of the texts."""
    if len(query) != width:
        raise TextError(
            f"{query_model(opened).name!r} makes vectors of {len(query):,} numbers of queries, and {opened.name!r} of "
            f"{width:,} of texts, so they cannot be compared."
        )


def query_prompt(opened: Opened, options: Options) -> str:
    """The prompt in front of the query, by default that of the list."""
    plan, name = sentence_plan(opened, options), options.get(QUERY_PROMPT.key, AS_LIST)
    return plan.prompt if name in ("", AS_LIST) else prompt_named(plan, name)


@question(figures=("map",), params=(*VECTORS, PLACED))
def sentence_map(opened: Opened, options: Options) -> Answer[SentenceMap]:
    """All sentences in two dimensions."""
    if len(options.texts) < 3:
        raise TextError("A map needs at least three sentences; give more of them.")
    method = options.choice(PLACED, METHODS if umap_available() else METHODS[:1])
    made = _vectors(opened, options)
    points = map_of(made.result.vectors, method)
    return made.of(points, sentence_map=points, vectors=made.result, column="", values=None)


@question(figures=("vectors",), params=(*VECTORS, FIRST_ROW))
def vector_rows(opened: Opened, options: Options) -> Answer[SentenceVectors]:
    """The embeddings, as a figure."""
    made = _vectors(opened, options)
    first = max(options.whole(FIRST_ROW.key, len(made.result.sentences) + 1, 1) - 1, 0)
    return made.of(made.result, vectors=made.result, first_row=first)


def _two_sentences(options: Options) -> tuple[str, str]:
    sentences = option_sentences(options)
    if len(sentences) != 2:
        raise TextError(f"This figure compares two sentences, and {len(sentences)} came; give two in quotes.")
    return sentences[0], sentences[1]


def _pair_cost(opened: Opened, options: Options) -> AnswerCost:
    plan, sentences = sentence_plan(opened, options), _two_sentences(options)
    longest = max((sentence_tokens(opened.tokenizer, each, plan) for each in sentences), key=len)
    return AnswerCost(2, longest, runs=2)


@long_question(_pair_cost, figures=("pair",), params=(*PLAN, CELLS), noun="sentences")
def token_pairs(opened: Opened, options: Options, job: Job[TokenPairShares]) -> Answer[TokenPairShares]:
    """The cosine similarity of two sentences as a sum over pairs of tokens."""
    sentences, plan, tokenizer = _two_sentences(options), sentence_plan(opened, options), opened.tokenizer
    runs = []
    for done, each in enumerate(sentences):
        job(done, len(sentences))
        runs.append(opened.trace(sentence_tokens(tokenizer, each, plan)))
    shares = token_pair_shares(runs[0], runs[1], plan, prompt_tokens(tokenizer, plan))
    drawn = {"pair_shares": shares, "unit": options.choice(CELLS, UNITS), "model_name": opened.source.name}
    return replace(answered(opened, shares, (plan.reason, shares.note), **drawn), texts=sentences)


@question(figures=("poolings", "pooling-maps"))
def poolings(opened: Opened, options: Options) -> Answer[PoolingComparison]:
    """Comparison of poolings and layers."""
    sentences = option_sentences(options)
    if len(sentences) < 2:
        raise TextError("Poolings are compared by the cosines of pairs; give a second sentence.")
    plan = own_plan(opened)
    compared = compared_poolings(
        opened.loaded, opened.tokenizer, sentences, max_seq_length=plan.max_seq_length, own=plan.pooling
    )
    drawn = {"pooling_comparison": compared, "model_name": opened.source.name}
    return replace(answered(opened, compared, (compared.note, *compared.cut), **drawn), texts=compared.sentences)


def own_plan(opened: Opened) -> SentencePlan:
    """The embedding plan that the checkpoint specifies."""
    plan = opened.get_or_compute((__name__, "own_plan"), lambda: recommended(opened.source, opened.settings))
    return plan if plan.sparse is None else with_word_head(plan, lambda: opened.head("masked-lm"))


def own_measures(opened: Opened, options: Options) -> Sequence[Measure]:
    """What may compare two vectors, what the model was made for first."""
    own = sentence_plan(opened, options).measure
    return sorted(MEASURES, key=lambda each: each != own)


def check_dense(plan: SentencePlan, what: str) -> None:
    """Refuse what has no meaning for vectors over the words of a vocabulary."""
    if plan.pooling in SPARSE_POOLINGS:
        raise UnsupportedModelError(
            f"{what} are not computed of the vectors of a sparse encoder, which have a number for each word of its "
            "vocabulary; choose the pooling mean."
        )


def sentence_plan(opened: Opened, options: Options) -> SentencePlan:
    """The embedding plan of the checkpoint, with the pooling, layer and prompt of the options."""
    value = options.get(POOLING.key).removeprefix(OWN)
    chosen = next((each for each in POOLINGS if each == value), None)
    if value and chosen is None:
        raise TextError(f"There is no pooling {escape_controls(value[:20])!r}; choose {', '.join(POOLINGS)}.")
    plan, last = own_plan(opened), opened.loaded.num_hidden_layers
    layer = options.numbered("layer", last + 1, last, opened.name, EMBEDDING_OUTPUT)
    prompt = prompt_named(plan, options.get(PROMPT.key)) if options.get(PROMPT.key) else None
    return adapted(plan, chosen or plan.pooling, None if layer == last else layer, prompt)


def option_sentences(options: Options) -> tuple[str, ...]:
    """The sentences of the options."""
    if not options.texts:
        raise TextError("This figure compares sentences, and none was given; give some, each in quotes.")
    return tuple(repair_surrogates(each) for each in options.texts)
