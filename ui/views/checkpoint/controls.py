"""Widgets of the views on weights and on two checkpoints; keys are names in the address."""

from collections.abc import Sequence

import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.model_files import weights_folder
from bertviz_core.sources import ModelSource, resolve
from figures.checkpoint_pictures import STATISTICS
from ui.controls import BOUND, choice, model_names, settings

OTHER, TENSOR, CHANGED = "other", "tensor", "changed"
ORDERS = ("as in the model", "modules by change", "layers by change", "both by change")
SCALES = ("powers of ten", "even")
MOST_OPTIONS = 2_000


def names_with_weights(first: str) -> list[str]:
    """Models that are offered and whose weights are on this machine; the one looked at is always among them."""
    return list(dict.fromkeys(name for name in (*model_names(), first) if name == first or _has_weights(name)))


def other_select(first: str, names: Sequence[str]) -> str:
    """The second checkpoint; to begin with the one most like the first, itself where there is no other."""
    default = _likest(first, names)
    if st.session_state.get(OTHER) == "":
        del st.session_state[OTHER]
    found = st.selectbox(
        "Compare with",
        names,
        index=names.index(default),
        key=OTHER,
        accept_new_options=not settings().models,
        help="A second checkpoint whose weights are on this machine: choose one, or type a folder's name or a Hub id.",
        **BOUND,
    )
    return str(found or default)


def statistic_choice() -> str:
    """Which number of every tensor is drawn."""
    return choice("Number of each tensor", list(STATISTICS), "statistic")


def scale_choice() -> bool:
    """Whether the scale of changes counts powers of ten."""
    words = "Powers of ten show small changes beside large ones."
    return choice("Colour scale", SCALES, "scale", help=words) == SCALES[0]


def order_choice() -> tuple[bool, bool]:
    """Whether modules, and whether layers, stand by their largest change."""
    words = "The largest change of a row or column decides; rows and columns keep their names."
    chosen = choice("Order", ORDERS, "change_order", help=words)
    return chosen.startswith(("modules", "both")), chosen.startswith(("layers", "both"))


def side_choice() -> str:
    """Weights, or behaviour with a text."""
    return choice("What is compared", ("weights", "behaviour with the text"), "compared")


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
    """Another model of the same type and size, then of the same type, then any; the first itself where it is alone."""
    others = [name for name in names if name != first]
    if not others:
        return first
    own = resolve(first, settings())
    return max(others, key=lambda name: _alike(own, resolve(name, settings())))


def _alike(first: ModelSource, second: ModelSource) -> tuple[bool, int]:
    sizes = ("hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads")
    same = sum(first.config.get(size) == second.config.get(size) for size in sizes)
    return first.model_type == second.model_type, same
