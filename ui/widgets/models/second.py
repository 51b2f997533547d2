"""The second model of the session: chosen in the sidebar below the first; its name is in the address."""

from collections.abc import Sequence

import streamlit as st

from bertviz_core.checkpoints.rounding.formats import COPIES
from bertviz_core.errors import BertvizError
from bertviz_core.models.catalog.bundled import FINE_TUNED
from bertviz_core.models.catalog.example_run import OFFERED
from bertviz_core.models.catalog.offers import offers
from bertviz_core.models.sources import ModelSource
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.settings import DEFAULT_MODEL
from ui.address.following import source_of, write
from ui.cache.sources import source
from ui.session import model_names, settings, store, stored
from ui.widgets.models.fields import complete, model_name, name_below
from ui.widgets.view_and_layer import current_view

NONE = ""
"""Value of the list without a second model."""
COMPARING = {"checkpoint": "Compare with base", "sentences": "Two models"}
"""Page -> its view that always compares two models, with a default where none is chosen."""
BEGAN, BESIDE = "other_began", "other_beside"
"""Session keys: the default that such a view has selected, which is no choice of the reader and is not selected on
other views; the first model when the list was shown last."""
SIZES = ("hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads")
"""Sizes in which a model must agree to be the default for a comparison."""
HELP = (
    "A second model beside the first: pages that compare show both, all others show the first. Choose one whose "
    "weights are on this machine, or the first rounded to a smaller number format; or type a folder below the models "
    "folder or a Hub id. It is loaded when a page needs it."
)


def second_select(page: str) -> None:
    """Show the list of second models in the sidebar.

    A view that always compares selects its default first, where the reader has chosen none; other views leave it again.

    Args:
        page: name of the page.
    """
    first, free = model_name(), not settings().allowed_models
    names = names_with_weights(first)
    options = [NONE, *(name for name in names if name != first), *COPIES]
    _follow_address(options, free)
    if current_view(page) == COMPARING.get(page):
        _begin_with(_default(page, first, names), first)
    elif second_name() == stored(BEGAN):
        store(OTHER.key, NONE)
    st.selectbox(
        "Compare with",
        list(dict.fromkeys((*options, second_name()))),
        key=OTHER.key,
        accept_new_options=free,
        format_func=lambda name: name or "none",
        help=HELP,
        on_change=_take_choice,
        args=(options,),
        persist_state="session",
    )
    name_below(second_name())
    store(BESIDE, first)
    _name_in_address()


def second_name() -> str:
    """Name of the chosen second model, or of a rounded copy of the first; "" for none."""
    return str(stored(OTHER.key) or NONE)


def names_with_weights(first: str) -> list[str]:
    """Offered models with weights on this machine, and the current one; nothing is loaded."""
    ready = [offer.name for offer in offers(settings()) if offer.readiness == "ready"]
    return list(dict.fromkeys((*ready, first)))


def likest(first: str, names: Sequence[str]) -> str:
    """Another model of the same type and sizes, but not the bundled example; "" where there is none."""
    own = _source(first)
    alien = (FINE_TUNED,) if first in OFFERED else (FINE_TUNED, *OFFERED)
    others = [name for name in names if name not in (first, *alien)]
    return next((name for name in others if _are_alike(own, _source(name))), "")


def _source(name: str) -> ModelSource | None:
    """The files of a model; None where its name or its files are wrong, which the page of that model says."""
    try:
        return source(name)
    except BertvizError:
        return None


def _default(page: str, first: str, names: Sequence[str]) -> str:
    """Default of a view that always compares: the base of an adapter; else the likest model; else a bundled one.

    Without these, and on the page Checkpoint without the likest, a rounded copy.
    """
    own = _source(first)
    if own is not None and own.adapter is not None and own.adapter.base.has_weights:
        return own.adapter.base.name
    bundled = [name for name in (FINE_TUNED, DEFAULT_MODEL) if name != first and name in names]
    return likest(first, names) or (bundled[0] if bundled and page == "sentences" else next(iter(COPIES)))


def _begin_with(default: str, first: str) -> None:
    """Select the default where the reader has chosen no second model, or has made it the first one since."""
    now, untouched = second_name(), stored(BEGAN)
    became_first = now == first and stored(BESIDE, first) != first
    if now == NONE or became_first or (now == untouched and now != default):
        store(OTHER.key, default)
        store(BEGAN, default)


def _follow_address(options: Sequence[str], free: bool) -> None:
    """Select the second model in the address if it has changed, by a link or by Back."""
    named = st.query_params.get(OTHER.key)
    match source_of(OTHER.key, None):
        case "address" if named and (free or named in options):
            store(OTHER.key, named)
            if named != stored(BEGAN):  # Back to a view leads to the default that it selected itself
                store(BEGAN, None)
        case "default":
            store(OTHER.key, NONE)
            store(BEGAN, None)


def _take_choice(names: Sequence[str]) -> None:
    """Remember that the reader has chosen, and write the name into the address."""
    complete(OTHER.key, [*names, *model_names()])
    store(BEGAN, None)
    _name_in_address()


def _name_in_address() -> None:
    """Write the name into the address, unless there is none."""
    write(OTHER.key, second_name() or None, None)


def _are_alike(first: ModelSource | None, second: ModelSource | None) -> bool:
    """Whether two models agree in type and sizes."""
    if first is None or second is None or first.model_type != second.model_type:
        return False
    return all(first.config.get(size) == second.config.get(size) for size in SIZES)
