"""Several texts: their answers, with accuracy where labels are known, and links from one to other views."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.figures.predictions.probes import confusion_figure
from bertviz_core.hidden_states.results import state_name
from bertviz_core.models.catalog import PREDICTS
from bertviz_core.predictions.probing.reading import EXAMPLE_SET, config_classes
from bertviz_core.predictions.probing.results import GoldScores, Probe, TextPredictions
from bertviz_core.predictions.probing.scores import gold_scores
from bertviz_core.predictions.probing.table import mask_text
from bertviz_core.questions.interventions.targets import TARGET
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.labelled_texts import ANSWERED_BY, LABELLED, text_answers, with_pairs
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.view import Ask
from bertviz_core.questions.views import predictions_texts as texts
from bertviz_core.questions.views.predictions import whole_heads
from bertviz_core.text import counted, escape_markdown, quoted
from ui.cache.shared_model import SharedModel
from ui.components.cell_click import cell_click
from ui.components.step_links import LONGEST_LINKED, Link, address, step_links
from ui.session import store
from ui.views.predictions.heads import no_head, stand_in
from ui.views.predictions.lists import PROBE, answer_kind_select, offer_classifier, text_list
from ui.views.predictions.probes import BOX, SOURCES, TYPED_LIST, ChosenProbe, chosen_probe
from ui.widgets.figure_block import explained, figure_block, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists.downloads import table_files
from ui.widgets.lists.open_text import open_row, opened_select
from ui.widgets.lists.progress import answer
from ui.widgets.lists.uploads import wait_for_file
from ui.widgets.target_controls.opened import session_probe

SHOWN, OPENED, LAST_CELL, TABLE = "many_shown", "many_opened", "many_last_cell", "many_table"
"""Session keys: the shown part of the list, the index of the open text, the cell of the confusion matrix clicked last,
the list's table. None of them is in the address, since they mean nothing without the list."""
ALL, MISTAKES, RIGHT = "all", "mistakes", "right"
LONGEST_NAME = 40
KEY = "predictions_several"
MOST_LABELS = 20
"""Most classes with a column of their own."""
HEIGHT, FEW = 330, 8
"""Pixels of the table, which is scrolled, and the most rows of a table without scrolling."""
VIEW_OF_TASK = {
    "sequence-classification": "Classes",
    "token-classification": "Tags",
    "masked-lm": "Masked words",
    "question-answering": "Answers",
    "next-sentence": "Next sentence",
}
"""Task of a head -> view with its answer to one text."""
TARGET_OF_TASK = {
    "sequence-classification": "class",
    "next-sentence": "class",
    "masked-lm": "word",
    "question-answering": "answer",
    PROBE: "probe",
}
"""Task of a head, or PROBE -> kind of target of its answer."""
CAUSES = (("words", "Words that matter"), ("causes", "Heads that matter"))


def several_view(opened: SharedModel, _: Ask, options: Options) -> None:
    """The texts with their answers, and the confusion matrix where there are gold labels."""
    heads = whole_heads(opened)
    instead, has_probe = stand_in(heads), session_probe(opened.name) is not None
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        answered_by = answer_kind_select(heads.tasks, instead, has_probe)
        place = st.container(width="content")
    if instead and answered_by != PROBE:
        no_head(opened.name, heads, instead)
        opened = SharedModel(instead)
        heads = whole_heads(opened)
    offer_classifier(heads.tasks)  # above the question whether a probe is to be trained
    chosen = chosen_probe(opened, row) if answered_by == PROBE else None
    with place:
        classes = chosen.probe.classes if chosen else config_classes(opened.source.config)
        listed = text_list(answered_by, classes, mask_text(opened.tokenizer))
    if listed is None:
        wait_for_file("Texts")
        st.stop()
    notices = listed.notices
    if chosen is not None:
        notices += probe_line(chosen, heads.tasks, listed.texts)
        opened = opened.with_probe(chosen.probe)
        of = Options(listed.texts, values={TARGET.key: f"probe:{chosen.probe.digest}"})
    else:
        every = None if options.pair is None else (options.pair,) * len(listed.texts)
        of = with_pairs(listed.texts, every if listed.pairs is None else listed.pairs, answered_by)
    predictions = answer(text_answers, opened, of).result
    scores = gold_scores(predictions, listed.gold) if listed.gold is not None else None
    shown = _confusion(opened.name, predictions, scores) if scores is not None else list(range(len(predictions.texts)))
    _list(opened.name, answered_by, predictions, scores, shown)
    if scores is None:
        st.caption(texts.NO_GOLD)
    for notice in unshown((*notices, *predictions.notices)):
        if notice not in heads.notices:  # shown above by the page
            st.caption(escape_markdown(notice))
    explained(KEY, texts.SEVERAL_TEXTS, library_lines(text_answers, opened, of))


def probe_line(chosen: ChosenProbe, tasks: tuple[str, ...], listed: Sequence[str]) -> tuple[str, ...]:
    """Say whose answers the page shows, and offer the way back from a probe that the reader brought along."""
    probe, fitted_on = chosen.probe, () if chosen.labelled is None else chosen.labelled.texts
    known = len([text for text in listed if text in set(fitted_on)])
    notice = f"{counted(known, 'text')} of the list are among those that the probe was fitted on."
    with st.container(horizontal=True, vertical_alignment="center", key="many_probe"):
        st.markdown(f":material/info: {probe_words(probe, chosen.labelled is None)}", width="content")
        label, key, back = "", "", ""
        if tasks:
            label, key, back = f"Back to the head for {PREDICTS[tasks[0]]}", ANSWERED_BY.key, tasks[0]
        elif probe.texts != EXAMPLE_SET and chosen.labelled is not None:
            label, key, back = "Back to the example set", LABELLED.key, SOURCES[0]
        if label:
            st.button(label, key="many_back", icon=":material/undo:", on_click=store, args=(key, back))
    return (notice,) * bool(known)


def probe_words(probe: Probe, from_file: bool) -> str:
    """What a probe that answers was trained on, in Markdown."""
    sources = {EXAMPLE_SET: f" of the example set *{EXAMPLE_SET}*", TYPED_LIST: " that you typed"}
    of = sources.get(probe.texts, f" of {quoted(escape_markdown(probe.texts), LONGEST_NAME)}")
    words = f"Answers of the probe {state_name(probe.layer)}, trained on {counted(probe.count, 'text')}{of}."
    return f"{words} **Save or open** leads back from its file." if from_file else words


def _confusion(name: str, predictions: TextPredictions, scores: GoldScores) -> list[int]:
    """Show the confusion matrix; returns the indices of the listed texts."""
    for notice in unshown(scores.notices):
        st.warning(escape_markdown(notice))
    words = figure_block(confusion_figure(scores, name), f"confusion {name}", models=(name,))
    words.markdown(
        f"Of {counted(len(scores.compared), 'text')} with a gold label: accuracy **{scores.accuracy:.1%}**, macro-F1 "
        f"**{scores.macro_f1:.1%}**."
    )
    take_matrix_cell(cell_click("predictions_confusion"), scores)
    return shown_select(predictions, scores)


def _list(
    name: str, answered_by: str, predictions: TextPredictions, scores: GoldScores | None, shown: list[int]
) -> None:
    """Show the table of the texts, its files, and one of the texts."""
    frame = _frame(predictions, scores)
    st.markdown(_summary(predictions, scores, shown))
    part = frame.iloc[shown]
    shares = [each for each in map(str, frame.columns) if each == "probability" or each.startswith("p(")]
    numbers_table(
        part,
        "The texts with their answers",
        "auto" if len(part) <= FEW else HEIGHT,
        formats=dict.fromkeys(shares, "%.3f"),
        key=TABLE,
        on_row=partial(open_row, TABLE, OPENED),
    )
    table_files(lambda: frame, KEY, f"predictions {answered_by} {name}")
    if shown:
        opened_text(name, answered_by, predictions, scores, opened_select(OPENED, shown, "shown"))


def _summary(predictions: TextPredictions, scores: GoldScores | None, shown: Sequence[int]) -> str:
    """Number of listed texts, and counts of each class in all of them."""
    total, wrong = len(predictions.texts), [] if scores is None else scores.mistakes.tolist()
    part = f"{len(shown):,} of {counted(total, 'text')}" if len(shown) < total else counted(total, "text")
    if missed := len(set(shown).intersection(wrong)) if len(shown) < total else 0:
        part += f", {missed:,} of {counted(len(wrong), 'mistake')}"
    counts = Counter(predictions.answers)
    listed = [f"{label} {counts[label]:,}" for label in sorted(predictions.labels, key=lambda each: -counts[each])[:6]]
    every = ", ".join(listed) if predictions.labels else counted(sum(map(bool, predictions.answers)), "answer")
    return f"**{part}** — answers to all: {escape_markdown(every)}."


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


def take_matrix_cell(cell: tuple[int, int] | None, scores: GoldScores) -> None:
    """Show the texts of a newly clicked cell of the confusion matrix; an old click does not undo a later choice."""
    if cell == st.session_state.get(LAST_CELL):
        return
    st.session_state[LAST_CELL] = cell
    if cell is not None and max(cell) < len(scores.classes) and scores.confusion[cell]:
        st.session_state[SHOWN] = f"{cell[0]}.{cell[1]}"


def shown_select(predictions: TextPredictions, scores: GoldScores) -> list[int]:
    """Indices of the listed texts: by default the mistakes if there are any, else all, or those of a matrix cell."""
    parts = shown_parts(predictions, scores)
    if st.session_state.get(SHOWN) not in parts:
        st.session_state[SHOWN] = MISTAKES if MISTAKES in parts else ALL
    names = {
        ALL: f"all {counted(len(predictions.texts), 'text')}",
        MISTAKES: f"{counted(len(scores.mistakes), 'mistake')}, the most confident first",
        RIGHT: "right answers",
    }

    def named(part: str) -> str:
        if part in names:
            return names[part] if part != RIGHT else f"{len(parts[part]):,} {names[part]}"
        gold, answer = (quoted(scores.classes[int(place)], LONGEST_NAME) for place in part.split("."))
        return f"{len(parts[part]):,}: gold label {gold}, answer {answer}"

    st.selectbox(
        "Texts shown",
        list(parts),
        key=SHOWN,
        format_func=named,
        persist_state="session",
        width=BOX,
        help="A click on a cell of the matrix chooses its texts.",
    )
    return parts[str(st.session_state[SHOWN])]


def shown_parts(predictions: TextPredictions, scores: GoldScores) -> dict[str, list[int]]:
    """Name of a part of the list -> indices of its texts; a cell of the confusion matrix is named ROW.COLUMN."""
    place_of = {name: place for place, name in enumerate(scores.classes)}
    parts: dict[str, list[int]] = {ALL: list(range(len(predictions.texts)))}
    wrong = scores.mistakes.tolist()
    if wrong:
        parts = {MISTAKES: wrong, **parts}
    cells: dict[tuple[int, int], list[int]] = {}
    for place in scores.compared.tolist():
        cells.setdefault((place_of[scores.gold[place]], place_of[predictions.answers[place]]), []).append(place)
    right = sorted(place for (gold, answer), places in cells.items() if gold == answer for place in places)
    if right:
        parts[RIGHT] = right
    most_first = sorted(cells, key=lambda cell: (cell[0] == cell[1], -len(cells[cell])))
    return parts | {f"{gold}.{answer}": cells[gold, answer] for gold, answer in most_first}


def opened_text(
    name: str, answered_by: str, predictions: TextPredictions, scores: GoldScores | None, place: int
) -> None:
    """Show one text in full, its gold label and its answer, and links that open it in other views."""
    text, pair = predictions.texts[place], predictions.pairs[place] if predictions.pairs is not None else ""
    st.markdown(escape_markdown(text))
    if pair:
        st.markdown(f":gray[second text:] {escape_markdown(pair)}")
    summary = f"answer **{escape_markdown(predictions.answers[place] or 'none')}**"
    if scores is not None and place in scores.compared:
        summary = f"gold label **{escape_markdown(scores.gold[place])}**, {summary}"
    st.markdown(summary)
    if len(text) + len(pair) > LONGEST_LINKED:
        st.caption(f"The text has more than {LONGEST_LINKED:,} characters, too many for a link: copy it there.")
        return
    links = onward_links(name, answered_by, text, pair, predictions.answers[place] if predictions.labels else "")
    step_links(links, f"{KEY}_open", "Open this text in another view")


def onward_links(name: str, answered_by: str, text: str, pair: str, label: str) -> list[Link]:
    """Links to views of one text, with the answer as the target."""
    read = [("model", name), ("text", text), ("pair", pair)]
    kind = TARGET_OF_TASK.get(answered_by)
    target = [("target", kind)] if kind else []
    if kind in ("class", "probe") and label:
        target.append(("target_class", label))
    view = VIEW_OF_TASK.get(answered_by)
    own = [Link(f"Open in {view}", address("predictions", [("view", view), *read]), main=True)] if view else []
    return [*own, *(Link(f"Open in {title}", address(page, [*read, *target])) for page, title in CAUSES)]
