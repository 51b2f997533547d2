"""Widgets of the load report: the task whose class would be loaded, its labels, which keys are listed."""

from collections.abc import Sequence

import streamlit as st

from ui.controls import BOUND, choice, search

TASK_KEY, LABELS_KEY = "load_task", "labels"
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
"""End of a class's name -> the task that it has a head for."""
MAX_LABELS = 10_000
STATES = ("all", "matched", "new", "wrong shape", "tied", "unused", "ignored")


def own_task(architecture: str, tasks: Sequence[str]) -> str:
    """The task that a checkpoint was saved for, by the class that its config names."""
    found = next((task for end, task in HEADS.items() if architecture.endswith(end)), "base")
    return found if found in tasks else tasks[0]


def load_task_select(tasks: Sequence[str], own: str) -> str:
    """The task whose class would be loaded, one of those that the family has; the checkpoint's own comes first."""
    options = [own, *(task for task in tasks if task != own)]
    if st.session_state.get(TASK_KEY, own) not in options:
        st.session_state[TASK_KEY] = own
    help_text = "The class that transformers would load, with the head of this task; the family has these."
    return str(st.selectbox("Load it for", options, key=TASK_KEY, help=help_text, **BOUND) or own)


def labels_input(stated: int) -> int | None:
    """How many labels the classification head has; None for as many as the config states."""
    found = st.number_input(
        "Labels",
        1,
        MAX_LABELS,
        None,
        step=1,
        key=LABELS_KEY,
        placeholder=f"{stated:,}, from the config",
        help="Classes that the head tells apart; leave it empty for the number that the config states.",
        **BOUND,
    )
    return None if found is None else int(found)


def keys_filter(counts: dict[str, int]) -> tuple[str, str]:
    """Which status of keys is listed, and a part of their names."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state = choice("Keys", [each for each in STATES if each == "all" or counts.get(each)], "key_status")
        wanted = search("Search keys", "key_search")
    return state, wanted
