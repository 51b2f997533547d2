"""The texts of the view Several texts: the list, its gold labels and second texts, and the head or probe."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from bertviz_core.models.catalog import PREDICTS
from bertviz_core.models.catalog.example_run import EXAMPLE_TASK, OFFERED, TEXTS_FILE
from bertviz_core.predictions.probing.reading import EXAMPLE_SET, LABEL_COLUMNS, example_sets, fitting_set, gold_column
from bertviz_core.questions.predictions.labelled_texts import ANSWERED_BY, LABELLED, MANY_TEXTS, TEXTS_FROM
from bertviz_core.sentences.results import SentenceTable
from ui.address.widgets import choice, select
from ui.session import settings
from ui.views.predictions.probes import BOX, typed_lines
from ui.widgets.lists.uploads import ListFile, column_select, example_table, most_megabytes
from ui.widgets.models.select import choose_model, ready

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
