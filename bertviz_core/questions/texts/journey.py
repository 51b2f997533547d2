"""Questions about the journey of a text through the model, and details of its parts."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np
from jaxtyping import Int

from bertviz_core.attention.maps import readable, token_groups
from bertviz_core.errors import MissingFilesError, UnsupportedModelError
from bertviz_core.heads.score_breakdown import break_down_cell
from bertviz_core.heads.weights import head_output_norms, head_projections
from bertviz_core.hidden_states.embeddings import embedding_sum
from bertviz_core.hidden_states.geometry import change_by_layer, norms
from bertviz_core.journey.results import EmbeddingOpening, HeadOpening, Journey, LayerOpening, Stage
from bertviz_core.journey.steps import (
    embedding_opening,
    feed_forward_run,
    mixing_output,
    ribbons,
    stages_of,
    strips_of,
    strongest_weights,
    token_entropy,
)
from bertviz_core.journey.steps import layer_opening as opening_of
from bertviz_core.predictions.run import WITHOUT_POOLER, stored_tasks
from bertviz_core.questions.models.architecture import architecture, last_norm, parameters
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, choice
from bertviz_core.questions.question import Answer, question
from bertviz_core.questions.texts.attention import layer_value_norms
from bertviz_core.questions.texts.hidden_states import HEAD, KEY, LAYER, QUERY, cell, layer_parts, layer_run, run
from bertviz_core.questions.texts.tokens import tokens
from bertviz_core.sentences.plan import POOLING_PHRASES, recommended
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.tokenization import longest_piece

COLOURS = ("turn", "length", "entropy")
COLOUR = choice("colour", COLOURS, "the number of each token and layer that colours the cells")
RIBBON = choice(
    "ribbon", ("attention", "weighted"), "what the width of a ribbon is: attention, or with the value's length"
)
LANES = choice("lanes", ("words", "tokens"), "what a lane of a text of more than 80 tokens is")
LOOKS = (COLOUR, RIBBON, LANES)
"""Options of the drawing, by the names that journey_payload has for them."""
ANSWER_HERE = "What the answer rests on"
"""The switch with which the drawing ends with the answer."""
MOST_CELLS = 40_000
"""Maximum of layers times heads times tokens for which a file contains every head."""
FEW, SEVERAL = 24, 80
"""Numbers of tokens up to which a strip has the first and second number of BINS."""
BINS = (48, 32, 16)
"""Number of bins of a strip for few, several and many tokens."""


@question(params=LOOKS)
def journey(opened: Opened, options: Options) -> Answer[Journey]:
    """Stages of a model and their effect on every token; without weights only the stages."""
    try:
        made = run(opened, options)
    except (MissingFilesError, UnsupportedModelError) as error:
        return _without_run(opened, options, str(error))
    travelled = journey_of(opened, made.result)
    return made.of(travelled, (*travelled.notices, *last_norm(opened)))


def journey_of(opened: Opened, trace: Trace) -> Journey:
    """Return the stages of a model, and their effect on every token in a run."""
    stages, title = _stages(opened, trace.num_hidden_layers)
    count = len(trace.tokens)
    known = trace.attention_source != "none"
    return Journey(
        trace.model,
        title,
        trace.revision,
        trace.tokens,
        tuple(readable(trace.tokens, position) for position in range(count)),
        stages,
        change_by_layer(trace.hidden_states),
        np.asarray(norms(trace.hidden_states[1:]), dtype=np.float32),
        token_entropy(trace) if known else None,
        strips_of(trace, BINS[(count > FEW) + (count > SEVERAL)]),
        trace.num_attention_heads if known else 0,
        notices=(*trace.tokens.notices, *trace.notices, *([] if known else [trace.attention_note])),
        attention_note="" if known else trace.attention_note,
        words=_words_of_several_tokens(trace.tokens),
        sinks=trace.sinks is not None,
    )


def _words_of_several_tokens(tokens: Tokens) -> tuple[tuple[int, int, str], ...]:
    words = token_groups(tokens, words=True)
    return tuple(
        (places[0], len(places), label)
        for label, places in zip(words.labels, words.positions, strict=True)
        if 1 < len(places) == places[-1] - places[0] + 1
    )


@question(params=(QUERY,))
def embeddings(opened: Opened, options: Options) -> Answer[EmbeddingOpening]:
    """Computation of the embedding of a token."""
    made = run(opened, options)
    token = options.whole(QUERY.key, len(made.result.tokens), longest_piece(made.result.tokens))
    parts = opened.get_or_compute(
        (__name__, "parts", options.texts, options.pair), lambda: embedding_sum(opened.loaded, made.result)
    )
    return made.of(embedding_opening(parts, token))


@question(params=(LAYER, QUERY))
def layer_opening(opened: Opened, options: Options) -> Answer[LayerOpening]:
    """Computation of a layer for a token."""
    made = run(opened, options)
    layer = options.numbered("layer", made.result.num_hidden_layers, 0, opened.name)
    token = options.whole(QUERY.key, len(made.result.tokens), longest_piece(made.result.tokens))
    return made.of(_opened_layer(opened, made.result, layer, token))


@question(params=(QUERY,))
def strongest_keys(
    opened: Opened, options: Options
) -> Answer[tuple[Int[np.ndarray, " layers"], Int[np.ndarray, " layers"]]]:
    """The head and the key of the largest attention weight of a token in each layer."""
    made = run(opened, options)
    token = options.whole(QUERY.key, len(made.result.tokens), longest_piece(made.result.tokens))
    return made.of(strongest_weights(made.result, token))


@question(params=(LAYER, HEAD, QUERY, KEY))
def head_opening(opened: Opened, options: Options) -> Answer[HeadOpening]:
    """Computation of a head for a query and a key."""
    made = cell(opened, options)
    return made.of(HeadOpening(made.result))


@question(params=(LAYER, HEAD, QUERY, RIBBON))
def next_openings(opened: Opened, options: Options) -> Answer[tuple[HeadOpening, ...]]:
    """Details that a reader may open next: every head of a layer, or the keys of a head that have ribbons."""
    made, part = run(opened, options), layer_opening(opened, options).result
    if options.values.get(HEAD.key) is None:
        return made.of(tuple(_opened_heads(opened, made.result, part)))
    head = options.numbered("head", len(part.rows), 0, opened.name)
    weighted = part.weighted if options.choice(RIBBON) == "weighted" else None
    keys = ribbons((part.rows if weighted is None else weighted)[head]).keys
    parts = layer_parts(opened, made.result, part.layer)
    place = part.layer, head, part.token
    cells = (break_down_cell(opened.loaded, made.result, *place, key, parts) for key in keys)
    return made.of(tuple(HeadOpening(cell) for cell in cells))


def all_openings(
    opened: Opened, options: Options, token: int
) -> tuple[EmbeddingOpening | LayerOpening | HeadOpening, ...]:
    """Details of all parts for a token, for an interactive file; heads are omitted beyond MOST_CELLS."""
    trace = run(opened, options).result
    found: list[EmbeddingOpening | LayerOpening | HeadOpening] = [
        embedding_opening(embedding_sum(opened.loaded, trace), token)
    ]
    heads = trace.num_attention_heads
    every = trace.num_hidden_layers * heads * len(trace.tokens) <= MOST_CELLS
    for layer in range(trace.num_hidden_layers):
        try:
            part = _opened_layer(opened, trace, layer, token)
            found.append(part)
            if every:
                found += _opened_heads(opened, trace, part)
        except UnsupportedModelError:  # attention or heads are not available for this family
            continue
    return tuple(found)


def _opened_layer(opened: Opened, trace: Trace, layer: int, token: int) -> LayerOpening:
    made = norms = None
    with suppress(UnsupportedModelError):
        made, norms = layer_run(opened, trace, layer), layer_value_norms(opened, trace, layer)
    key = (__name__, "feed_forward", *trace.tokens.identity, layer)
    inner = opened.get_or_compute(key, lambda: feed_forward_run(opened.loaded, trace.tokens, layer))
    if trace.attention_source == "none":
        added = mixing_output(opened.loaded, trace.tokens, layer) if made is None else made.output
        no_maps, no_rows = np.zeros((0, 1, 1)), np.zeros((0, len(trace.tokens)))
        opening = LayerOpening(layer, token, no_maps, no_rows, None, None if added is None else added[token])
    else:
        opening = opening_of(trace, layer, token, made, norms)
        if made is not None and made.mixed is not None:
            lengths = head_output_norms(head_projections(opened.loaded, layer), made.mixed[token])
            opening = replace(opening, head_norms=lengths)
    if inner is None:
        return opening
    return replace(opening, activations=inner.activations[token], feed_forward=inner.output[token])


def _opened_heads(opened: Opened, trace: Trace, part: LayerOpening) -> Iterator[HeadOpening]:
    """Every head of an opened layer, at its strongest key."""
    parts = layer_parts(opened, trace, part.layer)
    for head, row in enumerate(part.rows):
        key = int(row.argmax())
        yield HeadOpening(break_down_cell(opened.loaded, trace, part.layer, head, part.token, key, parts))


def _stages(opened: Opened, layers: int) -> tuple[tuple[Stage, ...], str]:
    sizes, ledger = architecture(opened, Options()).result, parameters(opened, Options()).result
    stages = stages_of(sizes, ledger, layers)
    if not opened.source.has_weights:  # what reads the pooler is told by the files
        return stages, sizes.title
    plan, tasks, kinds = recommended(opened.source, opened.settings), set[str](), {each.kind for each in stages}
    with suppress(UnsupportedModelError):
        tasks = set(stored_tasks(opened.source)) if "task head" in kinds else tasks
    here = f"{ANSWER_HERE} shows its answer here."
    about = {"task head": ("run on Predictions", f"It reads what comes out of the layers. {here}")} if tasks else {}
    if "pooler" in kinds and not tasks <= set(WITHOUT_POOLER):
        about["pooler"] = ("reads the first token, for the task head", "The answer is on Predictions.")
        about["task head"] = ("run on Predictions", f"It reads the pooler. {here}")
    elif plan.from_checkpoint and plan.pooling != "pooler":
        about["pooler"] = ("unused", f"Sentences use {POOLING_PHRASES[plan.pooling]}.")
    used = (about.get(each.kind, (each.used, each.note)) for each in stages)
    return tuple(
        replace(each, used=use, note=note) for each, (use, note) in zip(stages, used, strict=True)
    ), sizes.title


def _without_run(opened: Opened, options: Options, missing: str) -> Answer[Journey]:
    sizes = architecture(opened, Options()).result
    stages, title = _stages(opened, sizes.num_hidden_layers or 0)
    read = _tokens(opened, options)
    labels = () if read is None else tuple(readable(read, position) for position in range(len(read)))
    model, revision = opened.source.name, opened.source.revision
    heads = sizes.num_attention_heads or 0
    known = Journey(model, title, revision, read, labels, stages, None, None, None, None, heads, missing)
    return answered(opened, known)


def _tokens(opened: Opened, options: Options) -> Tokens | None:
    """The tokens; None if there is no tokenizer on this machine."""
    try:
        return tokens(opened, options).result
    except (MissingFilesError, UnsupportedModelError):
        return None
