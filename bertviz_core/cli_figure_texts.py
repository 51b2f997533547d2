"""Figures of the command line that a model makes of a text, or of sentences."""

from bertviz_core.cli_figure_asked import Asked, Made, loaded, of_trace, settings, traced
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
    lengths = embedding_lengths(embedding_sum(model, trace), slice(0, SHOWN_TOKENS))
    return of_trace(input_picture(lengths, trace, 0), trace)


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
    cosines = token_cosines(trace.hidden_states[:, :SHOWN_TOKENS])
    return of_trace(similarity_picture(cosines, trace, 0, layer), trace)


def paths(asked: Asked) -> Made:
    """The tokens' ways through the layers."""
    from bertviz_core.hidden_states import token_paths
    from figures.trace_pictures import paths_picture, paths_words

    _, trace = traced(asked)
    found = token_paths(trace.hidden_states[:, :SHOWN_PATHS])
    return of_trace(paths_picture(found, trace, 0), trace, paths_words(trace))


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


def attention(asked: Asked) -> Made:
    """What one head looks at."""
    from bertviz_core.attention import require_attention
    from bertviz_core.attention_reading import attention_map
    from bertviz_core.results.attention import Reading
    from figures.trace_pictures import attention_picture

    _, trace = traced(asked)
    require_attention(trace)
    layer = asked.number("layer", asked.layer, trace.num_hidden_layers, 0)
    head = asked.number("head", asked.head, trace.num_attention_heads, 0)
    return of_trace(attention_picture(attention_map(trace, layer, head, Reading(words=asked.words)), trace), trace)


def sentences(asked: Asked) -> Made:
    """Every sentence against every other."""
    from bertviz_core.results.sentences import POOLINGS
    from bertviz_core.sentence_modules import adapted, recommended
    from bertviz_core.sentences import sentence_vectors
    from bertviz_core.similarity import similarity_matrix
    from bertviz_core.sources import resolve
    from bertviz_core.tokenizer_loading import load_tokenizer
    from figures.sentence_pictures import pairs_picture

    given, current = _sentences(asked), settings()
    chosen = next((each for each in POOLINGS if each == asked.pooling), None)
    if asked.pooling and chosen is None:
        raise TextError(f"There is no pooling {visible(asked.pooling[:20])!r}; choose {', '.join(POOLINGS)}.")
    source = resolve(asked.model, current)
    plan, model = recommended(source, current), loaded(asked)
    last = model.num_hidden_layers
    layer = asked.number("layer", asked.layer, last + 1, last, " (the embedding output)")
    plan = adapted(plan, chosen or plan.pooling, None if layer == last else layer)
    found = sentence_vectors(model, load_tokenizer(source, current), given, plan)
    picture = pairs_picture(similarity_matrix(found.vectors), found)
    return Made(picture, picture.title, ((model.name, model.revision),), given, (plan.reason, *found.notices))


def poolings(asked: Asked) -> Made:
    """Sentences under every pooling and layer.

    Raises:
        TextError: there is no pair of sentences to compare.
    """
    from bertviz_core.pooling_comparison import pooling_comparison
    from bertviz_core.sentence_modules import recommended
    from bertviz_core.sources import resolve
    from bertviz_core.tokenizer_loading import load_tokenizer
    from figures.sentence_pictures import poolings_picture

    given, current = _sentences(asked), settings()
    if len(given) < 2:
        raise TextError("Poolings are compared by the cosines of pairs; give a second sentence.")
    source = resolve(asked.model, current)
    model, longest = loaded(asked), recommended(source, current).max_seq_length
    found = pooling_comparison(model, load_tokenizer(source, current), given, max_seq_length=longest)
    picture = poolings_picture(found, model.name)
    return Made(picture, picture.title, ((model.name, model.revision),), given, (found.note,))


def _sentences(asked: Asked) -> tuple[str, ...]:
    from bertviz_core.sentence_batches import plain

    if not asked.texts:
        raise TextError("This figure compares sentences, and none came; give them in quotes behind the model.")
    return tuple(plain(each) for each in asked.texts)
