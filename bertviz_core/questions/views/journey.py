"""The page Journey: a text on its way through the model, its numbers, what an answer rests on, and what to try."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from bertviz_core.attribution.words import INSTEAD, has_mask
from bertviz_core.figures.journey.payload import MEASURES, DrawnChange, Ending
from bertviz_core.interventions.target_parsing import OF_TWO_TEXTS, parse_target
from bertviz_core.journey.results import EmbeddingOpening, HeadOpening, Journey, LayerOpening, StageKind
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.interventions.attributions import word_attributions
from bertviz_core.questions.interventions.effects import MEAN, REMOVED_FOR, zero_effects
from bertviz_core.questions.interventions.journey_change import CHANGE, EMBEDDINGS, changed_model
from bertviz_core.questions.interventions.targets import TARGET
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, flag
from bertviz_core.questions.report.library_lines import call_lines, opening_lines
from bertviz_core.questions.report.model_lines import LONGEST
from bertviz_core.questions.texts.hidden_states import HEAD, KEY, LAYER, QUERY
from bertviz_core.questions.texts.journey import (
    ANSWER_HERE,
    embeddings,
    head_opening,
    journey,
    layer_opening,
    strongest_keys,
)
from bertviz_core.questions.texts.sentences import own_plan
from bertviz_core.questions.texts.tokens import EDITED
from bertviz_core.questions.view import Ask, Explained, Link, Notices, Part, Special, Table, Text, View
from bertviz_core.questions.views.words import one_way
from bertviz_core.text import decimals, escape_markdown, shortened
from bertviz_core.trace.results import Tokens

WHOLE = (*OF_TWO_TEXTS, "class", "probe")
"""Kinds of numbers that belong to the whole text; the others are read from single tokens, without a pooler."""
MOST_WORDS = 40
"""Most tokens whose changes of the answer are listed."""
MOST_QUOTED = 20
"""Most characters of a token in a link."""
STRONGEST = ("strongest head", "strongest key")
RESTS = replace(flag("rests_on", "whether the drawing shows what an answer rests on", ANSWER_HERE), parts=True)
BOTH = "Both texts are one input: tokens of one look at those of the other. A cosine reads each alone."
PURPOSE = (
    "Follow each token from its embedding through every layer to what comes out, and choose a part for the numbers "
    "that it computes."
)
WORDS = """
The model runs the text once. For each layer and token:

* change of direction (turn): `1 − cosine` of the token's vector before and after the layer;
* length: Euclidean length of the vector after the layer;
* how widely a token looks (entropy): `−Σ p ln p` of the token's row of attention `p`, mean over the heads, in nats.

A weight of a head is the softmax, over all keys, of the scaled product of query and key; "every number of this cell"
on the page Heads lists the scores of all keys. In the table, the strongest head of a layer is the one with the largest
weight in the token's row of attention, and the strongest key is the token that this weight goes to, which may be the
token itself or a special token; the sentence below the drawing names another word.
"""
CHANGED = """
With a change the model runs once more. A head that is switched off has its output, before the output projection,
replaced by zero or by its mean over the reference texts; a layer that is switched off returns its input, or its input
plus its mean change; a masked token has the id of the mask token; of an edited text the tokens that both texts have are
compared, wherever they stand. A cell is the number of this run minus that of the unchanged run.
"""
RESTS_ON = """
What the answer rests on: a layer's colour is the number when this layer returns its input, minus the number as it is; a
head's frame is the same with the head's output replaced by zero, on a scale of its own. A token's colour is the number
of the text with the mask in place of its word, or without the word where the model has no mask, minus the number as it
is. Below 0, in orange, the part supports the number: without it the number falls. Words that matter has the same
colours and the opposite signs: the number as it is, minus that without the word.
"""


class WaysOn(Special):
    """Ways to continue where files of the model are missing."""


def way_options(options: Options) -> Options:
    """The texts that are drawn: the second one is left out where the number at the end reads each alone."""
    target = options.get(TARGET.key)
    alone = bool(target) and parse_target(target, has_pair=True).kind in OF_TWO_TEXTS
    return Options(options.texts, None if alone else options.pair)


def about_journey(opened: Opened, ask: Ask, options: Options) -> tuple[str, Sequence[Part]]:
    """The family, its layers, and what is to be known of the run."""
    answer = ask(journey, way_options(options))
    way = answer.result
    both = way.tokens is not None and way.tokens.pair is not None
    parts: list[Part] = [Text(BOTH, "caption")] if both else []
    parts.append(Notices(way.notices))
    parts.append(Notices([each for each in answer.notices if each not in way.notices], "caption"))
    if way.missing and not opened.source.has_weights:
        parts.append(WaysOn())
    return f"{way.title}, {way.layers} layers{', both texts in one run' if both else ''}", parts


def first_links(
    opened: Opened, way: Journey, token: int, layer_open: str, change: str | None, shown: bool
) -> Sequence[Link]:
    """Things to try with a token of this text, without what is done already, as where the answer is `shown`."""
    if way.tokens is None or way.turn is None or not len(way.turn):
        return ()
    layer = int(way.turn[:, token].argmax())
    word = f"“{shortened(way.labels[token], MOST_QUOTED)}”"
    label, changed = f"Switch layer {layer} off", f"layer-{layer}"
    if has_mask(opened.tokenizer):
        label, changed = f"Mask {word}", f"mask-{token}"
    model = {"model": opened.name}
    place = {**model, QUERY.key: token}
    most = f"Open layer {layer}, which changed {word} more than any other"
    opens = Link.to(most, "journey", {**place, LAYER.key: layer, **({} if change is None else {CHANGE.key: change})})
    changes = Link.to(f"{label} and see what moves", "journey", {**place, CHANGE.key: changed})
    heads = [each.name for each in way.stages if each.kind == "task head" and each.used]
    rests = Link.to("See the number of the answer here, and what it rests on", "journey", {**place, RESTS.key: "true"})
    of = "" if change is None else " to the unchanged text"
    return (
        *([rests] if heads and not shown and change is None else []),
        *([] if layer_open == str(layer) else [opens]),
        *([] if change == changed else [changes]),
        Link.to(
            "See what every head looks at",
            "attention",
            {**model, LAYER.key: layer_open} if layer_open.isdigit() else model,
        ),
        *(Link.to(f"See the answer of the {name}{of}", "predictions", model) for name in heads),
    )


def ending_of(opened: Opened, ask: Ask, options: Options, way: Journey) -> Ending:
    """The number at the end, and the effects of layers, heads and tokens."""
    measured, shares = ask(zero_effects, options).result, ask(word_attributions, options).result
    per_token = None  # of a number that belongs to another reading of the text
    if way.tokens is not None and np.array_equal(shares.tokens.input_ids, way.tokens.input_ids):
        per_token = -np.asarray(np.nan_to_num(shares.per_token()))  # as for layers: without it minus with it
    word = shares.words[int(np.abs(shares.shares).argmax())]
    numbers = (measured.title, measured.clean, measured.unit, measured.layers, measured.heads, per_token, word)
    request = parse_target(options.get(TARGET.key), has_pair=True)
    remark = one_way(shares) if shares.instead == INSTEAD["mask"] else ""
    behind = _behind(opened, request.kind, request.argument)
    return Ending(*numbers, whole=request.kind in WHOLE, behind=behind, remark=remark)


def _behind(opened: Opened, kind: str, argument: str) -> tuple[StageKind, ...]:
    """Kinds of stages behind the layers through which a number is computed, where the model has them."""
    match kind:
        case "class":
            return ("pooler", "task head")
        case "tag" | "word" | "answer":
            return ("task head",)
        case "cosine":
            return ("pooler",) if own_plan(opened).pooling == "pooler" else ()
        case "probe":
            return ("pooler",) if opened.probe(argument)[0].pooling == "pooler" else ()
    return ()


def open_parts(opened: Opened, options: Options) -> Iterator[EmbeddingOpening | LayerOpening | HeadOpening]:
    """Details of the open parts: the embeddings, or a layer and one of its heads, by default at its strongest key."""
    if options.get(LAYER.key) == EMBEDDINGS:
        yield embeddings(opened, options.only(QUERY)).result
    elif options.get(LAYER.key):
        layer = layer_opening(opened, options.only(QUERY, LAYER)).result
        yield layer
        if head := options.get(HEAD.key):
            key = str(int(layer.rows[int(head)].argmax()))
            values = {KEY.key: key, **options.values}
            yield head_opening(opened, replace(options, values=values)).result


def number_parts(
    opened: Opened,
    way: Journey,
    token: int,
    change: DrawnChange | None,
    values: Mapping[str, str],
    ending: Ending | None,
    target: Options | None,
) -> Iterator[Part]:
    """One token's numbers, and how they are computed; with the `ending` of a `target` what this rests on."""
    both = None if change is None else change.both
    alt = f"The way of token {token} through {way.model}{f'. {both.sentence}' if both else ''}"
    numbers = numbers_frame(opened, way if both is None else both.before, token, change)
    if ending is not None and ending.layers is not None:
        numbers[f"{ending.title}: change without the layer"] = ending.layers
    if ending is not None and ending.tokens is not None and len(way.labels) <= MOST_WORDS:
        listed = zip(way.labels, ending.tokens.tolist(), strict=True)
        each = ", ".join(f"{escape_markdown(label)} {decimals(value)}" for label, value in listed if value)
        yield Text(f"{escape_markdown(ending.title)}, its change without each word: {each}. {ending.remark}", "caption")
    yield Table(numbers, alt, folded="journey")
    if way.tokens is not None:
        words = WORDS + (CHANGED if both else "") + (RESTS_ON if ending else "")
        code = journey_code(opened, way.tokens, values if both else {})
        if target is not None:
            code += f"{call_lines(zero_effects, target)}{call_lines(word_attributions, target)}"
        yield Explained("journey", words, code)


def numbers_frame(opened: Opened, way: Journey, token: int, change: DrawnChange | None) -> "pd.DataFrame":
    """One token's numbers, a row per layer; under a change before and after it."""
    both = None if change is None else change.both
    table = pd.DataFrame({"layer": np.arange(way.layers)})
    for name in MEASURES:
        values, after = getattr(way, name), None if both is None else getattr(both.after, name)
        if values is None:
            continue
        table[name] = values[:, token]
        if after is not None:
            table[f"{name} after"] = after[:, token]
            table[f"{name} difference"] = after[:, token] - values[:, token]
    if not way.heads or way.tokens is None:
        return table
    options = Options((way.tokens.text,), way.tokens.pair, values={QUERY.key: str(token)})
    if change is None or both is None:
        return _with_strongest(table, opened, options, way, "")
    if both.origin is None:  # of an edited text, the text that is drawn is that after the edit
        table = _with_strongest(table, opened, options, way, " before")
    table = _with_strongest(table, changed_model(opened, options, change), options, way, " after")
    kind, _, layer = change.name.partition("-")
    if kind == "layer":  # what its attention gives is not used
        table.loc[int(layer), [f"{name} after" for name in STRONGEST]] = [pd.NA, None]
    return table


def _with_strongest(table: "pd.DataFrame", opened: Opened, options: Options, way: Journey, when: str) -> "pd.DataFrame":
    """Add the head and the key of the token's largest weight in each layer, in columns whose names end so."""
    heads, keys = strongest_keys(opened, options).result
    labels = [f"{key} {way.labels[key]}" for key in keys.tolist()]
    columns = (pd.Series(heads, dtype="Int64"), pd.Series(labels))
    return table.assign(**{f"{name}{when}": each for name, each in zip(STRONGEST, columns, strict=True)})


def journey_code(opened: Opened, tokens: Tokens, change: Mapping[str, str]) -> str:
    """Lines that print the numbers of the drawing, and under a change before, after and difference."""
    texts = [each for each in (tokens.text, tokens.pair) if each is not None]
    arguments = ", ".join([*map(repr, texts)] if sum(map(len, texts)) <= LONGEST else ["text", "pair"][: len(texts)])
    lines = [f"{opening_lines(opened)}way = model.journey({arguments})", "print(way.to_pandas())"]
    if change:
        mean = ", mean=True" if change.get(REMOVED_FOR.key) == MEAN else ""
        edited = f", edited={change[EDITED.key]!r}" if EDITED.key in change else ""
        lines.append(f"print(way.changed({change[CHANGE.key]!r}{mean}{edited}))   # before, after and difference")
    return "\n".join([*lines, ""])


VIEWS = (View("Journey"),)
