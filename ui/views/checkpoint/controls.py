"""Widgets of the checkpoint page."""

from collections.abc import Sequence

import streamlit as st

from bertviz_core.questions.models.adapter import UPDATE_MEASURE
from bertviz_core.questions.models.checkpoints import (
    LABELS,
    MAX_LABELS,
    ORDER,
    SCALE,
    SCALES,
    STATISTIC,
    WEIGHTS_SCALE,
)
from bertviz_core.questions.parameters import Param
from ui.address.registry import param
from ui.address.widgets import BOUND, choice, select, words

HEADS = {
    "ForMaskedLM": "masked-lm",
    "LMHeadModel": "masked-lm",
    "ForNextSentencePrediction": "next-sentence",
    "ForPreTraining": "pretraining",
    "ForSequenceClassification": "sequence-classification",
    "ForTokenClassification": "token-classification",
    "ForQuestionAnswering": "question-answering",
    "ForMultipleChoice": "multiple-choice",
}
"""End of a class's name -> task of its head."""
STATES = ("all", "matched", "new", "wrong shape", "tied", "unused", "ignored")


def own_task(architecture: str, tasks: Sequence[str]) -> str:
    """The task of the class named by a checkpoint's config."""
    task_name = next((task for end, task in HEADS.items() if architecture.endswith(end)), "base")
    return task_name if task_name in tasks else tasks[0]


def load_task_select(tasks: Sequence[str], own: str) -> str:
    """The task whose class would be loaded; the checkpoint's own comes first."""
    options = [own, *(task for task in tasks if task != own)]
    help_text = "The class that transformers would load, with the head of this task; the family has these."
    return select(param("load_task"), "Load it for", options, help=help_text, width=TASK_WIDTH)


def labels_input(stated: int) -> int | None:
    """Number of labels of the classification head; None for the config's."""
    labels = st.number_input(
        "Labels",
        1,
        MAX_LABELS,
        None,
        step=1,
        key=LABELS.key,
        placeholder=f"{stated:,} (config)",
        help="Number of classes of the head; leave it empty for the number in the config.",
        width=LABELS_WIDTH,
        **BOUND,
    )
    return None if labels is None else int(labels)


def keys_filter(counts: dict[str, int]) -> tuple[str, str]:
    """Status and part of the name of the listed keys."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state = choice(param("key_status"), "Keys", [each for each in STATES if each == "all" or counts.get(each)])
        pattern = words(param("key_search"), "Search keys", placeholder="part of a name")
    return state, pattern


MOST_OPTIONS = 2_000
COMPARED_WIDTH, TASK_WIDTH, LABELS_WIDTH = 225, 240, 160
"""Pixels."""


def statistic_choice() -> str:
    """The statistic that is drawn."""
    return choice(STATISTIC, "Of each tensor")


def weights_scale_choice() -> bool:
    """Whether the scale of a statistic is logarithmic."""
    words = "Powers of ten show small numbers next to large ones. An even scale leaves out a few extreme numbers."
    return choice(WEIGHTS_SCALE, "Colour scale", help=words) == SCALES[0]


def scale_choice() -> bool:
    """Whether the scale of changes is logarithmic."""
    words = "Powers of ten show small changes next to large ones."
    return choice(SCALE, "Colour scale", help=words) == SCALES[0]


def order_choice() -> str:
    """The order of modules and layers."""
    words = "The largest change of a row or column decides; rows and columns keep their names."
    return choice(ORDER, "Order", help=words)


def update_measure_choice() -> str:
    """The number of every update of an adapter that is drawn."""
    words = "The stable rank says over how many directions an update is spread; it is at most the rank."
    return choice(UPDATE_MEASURE, "Of each update", help=words)


def compared_select() -> str:
    """What is compared: the weights, the behaviour with a text, or the layers or answers over many texts."""
    return select(param("compared"), "What is compared", width=COMPARED_WIDTH)


def tensor_select(tensor: Param, names: Sequence[str], default: str) -> str:
    """One tensor, also set by a click on its cell; the default where this checkpoint does not have it."""
    options = list(dict.fromkeys([default, *names[:MOST_OPTIONS]]))
    current = str(st.session_state.get(tensor.key))
    if current in names and current not in options:
        options.append(current)
    return select(tensor, "Tensor", options)


def take_cell(tensor: Param, cell: tuple[int, int] | None, name: str) -> None:
    """Select the tensor of a newly clicked cell; an old click does not undo a later choice."""
    last_cell_key = f"{tensor.key}_last_cell"
    if cell != st.session_state.get(last_cell_key):
        st.session_state[last_cell_key] = cell
        if name:
            st.session_state[tensor.key] = name
