"""The second model of a comparison: the offered models with weights, and the one that suits the first."""

from collections.abc import Sequence

import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.models.catalog.bundled import FINE_TUNED
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.questions.models.checkpoints import OTHER
from ui.session import model_names, settings, store, stored

BEGAN = "other_began"
"""Session key: the default when the list of second models was shown last."""
SIMILAR_SIZES = 4
"""Number of sizes in which a model must agree to be the default for a comparison."""


def names_with_weights(first: str) -> list[str]:
    """Offered models with weights on this machine, and the current one."""
    return list(dict.fromkeys(name for name in (*model_names(), first) if name == first or _has_weights(name)))


def likest(first: str, names: Sequence[str]) -> str:
    """Another model of the same type and sizes, but not the bundled example; "" where there is none."""
    own = resolve(first, settings())
    others = [name for name in names if name not in (first, FINE_TUNED)]
    likeness = {name: _likeness(own, resolve(name, settings())) for name in others}
    return next((name for name, alike in likeness.items() if alike == (True, SIMILAR_SIZES)), "")


def begin_with(default: str, first: str) -> None:
    """Select the default where the reader has chosen no second model, or has made it the first one since.

    Args:
        default: name of the default of this page; pages differ in it.
        first: name of the first model.
    """
    now, untouched = stored(OTHER.key), stored(BEGAN)
    if now == "" or (now in (first, untouched) and now != default and OTHER.key not in st.query_params):
        store(OTHER.key, default)
    store(BEGAN, default)


def _has_weights(name: str) -> bool:
    try:
        source = resolve(name, settings())
        weights_folder(source, settings())
    except BertvizError:
        return False
    return source.has_weights or source.folder is None


def _likeness(first: ModelSource, second: ModelSource) -> tuple[bool, int]:
    sizes = ("hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads")
    same = sum(first.config.get(size) == second.config.get(size) for size in sizes)
    return first.model_type == second.model_type, same
