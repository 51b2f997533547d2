"""Answers to several texts, with their accuracy where labels are known."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.figures.predictions.probes import confusion_figure
from bertviz_core.predictions.probing.reading import config_classes
from bertviz_core.predictions.probing.results import GoldScores, TextPredictions
from bertviz_core.predictions.probing.scores import gold_scores
from bertviz_core.predictions.probing.table import mask_text
from bertviz_core.questions.interventions.targets import TARGET
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.labelled_texts import text_answers, with_pairs
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.text import counted, escape_markdown
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.cache.sources import source
from ui.components.cell_click import cell_click
from ui.views.predictions.heads import no_head, stand_in, whole_heads
from ui.views.predictions.many import controls, texts
from ui.views.predictions.many.view_links import opened_text
from ui.views.predictions.probes.train import chosen_probe
from ui.widgets import text_fields
from ui.widgets.figure_block import explained, figure_block, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists.downloads import table_files
from ui.widgets.lists.open_text import open_row, opened_select
from ui.widgets.lists.progress import answer
from ui.widgets.lists.uploads import wait_for_file
from ui.widgets.target_controls.opened import session_probe

KEY = "predictions_several"
MOST_LABELS = 20
"""Most classes with a column of their own."""
THREE = "%.3f"
"""Format of probabilities."""
HEIGHT, FEW = 330, 8
"""Pixels of the table, which is scrolled, and the most rows of a table without scrolling."""


def several_view(name: str) -> None:
    """The texts with their answers, and the confusion matrix where there are gold labels."""
    heads = whole_heads(name)
    instead, has_probe = stand_in(heads), session_probe(name) is not None
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        answered_by = controls.answer_kind_select(heads.tasks, instead, has_probe)
        place = st.container(width="content")
    if instead and answered_by != controls.PROBE:
        no_head(name, heads, instead)
        name, heads = instead, whole_heads(instead)
    controls.offer_classifier(heads.tasks)  # above the question whether a probe is to be trained
    chosen = chosen_probe(name, row) if answered_by == controls.PROBE else None
    with place:
        classes = chosen.probe.classes if chosen else config_classes(source(name).config)
        text_list = controls.text_list(answered_by, classes, mask_text(models.tokenizer(name)))
    if text_list is None:
        wait_for_file("Texts")
        st.stop()
    if chosen is not None:
        controls.probe_line(chosen.probe, heads.tasks, chosen.labelled is None)
        opened = SharedModel(name).with_probe(chosen.probe)
        options = Options(text_list.texts, values={TARGET.key: f"probe:{chosen.probe.digest}"})
        fitted_on = set(chosen.labelled.texts) if chosen.labelled is not None else set()
        known = sum(text in fitted_on for text in text_list.texts)
        notices = (f"{counted(known, 'text')} of the list are among those that the probe was fitted on.",) * bool(known)
    else:
        pair = text_fields.pair()
        pairs = text_list.pairs if text_list.pairs is not None or pair is None else (pair,) * len(text_list.texts)
        opened, options, notices = SharedModel(name), with_pairs(text_list.texts, pairs, answered_by), ()
    predictions = answer(text_answers, opened, options).result
    scores = gold_scores(predictions, text_list.gold) if text_list.gold is not None else None
    frame = _frame(predictions, scores)
    shown = list(range(len(predictions.texts)))
    if scores is not None:
        _confusion(name, predictions, scores)
        controls.take_matrix_cell(cell_click("predictions_confusion"), scores)
        shown = controls.shown_select(predictions, scores)
    st.markdown(_summary(predictions, scores, shown))
    part = frame.iloc[shown]
    numbers_table(
        part,
        "The texts with their answers",
        "auto" if len(part) <= FEW else HEIGHT,
        formats=dict.fromkeys(_probabilities(frame), THREE),
        key=controls.TABLE,
        on_row=partial(open_row, controls.TABLE, controls.OPENED),
    )
    table_files(lambda: frame, KEY, f"predictions {answered_by} {name}")
    if shown:
        opened_text(name, answered_by, predictions, scores, opened_select(controls.OPENED, shown, "shown"))
    if scores is None:
        st.caption(texts.NO_GOLD)
    for notice in unshown((*text_list.notices, *notices, *predictions.notices)):
        if notice not in heads.notices:  # shown above by the page
            st.caption(escape_markdown(notice))
    explained(KEY, texts.HOW, library_lines(text_answers, opened, options))


def _confusion(name: str, predictions: TextPredictions, scores: GoldScores) -> None:
    for notice in unshown(scores.notices):
        st.warning(escape_markdown(notice))
    words = figure_block(
        confusion_figure(scores, name),
        f"confusion {name}",
        pd.DataFrame(scores.confusion, columns=list(scores.classes)).assign(**{"gold label": list(scores.classes)}),
        models=(name,),
    )
    words.markdown(
        f"Of {counted(len(scores.compared), 'text')} with a gold label: accuracy **{scores.accuracy:.1%}**, macro-F1 "
        f"**{scores.macro_f1:.1%}**."
    )


def _frame(predictions: TextPredictions, scores: GoldScores | None) -> pd.DataFrame:
    columns: dict[str, object] = {"text": list(predictions.texts)}
    if predictions.pairs is not None:
        columns["second text"] = list(predictions.pairs)
    columns["answer"] = list(predictions.answers)
    if np.isfinite(predictions.scores).any():
        columns["probability"] = predictions.scores.astype(float)
    if scores is not None:
        columns["gold label"] = list(scores.gold)
        wrong = set(scores.mistakes.tolist())
        compared = set(scores.compared.tolist())
        columns["right"] = [
            ("no" if at in wrong else "yes") if at in compared else "" for at in range(len(scores.gold))
        ]
    if predictions.probabilities is not None and len(predictions.labels) <= MOST_LABELS:
        for place, label in enumerate(predictions.labels):
            columns[f"p({label})"] = predictions.probabilities[:, place].astype(float)
    return pd.DataFrame(columns)


def _probabilities(frame: pd.DataFrame) -> list[str]:
    """Columns of probabilities."""
    return [name for name in map(str, frame.columns) if name == "probability" or name.startswith("p(")]


def _summary(predictions: TextPredictions, scores: GoldScores | None, shown: Sequence[int]) -> str:
    """Number of listed texts, and counts of each class in all of them."""
    total, wrong = len(predictions.texts), len(scores.mistakes) if scores is not None else 0
    part = f"{len(shown):,} of {counted(total, 'text')}" if len(shown) < total else counted(total, "text")
    if scores is not None and 0 < len(shown) < total:
        missed = len(set(shown).intersection(scores.mistakes.tolist()))
        part += f", {missed:,} of {counted(wrong, 'mistake')}" if missed else ""
    return f"**{part}** — answers to all: {escape_markdown(_counts(predictions))}"


def _counts(predictions: TextPredictions) -> str:
    """Counts of each class, in a line."""
    if not predictions.labels:
        return f"{counted(sum(map(bool, predictions.answers)), 'answer')}."
    counts = Counter(predictions.answers)
    listed = sorted(predictions.labels, key=lambda label: -counts[label])[:6]
    return ", ".join(f"{label} {counts[label]:,}" for label in listed) + "."
