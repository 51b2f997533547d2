"""Questions about sentence embeddings: similarities, blocks, neighbours, maps, pairs of tokens, poolings."""

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import Named, Progress, TextError
from bertviz_core.figures.sentences.similarity import BLOCKS, NEIGHBOURS
from bertviz_core.figures.sentences.token_pairs import Unit
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import EMBEDDING_OUTPUT, Options, Param, choice
from bertviz_core.questions.question import Answer, question
from bertviz_core.sentences.batches import prompt_tokens, sentence_tokens
from bertviz_core.sentences.encoding import sentence_vectors as encoded
from bertviz_core.sentences.plan import adapted, prompt_named, recommended
from bertviz_core.sentences.pooling_comparison import pooling_comparison as compared_poolings
from bertviz_core.sentences.projection import sentence_map as map_of
from bertviz_core.sentences.projection import umap_available
from bertviz_core.sentences.results import (
    MEASURES,
    POOLINGS,
    BlockSummary,
    ClusterOrder,
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
from bertviz_core.sentences.similarity import block_summary, closest_pairs, cluster_order, nearest, similarity_matrix
from bertviz_core.sentences.store.vectors import SentenceStore
from bertviz_core.sentences.token_pairs import token_pair_shares
from bertviz_core.text import escape_controls, repair_surrogates

METHODS: tuple[MapMethod, ...] = ("pca", "umap")
UNITS: tuple[Unit, ...] = ("tokens", "words")
POOLING = Param("pooling", "choice", "how tokens become one vector, as the checkpoint says by default", POOLINGS)
STATE = Param("layer", "layer", "entry of the hidden states that is pooled, the last by default")
MEASURE = choice("measure", MEASURES, "what alike means")
ORDER = choice("order", ("as typed", "clustered"), "the order of the sentences")
QUERY = Param("query_sentence", "text", "the query: its nearest sentences, the order of texts for it, or its tokens")
PLACED = choice("placed", METHODS, "how vectors become points")
FIRST_ROW = Param("first_row", "whole", "number of the first vector that is drawn, from 1")
CELLS = choice("cells", UNITS, "whether a cell is a pair of tokens or of words")
PROMPT = Param("prompt", "text", "name of the prompt in front of every sentence, none for none")
PLAN = (POOLING, STATE, PROMPT)


@question(params=PLAN)
def sentence_vectors(opened: Opened, options: Options) -> Answer[SentenceVectors]:
    """Embeddings of the sentences."""
    return encoded_sentences(opened, options, option_sentences(options))


def encoded_sentences(
    opened: Opened,
    options: Options,
    sentences: Sequence[str],
    dtype: SentenceDtype = "float32",
    progress: Progress | None = None,
    store: SentenceStore | None = None,
) -> Answer[SentenceVectors]:
    """Embed other sentences than those of the options, such as those of a file.

    Args:
        opened: the model.
        options: pooling, layer and prompt.
        sentences: the sentences.
        dtype: number format of the run.
        progress: called with sentences done and their number.
        store: cache on disk; None to compute all vectors.

    Raises:
        BertvizError: there is no such pooling or layer, or the sentences cannot be encoded.
    """
    return encoded_by(opened, sentence_plan(opened, options), sentences, dtype, progress, store)


def encoded_by(
    opened: Opened,
    plan: SentencePlan,
    sentences: Sequence[str],
    dtype: SentenceDtype = "float32",
    progress: Progress | None = None,
    store: SentenceStore | None = None,
) -> Answer[SentenceVectors]:
    """Embed sentences according to a plan."""
    vectors = encoded(opened.loaded, opened.tokenizer, sentences, plan, dtype, progress, store)
    return replace(answered(opened, vectors, (plan.reason, *vectors.notices)), texts=vectors.sentences)


@question(figures=("sentences",), params=(*PLAN, MEASURE, ORDER))
def similarity(opened: Opened, options: Options) -> Answer[Float[np.ndarray, "sentences sentences"]]:
    """Similarities of all pairs of sentences."""
    made, measure = sentence_vectors(opened, options), options.choice(MEASURE, MEASURES)
    matrix, clusters = every_pair(made.result, measure, options.choice(ORDER) == ORDER.options[1])
    drawn = {"vectors": made.result, "similarity_measure": measure, "clusters": clusters}
    return made.of(matrix, similarity=matrix, **drawn)


@question(figures=("blocks",), params=PLAN)
def blocks(opened: Opened, options: Options) -> Answer[BlockSummary]:
    """Similarities of many sentences, summarized by blocks of similar ones."""
    made = sentence_vectors(opened, options)
    summary = sentence_blocks(opened, options.key(), made.result)
    return made.of(summary, block_summary=summary, vectors=made.result)


@question(figures=("query",), params=(*PLAN, QUERY, MEASURE))
def neighbours(opened: Opened, options: Options) -> Answer[Neighbours]:
    """The sentences nearest to a query."""
    query = repair_surrogates(options.get(QUERY.key)).strip()
    if not query:
        what = "This figure shows what is nearest to a query and none was given; give "
        raise TextError(what, Named(QUERY.key), "=TEXT.")
    made, plan = sentence_vectors(opened, options), sentence_plan(opened, options)
    vector = encoded(opened.loaded, opened.tokenizer, (query,), plan).vectors[0]
    count = min(NEIGHBOURS, len(made.result.sentences))
    found = nearest(vector, made.result.vectors, count, options.choice(MEASURE, MEASURES))
    return made.of(found, neighbours=found, vectors=made.result, query=query)


@question(figures=("map",), params=(*PLAN, PLACED))
def sentence_map(opened: Opened, options: Options) -> Answer[SentenceMap]:
    """All sentences in two dimensions."""
    if len(options.texts) < 3:
        raise TextError("A map needs at least three sentences; give more of them.")
    method = options.choice(PLACED, METHODS if umap_available() else METHODS[:1])
    made = sentence_vectors(opened, options)
    points = sentence_points(opened, options.key(), made.result, method)
    return made.of(points, sentence_map=points, vectors=made.result)


@question(figures=("vectors",), params=(*PLAN, FIRST_ROW))
def vector_rows(opened: Opened, options: Options) -> Answer[SentenceVectors]:
    """The embeddings, as a figure."""
    made = sentence_vectors(opened, options)
    first = max(options.whole(FIRST_ROW.key, len(made.result.sentences) + 1, 1) - 1, 0)
    return made.of(made.result, vectors=made.result, first_row=first)


@question(figures=("pair",), params=(*PLAN, CELLS))
def token_pairs(opened: Opened, options: Options) -> Answer[TokenPairShares]:
    """The cosine similarity of two sentences as a sum over pairs of tokens."""
    sentences = option_sentences(options)
    if len(sentences) != 2:
        raise TextError(f"This figure compares two sentences, and {len(sentences)} came; give two in quotes.")
    plan = sentence_plan(opened, options)
    shares = pair_shares(opened, plan, sentences[0], sentences[1])
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
    return replace(answered(opened, compared, (compared.note,), **drawn), texts=compared.sentences)


def every_pair(
    vectors: SentenceVectors, measure: Measure, clustered: bool
) -> tuple[Float[np.ndarray, "sentences sentences"], ClusterOrder | None]:
    """Similarities of all pairs of vectors, and an order that groups similar ones by their cosine.

    Args:
        vectors: embeddings of the sentences.
        measure: similarity measure.
        clustered: whether to compute the order; a single sentence has none.
    """
    matrix = similarity_matrix(vectors.vectors, measure)
    if not clustered or len(matrix) < 2:
        return matrix, None
    return matrix, cluster_order(matrix if measure == "cosine" else similarity_matrix(vectors.vectors))


def pair_shares(opened: Opened, plan: SentencePlan, first: str, second: str) -> TokenPairShares:
    """The cosine similarity of two sentences as a sum over pairs of tokens, according to a plan."""
    tokenizer = opened.tokenizer
    runs = [opened.trace(sentence_tokens(tokenizer, each, plan)) for each in (first, second)]
    return token_pair_shares(runs[0], runs[1], plan, prompt_tokens(tokenizer, plan))


def sentence_points(opened: Opened, name: Hashable, vectors: SentenceVectors, method: MapMethod) -> SentenceMap:
    """Project vectors to two dimensions.

    Args:
        opened: the model.
        name: cache key of the vectors.
        vectors: the vectors.
        method: method of projection.
    """
    return opened.get_or_compute((__name__, "sentence_points", name, method), lambda: map_of(vectors.vectors, method))


def sentence_blocks(opened: Opened, name: Hashable, vectors: SentenceVectors) -> BlockSummary:
    """Summarize vectors by blocks of similar ones; `name` is their cache key."""
    return opened.get_or_compute((__name__, "sentence_blocks", name), lambda: block_summary(vectors.vectors, BLOCKS))


def closest(
    opened: Opened,
    name: Hashable,
    vectors: SentenceVectors,
    count: int,
    measure: Measure,
    progress: Progress | None = None,
) -> ScoredPairs:
    """Find the most similar pairs of vectors.

    Args:
        opened: the model.
        name: cache key of the vectors.
        vectors: the vectors.
        count: number of pairs to return.
        measure: similarity measure.
        progress: called with vectors compared and their number.
    """
    key = (__name__, "closest", name, count, measure)
    return opened.get_or_compute(key, lambda: closest_pairs(vectors.vectors, count, measure, progress))


def own_plan(opened: Opened) -> SentencePlan:
    """The embedding plan that the checkpoint specifies.

    Raises:
        CheckpointError: the weights are not on this machine, or a module file is damaged.
    """
    return opened.get_or_compute((__name__, "own_plan"), lambda: recommended(opened.source, opened.settings))


def sentence_plan(opened: Opened, options: Options) -> SentencePlan:
    """The embedding plan of the checkpoint, with the pooling, layer and prompt of the options.

    Raises:
        TextError: there is no such pooling or layer.
    """
    value = options.get(POOLING.key)
    chosen = next((each for each in POOLINGS if each == value), None)
    if value and chosen is None:
        raise TextError(f"There is no pooling {escape_controls(value[:20])!r}; choose {', '.join(POOLINGS)}.")
    plan, last = own_plan(opened), opened.loaded.num_hidden_layers
    layer = options.numbered("layer", last + 1, last, opened.name, EMBEDDING_OUTPUT)
    prompt = prompt_named(plan, options.get(PROMPT.key)) if options.get(PROMPT.key) else None
    return adapted(plan, chosen or plan.pooling, None if layer == last else layer, prompt)


def option_sentences(options: Options) -> tuple[str, ...]:
    """The sentences of the options.

    Raises:
        TextError: there is none.
    """
    if not options.texts:
        raise TextError("This figure compares sentences, and none was given; give some, each in quotes.")
    return tuple(repair_surrogates(each) for each in options.texts)
