"""Views of the page Words that matter: attribution of words, curves, classes, and pairs of words of two texts."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.attribution.results import (
    ClassAttributions,
    PairAttributions,
    Replacement,
    WordAttributions,
    WordCurves,
)
from bertviz_core.attribution.text_units import has_mask
from bertviz_core.figures.interventions.classes import word_classes_figure
from bertviz_core.figures.interventions.pairs import pair_ledger_figure
from bertviz_core.figures.interventions.word_curves import METHOD_NAMES, curve_areas, word_curves_figure
from bertviz_core.figures.interventions.words import word_bars_figure, word_shares_figure
from bertviz_core.interventions.targets.parsing import parse_target
from bertviz_core.interventions.targets.target import Measure
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.questions.interventions.attributions import (
    CLASSES,
    COMPARED,
    LAYER,
    POSITION,
    UNITS,
    class_attributions,
    pair_attributions,
    share_values,
    units,
    word_attributions,
    word_curves,
)
from bertviz_core.questions.interventions.targets import MEASURE, TARGET
from bertviz_core.questions.parameters import Options, joined_names
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.text import decimals, digits, escape_controls, escape_markdown, isolated, quoted
from bertviz_core.trace.subwords.pieces import text_pieces
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.views.words import controls, texts
from ui.views.words.compared import compared_block
from ui.widgets.figure_block import figure_block
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer
from ui.widgets.target_controls.opened import LONGEST_SHOWN, ChosenTarget, shared_model_of, target_options
from ui.widgets.target_controls.row import class_kinds, class_row, folded_row, target_row
from ui.widgets.text_fields import two_texts
from ui.widgets.view_and_layer import state_select


def words_view(name: str) -> None:
    """The coloured text, its sums, and bars of the words."""
    row = folded_row()
    chosen = target_row(name, row)
    with row.folded:
        method = controls.method_choice(name)
        whole_words = controls.whole_words()
    replacement: Replacement = "mask"
    if method == "leave-one-out":
        replacement = controls.replacement(name, chosen, row.folded)
    row.say(chosen, texts.METHOD_WORDS[method], *_unit_words(whole_words), texts.IN_PLACE[replacement])
    opened = shared_model_of(name)
    options = target_options(chosen, share_values(method, replacement, not whole_words))
    result = answer(word_attributions, opened, options).result
    frame = shares_frame(result)
    words = figure_block(
        word_shares_figure(result, text_pieces(result.tokens)),
        f"word shares {method} {name}",
        frame,
        texts=result.tokens,
        explanation=(texts.SHARES[method], library_lines(word_attributions, opened, options)),
        scrolled=True,
    )
    with words:
        st.caption(texts.READ[method])
        _totals(result)
        for notice in unshown(result.notices):
            st.caption(escape_markdown(notice))
    figure_block(word_bars_figure(result), f"word bars {method} {name}", frame, texts=result.tokens)
    compared_block(opened, options, result.notices)


def _totals(result: WordAttributions) -> None:
    """The target with and without all words, and the sum of the shares."""
    unit = f"in {result.unit}"
    with st.container(horizontal=True):
        st.metric("Clean", decimals(result.clean), help=f"The {result.title} of the text as it is, {unit}.")
        if not np.isnan(result.reference):
            words = f"The same with every word replaced by {result.instead}, {unit}."
            st.metric("Without any word", decimals(result.reference), help=words)
        st.metric("Sum of shares", decimals(float(result.shares.sum())), help=f"Of all words, {unit}.")
        if result.method != "leave-one-out":
            help_text = "How far the sum of the shares is from clean minus without any word."
            st.metric("Error of the sum", digits(result.error, 2), help=help_text)
        if result.method == "integrated-gradients":
            help_text = "Largest change of any share when the number of nodes of the integral was last doubled."
            st.metric("Error of a share", digits(float(result.share_errors.max()), 2), help=help_text)
    st.markdown(_strongest(result))


def _strongest(result: WordAttributions) -> str:
    """The words with the largest positive and negative share, the stronger one first."""
    most, least = int(result.shares.argmax()), int(result.shares.argmin())
    title = escape_markdown(result.title)
    parts = []
    if result.shares[most] > 0:
        parts.append((most, f"adds most of all words to the {title}"))
    if result.shares[least] < 0:
        parts.append((least, f"takes most of all words away from the {title}"))
    parts.sort(key=lambda each: -abs(float(result.shares[each[0]])))
    sentences = [
        f"**{_token(result.words[place])}** {does}: **{decimals(float(result.shares[place]))}**."
        for place, does in parts
    ]
    return " ".join(sentences) or f"No word adds to the {title} or takes away from it."


def shares_frame(result: WordAttributions) -> pd.DataFrame:
    """Every word in the order of the text, with its tokens and its share."""
    tokens = result.tokens.tokens
    return pd.DataFrame(
        {
            "word": result.words,
            "position": [places[0] for places in result.positions],
            "tokens": [" ".join(tokens[place] for place in places) for places in result.positions],
            "share": result.shares.astype(float),
            **({"error": result.share_errors.astype(float)} if result.method == "integrated-gradients" else {}),
        }
    )


def curves_view(name: str) -> None:
    """Comprehensiveness and sufficiency of the strongest words, by the methods chosen."""
    row = folded_row()
    chosen = target_row(name, row)
    with row.folded:
        methods = controls.methods_choice()
        whole_words = controls.whole_words()
    row.say(chosen, " and ".join(texts.METHOD_WORDS[each] for each in methods), *_unit_words(whole_words))
    values = {COMPARED.key: joined_names(METHOD_NAMES[each] for each in methods), UNITS.key: units(whole_words)}
    opened, options = shared_model_of(name), target_options(chosen, values)
    result = answer(word_curves, opened, options).result
    words = figure_block(
        word_curves_figure(result),
        f"word curves {name}",
        curves_frame(result),
        texts=result.tokens,
        explanation=(texts.CURVES, library_lines(word_curves, opened, options)),
    )
    with words:
        st.caption(texts.CURVES_READ)
        lines = [
            f"* {label}: comprehensiveness **{decimals(without, 3)}**, sufficiency **{decimals(alone, 3)}**"
            for label, without, alone in curve_areas(result)
        ]
        st.markdown("\n".join(lines))
        st.caption("A good order has a large comprehensiveness and a small sufficiency.")
        for notice in unshown(result.notices):
            st.caption(escape_markdown(notice))


def curves_frame(result: WordCurves) -> pd.DataFrame:
    """The target at each step, of every method and of the random orders."""
    columns: dict[str, object] = {"words": list(result.counts)}
    for curve in result.curves:
        columns[f"{METHOD_NAMES[curve.method]}, without"] = curve.without.astype(float)
        columns[f"{METHOD_NAMES[curve.method]}, alone"] = curve.alone.astype(float)
    for which, values in (("without", result.random), ("alone", result.random_alone)):
        columns[f"random, {which}, mean"] = values.mean(axis=0).astype(float)
        columns[f"random, {which}, least"] = values.min(axis=0).astype(float)
        columns[f"random, {which}, greatest"] = values.max(axis=0).astype(float)
    return pd.DataFrame(columns)


def classes_view(name: str) -> None:
    """Words by classes, and the strongest word for and against each."""
    row = folded_row()
    chosen, prediction, has_probability = class_row(name, row)
    likeliest = np.argsort(-prediction.logits, kind="stable").tolist()
    with row.folded:
        measure = controls.class_measure(has_probability)
        whole_words = controls.whole_words()
        labels = controls.classes_choice([prediction.labels[place] for place in likeliest])
    replacement = controls.replacement(name, chosen, row.folded)
    row.words.markdown(_class_line(chosen, prediction, labels, (measure, whole_words, replacement)), width="content")
    options = _class_options(chosen, labels, measure, share_values("leave-one-out", replacement, not whole_words))
    opened = shared_model_of(name)
    result = answer(class_attributions, opened, options).result
    words = figure_block(
        word_classes_figure(result),
        f"word classes {name}",
        classes_frame(result),
        texts=result.tokens,
        explanation=(texts.CLASSES, library_lines(class_attributions, opened, options)),
    )
    with words:
        st.markdown("\n".join(_for_and_against(result, place) for place in range(len(result.labels))))
        st.caption(texts.CLASSES_READ)
        for notice in unshown(result.notices):
            st.caption(escape_markdown(notice))


def _class_options(
    chosen: ChosenTarget, labels: tuple[str, ...], measure: Measure, values: Mapping[str, str]
) -> Options:
    """Options for all classes of the target's head or probe."""
    request, named = parse_target(chosen.name, chosen.pair is not None), {CLASSES.key: joined_names(labels)}
    options = target_options(chosen, {**values, **named, MEASURE.key: measure})
    if chosen.kind == "probe":
        return options
    placed = {POSITION.key: str(request.places[0])} if chosen.kind == "tag" else {}
    return replace(options, task=request.task, values={**options.values, **placed, TARGET.key: ""})


def _class_line(
    chosen: ChosenTarget, answer: ClassPrediction, labels: tuple[str, ...], method: tuple[Measure, bool, Replacement]
) -> str:
    """The line above the figure."""
    measure, whole_words, replacement = method
    request = parse_target(chosen.name, has_pair=True)
    noun = "tag" if chosen.kind == "tag" else "class"
    named = f"{quoted(escape_controls(labels[0]), LONGEST_SHOWN)}" if len(labels) == 1 else f"each {noun}"
    where = {"tag": f" at token {request.places[0]}" if request.places else "", "probe": " by the probe"}
    several = f" ({len(labels)} of {len(answer.labels)})" if 1 < len(labels) < len(answer.labels) else ""
    what = escape_markdown(f"{measure} of {named}{several}{where.get(chosen.kind, '')}")
    return " · ".join((f"Target: **{what}**", *_unit_words(whole_words), texts.IN_PLACE[replacement]))


def _unit_words(whole_words: bool) -> tuple[str, ...]:
    """A note where single tokens are attributed."""
    return () if whole_words else ("each token alone",)


def _for_and_against(result: ClassAttributions, place: int) -> str:
    """The strongest word for a class and the strongest against it."""
    words = [
        f"**{_token(result.words[word])}** speaks most of all words {side} it "
        f"(**{decimals(float(result.shares[word, place]))}**)"
        for word, side in zip(result.strongest(place), ("for", "against"), strict=True)
        if word is not None
    ]
    clean = f"{result.measure} {decimals(float(result.clean[place]))}"
    return f"* **{_token(result.labels[place])}**, {clean}: {', '.join(words) or 'no word changes it'}."


def classes_frame(result: ClassAttributions) -> pd.DataFrame:
    """Every word in the order of the text, with its share in each class."""
    columns: dict[str, object] = {"word": result.words}
    columns["position"] = [places[0] for places in result.positions]
    return pd.DataFrame(columns | {f"share: {label}": result.shares[:, i] for i, label in enumerate(result.labels)})


def pairs_view(name: str) -> None:
    """The cosine of two texts as a sum over pairs of their tokens and the reference terms."""
    layers = models.loaded(name).num_hidden_layers
    text, pair = two_texts("cosine")
    words = "The layer whose token vectors are compared. An early layer is closer to the words, and takes longer."
    layer = state_select(layers - 1, words) if layers > 1 else 0
    opened, options = SharedModel(name), Options((text,), pair, values={LAYER.key: str(layer)})
    ledger = answer(pair_attributions, opened, options).result
    place = figure_block(
        pair_ledger_figure(ledger),
        f"word pairs from layer {layer} {name}",
        pairs_frame(ledger),
        texts=(text, pair),
        explanation=(texts.PAIRS, library_lines(pair_attributions, opened, options)),
    )
    with place:
        _ledger(ledger)


def _ledger(ledger: PairAttributions) -> None:
    """The sum with its error, and the strongest pair."""
    total = float(ledger.shares.sum())
    with st.container(horizontal=True):
        st.metric("Cosine", decimals(ledger.cosine), help="Of the two sentence vectors.")
        st.metric("All pairs", decimals(total), help="Sum of the cells.")
        st.metric("Reference terms", decimals(ledger.reference_terms), help=_terms(ledger))
        help_text = "Difference of the sum of pairs and reference terms from the cosine."
        st.metric("Error of the sum", digits(ledger.error, 1), help=help_text)
        help_text = f"Largest change of any pair when the number of nodes was last doubled, to {ledger.nodes:,}."
        st.metric("Error of a pair", digits(float(ledger.share_errors.max()), 1), help=help_text)
    first, second = np.unravel_index(int(np.abs(ledger.shares).argmax()), ledger.shares.shape)
    words = [ledger.first.tokens[int(first)], ledger.second.tokens[int(second)]]
    st.markdown(
        f"The strongest pair is **{_token(words[0])}** and **{_token(words[1])}**: "
        f"**{decimals(float(ledger.shares[first, second]))}** of the cosine **{decimals(ledger.cosine)}**."
    )
    st.caption(texts.PAIRS_READ)
    for notice in unshown(ledger.notices):
        st.caption(escape_markdown(notice))


def _terms(ledger: PairAttributions) -> str:
    return (
        f"First text with the other's masks {decimals(ledger.first_reference)}, plus masks with the second text "
        f"{decimals(ledger.second_reference)}, minus masks with masks {decimals(ledger.both_references)}."
    )


def pairs_frame(ledger: PairAttributions) -> pd.DataFrame:
    """Every pair of tokens with its share."""
    rows, columns = ledger.shares.shape
    return pd.DataFrame(
        {
            "position in the first": np.repeat(np.arange(rows), columns),
            "token of the first": np.repeat(np.array(ledger.first.tokens, dtype=object), columns),
            "position in the second": np.tile(np.arange(columns), rows),
            "token of the second": np.tile(np.array(ledger.second.tokens, dtype=object), rows),
            "share": ledger.shares.ravel().astype(float),
            "error": ledger.share_errors.ravel().astype(float),
        }
    )


def _token(token: str) -> str:
    return escape_markdown(isolated(escape_controls(token)))


class WordsView(NamedTuple):
    """A view, and what a model needs for it."""

    show: Callable[[str], None]
    """Draws the view of a model."""
    lacks: Callable[[str], texts.Lack | None] = lambda name: None
    """What a model lacks for it; None for nothing."""


def _mask(name: str) -> texts.Lack | None:
    return None if has_mask(models.tokenizer(name)) else texts.NO_MASK


def _classes(name: str) -> texts.Lack | None:
    return None if class_kinds(name) else texts.NO_CLASSES


VIEWS: Mapping[str, WordsView] = {
    "Words": WordsView(words_view),
    "Remove word by word": WordsView(curves_view, _mask),
    "Pairs": WordsView(pairs_view, _mask),
    "Classes": WordsView(classes_view, _classes),
}
"""Name -> view."""
