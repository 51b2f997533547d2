"""Figures of the command line that a model makes of a text: hidden states, its input, its pooler."""

from bertviz_core.cli_figure_asked import Asked, Made, of_trace, traced
from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.visible import visible

SHOWN_TOKENS, SHOWN_PATHS = 64, 24
"""Tokens that the page draws of a long text, until its reader asks for others."""
WINDOW, NARROW = 64, 32
MEASURES = ("length", "before", "input")


def embedding(asked: Asked) -> Made:
    """What each token's input is made of."""
    from bertviz_core.embedding_sum import embedding_sum
    from figures.trace_pictures import embedding_lengths, input_picture

    model, trace = traced(asked)
    first, end = asked.span("tokens", len(trace.tokens), SHOWN_TOKENS)
    lengths = embedding_lengths(embedding_sum(model, trace), slice(first, end))
    return of_trace(input_picture(lengths, trace, first), trace)


def hidden(asked: Asked) -> Made:
    """Hidden states of one entry."""
    from figures.trace_pictures import values_picture

    _, trace = traced(asked)
    last, width = trace.num_hidden_layers, trace.hidden_states.shape[-1]
    layer = asked.number("layer", asked.layer, last + 1, last, " (the embedding output)")
    window = asked.window or next((size for size in (WINDOW, NARROW) if size < width), width)
    if asked.first >= width:
        raise TextError(f"There is no dimension {asked.first} in {asked.model!r}; give --first 0 to {width - 1}.")
    return of_trace(values_picture(trace, layer, asked.first, min(window, width - asked.first)), trace)


def norms(asked: Asked) -> Made:
    """One number per token and layer."""
    from bertviz_core.hidden_states import cosine_to_embedding, cosine_to_previous
    from bertviz_core.hidden_states import norms as lengths
    from figures.trace_pictures import BEFORE, INPUT, LENGTH, change_picture

    if asked.measure not in MEASURES:
        raise TextError(f"There is no --map {visible(asked.measure[:20])!r}; choose {', '.join(MEASURES)}.")
    _, trace = traced(asked)
    measures = ((LENGTH, lengths), (BEFORE, cosine_to_previous), (INPUT, cosine_to_embedding))
    words, measure = measures[MEASURES.index(asked.measure)]
    return of_trace(change_picture(measure(trace.hidden_states), trace, words), trace)


def similarity(asked: Asked) -> Made:
    """Every token against every other."""
    from bertviz_core.hidden_states import token_cosines
    from figures.trace_pictures import similarity_picture

    _, trace = traced(asked)
    last = trace.num_hidden_layers
    layer = asked.number("layer", asked.layer, last + 1, last, " (the embedding output)")
    first, end = asked.span("tokens", len(trace.tokens), SHOWN_TOKENS)
    cosines = token_cosines(trace.hidden_states[:, first:end])
    return of_trace(similarity_picture(cosines, trace, first, layer), trace)


def paths(asked: Asked) -> Made:
    """The tokens' ways through the layers."""
    from bertviz_core.hidden_states import token_paths
    from figures.trace_pictures import paths_picture, paths_words

    _, trace = traced(asked)
    first, end = asked.span("tokens", len(trace.tokens), SHOWN_PATHS)
    found = token_paths(trace.hidden_states[:, first:end])
    return of_trace(paths_picture(found, trace, first), trace, paths_words(trace))


def pooler(asked: Asked) -> Made:
    """The first token's vector, and what the pooler makes of it.

    Raises:
        UnsupportedModelError: the model has no pooler that can be computed again.
    """
    from bertviz_core.weight_checks import pooler_check
    from figures.trace_pictures import pooler_picture

    model, trace = traced(asked)
    check = pooler_check(model, trace) if trace.pooler_output is not None else None
    if check is None:
        raise UnsupportedModelError(
            f"{asked.model!r} has no pooler of Linear and tanh on its first token; draw hidden instead."
        )
    return of_trace(pooler_picture(check, trace.model), trace)
