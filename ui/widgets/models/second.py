"""The second model of the session: chosen in the sidebar below the first; its name is in the address."""

from collections.abc import Sequence

import streamlit as st

from bertviz_core.checkpoints.rounding import COPIES
from bertviz_core.errors import BertvizError
from bertviz_core.models.catalog.bundled import FINE_TUNED
from bertviz_core.models.catalog.example_run import OFFERED
from bertviz_core.models.catalog.offers import offers
from bertviz_core.models.sources import ModelSource
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.text import escape_controls, escape_markdown, shortened
from ui.address.following import source_of, write
from ui.cache.sources import source
from ui.session import model_names, settings, store, stored
from ui.widgets.models.fields import complete, model_name, name_below

NONE, MOST_NAMED = "", 60
"""Value of the list without a second model; most characters of a name on a button."""
SIZES = ("hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads")
"""Sizes in which a model must agree to be the default for a comparison."""
HELP = (
    "A second model beside the first: pages that compare show both, all others show the first. Choose one whose "
    "weights are on this machine, or the first rounded to a smaller number format; or type a folder below the models "
    "folder or a Hub id. It is loaded when a page needs it."
)


def second_select() -> None:
    """Show the list of second models in the sidebar; it is empty until the reader chooses one."""
    first, free = model_name(), not settings().allowed_models
    options = [NONE, *(name for name in names_with_weights(first) if name != first), *COPIES]
    _follow_address(options, free)
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
    _name_in_address()


def needs_second(what: str) -> bool:
    """Return whether there is no second model; in that case, ask for one and offer those that suit the first.

    Args:
        what: what needs two models, as the start of a sentence.
    """
    if second_name():
        return False
    st.info(f"{what} needs a second model: choose one of these, or any under **Compare with** in the sidebar.")
    for place, (name, words) in enumerate(_suitable(model_name()).items()):
        label = words.format(escape_markdown(shortened(escape_controls(name), MOST_NAMED)))
        st.button(label, key=f"put_other_{place}", on_click=store, args=(OTHER.key, name))
    return True


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


def _suitable(first: str) -> dict[str, str]:
    """Models to compare a model with, and what they are, the name in braces; the likest first, a rounded copy last."""
    own, names = _source(first), names_with_weights(first)
    base = own.adapter.base if own is not None and own.adapter is not None else None
    bundled = [name for name in (FINE_TUNED, DEFAULT_MODEL) if name != first and name in names]
    suitable = {next(iter(COPIES)): "This model {}"}
    for name in bundled:
        suitable[name] = "{}, which is bundled" + ("" if _are_alike(own, _source(name)) else " and of another build")
    if like := likest(first, names):
        suitable[like] = "{}, of the same type and sizes"
    if base is not None and base.has_weights:
        suitable[base.name] = "{}, the base of this adapter"
    return dict(reversed(suitable.items()))


def _follow_address(options: Sequence[str], free: bool) -> None:
    """Select the second model in the address if it has changed, by a link or by Back."""
    named = st.query_params.get(OTHER.key)
    match source_of(OTHER.key, None):
        case "address" if named and (free or named in options):
            store(OTHER.key, named)
        case "default":
            store(OTHER.key, NONE)


def _take_choice(names: Sequence[str]) -> None:
    """Complete the beginning of a known name, and write the name into the address."""
    complete(OTHER.key, [*names, *model_names()])
    _name_in_address()


def _name_in_address() -> None:
    """Write the name into the address, unless there is none."""
    write(OTHER.key, second_name() or None, None)


def _are_alike(first: ModelSource | None, second: ModelSource | None) -> bool:
    """Whether two models agree in type and sizes."""
    if first is None or second is None or first.model_type != second.model_type:
        return False
    return all(first.config.get(size) == second.config.get(size) for size in SIZES)
