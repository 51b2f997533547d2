"""The page Heads that matter: which parts of the model a target depends on, in one text, two texts and many."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bertviz_core.errors import NoDifferenceError, TextError
from bertviz_core.figures.interventions.effects import (
    KIND_WORDS,
    SIGNS,
    accuracy_figure,
    effect_columns,
    effect_spread_figure,
    effects_compared_figure,
    effects_figure,
    head_name,
    joint_ablation_figure,
    patched_heads_figure,
    patched_states_figure,
    removal_figure,
)
from bertviz_core.figures.predictions.classes import signed_difference
from bertviz_core.interventions.results import (
    AblationEffects,
    ActivationPatching,
    EffectComparison,
    EffectSpread,
    JointAblation,
    TwoModelEffects,
)
from bertviz_core.interventions.target_parsing import OF_TWO_TEXTS, parse_target
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.probing.results import LabelledTexts
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.questions.interventions.attributions import compared_effects
from bertviz_core.questions.interventions.effects import (
    COUNT,
    IN_PLACE,
    MOST_REMOVED,
    REMOVED,
    REMOVED_FOR,
    TEXTS_DRAWN,
    Place,
    ablation_curves,
    accuracy_curves,
    classes_without,
    effect_spread,
    effects,
    gradient_need,
    joint_ablation,
    list_classes,
    listed_examples,
    listed_texts,
    named_places,
)
from bertviz_core.questions.interventions.effects import patches as ask_patches
from bertviz_core.questions.interventions.targets import TARGET, layers_and_heads
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.tables.interventions import largest_effects
from bertviz_core.questions.view import (
    Ask,
    Cell,
    Figure,
    Link,
    Links,
    Metric,
    Metrics,
    Notices,
    Part,
    SecondModel,
    Section,
    Special,
    Table,
    TargetView,
    Text,
)
from bertviz_core.text import bytes_text, counted, decimals, escape_controls, escape_markdown

OF_CLASSES = ("class", "tag", "probe")
"""Kinds of targets that are one of several classes."""
STATED_FROM = 50 * 2**20
"""Bytes of the run with gradients above which the page shows them."""
HEIGHT = 300
"""Pixels of an open table."""
MOST_TYPED = 100
"""Most sentences of the reader's own list."""
IN_WORDS = {"zero": "with nothing in their place", "mean": "at their means"}
SORTED = "the selected head, sorted by the size of the effect of taking it away; a click on a cell chooses it, too"
HEAD = Param("changed_head", "choice", SORTED, (), "Head", shown=lambda name: name or "the largest effect")
WHICH = choice("which", ("greedy search", "my choice"), "how they are chosen", "Heads")


def _heads(opened: Opened, options: Options) -> tuple[str, ...]:
    layers, heads = layers_and_heads(opened)
    return tuple(head_name(layer, head) for layer in range(layers) for head in range(heads))


def _is_searched(opened: Opened, options: Options) -> bool:
    return options.choice(WHICH) == WHICH.options[0]


REMOVED_HEADS = Param(
    REMOVED.key,
    "text",
    "heads that are removed together",
    (),
    "Heads removed together",
    _heads,
    most=MOST_REMOVED,
    control="several",
    applies=lambda opened, options: not _is_searched(opened, options),
)
PATCHED = choice("patched", ("hidden states", "heads"), "what is copied", "Copied")
LIST = choice("effect_list", ("example set", "my own list"), "which sentences are run", "Sentences", parts=True)
SENTENCES = Param("effect_sentences", "text", "sentences, one on each line")
KINDS = (
    "Taken away: the part's output is set to zero, which the model has never seen in training. At its mean: the output "
    "is the same for every text, so only what is specific to this text is lost. Estimated: a first-order estimate by "
    "the gradient, which takes one run instead of one for each head. None of the three is *the* importance."
)
OF_EFFECTS = (
    "A head's output enters the output projection beside those of the other heads, so it can be changed alone: "
    "`out = out * g + (1 - g) * mean`, with `g = 0` for this head and `mean` either zeros (zero ablation) or its "
    "average over a reference set (mean ablation). The effect is the target of the changed run minus that of the "
    "unchanged one. The gradient estimate is `-out · d target / d out`, summed over positions (Michel et al. 2019, "
    "with its sign). The feed-forward block (FF) and the whole layer are changed in the same way; a layer that is "
    "taken away passes its input on."
)
OF_JOINT = (
    "The joint effect is measured in one run without all these heads; it equals the sum of the single effects only "
    "where heads do not depend on each other."
)
OF_REMOVAL = (
    "Greedy: at each step every remaining head is tried, and the one is removed that moves the target furthest from "
    "its clean value. Gradient: heads sorted by the size of their estimated effect. Random: 20 orders drawn with seed "
    f"0; the band spans the least to the greatest value. {OF_JOINT}"
)
CURVES = (
    "A greedy search finds heads that push in one direction. Compare it with the band of 20 random choices of equally "
    "many heads."
)
OF_PATCHES = (
    "The first text is run, and the input of each layer and the output of each head are recorded. Then the second text "
    "is run with one of these copied into it. The share is `(patched - second) / (first - second)`: 0 means no change, "
    "1 restores the first text's number (Vig et al. 2020; Meng et al. 2022). A head is copied at all positions."
)
SHARES = (
    "0: the copy changes nothing. 1: it restores the first text's number. Shares do not add up to 1, and they can be "
    "negative or greater than 1, since the copied values are combined with those of another text."
)
OF_SPREAD = (
    "For each sentence the target is run with all heads and without one, head by head; the effect is the difference. "
    "One map is the mean of the effects over the sentences, the other their standard deviation (n - 1). Where "
    "the mean is small beside the deviation, the head pushes some sentences up and others down. An effect above 0: "
    "without the head the target is larger; below 0: smaller."
)
OF_ACCURACY = (
    "The model classifies every labelled sentence with 0, 1, 2, ... heads removed, and its accuracy is drawn. The "
    "orders depend on the margin of each sentence's own label (its logit minus the greatest of the others): greedy "
    "removes at each step the head that moves the mean margin furthest; gradient sorts by the mean size of the "
    "estimated effects (Michel et al. 2019); random are 20 orders drawn with seed 0, as a band from the least to the "
    "greatest value."
)
NO_ACCURACY = (
    "The accuracy as heads are removed needs labelled sentences and a target with these labels as classes: train a "
    "probe on them on the page Predictions, view Train a probe, and choose **probe** as the target here."
)
WRITE = "Write at least two sentences above, one a line."
OF_TWO = (
    "Each head is taken away in turn, in both models, and the same target is measured: a class by its name, a place of "
    "the text by its characters. All maps have one colour scale. A head of one model is compared with the head of the "
    "same layer and number in the other: for two models that were trained apart that is a mere coincidence of numbers."
)
OF_THIS_TEXT = Text(
    "Effects belong to this text and this target: with another text or target other heads matter. **Many sentences** "
    "shows how far they differ.",
    "caption",
)


@dataclass(frozen=True, slots=True, eq=False)
class TypedList(Special):
    """The reader's own sentences, and what is shown of them."""

    show: Callable[[str], Iterable[Part]]


@dataclass(frozen=True, slots=True, eq=False)
class OtherDonor(Special):
    """Another second text, offered where nothing can be copied into that of the options."""

    words: str
    """Why."""


def about_causes(opened: Opened, ask: Ask, options: Options) -> tuple[str, Sequence[Part]]:
    """What happens on the page."""
    return "every head is changed on purpose, and one number is measured", ()


def _remarks(opened: Opened, options: Options) -> tuple[str, ...]:
    return (f"a removed head is replaced by {options.choice(REMOVED_FOR)}",)


def effects_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Maps of all three kinds, the table, their _agreement, and one head."""
    need, allowed = gradient_need(opened, options)
    memory = f"The gradient estimate keeps every layer of one run: about {bytes_text(need)}, of {bytes_text(allowed)}"
    if need > allowed:
        yield Text(f"{memory} allowed, so it is left out; try a shorter text.", "warning")
    elif need > STATED_FROM:
        yield Text(f"{memory} allowed.", "caption")
    answer = ask(effects, options, (effects_figure, "Rows that are not done yet are empty."))
    first: AblationEffects = answer.result.effects[0]
    names = {"": first.ranked()[0][:2], **{head_name(*place): place for *place, _ in first.ranked()}}

    def shown(opened: Opened, ask: Ask, chosen: Options) -> Iterator[Part]:
        layer, head = names[chosen.get(HEAD.key)]
        yield from _head_view(opened, ask, options, answer, (layer, head))

    yield Section((replace(HEAD, values=lambda opened, options: list(names)),), shown)

    def compared(other: str) -> Iterator[Part]:
        both = replace(options, values={**options.values, OTHER.key: other})
        made = ask(compared_effects, both)
        yield Text(escape_markdown(effects_that_changed(made.result)))
        yield Figure.of(
            effects_compared_figure,
            made,
            f"effects {' '.join(dict(made.models))}",
            numbers="open",
            height=HEIGHT,
            below=[Notices([notice for notice in made.notices if notice not in first.notices], "caption")],
            **explained(OF_TWO, compared_effects, opened, both),
        )

    yield SecondModel("causes_beside", compared)
    yield OF_THIS_TEXT


def _head_view(
    opened: Opened, ask: Ask, options: Options, answer: Answer[EffectComparison], place: Place
) -> Iterator[Part]:
    comparison, first = answer.result, answer.result.effects[0]
    classes: list[Part] = []
    if parse_target(options.get(TARGET.key), has_pair=True).kind in OF_CLASSES:
        without = replace(options, values={**options.values, REMOVED.key: named_places([place])})
        classes = [_classes_table(*ask(classes_without, without).result)]
    reference = next((each.reference for each in comparison.effects if each.reference), "")
    values = {"layer": place[0], "head": place[1]}
    ends = (
        f"{SIGNS} Words that matter has the same colours, and opposite signs: the number with a word minus without it. "
        f"{KINDS} Mean: over {escape_markdown(reference)}. Colours end just above the largest effect of a head; blocks "
        "and layers with larger effects have the last colour, and their numbers are below."
    )
    if parse_target(options.get(TARGET.key), has_pair=True).kind in OF_TWO_TEXTS:
        ends += " Parts are changed while the text is read; the second text's vector is that of the whole model."
    link = f"See its attention: {head_name(*place)}"
    yield Figure.of(
        effects_figure,
        replace(answer, drawn={**answer.drawn, "place": place}),
        f"effects {opened.name}",
        numbers="open",
        height=HEIGHT,
        below=[
            Cell("causes_effects", param=HEAD, value=partial(clicked_head, first)),
            Text(f"{escape_markdown(largest_effects(first))} {_agreement(comparison)}"),
            Text(_head_words(comparison, place)),
            Links("causes_attention", "The attention of this head", [Link.to(link, "attention", values)]),
            *classes,
            Text(ends, "caption"),
            Notices(first.notices, "caption"),
        ],
        **explained(OF_EFFECTS, effects, opened, options),
    )


def clicked_head(effects: AblationEffects, row: int, column: int) -> str | None:
    """The clicked head; the maps are side by side or below each other."""
    layers, columns = effect_columns(effects)[0].shape
    layer, head = row % (layers + 2), column % (columns + 1)
    return head_name(layer, head) if layer < layers and head < effects.heads.shape[1] else None


def _head_words(comparison: EffectComparison, place: Place) -> str:
    first = comparison.effects[0]
    without = "; ".join(
        f"{KIND_WORDS[each.kind]} **{decimals(first.clean + float(each.heads[place]), 3)}** "
        f"({'' if each.heads[place] < 0 else '+'}{decimals(float(each.heads[place]), 3)})"
        for each in comparison.effects
    )
    return (
        f"**{head_name(*place).capitalize()}:** the {escape_markdown(first.title)} is **{decimals(first.clean, 3)}** "
        f"with all heads; with this one {without}."
    )


def _classes_table(clean: ClassPrediction, without: ClassPrediction) -> Table:
    columns: dict[str, object] = {"class": list(clean.labels)}
    for word, each in (("with all heads", clean), ("without this head", without)):
        if each.probabilities is not None:
            columns[f"probability {word}"] = each.probabilities.astype(float)
        columns[f"logit {word}"] = each.logits.astype(float)
    formats = dict.fromkeys(list(columns)[1:], "%.3f")
    return Table(pd.DataFrame(columns), "Every class with all heads and without this one", formats=formats)


def _agreement(comparison: EffectComparison) -> str:
    kinds = [each.kind for each in comparison.effects]
    pairs = [
        f"{kinds[one]} and {kinds[other]} **{decimals(float(comparison.correlations[one, other]), 2)}**"
        for one in range(len(kinds))
        for other in range(one + 1, len(kinds))
    ]
    largest: dict[str, list[str]] = {}
    for each in comparison.effects:
        largest.setdefault(head_name(*each.ranked()[0][:2]), []).append(each.kind)
    listed = "; ".join(f"{head} by {' and '.join(each)}" for head, each in largest.items())
    agree = f"Which head's effect is largest depends on how it is removed: {listed}."
    if len(largest) == 1:
        agree = f"{' and '.join(kinds).capitalize()} agree on the head with the largest effect."
    heads = counted(int(comparison.effects[0].heads.size), "head")
    return f"{agree} Correlation of the effects over {heads}: {', '.join(pairs)}."


def effects_that_changed(compared: TwoModelEffects) -> str:
    """The target in both models, and the head whose effect differs most, in two sentences."""
    first, second, change = compared.first, compared.second, compared.difference
    values = f"{decimals(first.clean)} in {first.model} and {decimals(second.clean)} in {second.model}"
    clean = f"The {first.title} is {values}."
    if change is None:
        return clean
    if not np.nan_to_num(change).any():
        return f"{clean} No head has another effect."
    layer, head = (int(each) for each in np.unravel_index(int(np.nanargmax(np.abs(change))), change.shape))
    effects = [decimals(float(each.heads[layer, head]), 3) for each in (first, second)]
    return (
        f"{clean} Of all heads the effect of layer {layer}, head {head} differs most: {effects[0]} and {effects[1]} "
        f"(difference {signed_difference(float(change[layer, head]))})."
    )


def several_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Joint effect of heads, the sum of their single effects, and the curve of a greedy search."""
    yield Section((WHICH, REMOVED_HEADS, replace(COUNT, applies=_is_searched)), removed_view)
    yield OF_THIS_TEXT


def removed_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The heads of a greedy search or of the reader's choice, removed together."""
    own_choice = not _is_searched(opened, options)
    if own_choice and options.names(REMOVED.key):
        yield from _chosen_view(opened, ask, options)
        return
    choose = [Text("Choose the heads to remove above. Until then these are the heads of a greedy search.", "notice")]
    options = options.only(*ablation_curves.params)
    answer = ask(ablation_curves, options)
    greedy = answer.result.greedy
    numbers = {"effect alone": greedy.single.astype(float), "sum so far": np.cumsum(greedy.single, dtype=float)}
    frame = pd.DataFrame({"layer": greedy.places[:, 0], "head": greedy.places[:, 1], **numbers})
    yield Figure.of(
        removal_figure,
        answer,
        f"removal {greedy.kind} {opened.name}",
        below=[
            *(choose if own_choice else ()),
            *_joint_parts(greedy),
            Table(frame, "The removed heads and the effect of each alone"),
            Text(CURVES, "caption"),
            Notices(answer.notices, "caption"),
        ],
        **explained(OF_REMOVAL, ablation_curves, opened, options),
    )


def _chosen_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The heads of the reader's choice, removed together."""
    names, heads = options.names(REMOVED.key), _heads(opened, options)
    each = layers_and_heads(opened)[1]
    places = named_places([divmod(heads.index(name), each) for name in names])
    options = replace(options, values={**options.values, REMOVED.key: places}).only(*joint_ablation.params)
    answer = ask(joint_ablation, options)
    yield Figure.of(
        joint_ablation_figure,
        answer,
        f"joint ablation {answer.result.kind} {opened.name}",
        numbers="open",
        below=[*_joint_parts(answer.result), Text(SIGNS, "caption"), Notices(answer.notices, "caption")],
        **explained(OF_JOINT, joint_ablation, opened, options),
    )


def _joint_parts(removal: JointAblation) -> Iterator[Part]:
    """The joint effect and the sum of single effects."""
    difference = removal.joint - removal.total
    yield Metrics.of(
        Metric("With all heads", decimals(removal.clean), f"The {removal.title}, unchanged; in {removal.unit}."),
        Metric("Joint effect", _signed(removal.joint), "All these heads removed together."),
        Metric("Sum of single effects", _signed(removal.total), "Each head removed alone, added up."),
        Metric("Difference", _signed(difference), "Joint effect minus the sum of single effects."),
    )
    yield Text(
        f"Removed together {IN_WORDS[removal.kind]}, these {len(removal.places)} heads change the "
        f"{escape_markdown(removal.title)} by **{_signed(removal.joint)}**; their single effects add up to "
        f"**{_signed(removal.total)}**."
    )


def _signed(value: float) -> str:
    return f"+{decimals(value)}" if value > 0 else decimals(value)


def patch_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The share of the difference between two texts that a copied state or head restores."""
    try:
        answer = ask(ask_patches, options)
    except NoDifferenceError as error:
        yield OtherDonor(str(error))
    else:
        has_states = answer.result.states is not None
        yield Section((replace(PATCHED, applies=lambda *_: has_states),), partial(patched_view, answer))
    yield OF_THIS_TEXT


def patched_view(answer: Answer[ActivationPatching], opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The map of what each state or head brings back."""
    patches, part = answer.result, options.choice(PATCHED)
    if patches.states is None:
        part = PATCHED.options[1]
    values, figure = (
        (patches.heads, patched_heads_figure)
        if part == PATCHED.options[1] or patches.states is None
        else (patches.states, patched_states_figure)
    )
    layer, place = (int(each) for each in np.unravel_index(np.nanargmax(np.abs(values)), values.shape))
    tokens = list(zip(patches.tokens.tokens, patches.corrupt_tokens.tokens, strict=True))
    what = head_name(layer, place)
    if part == PATCHED.options[0]:
        what = f"the state of token {place} ({_token(tokens[place][0])}) that goes into layer {layer}"
    pairs = [f"{at} **{_token(one)}** / **{_token(other)}**" for at, (one, other) in enumerate(tokens) if one != other]
    summary = (
        f"The {escape_markdown(patches.title)} is **{decimals(patches.clean)}** for the text and "
        f"**{decimals(patches.corrupt)}** for the second one. Copied from the first "
        f"into the second, {what} brings back **{float(values[layer, place]):.0%}** of the difference: of all {part} "
        "the largest share, whatever its sign."
    )
    yield Figure.of(
        figure,
        answer,
        f"patched {part} {opened.name}",
        below=[
            Text(summary),
            Text(f"Tokens at the same position that differ: {', '.join(pairs) or 'none'}."),
            Text(SHARES, "caption"),
            Notices((*answer.notices, *patches.notices), "caption"),
        ],
        **explained(OF_PATCHES, ask_patches, opened, options.only(*ask_patches.params)),
    )


def _token(token: str) -> str:
    return escape_markdown(escape_controls(token))


def many_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Maps of mean and standard deviation, a table of heads, and the accuracy curve."""
    examples = listed_examples(opened, options)
    whose = f"the {len(examples.texts)} labelled sentences of the example set {examples.name}"
    drawn = replace(
        TEXTS_DRAWN,
        label="How many sentences",
        help=f"drawn from {whose} with seed 0",
        applies=lambda opened, options: options.choice(LIST) == LIST.options[0],
        parts=True,
    )
    yield Section((LIST, drawn), list_view)


def list_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The effects over sentences of the example set, or over the reader's own."""

    def typed(sentences: str) -> Iterable[Part]:
        if not sentences:
            return [Text(WRITE, "notice")]
        return spread_view(opened, ask, replace(options, texts=(sentences,)))

    if options.choice(LIST) == LIST.options[0]:
        yield from spread_view(opened, ask, replace(options, texts=()))
    else:
        yield TypedList(typed)


def spread_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The effects over a list of sentences."""
    options = options.only(*effect_spread.params)
    listed = listed_texts(opened, options)
    if options.texts and len(listed.texts) > MOST_TYPED:
        most = f"at most {MOST_TYPED} are run. Give some of it."
        raise TextError(f"The list has {len(listed.texts):,} sentences; {most}")
    yield Notices(listed.notices, "caption")
    answer = ask(effect_spread, options, (effect_spread_figure, "Mean over the sentences that are done."))
    spread: EffectSpread = answer.result
    of = "of your own list" if options.texts else f"drawn from the example set *{listed.name}* with seed 0"
    sentences = f"{counted(spread.texts, 'sentence')} {of}, each in the place of your text."
    yield Figure.of(
        effect_spread_figure,
        answer,
        f"spread {spread.kind} {opened.name}",
        numbers="open",
        height=HEIGHT,
        below=[Text(_spread_words(spread)), Text(sentences, "caption")],
        **explained(OF_SPREAD, effect_spread, opened, options),
    )
    labels, classes = {label for label in listed.labels if label}, list_classes(opened, options)
    if not labels or len(classes) < 2 or not labels <= set(classes):
        yield Text(NO_ACCURACY, "caption")
        return
    reads = "heads that are removed one after the other; after each the model classifies every labelled sentence again"
    count = replace(COUNT, label="Heads removed one after the other", help=reads)
    yield Section((count,), partial(_accuracy_view, options, listed))


def _spread_words(spread: EffectSpread) -> str:
    """The clean target, the head with the largest mean, and the number of heads whose mean exceeds its spread."""
    layer, head = (int(each) for each in np.unravel_index(np.nanargmax(np.abs(spread.mean)), spread.mean.shape))
    beyond, heads = int((np.abs(spread.mean) > spread.spread).sum()), int((~np.isnan(spread.mean)).sum())
    mean, deviation = float(spread.mean[layer, head]), float(spread.spread[layer, head])
    return (
        f"With all heads the {escape_markdown(spread.title)} is **{decimals(float(spread.clean.mean()))}** on average, "
        f"from {decimals(float(spread.clean.min()))} to {decimals(float(spread.clean.max()))}. Of all heads "
        f"{head_name(layer, head)} {KIND_WORDS[spread.kind]} has the largest mean effect, whatever its "
        f"sign: **{decimals(mean)}** with a standard deviation of **{decimals(deviation)}**. For **{beyond}** "
        f"of {heads} heads the mean effect is larger than its standard deviation; for the others, sentences "
        "differ by more. Above 0, the number is larger without the head; below 0, smaller. On one text, such as "
        "yours, the sign may be another."
    )


def _accuracy_view(
    options: Options, listed: LabelledTexts, opened: Opened, ask: Ask, chosen: Options
) -> Iterator[Part]:
    whose, _, _ = options.get(TARGET.key).partition("@")  # all classes of a probe
    target = whose if whose.startswith("probe:") else ""
    values = {**options.values, TARGET.key: target, COUNT.key: chosen.get(COUNT.key)}
    options = replace(options, values=values).only(*accuracy_curves.params)
    answer = ask(accuracy_curves, options)
    yield Figure.of(
        accuracy_figure,
        answer,
        f"accuracy {IN_PLACE[options.choice(REMOVED_FOR)]} {opened.name}",
        **explained(OF_ACCURACY, accuracy_curves, opened, options),
    )
    yield Notices([notice for notice in answer.notices if notice not in listed.notices], "caption")


VIEWS = (
    TargetView("One head at a time", (), effects_view),
    TargetView("Several heads", (), several_view, below=(REMOVED_FOR,), remarks=_remarks),
    TargetView("Patch", (), patch_view, alone=True),
    TargetView("Many sentences", (), many_view, below=(REMOVED_FOR,), remarks=_remarks, alone=True, of_list=True),
)
