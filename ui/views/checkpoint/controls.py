"""Widgets of the views on weights and on two checkpoints; keys are names in the address."""

from collections.abc import Sequence

import streamlit as st

from bertviz_core.checkpoints.rounding import COPIES
from bertviz_core.errors import BertvizError
from bertviz_core.figures.checkpoints.weights import STATISTICS
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.questions.models.checkpoints import MAX_LABELS, ORDER, SCALE, SCALES, WEIGHTS_SCALE
from ui.address.bounds import keep_among
from ui.session import model_names, settings
from ui.widgets.controls import BOUND, choice, search

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
STATES = ("all", "matched", "new", "wrong shape", "tied", "unused", "ignored")


def own_task(architecture: str, tasks: Sequence[str]) -> str:
    """The task that a checkpoint was saved for, by the class that its config names."""
    task_name = next((task for end, task in HEADS.items() if architecture.endswith(end)), "base")
    return task_name if task_name in tasks else tasks[0]


def load_task_select(tasks: Sequence[str], own: str) -> str:
    """The task whose class would be loaded, one of those that the family has; the checkpoint's own comes first."""
    options = [own, *(task for task in tasks if task != own)]
    keep_among(TASK_KEY, options, own)
    help_text = "The class that transformers would load, with the head of this task; the family has these."
    return str(st.selectbox("Load it for", options, key=TASK_KEY, help=help_text, width=TASK_WIDTH, **BOUND) or own)


def labels_input(stated: int) -> int | None:
    """How many labels the classification head has; None for as many as the config states."""
    labels = st.number_input(
        "Labels",
        1,
        MAX_LABELS,
        None,
        step=1,
        key=LABELS_KEY,
        placeholder=f"{stated:,} (config)",
        help="Classes that the head tells apart; leave it empty for the number that the config states.",
        width=LABELS_WIDTH,
        **BOUND,
    )
    return None if labels is None else int(labels)


def keys_filter(counts: dict[str, int]) -> tuple[str, str]:
    """Which status of keys is listed, and a part of their names."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state = choice("Keys", [each for each in STATES if each == "all" or counts.get(each)], "key_status")
        wanted = search("Search keys", "key_search")
    return state, wanted


OTHER, TENSOR, CHANGED = "other", "tensor", "changed"
SIMILAR_SIZES = 4
"""Sizes of two models that must agree before one is compared with the other unasked."""
MOST_OPTIONS = 2_000
OTHER_WIDTH, TASK_WIDTH, LABELS_WIDTH = 245, 240, 160
"""Pixels."""


def names_with_weights(first: str) -> list[str]:
    """Models that are offered and whose weights are on this machine; the one looked at is always among them."""
    return list(dict.fromkeys(name for name in (*model_names(), first) if name == first or _has_weights(name)))


def other_select(first: str, names: Sequence[str]) -> str:
    """The second checkpoint; to begin with another of the same sizes, else a rounded copy of the first."""
    default = _likest(first, names) or next(iter(COPIES))
    names = [*COPIES, *(name for name in names if name != first)]
    if st.session_state.get(OTHER) == "":
        del st.session_state[OTHER]
    other = st.selectbox(
        "Compare with",
        names,
        index=names.index(default),
        key=OTHER,
        accept_new_options=not settings().allowed_models,
        help="This checkpoint rounded to a smaller number format, or a second one whose weights are on this machine: "
        "choose one, or type a folder's name or a Hub id.",
        width=OTHER_WIDTH,
        **BOUND,
    )
    return str(other or default)


def statistic_choice() -> str:
    """Which number of every tensor is drawn."""
    return choice("Of each tensor", list(STATISTICS), "statistic")


def weights_scale_choice() -> bool:
    """Whether the scale of a statistic counts powers of ten."""
    words = "Powers of ten show small numbers beside large ones. An even scale ends where few numbers lie far beyond."
    return choice("Colour scale", WEIGHTS_SCALE.options, "weights_scale", help=words) == SCALES[0]


def scale_choice() -> bool:
    """Whether the scale of changes counts powers of ten."""
    words = "Powers of ten show small changes beside large ones."
    return choice("Colour scale", SCALE.options, "scale", help=words) == SCALES[0]


def order_choice() -> str:
    """Whether modules, or layers, or both stand by their largest change."""
    words = "The largest change of a row or column decides; rows and columns keep their names."
    return choice("Order", ORDER.options, ORDER.key, help=words)


SIDES = ("weights", "behaviour with the text")


def side_choice() -> str:
    """Weights, or behaviour with a text."""
    return choice("What is compared", SIDES, "compared")


def tensor_select(key: str, names: Sequence[str], default: str) -> str:
    """One tensor, also set by a click on its cell; one that this checkpoint does not hold becomes the default."""
    options = list(dict.fromkeys([default, *names[:MOST_OPTIONS]]))
    held = st.session_state.get(key)
    if held is not None and held not in options:
        if held in names:
            options.append(held)
        else:
            st.session_state[key] = default
    return str(st.selectbox("Tensor", options, key=key, **BOUND) or default)


def take_cell(key: str, cell: tuple[int, int] | None, name: str) -> None:
    """Make the tensor of a newly clicked cell the chosen one; an old click does not undo a later choice."""
    seen = f"{key}_cell_seen"
    if cell != st.session_state.get(seen):
        st.session_state[seen] = cell
        if name:
            st.session_state[key] = name


def _has_weights(name: str) -> bool:
    try:
        source = resolve(name, settings())
        weights_folder(source, settings())
    except BertvizError:
        return False
    return source.has_weights or source.folder is None


def _likest(first: str, names: Sequence[str]) -> str:
    """Another model of the same type and sizes; "" where there is none."""
    own = resolve(first, settings())
    likeness = {name: _likeness(own, resolve(name, settings())) for name in names if name != first}
    return next((name for name, alike in likeness.items() if alike == (True, SIMILAR_SIZES)), "")


def _likeness(first: ModelSource, second: ModelSource) -> tuple[bool, int]:
    sizes = ("hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads")
    same = sum(first.config.get(size) == second.config.get(size) for size in sizes)
    return first.model_type == second.model_type, same
