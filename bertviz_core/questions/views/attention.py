"""The page Attention: all heads of a run, the weights of one of them, and those of a second model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bertviz_core.attention.maps import (
    NORMS_RULE,
    PUNCTUATION_RULE,
    ROLLOUT_RULE,
    SIDES_RULE,
    WORDS_RULE,
    attention_rows,
)
from bertviz_core.attention.results import OF_LAYERS, AttentionAtlas, AttentionMap, MapOptions, PooledMap, Weights
from bertviz_core.attention.value_zeroing import RULE
from bertviz_core.errors import BertvizError
from bertviz_core.figures.attention.maps import long_figure, readings_figure
from bertviz_core.figures.attention.two_models import (
    attention_changed_figure,
    attention_compared_figure,
    changed_heads_frame,
)
from bertviz_core.figures.attention.view_state import Range
from bertviz_core.figures.base.spec import DeclaredFigure
from bertviz_core.figures.base.style import Theme
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, flag
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import explained, library_lines
from bertviz_core.questions.report.model_lines import model_lines
from bertviz_core.questions.tables.two_models.runs import attention_that_changed, heads_that_changed
from bertviz_core.questions.texts import attention, hidden_states, two_models
from bertviz_core.questions.texts.attention import (
    KEYS,
    MAP,
    QUERIES,
    attending_run,
    attention_map,
    head_map,
    maps_of,
    pooled_map,
    reading_of,
)
from bertviz_core.questions.texts.hidden_states import HEAD, LAYER
from bertviz_core.questions.texts.two_models import changed_heads, compared_attention, second_sizes
from bertviz_core.questions.view import (
    Ask,
    Controls,
    Explained,
    Figure,
    Folded,
    Notices,
    Part,
    SecondModel,
    Section,
    Special,
    Table,
    Text,
    View,
)
from bertviz_core.text import all_of, escape_markdown
from bertviz_core.trace.results import Trace

ATLAS_CELLS = 250_000_000
"""Most cells of all maps that are shown at once without a choice of the reader."""
CELLS_PER_SECOND = 100_000_000
"""Approximate number of cells of attention computed per second; for messages only."""
NEAREST = 20
"""Keys that are listed of a token of a long text."""
MOSTLY = 0.5
"""Share on special tokens above which hiding them is suggested."""
AS_FIRST = "same place"
"""The default of the second model's layer and head."""
LABELS: dict[Weights, str] = {
    "attention": "An attention weight is the share of the key's value vector in what the head passes on to the query. "
    "The weights of a query sum to 1. A large weight does not mean that the token is important: value vectors differ "
    "in length and direction.",
    "value-weighted": "The attention weight times the length of the key's transformed value vector: how much the head "
    "passes on from the key to the query. These numbers do not sum to 1.",
    "rollout": "Attention followed back to the input through all layers (rollout): the share of an input token in a "
    "token's vector after this layer, if attention and residual connections were all that mixed the vectors. The "
    "shares of a token sum to 1.",
    "value-zeroing": "What changes when a token gives nothing (value zeroing): how far another token's vector after "
    "this layer changes its direction (cosine distance) when the value vector of the one is set to zero in this layer, "
    "in all heads; the shares of a row sum to 1. Unlike a weight, it takes in what the values hold, the residual "
    "connection, the normalisations and the feed-forward block, of this layer alone.",
}
SHORT: dict[Weights, str] = {
    "attention": "the weights of a query sum to 1",
    "value-weighted": "attention weights times the lengths of the transformed value vectors",
    "rollout": "the shares of a query sum to 1",
    "value-zeroing": "how far a row's vector changes without the value of a column, as shares of the row",
}
"""The same texts for captions."""
SINKS = (
    "Every head of this model may also look at a sink: a learned score in the softmax that belongs to no token and has "
    "no value. Its share is the last column of the weights, and with it a row sums to 1; the entropy counts it as a "
    "key, the distance as 0 tokens. Value-weighted maps, rollout and value zeroing have no such column."
)
"""What is said of a model with attention sinks."""
SECOND_TEXT = "The dashed lines show where the second text begins."
FORMULAS = {
    "attention": "softmax(query key^T × scaling + mask) over the keys, from the query and key that the model itself "
    "multiplied (Vaswani et al. 2017, section 3.2.1).",
    "value-weighted": NORMS_RULE,
    "rollout": ROLLOUT_RULE,
    "value-zeroing": RULE,
}
MEASURES = (
    "Entropy says how widely a head looks: the mean over the queries of -Σ p ln p, in nats (natural logarithms): 0 "
    "where every query looks at one key. Distance is the mean of Σ p |i - j| in tokens, of a word those of its "
    "first piece. The shares are the mean p on special tokens "
    "and on the token itself. All four are of the map as it is drawn: p is a cell over the sum of the visible cells of "
    "its row."
)

COMPARED = (
    "Both models are run on the text, and the maps are read in the same way. Where rows and columns of both are the "
    "same parts of the text, by their characters, the third map is the second minus the first. Of the second model the "
    "same layer and head are shown unless others are chosen; where it has another number of layers or heads, those at "
    "the same relative place: the first for the first, the last for the last. The heads of two models that were not "
    "trained from one start have no reason to correspond."
)
SAME_PLACE = (
    "The {noun} of the same number as in the first model; where the second has another number of {noun}s, the one at "
    "the same relative place, the first for the first and the last for the last."
)
CHANGED = (
    "For every head the Jensen-Shannon divergence of its two attention rows, `(KL(p || m) + KL(q || m)) / 2` with "
    "`m = (p + q) / 2`, is averaged over the queries (Lin 1991): 0 for equal rows, ln 2 = 0.693 nats for rows that "
    "have no key in common. It is that of the raw weights over all tokens, whatever is chosen above. A head that "
    "changed far is not by itself an important one."
)
MERGE = "**Merge pieces to words**, under **Tokens** above, compares words, which may be the same where tokens are not."


def explanation(reading: MapOptions) -> str:
    """How the cells of this reading are computed."""
    words = [FORMULAS[reading.weights]]
    if reading.words:
        words.append(WORDS_RULE)
    if reading.hide_punctuation:
        words.append(PUNCTUATION_RULE)
    if reading.block != "all":
        words.append(SIDES_RULE)
    if reading.words or reading.hide_special or reading.hide_punctuation or reading.block != "all":
        words.append("What is not shown is not spread over the rest: a row's shown and hidden shares add up.")
    return "\n\n".join([*words, MEASURES])


def _run(opened: Opened, options: Options) -> Trace:
    return attending_run(opened, options.only()).result


def _place_of(trace: Trace) -> tuple[Param, Param]:
    """The controls of a layer and a head; a click need not look for the run or the model again."""
    layers, heads = trace.num_hidden_layers - 1, trace.num_attention_heads - 1
    return (
        replace(LAYER, bounds=lambda opened, options: (0, layers, 0)),
        replace(HEAD, bounds=lambda opened, options: (0, heads, 0), applies=_of_heads),
    )


def _of_heads(opened: Opened, options: Options) -> bool:
    return options.get(WEIGHTS.key) not in OF_LAYERS


def _second_places(place: int, opened: Opened, options: Options) -> Sequence[str]:
    count = second_sizes(opened, options.only(OTHER))[place]
    return (AS_FIRST, *map(str, range(count))) if count > 1 else ()


def _second_place(param: Param, place: int) -> Param:
    """The control of a layer or head of the second model."""
    label, help_text = f"{param.kind.capitalize()} of the second model", SAME_PLACE.format(noun=param.kind)
    return Param(param.key, "choice", help_text, (), label, partial(_second_places, place))


WEIGHTS = replace(
    attention.WEIGHTS,
    help="attention: the model's own attention weights. value-weighted: each weight times the length of the value "
    "vector that it weights. rollout: attention followed back to the input through all layers up to this one. "
    "value-zeroing: how far a token's vector changes when another token's value is set to zero in this layer",
)
LOOK = Param("look", "text", "how the maps are drawn, and what is selected in them; copy it from an address")
MEASURES_OPEN = flag("attention_measures", "whether the measures of all heads are open")
BESIDE = flag("attention_beside", "whether the four kinds of weights are open side by side")
QUERY = replace(hidden_states.QUERY, label="Query", bounds=KEYS.bounds, listed=False)
OTHER_LAYER = _second_place(two_models.OTHER_LAYER, 0)
OTHER_HEAD = replace(_second_place(two_models.OTHER_HEAD, 1), applies=_of_heads)


@dataclass(frozen=True, slots=True, eq=False)
class AllHeads(Special):
    """All heads at a glance, and the open ones as maps or as lines, drawn by code in the browser."""

    trace: Trace
    place: tuple[int, int]
    """Layer and head that are open."""
    reading: MapOptions


@dataclass(frozen=True, slots=True, eq=False)
class Receipt(Special):
    """How the attention compares with the model's own; the comparison is made after all else is drawn."""

    trace: Trace


@dataclass(frozen=True, slots=True, eq=False)
class HeadList(Special):
    """Heads in a table; a click on a row, or on a cell of the figure above it, opens one."""

    frame: "pd.DataFrame"


def is_long(trace: Trace) -> bool:
    """Whether there are too many cells to show all heads at once."""
    return _cells(trace) > ATLAS_CELLS


def _cells(trace: Trace) -> int:
    return trace.num_hidden_layers * trace.num_attention_heads * len(trace.tokens) ** 2


def about_drawing(trace: Trace, theme: Theme) -> dict[str, Any]:
    """What the drawing of all heads knows of a run."""
    special, second = np.flatnonzero(trace.tokens.special).tolist(), trace.tokens.second_start
    return {"title": trace.model, "theme": theme, "special": special, "second": second}


def drawn_map(
    opened: Opened, trace: Trace, reading: MapOptions, place: tuple[int, int], window: Range | None
) -> AttentionMap | PooledMap:
    """The map of a head in the drawing of all heads: of a long text the pooled one of a window."""
    layer, head = place
    if not is_long(trace):
        return head_map(opened, trace, layer, head, reading)
    values = {LAYER.key: str(layer), HEAD.key: str(head)}
    if window is not None:
        first, end, left, right = window
        values |= {QUERIES.key: f"{first}:{end - 1}", KEYS.key: f"{left}:{right - 1}"}
    return pooled_map(opened, Options((trace.tokens.text,), trace.tokens.pair, values=values)).result


def about_attention(opened: Opened, ask: Ask, options: Options) -> tuple[str, Sequence[Part]]:
    """Layers, heads and tokens, where the model ran, and what is to be known of the run."""
    answer = ask(attending_run, options.only())
    trace = answer.result
    note = (
        f"{trace.num_hidden_layers} layers of {trace.num_attention_heads} heads, {len(trace.tokens):,} tokens, run in "
        f"{trace.seconds:.2f} s on {trace.device} in {trace.dtype}"
    )
    eager = [Text(escape_markdown(trace.attention_note), "caption")] if trace.attention_source == "eager" else []
    sinks = [] if trace.sinks is None else [Text(SINKS, "caption")]
    return note, [Notices(answer.notices), *eager, *sinks]


def heads_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """All heads with the open ones; long texts have one reading only."""
    trace = _run(opened, options)
    show = partial(drawn_heads, trace)
    if is_long(trace):
        yield Section(_place_of(trace), show)
    else:
        yield Section((WEIGHTS, *_place_of(trace)), show, folded=MAP, button="Tokens")


def drawn_heads(trace: Trace, opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The heads in a reading."""
    place = int(options.get(LAYER.key, "0")), int(options.get(HEAD.key, "0"))
    yield AllHeads(trace, place, reading_of(options))


def cell_words(clicked: AttentionMap, query: int, key: int) -> Text:
    """The exact value of a cell."""
    row, weights = clicked.weights[query], clicked.options.weights
    verb = "depends on" if weights == "value-zeroing" else "looks at"
    return Text(
        f"Layer {clicked.layer}{'' if clicked.head is None else f', head {clicked.head}'}: "
        f"{query} **{escape_markdown(clicked.queries.labels[query])}** {verb} {key} "
        f"**{escape_markdown(clicked.keys.labels[key])}** with **{row[key]:.7f}**; "
        f"the row shows {row.sum():.4f} and hides {clicked.hidden_share[query]:.4f}."
    )


def shares_words(atlas: AttentionAtlas, shown: AttentionMap) -> Iterator[Part]:
    """The share of hidden keys, where keys are hidden, and a hint where most of a head is on special tokens."""
    share, reading = shown.hidden_share, shown.options
    if share.any():
        words = "the norms of a row" if reading.weights == "value-weighted" else "a row"
        yield Text(
            f"The hidden keys have between **{share.min():.4f}** and **{share.max():.4f}** of {words}, "
            f"**{share.mean():.4f}** on average. Nothing is renormalised."
        )
    measured = atlas.measures.special_share[shown.layer, shown.head or 0]
    if reading.weights == "attention" and not reading.hide_special and measured >= MOSTLY:
        yield Text(
            f"Of the weights drawn, this head puts {measured:.1%} on special tokens. **Hide special tokens**, under "
            "**Tokens** above, leaves the rest visible.",
            "caption",
        )


def head_parts(trace: Trace, opened: Opened, options: Options, is_slow: Callable[[], bool]) -> Iterator[Part]:
    """Other readings of the open head, and how its weights are computed; value zeroing may be slow."""
    parts = partial(readings_parts, trace, opened, options, is_slow)
    yield Folded("Raw, value-weighted, rollout and value zeroing side by side", BESIDE.key, parts)
    yield Explained("attention_heads", explanation(reading_of(options)), attention_code(opened, trace, options))


def readings_parts(trace: Trace, opened: Opened, options: Options, is_slow: Callable[[], bool]) -> Iterator[Part]:
    """The raw weights, the value-weighted ones, the rollout and value zeroing, side by side."""
    readings, without = list(LABELS), ""
    if trace.attention_source != "recorded":
        without = (
            " Value zeroing needs a run that records the values, which this model's own attention code does not allow."
        )
    elif is_slow():
        without = " Value zeroing of a text this long is computed where it is chosen under Weights."
    if without:
        readings.remove("value-zeroing")
    answer = maps_of(opened, options, readings)
    title = readings_figure.of(answer.drawn).title
    tops = ", ".join(f"{float(each.weights.max(initial=0)):.3g}" for each in answer.result)
    words = [LABELS[each] for each in readings]
    words.append(
        "Each map has its own scale. The rollout takes all heads of the layers up to this one, value zeroing all "
        f"heads of this layer.{without}"
    )
    yield _figure(
        readings_figure,
        answer,
        numbers="in files",
        caption=f"{title}. Every map has its own colours, from 0 to {tops}",
        below=[Text(each, "caption") for each in words],
    )


def long_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """One head of a long text at a time, computed in tiles so that the whole map is never in memory."""
    trace = _run(opened, options)
    seconds = _cells(trace) / CELLS_PER_SECOND
    time = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    heads = trace.num_hidden_layers * trace.num_attention_heads
    yield Text(f"{all_of(heads, 'head').capitalize()} at a glance would take about {time}.", "caption")
    yield Section((*_place_of(trace), QUERIES, KEYS), pooled_view)


def pooled_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The weights of a head, pooled to a limited size, and the exact ones of one token."""
    answer = ask(pooled_map, options)
    part, trace = answer.result, answer.drawn["trace"]
    seq, sizes = len(trace.tokens), []
    for param, starts in zip((QUERIES, KEYS), (part.row_starts, part.column_starts), strict=True):
        first, end = options.span(param.key, seq, seq)
        sizes.append(-(-(end - first) // len(starts)))
    block = f"{sizes[0]} × {sizes[1]}"
    words = (
        f"{seq:,} × {seq:,} weights. Each cell is the largest of {block}; the softmax is over the whole row. Narrow "
        "the ranges for more detail."
    )
    title = long_figure.of(answer.drawn).title
    caption, below = f"{title}. Largest weight of {block} cells.", [Text(words, "caption")]
    yield _figure(long_figure, answer, numbers="in files", caption=caption, below=below)
    yield Controls((QUERY,), row_view)
    place = options.only(LAYER, HEAD)
    yield Explained("attention_long", FORMULAS["attention"], attention_code(opened, trace, place))
    yield Receipt(trace)


def row_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The exact weights of one token."""
    trace, query = _run(opened, options), int(options.get(QUERY.key))
    place = int(options.get(LAYER.key, "0")), int(options.get(HEAD.key, "0"))
    row, tokens = attention_rows(trace, *place, slice(query, query + 1))[0], trace.tokens.tokens
    most = np.argsort(-row, kind="stable")[:NEAREST]
    yield Text(
        f"Token {query} **{escape_markdown(tokens[query])}** looks at these {len(most)} tokens with "
        f"**{row[most].sum():.4f}** of a row that sums to {row.sum():.4f}"
        f"{'.' if trace.sinks is None else '; the sink has the rest to 1.'}"
    )
    frame = pd.DataFrame({"key": most, "token": [tokens[key] for key in most], "weight": row[most]})
    yield Table(frame, f"Keys that token {query} looks at most")


def second_parts(opened: Opened, ask: Ask, options: Options) -> SecondModel:
    """The same head of the second model, and which heads changed most."""

    def show(other: str) -> Iterator[Part]:
        yield Controls((OTHER_LAYER, OTHER_HEAD), compared_parts)
        yield Text("**Which heads changed most**")
        yield from changed_parts(opened, ask, replace(options, values={OTHER.key: other}))

    return SecondModel("attention_second", show)


def compared_parts(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Both maps and their difference."""
    options = _chosen(options)
    answer = ask(compared_attention, options)
    compared = answer.result
    if compared.same_entries:
        yield Text(escape_markdown(attention_that_changed(compared)))
    above = ask(attending_run, options.only()).notices
    below: list[Part] = [Notices([each for each in answer.notices if each not in above], "caption")]
    if not compared.same_entries and not compared.first.options.words:
        below.append(Text(MERGE, "caption"))
    yield _figure(
        attention_compared_figure, answer, below=below, **explained(COMPARED, compared_attention, opened, options)
    )


def changed_parts(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The divergence of every head as a map and as a list; where there is none, one sentence says why."""
    try:
        answer = ask(changed_heads, options)
    except BertvizError as error:
        yield Text(escape_markdown(str(error)), "notice")
        return
    compared, frame = answer.result, changed_heads_frame(answer.result)
    yield Text(escape_markdown(heads_that_changed(compared)))
    yield _figure(
        attention_changed_figure,
        answer,
        f"changed heads {' '.join(dict.fromkeys((compared.first, compared.second)))}",
        numbers="in files",
        below=[Text("Choose a cell, or a row of the list below, to open that head above.", "caption")],
        **explained(CHANGED, changed_heads, opened, options),
    )
    yield HeadList(frame)


def _figure(figure: DeclaredFigure[...], answer: Answer[Any], file: str = "", **more: Any) -> Figure:
    """A figure with its numbers; its files are named by its title."""
    made = Figure.of(figure, answer, file, **more)
    return replace(made, file=file or made.spec.title)


def _chosen(options: Options) -> Options:
    """Options without the values that stand for a default."""
    values = {key: value for key, value in options.values.items() if value not in ("false", AS_FIRST)}
    return replace(options, values=values)


ROLLOUT = (
    "A = torch.stack(outputs.attentions)[:, 0].mean(1)   # of each layer the mean of its heads\n"
    "A = (A + torch.eye(A.shape[-1])) / 2\n"
    "A = A / A.sum(-1, keepdim=True)\n"
    "rollout = A[0]\n"
    "for layer in range(1, {layer} + 1):\n"
    "    rollout = A[layer] @ rollout\n"
    "print(rollout)   # queries × input tokens"
)


def attention_code(opened: Opened, trace: Trace, options: Options) -> str:
    """Code for the map that is shown.

    Unmerged weights and their rollout need transformers only; readings with values, merged words or hidden tokens use
    the library of this dashboard.
    """
    reading, layer, head = reading_of(options), options.get(LAYER.key, "0"), options.get(HEAD.key, "0")
    if reading not in (MapOptions(), MapOptions("rollout")):
        return library_lines(attention_map, opened, _chosen(options))
    shown = ROLLOUT.format(layer=layer)
    if reading.weights == "attention":
        shown = f"print(outputs.attentions[{layer}][0, {head}])   # queries × keys of layer {layer}, head {head}"
    return (
        f"{model_lines(opened, trace.tokens)}"
        f"model = model.to(torch.{trace.dtype})\n"
        'model.set_attn_implementation("eager")   # which hands out its weights\n'
        "with torch.no_grad():\n"
        "    outputs = model(**inputs, output_attentions=True)\n"
        f"{shown}"
    )


VIEWS = (View("One head", (), long_view), View("All heads", (), heads_view))
"""Of a long text; the page of a shorter one is the last alone."""
