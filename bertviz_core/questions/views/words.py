"""The page Words that matter: what each word adds to a target, to each class, and to the cosine of two texts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from bertviz_core.attribution.results import (
    AttributionComparison,
    ClassAttributions,
    PairAttributions,
    ShareMethod,
    WordAttributions,
)
from bertviz_core.attribution.words import INSTEAD, has_mask
from bertviz_core.errors import TextError
from bertviz_core.figures.interventions.effects import words_compared_figure
from bertviz_core.figures.interventions.words import (
    curve_areas,
    pair_ledger_figure,
    word_bars_figure,
    word_classes_figure,
    word_curves_figure,
    word_shares_figure,
)
from bertviz_core.figures.predictions.classes import signed_difference
from bertviz_core.interventions.target_parsing import parse_target
from bertviz_core.models.catalog import OFFERED
from bertviz_core.questions.interventions.attributions import (
    CLASSES,
    COMPARED,
    IN_PLACE,
    METHOD,
    POSITION,
    UNITS,
    class_attributions,
    compared_words,
    is_placed,
    pair_attributions,
    target_classes,
    word_attributions,
    word_curves,
)
from bertviz_core.questions.interventions.targets import MEASURE, TARGET
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.tables.interventions import remainder
from bertviz_core.questions.view import (
    Ask,
    Figure,
    Lack,
    Metric,
    Metrics,
    Notices,
    Part,
    SecondModel,
    TargetView,
    Text,
    View,
)
from bertviz_core.questions.views.vectors.background import cosine_parts, other_shares
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.text import decimals, digits, escape_controls, escape_markdown, isolated, quoted

CLASSES_BY = Param(
    "classes_by",
    "choice",
    "the number of each class: what goes into the softmax or the sigmoid, or what comes out of it",
    ("logit", "probability"),
    "Measured by",
    applies=lambda opened, options: target_classes(opened, options).probabilities is not None,
)
LITTLE = 0.05
"""Size of a share, relative to the largest, below which it counts for little."""
LONGEST_SHOWN, QUOTED = 60, 40
"""Most characters of a class in the line above the figure, and of a word in a sentence."""
SHARES: dict[ShareMethod, str] = {
    "leave-one-out": (
        "The text is run once for each word, with that word taken away and all other token ids as they are. The share "
        "is the target of the whole text minus that of the text without the word: a difference of two runs, exact by "
        "definition. Shares need not add up, since one word can stand in for another."
    ),
    "integrated-gradients": (
        "`share = (x - r) · ∫ dF/dx(r + α (x - r)) dα` over α from 0 to 1, summed over the dimensions of the word "
        "embedding: `x` of the text, `r` of the text with every word masked (Sundararajan et al. 2017). The shares add "
        "up to the target of the text minus that of the masked text. The integral is a Clenshaw-Curtis "
        "quadrature, refined until the error is below 0.1%; the remaining completeness error is in the title."
    ),
    "gradient-x-input": (
        "`share = (x - r) · dF/dx` at the text itself, `r` the text with every word masked: one run. Where the target "
        "is not linear, which it never is, the shares do not add up exactly; the error is shown."
    ),
}
READ = {
    "leave-one-out": (
        "Orange: without the word the number is lower. Blue: without it the number is higher. The number of a word is "
        "the target with it minus the target without it. The Journey and Heads that matter have the opposite sign: "
        "what changes without a part."
    ),
    "integrated-gradients": (
        "Orange: the word raises the target, compared with a text of masks. Blue: it lowers it. The shares add up."
    ),
    "gradient-x-input": (
        "Orange: a small step towards this word raises the target. Blue: it lowers it. Compare it with leave-one-out "
        "before you rely on it."
    ),
}
OF_CURVES = (
    "The words are ranked by their share, the one that raises the target most first. In one panel the first k are "
    "replaced by the mask (comprehensiveness), in the other only they are kept (sufficiency). The number below is the "
    "mean over all steps of how far the target has fallen below that of the whole text (DeYoung et al. 2020). The band "
    "spans the least to the greatest value of 20 random orders, drawn with seed 0."
)
MASKS_READ = "The model reads the masks, too: a word of five pieces becomes five masks."
ONE_WAY = (
    "The number {moves} without {count} of {all} words: much of that may be the mask in their place rather than what "
    "is missing."
)
TRY_NOTHING = "Compare with **nothing** in their place, under **Change**."
MOST_WORDS, ALIKE, LEAST_WORDS = 0.8, 0.4, 5
"""From where the mask is suspected: share of the words that move a number the same way, their median share over the
largest; and the number of words."""
CURVES_READ = (
    "Strong words make the curve fall fast where they are replaced, and rise fast where only they are kept. A curve in "
    "the middle of the grey band is no better than words chosen at random; in a text of few words some of the 20 "
    "random orders are the best one by chance."
)
OF_PAIRS = (
    "With `f` the sentence vector of length 1, `a`, `b` the states of the two texts after the chosen layer, `r` those "
    "of the texts with every word masked: `f(a)·f(b) = Σ A_ij + f(a)·f(r_b) + f(r_a)·f(b) - f(r_a)·f(r_b)`. `A_ij` is "
    "the product of how token i moves its vector and how token j moves the other, by derivatives along the straight "
    "path from reference to text (Moeller et al. 2023). The error is the difference of the sum from the cosine."
)
PAIRS_READ = (
    "The cosine is the sum of all cells and the reference terms, never of the cells alone: the similarity of two texts "
    "of masks is in the reference terms."
)
OF_CLASSES = (
    "The text is run once for each word, with that word taken away; every run gives the logits of all classes. The "
    "share of a word in a class is the number of that class for the whole text minus that for the text without the "
    "word. A probability is taken by the softmax over all classes, also those that are not shown: then the shares of "
    "a word in all classes add up to 0. Where each class has its own sigmoid they need not."
)
CLASSES_READ = (
    "Orange: the word speaks for the class; without it the number is lower. Blue: it speaks against it. The number "
    "beside a class is that of the whole text. Logits of all classes can rise at once; under a softmax, probability "
    "that one class gains is lost by the others."
)
NUMBERS_READ = (
    "Orange: the word raises the number; without it the number is lower. Blue: it lowers it. The number beside a name "
    "is that of the whole text."
)
OF_TWO = (
    "Both models are compared for the same target: a class by its name, a place of the text by its "
    "characters. Words meet by their characters, too: a bar is for the smallest part of the text that both models cut "
    "into whole words, with the sum of the shares of its words. The difference is the second minus the first."
)
NO_MASK = Lack(
    "has a tokenizer without a mask token, and **Remove word by word** and **Pairs** start from a text of masks.",
    DEFAULT_MODEL,
)
NO_MASK_PLACED = (
    "This target belongs to a position of the text, which changes when words are dropped, and the tokenizer of this "
    "model has no mask token to replace them: choose another target, such as the cosine to a second text."
)
ONLY_LEFT_OUT = (
    "Method: leave-one-out, which drops the word. The other methods start from a text of masks, and this model's "
    "tokenizer has no mask token."
)
NO_CLASSES = Lack(
    "has no task head for classes or tags, which the view **Classes** compares. A probe has classes, too: page "
    "Predictions, view Train a probe.",
    OFFERED[0],
)


def about_words(opened: Opened, ask: Ask, options: Options) -> tuple[str, Sequence[Part]]:
    """What happens on the page."""
    return "words are taken away, and one number is measured", ()


def _replacing(opened: Opened, options: Options) -> Options:
    """The options, with nothing in the place of a word for a tokenizer without a mask."""
    in_place = {} if has_mask(opened.tokenizer) else {IN_PLACE.key: IN_PLACE.options[1]}
    return replace(options, values={**options.values, **in_place})


def _remarks(opened: Opened, options: Options) -> Iterator[str]:
    if CLASSES.key not in options.values:
        yield " and ".join(options.names(COMPARED.key)) or options.choice(METHOD)
    if options.choice(UNITS) == UNITS.options[1]:
        yield "each token alone"
    if COMPARED.key not in options.values:
        yield f"{_replacing(opened, options).choice(IN_PLACE)} in its place"


def words_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The coloured text, its sums, and bars of the words."""
    if not has_mask(opened.tokenizer):
        yield Text(NO_MASK_PLACED, "notice") if is_placed(options) else Text(ONLY_LEFT_OUT, "caption")
        if is_placed(options):
            return
    options = _replacing(opened, options)
    answer = ask(word_attributions, options)
    result: WordAttributions = answer.result
    masked = result.instead == INSTEAD["mask"] and result.method == "leave-one-out"
    read = f"{READ[result.method]} {MASKS_READ}" if masked else READ[result.method]
    suspected = [Text(f"{words} {TRY_NOTHING}", "notice")] if masked and (words := one_way(result)) else []
    yield Figure.of(
        word_shares_figure,
        answer,
        f"word shares {result.method} {opened.name}",
        scrolled=True,
        below=[Text(read, "caption"), *_totals(result), *suspected, Notices(answer.notices, "caption")],
        **explained(SHARES[result.method], word_attributions, opened, options),
    )
    yield Figure.of(word_bars_figure, answer, f"word bars {result.method} {opened.name}")
    if result.target == "cosine" and options.pair is not None:
        yield from other_shares("sentences", opened.name, options.text(), options.pair)

    def compared(other: str) -> Iterator[Part]:
        both = replace(options, values={**options.values, OTHER.key: other})
        made = ask(compared_words, both)
        yield Text(escape_markdown(shares_that_changed(made.result)))
        yield Figure.of(
            words_compared_figure,
            made,
            f"word shares {result.method} {' '.join(dict(made.models))}",
            below=[Notices([notice for notice in made.notices if notice not in answer.notices], "caption")],
            **explained(OF_TWO, compared_words, opened, both),
        )

    yield SecondModel("words_beside", compared)


def _totals(result: WordAttributions) -> Iterator[Part]:
    """The target with and without all words, the sum of the shares, and the strongest words."""
    unit = f"in {result.unit}"
    metrics = [Metric("With all words", decimals(result.clean), f"The {result.title} of the text as it is, {unit}.")]
    if not np.isnan(result.reference):
        words = f"The same with every word replaced by {result.instead}, {unit}."
        metrics.append(Metric("Without any word", decimals(result.reference), words))
    metrics.append(Metric("Sum of shares", decimals(float(result.shares.sum())), f"Of all words, {unit}."))
    if result.method != "leave-one-out":
        words = "How far the sum of the shares is from clean minus without any word."
        metrics.append(Metric("Error of the sum", digits(result.error, 2), words))
    if result.method == "integrated-gradients":
        words = "Largest change of any share when the number of nodes of the integral was last doubled."
        metrics.append(Metric("Error of a share", digits(float(result.share_errors.max()), 2), words))
    yield Metrics(metrics)
    yield Text(_strongest(result))
    if result.method == "leave-one-out" and (rest := remainder(result)):
        yield Text(rest)


def one_way(result: WordAttributions) -> str:
    """That the mask may be what moves the number, where almost all words move it the same way, and alike; else ""."""
    count, falls = len(result.shares), int((result.shares > 0).sum())
    most = max(falls, int((result.shares < 0).sum()))
    sizes = np.abs(result.shares)
    if count < LEAST_WORDS or most < MOST_WORDS * count or np.median(sizes) < ALIKE * sizes.max():
        return ""
    return ONE_WAY.format(count=most, all=count, moves="falls" if most == falls else "rises")


def _strongest(result: WordAttributions) -> str:
    """The words with the largest positive and negative share, the stronger one first."""
    most, least = int(result.shares.argmax()), int(result.shares.argmin())
    title = escape_markdown(result.title)
    parts = []
    if result.shares[most] > 0:
        parts.append((most, f"adds more to the {title} than any other word"))
    if result.shares[least] < 0:
        parts.append((least, f"takes more away from the {title} than any other word"))
    parts.sort(key=lambda each: -abs(float(result.shares[each[0]])))
    if len(parts) > 1 and abs(result.shares[parts[1][0]]) < LITTLE * abs(result.shares[parts[0][0]]):
        parts[1] = (parts[1][0], f"{'adds' if parts[1][0] == most else 'takes away'} most, but little")
    left = result.clean - result.shares if result.method == "leave-one-out" else None
    sentences = [
        f"**{_token(result.words[place])}** {does}: **{decimals(float(result.shares[place]))}**"
        f"{'' if left is None else f' (with it {decimals(result.clean)}, without it {decimals(float(left[place]))})'}."
        for place, does in parts
    ]
    return " ".join(sentences) or f"No word adds to the {title} or takes away from it."


def shares_that_changed(compared: AttributionComparison) -> str:
    """The target in both models, and the word whose share differs most, in two sentences."""
    first, second = compared.first, compared.second
    clean = (
        f"The {first.title} is {decimals(first.clean)} in {first.model} and {decimals(second.clean)} in {second.model}."
    )
    place = next((each for each in compared.ranked()[:1] if not np.isnan(compared.difference[each])), None)
    if place is None or not compared.difference[place]:
        return f"{clean} No word has another share." if place is not None else clean
    shares = [decimals(float(each[place]), 3) for each in (compared.first_shares, compared.second_shares)]
    word = quoted(escape_controls(compared.parts[place]), QUOTED)
    change = signed_difference(float(compared.difference[place]))
    return f"{clean} Of all words the share of {word} differs most: {shares[0]} and {shares[1]} (difference {change})."


def curves_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Comprehensiveness and sufficiency of the strongest words, by the methods chosen."""
    if not options.names(COMPARED.key):
        raise TextError(f"No method is chosen; choose at least one under {COMPARED.label}.")
    answer = ask(word_curves, options)
    areas = [
        f"* {label}: comprehensiveness **{decimals(without, 3)}**, sufficiency **{decimals(alone, 3)}**"
        for label, without, alone in curve_areas(answer.result)
    ]
    yield Figure.of(
        word_curves_figure,
        answer,
        f"word curves {opened.name}",
        below=[
            Text(CURVES_READ, "caption"),
            Text("\n".join(areas)),
            Text("A good order has a large comprehensiveness and a small sufficiency.", "caption"),
            Notices(answer.notices, "caption"),
        ],
        **explained(OF_CURVES, word_curves, opened, options),
    )


def pairs_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The cosine of two texts as a sum over pairs of their tokens and the reference terms."""
    answer = ask(pair_attributions, options)
    ledger: PairAttributions = answer.result
    total, error = float(ledger.shares.sum()), float(ledger.share_errors.max())
    doubled = f"Largest change of any pair when the number of nodes was last doubled, to {ledger.nodes:,}."
    terms = (
        f"First text with the other's masks {decimals(ledger.first_reference)}, plus masks with the second text "
        f"{decimals(ledger.second_reference)}, minus masks with masks {decimals(ledger.both_references)}."
    )
    metrics = [
        Metric("Cosine", decimals(ledger.cosine), "Of the two sentence vectors."),
        Metric("All pairs", decimals(total), "Sum of the cells."),
        Metric("Reference terms", decimals(ledger.reference_terms), terms),
        Metric(
            "Error of the sum",
            digits(ledger.error, 1),
            "Difference of the sum of pairs and reference terms from the cosine.",
        ),
        Metric("Error of a pair", digits(error, 1), doubled),
    ]
    first, second = np.unravel_index(int(np.abs(ledger.shares).argmax()), ledger.shares.shape)
    words = [ledger.first.tokens[int(first)], ledger.second.tokens[int(second)]]
    largest = (
        f"The strongest pair is **{_token(words[0])}** and **{_token(words[1])}**: "
        f"**{decimals(float(ledger.shares[first, second]))}**. The shares of all {ledger.shares.size:,} pairs, of "
        f"either sign, and the reference terms add up to the cosine **{decimals(ledger.cosine)}**."
    )
    yield Figure.of(
        pair_ledger_figure,
        answer,
        f"word pairs from layer {ledger.layer} {opened.name}",
        below=[
            Metrics(metrics),
            *cosine_parts(opened, ask, ledger.cosine),
            Text(largest),
            Text(PAIRS_READ, "caption"),
            Notices(answer.notices, "caption"),
        ],
        **explained(OF_PAIRS, pair_attributions, opened, options),
    )


def classes_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Words by classes, and the strongest word for and against each."""
    if not options.names(CLASSES.key):
        raise TextError(f"No class is chosen; choose at least one under {CLASSES.label}.")
    if not has_mask(opened.tokenizer) and is_placed(options):
        yield Text(NO_MASK_PLACED, "notice")
        return
    options = _class_options(_replacing(opened, options))
    answer = ask(class_attributions, options)
    result: ClassAttributions = answer.result
    lines = "\n".join(_for_and_against(result, place) for place in range(len(result.labels)))
    yield Figure.of(
        word_classes_figure,
        answer,
        f"word classes {opened.name}",
        texts=result.tokens,
        below=[
            Text(lines),
            Text(NUMBERS_READ if result.noun == "number" else CLASSES_READ, "caption"),
            Notices(answer.notices, "caption"),
        ],
        **explained(OF_CLASSES, class_attributions, opened, options),
    )


def _class_options(options: Options) -> Options:
    """Options for all classes of the target's head or probe."""
    request = parse_target(options.get(TARGET.key), has_pair=True)
    values = {key: options.get(key) for key in (CLASSES.key, UNITS.key, IN_PLACE.key) if options.get(key)}
    values[MEASURE.key] = options.choice(CLASSES_BY)
    if request.kind == "probe":
        return replace(options, values={TARGET.key: options.get(TARGET.key), **values})
    placed = {POSITION.key: str(request.places[0])} if request.kind == "tag" else {}
    return replace(options, task=request.task, values={**values, **placed})


def _class_words(opened: Opened, options: Options) -> str:
    request, labels = parse_target(options.get(TARGET.key), has_pair=True), options.names(CLASSES.key)
    noun, count = "tag" if request.kind == "tag" else "class", len(target_classes(opened, options).labels)
    named = quoted(escape_controls(labels[0]), LONGEST_SHOWN) if len(labels) == 1 else f"each {noun}"
    where = {"tag": f" at token {request.places[0]}" if request.places else "", "probe": " by the probe"}
    several = f" ({len(labels)} of {count})" if 1 < len(labels) < count else ""
    return f"{options.choice(CLASSES_BY)} of {named}{several}{where.get(request.kind, '')}"


def _for_and_against(result: ClassAttributions, place: int) -> str:
    """The strongest word for a class and the strongest against it."""
    sides = ("raises", "lowers") if result.noun == "number" else ("speaks for", "speaks against")
    words = [
        f"**{_token(result.words[word])}** {side} it most of all words "
        f"(**{decimals(float(result.shares[word, place]))}**)"
        for word, side in zip(result.strongest(place), sides, strict=True)
        if word is not None
    ]
    clean = f"{result.measure} {decimals(float(result.clean[place]))}"
    return f"* **{_token(result.labels[place])}**, {clean}: {', '.join(words) or 'no word changes it'}."


def _token(token: str) -> str:
    return escape_markdown(isolated(escape_controls(token)))


def _mask(opened: Opened) -> Lack | None:
    return None if has_mask(opened.tokenizer) else NO_MASK


VIEWS = (
    TargetView("Words", (), words_view, below=(METHOD, UNITS, IN_PLACE), remarks=_remarks),
    TargetView("Remove word by word", (), curves_view, lacks=_mask, below=(COMPARED, UNITS), remarks=_remarks),
    View("Pairs", (), pairs_view, lacks=_mask),
    TargetView(
        "Classes", (), classes_view, below=(CLASSES_BY, UNITS, CLASSES, IN_PLACE), remarks=_remarks, named=_class_words
    ),
)
