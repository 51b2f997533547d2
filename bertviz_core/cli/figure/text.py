"""Figures of the command line that a model makes of a text: hidden states, its input, its pooler."""

from bertviz_core.cli.figure.request import FigureOutput, FigureRequest, loaded, of_trace, settings, traced
from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.figures.hidden_states.heatmaps import (
    BEFORE,
    INPUT,
    LENGTH,
    change_picture,
    similarity_picture,
    values_picture,
)
from bertviz_core.figures.hidden_states.lines import (
    embedding_lengths,
    input_picture,
    paths_picture,
    paths_words,
    pooler_picture,
    word_picture,
)
from bertviz_core.figures.tokens import nearest_picture
from bertviz_core.hidden_states.embeddings import embedding_sum, nearest_rows, pooler_check
from bertviz_core.hidden_states.geometry import (
    compare_word,
    cosine_to_embedding,
    cosine_to_previous,
    occurrences,
    token_cosines,
    token_paths,
)
from bertviz_core.hidden_states.geometry import norms as lengths
from bertviz_core.models.sources import resolve
from bertviz_core.text import escape_controls
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, longest_piece, tokenize

SHOWN_TOKENS, SHOWN_PATHS = 64, 24
"""Tokens that the page draws of a long text, until its reader asks for others."""
WINDOW, NARROW = 64, 32
MEASURES = ("length", "before", "input")


def embedding(asked: FigureRequest) -> FigureOutput:
    """What each token's input is made of."""
    model, trace = traced(asked)
    first, end = asked.span("tokens", len(trace.tokens), SHOWN_TOKENS)
    lengths = embedding_lengths(embedding_sum(model, trace), slice(first, end))
    return of_trace(input_picture(lengths, trace, first), trace)


def hidden(asked: FigureRequest) -> FigureOutput:
    """Hidden states of one entry."""
    _, trace = traced(asked)
    last, width = trace.num_hidden_layers, trace.hidden_states.shape[-1]
    layer = asked.number("layer", asked.layer, last + 1, last, " (the embedding output)")
    window = asked.window or next((size for size in (WINDOW, NARROW) if size < width), width)
    if asked.first >= width:
        raise TextError(f"There is no dimension {asked.first} in {asked.model!r}; give --first 0 to {width - 1}.")
    return of_trace(values_picture(trace, layer, asked.first, min(window, width - asked.first)), trace)


def norms(asked: FigureRequest) -> FigureOutput:
    """One number per token and layer."""
    if asked.measure not in MEASURES:
        raise TextError(f"There is no --map {escape_controls(asked.measure[:20])!r}; choose {', '.join(MEASURES)}.")
    _, trace = traced(asked)
    measures = ((LENGTH, lengths), (BEFORE, cosine_to_previous), (INPUT, cosine_to_embedding))
    words, measure = measures[MEASURES.index(asked.measure)]
    return of_trace(change_picture(measure(trace.hidden_states), trace, words), trace)


def similarity(asked: FigureRequest) -> FigureOutput:
    """Every token against every other."""
    _, trace = traced(asked)
    last = trace.num_hidden_layers
    layer = asked.number("layer", asked.layer, last + 1, last, " (the embedding output)")
    first, end = asked.span("tokens", len(trace.tokens), SHOWN_TOKENS)
    cosines = token_cosines(trace.hidden_states[:, first:end])
    return of_trace(similarity_picture(cosines, trace, first, layer), trace)


def paths(asked: FigureRequest) -> FigureOutput:
    """The tokens' ways through the layers."""
    _, trace = traced(asked)
    first, end = asked.span("tokens", len(trace.tokens), SHOWN_PATHS)
    found = token_paths(trace.hidden_states[:, first:end])
    return of_trace(paths_picture(found, trace, first), trace, paths_words(trace))


def pooler(asked: FigureRequest) -> FigureOutput:
    """The first token's vector, and what the pooler makes of it.

    Raises:
        UnsupportedModelError: the model has no pooler that can be computed again.
    """
    model, trace = traced(asked)
    check = pooler_check(model, trace) if trace.pooler_output is not None else None
    if check is None:
        raise UnsupportedModelError(
            f"{asked.model!r} has no pooler of Linear and tanh on its first token; draw hidden instead."
        )
    return of_trace(pooler_picture(check, trace.model), trace)


NEAREST = 10


def nearest(asked: FigureRequest) -> FigureOutput:
    """The rows of the embedding table that are nearest to a token's."""
    current = settings()
    tokenizer = load_tokenizer(resolve(asked.model, current), current)
    read, model = tokenize(tokenizer, asked.text(), asked.pair), loaded(asked)
    position = asked.place("token", len(read), longest_piece(read))
    found = nearest_rows(model, int(read.input_ids[position]), NEAREST)
    picture = nearest_picture(found, tokenizer.spelled(found.ids.tolist()), read.tokens[position], model.name)
    words = f"{picture.title}. Cosines of static rows."
    return FigureOutput(picture, words, ((model.name, model.revision),), (read.text, read.pair), read.notices)


def word(asked: FigureRequest) -> FigureOutput:
    """One word in two texts, layer by layer.

    Raises:
        TextError: there are not two texts, or the word is not in both.
    """
    if len(asked.texts) != 2 or not asked.more.get("word", "").strip():
        raise TextError("This figure follows a word in two texts: give --set word=WORD, and both texts in quotes.")
    current, model, looked_for = settings(), loaded(asked), asked.more["word"].strip()
    tokenizer = load_tokenizer(resolve(asked.model, current), current)
    first, second = (trace(model, tokenize(tokenizer, text)) for text in asked.texts)
    places = [occurrences(each.tokens, looked_for) for each in (first, second)]
    for text, found in zip(asked.texts, places, strict=True):
        if not found:
            what = f"The word {escape_controls(looked_for[:30])!r} does not stand in {escape_controls(text[:60])!r}"
            raise TextError(f"{what}; give a word that is in both texts.")
    picture = word_picture(compare_word(looked_for, first, places[0][0], second, places[1][0]), looked_for, model.name)
    return FigureOutput(picture, picture.title, ((model.name, model.revision),), asked.texts)
