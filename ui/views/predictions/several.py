"""Many texts, and the classifier that stands in for a model without a head."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.figures.predictions.probes import confusion_figure
from bertviz_core.hidden_states.results import state_name
from bertviz_core.models.catalog import EXAMPLE_TASK, OFFERED, PREDICTS, SPLADE, TEXTS_FILE
from bertviz_core.predictions.probing.reading import (
    EXAMPLE_SET,
    LABEL_COLUMNS,
    config_classes,
    example_sets,
    fitting_set,
    gold_column,
)
from bertviz_core.predictions.probing.results import GoldScores, Probe, TextPredictions
from bertviz_core.predictions.probing.scores import gold_scores
from bertviz_core.predictions.probing.table import mask_text
from bertviz_core.questions.interventions.targets import TARGET
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.labelled_texts import (
    ANSWERED_BY,
    LABELLED,
    MANY_TEXTS,
    TEXTS_FROM,
    text_answers,
    with_pairs,
)
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.view import Ask, OtherModel, Part, Show, View
from bertviz_core.questions.views import predictions_texts as texts
from bertviz_core.questions.views.predictions import Heads, offered, whole_heads
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.text import counted, escape_markdown, quoted
from ui.address.widgets import choice, select
from ui.cache.shared_model import SharedModel
from ui.components.charts import cell_click
from ui.components.frame import PageLink, page_links
from ui.components.links import LONGEST_LINKED, Link, address, step_links
from ui.session import settings, store
from ui.views.predictions.probes import BOX, SOURCES, TYPED_LIST, ChosenProbe, chosen_probe, typed_lines
from ui.widgets.figure_block import explained, figure_block, numbers_table
from ui.widgets.files import note_models
from ui.widgets.heading import unshown
from ui.widgets.lists import (
    ListFile,
    answer,
    column_select,
    example_table,
    most_megabytes,
    open_row,
    opened_select,
    table_files,
    wait_for_file,
)
from ui.widgets.models import bundled_instead, choose_model, ready
from ui.widgets.target_controls import session_probe


def stand_in(heads: Heads) -> str:
    """Name of the bundled classifier, which answers in place of a model without a whole head; "" for any other model.

    It is "" too where the classifier cannot run here.
    """
    return "" if heads.tasks else next(iter(ready(OFFERED[:1])), "")


def offered_views(opened: SharedModel) -> list[View]:
    """The views of a model; those that need a head it lacks are of the bundled classifier."""
    heads = whole_heads(opened)
    if heads.tasks or not (instead := stand_in(heads)):
        return offered(heads.tasks)
    return [
        view if view.show is None else replace(view, show=_of_other(heads, instead, view.show))
        for view in offered((EXAMPLE_TASK,))
    ]


def _of_other(heads: Heads, instead: str, show: Show) -> Show:
    def parts(opened: SharedModel, ask: Ask, options: Options) -> Iterator[Part]:
        no_head(opened.name, heads, instead)
        yield OtherModel(instead, show)

    return parts


def no_head(name: str, heads: Heads, answering: str = "") -> None:
    """Say in one line that there is no head, whose answers are shown instead, and how to open a model that has one."""
    why = escape_markdown(heads.refusal)
    short = why if heads.task or not answering else f"{escape_markdown(name)} has no task head."
    instead = f"{short} **{escape_markdown(answering)}** answers instead." if answering else short
    bundled_instead("predictions_no_head", instead, *OFFERED[:1], SPLADE, why=None if short == why else why)
    if answering:
        note_models((answering,))
    if heads.task:
        address = f"checkpoint?{urlencode({'view': 'Load report', 'load_task': heads.task})}"
        link = PageLink("Open the load report", address, "fact_check")
        page_links([("", [link])], "predictions_report", label="What the file holds", width="content")


TYPED, GOLD, SECOND = MANY_TEXTS.key, "gold_column", "second_column"
NO_GOLD, SAME_SECOND = "none: no gold labels", "none: the second text of the page, if any"
FILE = ListFile("many")
PROBE = "probe"
FIRST = (
    "sport\tThe match was called off at half-time.\n"
    "weather\tA warm wind melted the snow.\n"
    "cooking\tThe sauce needs a little more salt.\n"
    "music\tThe pianist played two encores.\n"
    "travel\tOur train crossed the border at night.\n"
    "sport\tHe ran the last lap in the rain.\n"
    "travel\tWe ate on the platform and waited.\n"
    "music\tThe band played on the beach."
)
"""Default list for classes that the labels of the example set are among; two texts are ambiguous."""
SENTENCES = (
    "The film was wonderful.\n"
    "The film was a waste of time.\n"
    "The parcel arrived on Tuesday.\n"
    "I would like my money back.\n"
    "When does the shop open?\n"
    "Thank you for your help.\n"
    "The bank raised its interest rates.\n"
    "Nobody answered the phone."
)
"""Default list for any other head."""
QUESTIONS = "Who is it about?\nWhere does it happen?\nWhat is done?"
"""Default list for a head that answers questions about the second text."""


@dataclass(frozen=True, slots=True, eq=False)
class TextList:
    """A list of texts to be predicted."""

    texts: tuple[str, ...]
    """The texts."""
    gold: tuple[str, ...] | None
    """The label of each text, "" for none; None without labels."""
    pairs: tuple[str, ...] | None
    """The second text of each, from a column; None for none."""
    notices: tuple[str, ...]
    """Notices from reading the list."""


def answer_kind_select(own: tuple[str, ...], instead: str, has_probe: bool) -> str:
    """The head or the probe that answers; no widget where only a probe can."""
    tasks = own or ((EXAMPLE_TASK,) if instead else ())
    if not tasks:
        return PROBE
    has_probe = has_probe or LABELLED.key in st.query_params
    options = [PROBE, *tasks] if has_probe and not own else [*tasks, PROBE]
    words = "A head of the checkpoint, or a probe that is trained here."
    names = {PROBE: "probe"} | {task: f"{instead or 'head'}: {PREDICTS[task]}" for task in tasks}
    return select(
        ANSWERED_BY,
        ANSWERED_BY.label,
        options,
        format_func=names.__getitem__,
        help=words,
        width=310 if instead else 230,
    )


def offer_classifier(tasks: tuple[str, ...]) -> None:
    """Say where a classifier is, for a model without classes, and open it with its texts at a click."""
    name = OFFERED[0]
    if EXAMPLE_TASK in tasks or not ready((name,)):
        return
    with st.container(horizontal=True, vertical_alignment="center", key="many_classifier"):
        st.markdown(
            f":material/info: This model has no classes. A classifier is always here: {name} calls places good or bad, "
            "and fails on negations.",
            width="content",
        )
        st.button(
            f"Open it with {TEXTS_FILE}", icon=":material/arrow_forward:", on_click=_open_classifier, args=(name,)
        )


def _open_classifier(name: str) -> None:
    choose_model(name)
    st.session_state[TEXTS_FROM.key] = TEXTS_FILE


def text_list(answered_by: str, classes: Sequence[str], mask: str) -> TextList | None:
    """Return the texts of this session, behind a button that opens their panel; None before an upload."""
    with st.popover("Texts", icon=":material/edit_note:", key="many_box"), st.container(width=BOX):
        chosen = choice(TEXTS_FROM, TEXTS_FROM.label, label_visibility="collapsed")
        if chosen == TEXTS_FROM.options[0]:
            return _typed(answered_by, classes, mask)
        if chosen == TEXTS_FILE:
            return _of_table(example_table())
        table = FILE.table(
            "A table with its column names in the first row, or a text file with a text on each line; at most "
            f"{settings().max_sentences:,} texts and {most_megabytes()} MB. Many more: `python -m bertviz_core predict "
            "--file`. It stays on this server."
        )
        return None if table is None else _of_table(table)


def _typed(answered_by: str, classes: Sequence[str], mask: str) -> TextList:
    kinds = [(kind, ()) for kind in ("masked-lm", "question-answering", PROBE)]
    others = [_beginning(*each, mask) for each in (*kinds, *((PROBE, each.classes) for each in example_sets()))]
    if st.session_state.get(TYPED) in (None, *others):  # untouched, of whatever head
        st.session_state[TYPED] = _beginning(answered_by, classes, mask)
    hint = "One text per line. Where each line is a label, a tab and a text, answers are compared with the labels."
    empty = "The list of texts is empty. Write at least one under Texts, one per line."
    table = typed_lines("Texts, one per line", TYPED, "One text per line", hint, empty)
    parted = [line.partition("\t") for line in table.sentences]
    if not all(tab for _, tab, _ in parted):
        return TextList(table.sentences, None, None, table.notices)
    gold = tuple(label.strip() for label, _, _ in parted)
    return TextList(tuple(rest.strip() for _, _, rest in parted), gold, None, table.notices)


def _of_table(table: SentenceTable) -> TextList:
    names = [str(name) for name in table.frame.columns]
    usual = next((name for usual_name in LABEL_COLUMNS for name in names if name.lower() == usual_name), "")
    gold = column_select("Gold labels", GOLD, names, usual, NO_GOLD) if names else ""
    second = column_select("Second text or context", SECOND, names, "", SAME_SECOND) if names else ""
    return TextList(
        table.sentences,
        gold_column(table, gold) if gold else None,
        gold_column(table, second) if second else None,
        table.notices,
    )


def _beginning(answered_by: str, classes: Sequence[str], mask: str) -> str:
    """The default list; labelled texts only where their labels are classes of the head or probe."""
    if answered_by == "masked-lm":
        return f"The capital of France is {mask}.\nShe plays the {mask}.\nWater turns to {mask} in the cold."
    if answered_by == "question-answering":
        return QUESTIONS
    fitting = fitting_set(classes)
    if fitting is None:
        return SENTENCES
    lines = zip(fitting.labels, fitting.texts, strict=True)
    return FIRST if fitting.name == EXAMPLE_SET else "\n".join(f"{label}\t{text}" for label, text in lines)


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
