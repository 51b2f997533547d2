"""Widgets of many texts: the list, its gold labels and second texts, and who is asked; keys are in the address."""

from dataclasses import dataclass

import streamlit as st

from bertviz_core.predictions.labelled.reading import LABEL_COLUMNS, gold_column
from bertviz_core.sentences.results import SentenceTable
from ui.session import settings
from ui.views.predictions.probes.controls import BOX, column_select, typed_lines
from ui.widgets.controls import BOUND, choice
from ui.widgets.lists.files import ListFile, most_megabytes
from ui.widgets.models.select import HEADS

SOURCE, TYPED, GOLD, SECOND, ASKED = "texts_from", "many_texts", "gold_column", "second_column", "asked"
SOURCES = ("typed", "file")
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
"""Typed to begin with where a probe is asked: labels of the example set, two of the texts ambiguous on purpose."""
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
"""Typed to begin with for any other head: statements, a wish, a question, praise and blame."""
QUESTIONS = "Who is it about?\nWhere does it happen?\nWhat is done?"
"""Where the head answers questions about the second text of the page."""


@dataclass(frozen=True, slots=True, eq=False)
class TextList:
    """What many predictions are asked for."""

    texts: tuple[str, ...]
    """The texts."""
    gold: tuple[str, ...] | None
    """The label of each, "" for none; None where no labels are given."""
    pairs: tuple[str, ...] | None
    """The second text of each, from a column; None for none."""
    notices: tuple[str, ...]
    """How the list was read."""


def asked_select(tasks: tuple[str, ...]) -> str:
    """Who answers: a head of the checkpoint, or a probe; nothing to choose for a model without a head."""
    if not tasks:
        return PROBE
    options = [*tasks, PROBE]
    if st.session_state.get(ASKED, options[0]) not in options:
        st.session_state[ASKED] = options[0]
    words = "A head that the checkpoint holds, or a probe that is trained here."
    names = {PROBE: "probe"} | {task: f"head: {HEADS[task]}" for task in tasks}
    asked = st.selectbox(
        "Asked", options, key=ASKED, format_func=lambda each: names[each], help=words, width=230, **BOUND
    )
    return str(asked or options[0])


def text_list(asked: str, mask: str) -> TextList | None:
    """The texts of this session, behind a button that opens their place; None while no file is there.

    Args:
        asked: who answers, for what is typed to begin with.
        mask: how the model's vocabulary spells a mask; "" for none.

    Raises:
        BertvizError: as bertviz_core.sentences.reading.files.read_sentences.
    """
    with st.popover("Texts", icon=":material/edit_note:", key="many_box"), st.container(width=BOX):
        if choice("Texts", SOURCES, SOURCE, label_visibility="collapsed") == SOURCES[0]:
            return _typed(asked, mask)
        table = FILE.table(
            "A table with its column names in the first row, or a text file with a text on each line; at most "
            f"{settings().max_sentences:,} texts and {most_megabytes()} MB. Many more: `python -m bertviz_core predict "
            "--file`. It stays on this server."
        )
        return None if table is None else _of_table(table)


def _typed(asked: str, mask: str) -> TextList:
    beginnings = {kind: _beginning(kind, mask) for kind in ("masked-lm", "question-answering", PROBE)}
    first = beginnings.get(asked, SENTENCES)
    if st.session_state.get(TYPED) in (None, *beginnings.values(), SENTENCES):  # untouched, of whatever head
        st.session_state[TYPED] = first
    told = "One text per line. Where each line is a label, a tab and a text, answers are compared with the labels."
    empty = "The list of texts is empty. Write at least one under Texts, one per line."
    table = typed_lines("Texts, one per line", TYPED, "One text per line", told, empty)
    parted = [line.partition("\t") for line in table.sentences]
    if not all(tab for _, tab, _ in parted):
        return TextList(table.sentences, None, None, table.notices)
    gold = tuple(label.strip() for label, _, _ in parted)
    return TextList(tuple(rest.strip() for _, _, rest in parted), gold, None, table.notices)


def _of_table(table: SentenceTable) -> TextList:
    names = [str(name) for name in table.frame.columns]
    usual = next((name for wanted in LABEL_COLUMNS for name in names if name.lower() == wanted), "")
    gold = column_select("Gold labels", GOLD, names, usual, NO_GOLD) if names else ""
    second = column_select("Second text or context", SECOND, names, "", SAME_SECOND) if names else ""
    return TextList(
        table.sentences,
        gold_column(table, gold) if gold else None,
        gold_column(table, second) if second else None,
        table.notices,
    )


def _beginning(kind: str, mask: str) -> str:
    if kind == "masked-lm":
        return f"The capital of France is {mask}.\nShe plays the {mask}.\nWater turns to {mask} in the cold."
    return QUESTIONS if kind == "question-answering" else FIRST
