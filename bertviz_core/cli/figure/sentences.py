"""Figures of the command line that a model makes of sentences."""

from bertviz_core.cli.figure.request import FigureOutput, FigureRequest, loaded, settings
from bertviz_core.errors import TextError
from bertviz_core.figures.base.picture import FigureSpec
from bertviz_core.figures.sentences.map import map_picture
from bertviz_core.figures.sentences.poolings import pooling_maps_picture, poolings_picture
from bertviz_core.figures.sentences.similarity import (
    BLOCKS,
    NEIGHBOURS,
    ROWS,
    blocks_picture,
    pairs_picture,
    query_picture,
    vectors_picture,
)
from bertviz_core.figures.sentences.token_pairs import Unit, pair_picture
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.sources import resolve
from bertviz_core.sentences.batches import prompt_tokens, sentence_tokens
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.plan import adapted, recommended
from bertviz_core.sentences.pooling_comparison import pooling_comparison
from bertviz_core.sentences.projection import sentence_map, umap_available
from bertviz_core.sentences.results import (
    MEASURES,
    POOLINGS,
    MapMethod,
    PoolingComparison,
    SentencePlan,
    SentenceVectors,
)
from bertviz_core.sentences.similarity import block_summary, cluster_order, nearest, similarity_matrix
from bertviz_core.sentences.token_pairs import token_pair_shares
from bertviz_core.text import escape_controls, repair_surrogates
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer

METHODS: tuple[MapMethod, ...] = ("pca", "umap")
UNITS: "tuple[Unit, ...]" = ("tokens", "words")
ORDERS = ("as typed", "clustered")


def sentences(asked: FigureRequest) -> FigureOutput:
    """Every sentence against every other."""
    found, plan = _vectors(asked)
    measure = asked.setting("measure", MEASURES)
    cells, clusters = similarity_matrix(found.vectors, measure), None
    if asked.setting("order", ORDERS) == "clustered" and len(cells) > 1:
        clusters = cluster_order(similarity_matrix(found.vectors))
    return _of_vectors(pairs_picture(cells, found, measure, clusters), found, plan)


def blocks(asked: FigureRequest) -> FigureOutput:
    """Many sentences, similar ones put into blocks."""
    found, plan = _vectors(asked)
    return _of_vectors(blocks_picture(block_summary(found.vectors, BLOCKS), found), found, plan)


def query(asked: FigureRequest) -> FigureOutput:
    """The sentences that are nearest to a query.

    Raises:
        TextError: there is no query.
    """
    wanted = repair_surrogates(asked.more.get("query_sentence", "")).strip()
    if not wanted:
        raise TextError("This figure shows what is nearest to a query, and none came; give --set query_sentence=TEXT.")
    model, tokenizer = _reader(asked)
    plan = _plan(asked, model)
    found, one = (sentence_vectors(model, tokenizer, given, plan) for given in (_sentences(asked), (wanted,)))
    count = min(NEIGHBOURS, len(found.sentences))
    near = nearest(one.vectors[0], found.vectors, count, asked.setting("measure", MEASURES))
    picture = query_picture(near, found)
    return _of_vectors(picture, found, plan, f"{picture.title}. Query: {wanted}")


def points(asked: FigureRequest) -> FigureOutput:
    """Every sentence as a point.

    Raises:
        TextError: there are too few sentences for a plane.
    """
    if len(asked.texts) < 3:
        raise TextError("A map needs at least three sentences; give more of them.")
    method = asked.setting("placed", METHODS if umap_available() else METHODS[:1])
    found, plan = _vectors(asked)
    return _of_vectors(map_picture(sentence_map(found.vectors, method), found), found, plan)


def vectors(asked: FigureRequest) -> FigureOutput:
    """The vectors as rows of numbers."""
    found, plan = _vectors(asked)
    first = asked.place("first_row", len(found.sentences) + 1, 1) - 1
    rows, shown = found.vectors[max(first, 0) : first + ROWS], found.sentences[max(first, 0) : first + ROWS]
    return _of_vectors(vectors_picture(rows, shown, max(first, 0), found), found, plan)


def pair(asked: FigureRequest) -> FigureOutput:
    """The cosine of two sentences as a sum over pairs of their tokens.

    Raises:
        TextError: there are not two sentences.
    """
    given = _sentences(asked)
    if len(given) != 2:
        raise TextError(f"This figure compares two sentences, and {len(given)} came; give two in quotes.")
    model, tokenizer = _reader(asked)
    plan = _plan(asked, model)
    first, second = (trace(model, sentence_tokens(tokenizer, each, plan)) for each in given)
    found = token_pair_shares(first, second, plan, prompt_tokens(tokenizer, plan))
    picture = pair_picture(found, asked.setting("cells", UNITS), model.name)
    return FigureOutput(picture, picture.title, ((model.name, model.revision),), given, (plan.reason, found.note))


def poolings(asked: FigureRequest) -> FigureOutput:
    """Sentences under every pooling and layer."""
    found, model = _compared(asked)
    picture = poolings_picture(found, model.name)
    return FigureOutput(picture, picture.title, ((model.name, model.revision),), found.sentences, (found.note,))


def pooling_maps(asked: FigureRequest) -> FigureOutput:
    """The cosines of all pairs under every pooling and layer."""
    found, model = _compared(asked)
    picture = pooling_maps_picture(found, model.name)
    return FigureOutput(picture, picture.title, ((model.name, model.revision),), found.sentences, (found.note,))


def _compared(asked: FigureRequest) -> "tuple[PoolingComparison, LoadedModel]":

    given, current = _sentences(asked), settings()
    if len(given) < 2:
        raise TextError("Poolings are compared by the cosines of pairs; give a second sentence.")
    longest = recommended(resolve(asked.model, current), current).max_seq_length
    model, tokenizer = _reader(asked)
    return pooling_comparison(model, tokenizer, given, max_seq_length=longest), model


def _vectors(asked: FigureRequest) -> "tuple[SentenceVectors, SentencePlan]":

    given = _sentences(asked)
    model, tokenizer = _reader(asked)
    plan = _plan(asked, model)
    return sentence_vectors(model, tokenizer, given, plan), plan


def _plan(asked: FigureRequest, model: "LoadedModel") -> "SentencePlan":

    chosen = next((each for each in POOLINGS if each == asked.pooling), None)
    if asked.pooling and chosen is None:
        raise TextError(f"There is no pooling {escape_controls(asked.pooling[:20])!r}; choose {', '.join(POOLINGS)}.")
    current, last = settings(), model.num_hidden_layers
    plan = recommended(resolve(asked.model, current), current)
    layer = asked.number("layer", asked.layer, last + 1, last, " (the embedding output)")
    return adapted(plan, chosen or plan.pooling, None if layer == last else layer)


def _reader(asked: FigureRequest) -> "tuple[LoadedModel, TextTokenizer]":

    current = settings()
    return loaded(asked), load_tokenizer(resolve(asked.model, current), current)


def _of_vectors(picture: "FigureSpec", found: "SentenceVectors", plan: "SentencePlan", words: str = "") -> FigureOutput:
    models = ((found.model, found.revision),)
    return FigureOutput(picture, words or picture.title, models, found.sentences, (plan.reason, *found.notices))


def _sentences(asked: FigureRequest) -> tuple[str, ...]:

    if not asked.texts:
        raise TextError("This figure compares sentences, and none came; give them in quotes behind the model.")
    return tuple(repair_surrogates(each) for each in asked.texts)
