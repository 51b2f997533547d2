"""Questions about a run: hidden states and heads."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import Named, TextError, UnsupportedModelError
from bertviz_core.figures.heads.weights import CUTS
from bertviz_core.figures.hidden_states.heatmaps import BEFORE, CHANGE, INPUT, LENGTH
from bertviz_core.figures.hidden_states.lines import embedding_lengths
from bertviz_core.heads.projections import capture_layer_io
from bertviz_core.heads.results import BLOCKS, Block, CellBreakdown, FusedVsPerHead, HeadProjections, LayerRun
from bertviz_core.heads.score_breakdown import LayerHeads, break_down_cell, layer_heads
from bertviz_core.heads.weights import block_norms, compare_fused_and_per_head, head_projections
from bertviz_core.hidden_states.embeddings import embedding_sum
from bertviz_core.hidden_states.embeddings import pooler_check as checked_pooler
from bertviz_core.hidden_states.geometry import (
    change_by_layer,
    compare_word,
    cosine_to_embedding,
    cosine_to_previous,
    first_tokens,
    norms,
    occurrences,
)
from bertviz_core.hidden_states.geometry import token_cosines as cosines_of
from bertviz_core.hidden_states.geometry import token_paths as paths_of
from bertviz_core.hidden_states.results import PoolerCheck, TokenPaths, WordComparison
from bertviz_core.questions.models.architecture import last_norm
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import EMBEDDING_OUTPUT, Options, Param, choice
from bertviz_core.questions.question import Answer, question
from bertviz_core.questions.texts.tokens import tokens
from bertviz_core.text import escape_controls
from bertviz_core.trace.results import Trace
from bertviz_core.trace.tokenization import longest_piece

SHOWN_TOKENS, MOST_PATHS = 64, 16
"""Default number of tokens of a long text in a figure; maximum number of paths in a figure."""
WINDOW, NARROW = 64, 32
"""Default number of dimensions in a figure, for wide and narrow models."""
MEASURES = {"length": LENGTH, "change": CHANGE, "before": BEFORE, "input": INPUT}
COMPUTED = {LENGTH: norms, CHANGE: change_by_layer, BEFORE: cosine_to_previous, INPUT: cosine_to_embedding}
STATE = Param("layer", "layer", "entry of the hidden states, the last by default")
FIRST = Param("first", "whole", "first dimension that is drawn")
WIDTH = Param("window", "whole", "dimensions that are drawn")
MEASURE = choice("map", tuple(MEASURES), "the number of each token and layer")
TOKENS = Param("tokens", "span", "tokens that are drawn, FIRST:LAST")
PICKED = Param("picked", "text", "positions of the tokens whose paths are drawn, with dots between them")
WORD = Param("word", "text", "a word that is in both texts")


@question()
def run(opened: Opened, options: Options) -> Answer[Trace]:
    """Run of the model on a text or pair."""
    read = tokens(opened, options)
    made = opened.trace(read.result)
    return read.of(made, made.notices)


@question(figures=("hidden",), params=(STATE, FIRST, WIDTH))
def hidden_states(opened: Opened, options: Options) -> Answer[Trace]:
    """Hidden states of a layer (0 for the embedding output), one vector per token."""
    made = run(opened, options)
    size: int = made.result.hidden_states.shape[-1]
    first = options.whole(FIRST.key, 10**9, 0)
    if first >= size:
        what = f"There is no dimension {first} in {opened.name!r}; give "
        raise TextError(what, Named(FIRST.key), f" 0 to {size - 1}.")
    usual = next((width for width in (WINDOW, NARROW) if width < size), size)
    window = min(options.whole(WIDTH.key, 10**9, 0) or usual, size - first)
    drawn = {"trace": made.result, "state": _entry(opened, options, made.result)}
    return made.of(made.result, first_dimension=first, window=window, **drawn)


@question(figures=("norms",), params=(MEASURE,))
def token_measures(opened: Opened, options: Options) -> Answer[Float[np.ndarray, "rows seq"]]:
    """A measure per token and layer."""
    made, value = run(opened, options), options.get(MEASURE.key, "length")
    if value not in MEASURES:
        what = f" {escape_controls(value[:20])!r}; choose {', '.join(MEASURES)}."
        raise TextError("There is no ", Named(MEASURE.key), what)
    measure = MEASURES[value]
    numbers = COMPUTED[measure](made.result.hidden_states)
    return made.of(numbers, last_norm(opened), token_measures=numbers, trace=made.result, measure=measure)


@question(figures=("similarity",), params=(STATE, TOKENS))
def token_cosines(opened: Opened, options: Options) -> Answer[Float[np.ndarray, "states seq seq"]]:
    """Cosines of the selected tokens at every layer."""
    made = run(opened, options)
    part = options.span(TOKENS.key, len(made.result.tokens), SHOWN_TOKENS)
    cosines = cosines_of(made.result.hidden_states[:, slice(*part)])
    drawn = {"trace": made.result, "first_token": part[0], "state": _entry(opened, options, made.result)}
    return made.of(cosines, token_cosines=cosines, **drawn)


@question(figures=("input",), params=(TOKENS,))
def input_lengths(opened: Opened, options: Options) -> Answer[Mapping[str, Float[np.ndarray, " seq"]]]:
    """Lengths of the vectors that form the input of the selected tokens."""
    made = run(opened, options)
    part = options.span(TOKENS.key, len(made.result.tokens), SHOWN_TOKENS)
    parts = embedding_sum(opened.loaded, made.result)
    lengths = embedding_lengths(parts, slice(*part))
    notices = tuple(each for each in (parts.inexact, parts.note) if each)
    drawn = {"trace": made.result, "first_token": part[0], "embedding_sum": parts}
    return made.of(lengths, notices, input_lengths=lengths, **drawn)


@question(figures=("paths",), params=(PICKED,))
def token_paths(opened: Opened, options: Options) -> Answer[TokenPaths]:
    """Paths of a few tokens through the layers."""
    made = run(opened, options)
    picked = _picked(options, made.result)
    paths = paths_of(made.result.hidden_states[:, picked])
    return made.of(paths, last_norm(opened), token_paths=paths, trace=made.result, picked_tokens=picked)


@question()
def recomputed_pooler(opened: Opened, options: Options) -> Answer[PoolerCheck | None]:
    """Output of the pooler compared with its recomputation; None unless it consists of Linear and tanh."""
    made = run(opened, options)
    return made.of(checked_pooler(opened.loaded, made.result) if made.result.pooler_output is not None else None)


@question(figures=("pooler",))
def pooler_check(opened: Opened, options: Options) -> Answer[PoolerCheck]:
    """Input and output of the pooler."""
    made = recomputed_pooler(opened, options)
    if made.result is None:
        raise UnsupportedModelError(
            f"{opened.name!r} has no pooler of Linear and tanh on its first token; draw hidden instead."
        )
    return made.of(made.result, pooler_check=made.result, trace=run(opened, options).result)


@question(figures=("word",), params=(WORD,))
def word_comparison(opened: Opened, options: Options) -> Answer[WordComparison]:
    """Comparison of a word in two texts, layer by layer."""
    word = options.get(WORD.key).strip()
    if len(options.texts) != 2 or not word:
        raise TextError(
            "This figure follows a word in two texts: give ", Named(WORD.key), "=WORD, and both texts in quotes."
        )
    runs = [run(opened, Options((text,))) for text in options.texts]
    places = [occurrences(each.result.tokens, word) for each in runs]
    for text, found in zip(options.texts, places, strict=True):
        if not found:
            what = f"The word {escape_controls(word[:30])!r} was not found in {escape_controls(text[:60])!r}"
            raise TextError(f"{what}; give a word that is in both texts.")
    compared = compare_word(word, runs[0].result, places[0][0], runs[1].result, places[1][0])
    drawn = {"word_comparison": compared, "word": word, "model_name": opened.source.name}
    return Answer(compared, runs[0].models, options.texts, (), drawn)


def _entry(opened: Opened, options: Options, made: Trace) -> int:
    """Index into the hidden states; defaults to the last."""
    last = made.num_hidden_layers
    return options.numbered("layer", last + 1, last, opened.name, EMBEDDING_OUTPUT)


def _picked(options: Options, made: Trace) -> list[int]:
    value, count = options.get(PICKED.key), len(made.tokens)
    if not value:
        return first_tokens(made.tokens)
    places = value.split(".")
    if not all(place in map(str, range(count)) for place in places) or len(set(places)) > MOST_PATHS:
        what = f"={escape_controls(value[:20])} here; give up to {MOST_PATHS} positions from 0 to {count - 1} with "
        raise TextError("There is no ", Named(PICKED.key), f"{what}dots between them.")
    return sorted({int(place) for place in places})


MULTIPLIED: tuple[Block, ...] = ("query", "key", "value")


def _last_layer(opened: Opened, options: Options) -> tuple[int, int, int]:
    return 0, opened.loaded.num_hidden_layers - 1, 0


def _last_head(opened: Opened, options: Options) -> tuple[int, int, int]:
    return 0, layer_projections(opened, _layer(opened, options)).num_heads - 1, 0


def _query(opened: Opened, options: Options) -> tuple[int, int, int]:
    read = tokens(opened, options).result
    return 0, len(read) - 1, longest_piece(read)


def _key(opened: Opened, options: Options) -> tuple[int, int, int]:
    least, most, query = _query(opened, options)
    return least, most, max(query - 1, 0)


LAYER = Param("layer", "layer", "the layer, counted from 0", bounds=_last_layer)
HEAD = Param("head", "head", "a head of the layer, counted from 0", bounds=_last_head)
OWNERS = "heads own rows of query, key and value, and columns of the output"
MATRIX = Param(
    "matrix", "choice", f"one of the four projections: {OWNERS}", BLOCKS, "Projection", lambda opened, options: BLOCKS
)
SAME = "how the matrix is drawn; the numbers are the same in all three"
CUT = Param("cut", "choice", SAME, tuple(CUTS), "Drawn", lambda opened, options: tuple(CUTS))
PRODUCT = choice("product", MULTIPLIED, "the projection that is computed both ways")
LOOKS = "position of the query, the token that attends to all others; the longest token by default"
LOOKED_AT = "position of the key, the token that is attended to; the one before the query by default"
QUERY = Param("query", "position", LOOKS, label="Query token", bounds=_query, listed=True)
KEY = Param("key", "position", LOOKED_AT, label="Key token", bounds=_key, listed=True)


@question(figures=("matrix",), params=(LAYER, HEAD, MATRIX, CUT))
def head_matrices(opened: Opened, options: Options) -> Answer[HeadProjections]:
    """The query, key, value and output matrices of a layer, split into heads."""
    layer = _layer(opened, options)
    projections = layer_projections(opened, layer)
    head = options.numbered("head", projections.num_heads, 0, opened.name)
    drawn = {"layer": layer, "head": head, "block": options.choice(MATRIX), "cut": CUTS[options.choice(CUT)]}
    return answered(opened, projections, opened.loaded.notices, projections=projections, **drawn)


@question(figures=("heads",))
def head_norms(opened: Opened, options: Options) -> Answer[Float[np.ndarray, "layers heads blocks"]]:
    """Norms of the blocks of all heads and layers."""
    norms = block_norms(opened.loaded)
    return answered(opened, norms, opened.loaded.notices, head_norms=norms, model_name=opened.source.name)


@question(figures=("products",), params=(LAYER, PRODUCT))
def products(opened: Opened, options: Options) -> Answer[FusedVsPerHead]:
    """Comparison of one fused product with one product per head."""
    read, layer = tokens(opened, options), _layer(opened, options)
    multiplied: Block = options.choice(PRODUCT, MULTIPLIED)
    compared = compare_fused_and_per_head(opened.loaded, read.result, layer, multiplied)
    drawn = {"tokens": read.result, "layer": layer, "multiplied": multiplied, "model_name": opened.source.name}
    return read.of(compared, opened.loaded.notices, products=compared, **drawn)


@question(figures=("cell", "mix"), params=(LAYER, HEAD, QUERY, KEY))
def cell(opened: Opened, options: Options) -> Answer[CellBreakdown]:
    """Computation of an attention weight from two vectors, and of the output of its head."""
    made = run(opened, options)
    layer = options.numbered("layer", made.result.num_hidden_layers, 0, opened.name)
    parts = layer_parts(opened, made.result, layer)
    head = options.numbered("head", parts.projections.num_heads, 0, opened.name)
    (_, last, longest), (_, _, before) = _query(opened, options), _key(opened, options)
    query, key = options.whole(QUERY.key, last + 1, longest), options.whole(KEY.key, last + 1, before)
    broken_down = break_down_cell(opened.loaded, made.result, layer, head, query, key, parts)
    return made.of(broken_down, cell=broken_down, trace=made.result)


def layer_projections(opened: Opened, layer: int) -> HeadProjections:
    """The matrices of a layer, split into heads."""
    return opened.get_or_compute((__name__, "layer_projections", layer), lambda: head_projections(opened.loaded, layer))


def layer_run(opened: Opened, trace: Trace, layer: int) -> LayerRun:
    """Inputs and outputs of the projections of a layer."""
    key = (__name__, "layer_run", *trace.tokens.identity, layer)
    return opened.get_or_compute(key, lambda: capture_layer_io(opened.loaded, trace.tokens, layer))


def layer_parts(opened: Opened, trace: Trace, layer: int) -> LayerHeads:
    """Intermediate results shared by all cells of a layer."""
    key = (__name__, "layer_parts", *trace.tokens.identity, layer)
    return opened.get_or_compute(key, lambda: layer_heads(opened.loaded, trace, layer, layer_run(opened, trace, layer)))


def _layer(opened: Opened, options: Options) -> int:
    return options.numbered("layer", opened.loaded.num_hidden_layers, 0, opened.name)
