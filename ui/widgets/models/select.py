"""Select the model of the session from a list that shows what can run here; its name is in the address."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.models.catalog import PREDICTS
from bertviz_core.models.catalog.bundled import SPLADE
from bertviz_core.models.catalog.offers import Offer, offers
from bertviz_core.models.sources import resolve
from bertviz_core.settings import DEFAULT_MODEL
from bertviz_core.text import short_count
from ui.address.following import source_of, write
from ui.session import settings, store, stored
from ui.widgets.models import hub_reach
from ui.widgets.models.fields import complete, name_below

MODEL = "model"
"""Key of the widget, and its name in the address."""
BEFORE, SHOWN = "model_before", "model_shown"
"""Session keys: the model that ran before the current one; the model of the last run."""
WORDS = {"ready": "ready", "hub": "Hub", "hub off": "needs the Hub (switched off)", "structure": "structure"}
UNREACHED = "needs the Hub (not reached)"
"""In place of the word for the Hub, after it could not be reached."""
GOOD_AT = {SPLADE: "related words, weak at gaps"}
"""What a bundled model's head predicts well, and what it does not, where the task alone would promise more."""
HELP = (
    "Ready: weights and tokenizer are on this machine. Hub: downloaded when you ask for it. Needs the Hub (switched "
    "off, or not reached): its weights are not on this machine and cannot be downloaded now. For these and for a "
    "structure, parameters, shapes and layers are known, but the model cannot run on a text. Masked words, classes, "
    "tags or answers: what its head predicts. Choose one, or type a folder below the models folder or a Hub id such as "
    "org/name."
)


def model_select() -> None:
    """Show the list in the sidebar. The address contains only the name of the model."""
    free = not settings().allowed_models
    offered = {offer.name: label(offer) for offer in offers(settings())}
    first = next(iter(offered), DEFAULT_MODEL)
    _follow_address(tuple(offered), free)
    st.selectbox(
        "Model",
        list(offered),
        key=MODEL,
        accept_new_options=free,
        format_func=lambda name: offered.get(name, name),
        help=HELP,
        on_change=_take_choice,
        args=(tuple(offered), first),
        persist_state="session",
    )
    _name_in_address(first)
    shown = str(st.session_state.get(MODEL) or first)
    _remember(shown)
    name_below(shown)


def _take_choice(names: tuple[str, ...], first: str) -> None:
    """Take the model that a typed name begins, and write its name into the address."""
    complete(MODEL, names)
    _name_in_address(first)


def choose_model(name: str) -> None:
    """Select a model, for callbacks of buttons; the page then runs with it."""
    st.session_state[MODEL] = name


def bundled_instead(key: str, words: str, *bundled: str, why: str | None = None) -> None:
    """Say in one line what the chosen model cannot do, with a button for each bundled model that can.

    Args:
        key: key of the line.
        words: the line, in Markdown.
        bundled: names of models; those that cannot run here are left out.
        why: further words behind a question mark; None for none.
    """
    with st.container(horizontal=True, vertical_alignment="center", key=key):
        st.markdown(f":material/info: {words}", width="content", help=why)
        for name in ready(bundled):
            st.button(
                f"Open {name}",
                key=f"{key}_{name}",
                help=GOOD_AT.get(name),
                icon=":material/arrow_forward:",
                type="tertiary",
                on_click=choose_model,
                args=(name,),
            )


def ready(names: Sequence[str]) -> list[str]:
    """Those of some models that are offered and can run a text here."""
    offered = {offer.name for offer in offers(settings()) if offer.readiness == "ready"}
    return [name for name in names if name in offered]


def ready_model() -> str | None:
    """The first model that can run a text here; None if there is none."""
    return next((offer.name for offer in offers(settings()) if offer.readiness == "ready"), None)


def model_before() -> str | None:
    """The model that was open before the current one and can run a text here; None if there was none."""
    name = stored(BEFORE)
    return None if name is None or name == stored(SHOWN) else str(name)


def label(offer: Offer) -> str:
    """Entry of a model in the list: name, whether it can run here, predictions, number of parameters.

    Long entries are cut at their end, so distinguishing parts come first: of a model that can run, its predictions.
    """
    count = "" if offer.parameters is None else short_count(offer.parameters)
    readiness = UNREACHED if offer.readiness == "hub" and hub_reach.is_lost() else WORDS[offer.readiness]
    about = (readiness, GOOD_AT.get(offer.name) or PREDICTS.get(offer.task, ""))
    parts = (offer.name, *(reversed(about) if offer.readiness == "ready" else about), count)
    return " · ".join(each for each in parts if each)


def _remember(name: str) -> None:
    """Note the model of this run, and the one before it if that can run a text here."""
    shown = stored(SHOWN)
    if shown is not None and shown != name and _has_weights(str(shown)):
        store(BEFORE, shown)
    store(SHOWN, name)


def _has_weights(name: str) -> bool:
    """Whether the weights of a model are on this machine; the Hub is not asked."""
    try:
        return resolve(name, replace(settings(), allow_hub=False)).has_weights
    except BertvizError:
        return False


def _follow_address(names: tuple[str, ...], free: bool) -> None:
    """Select the model in the address if it has changed, by a link or by Back."""
    named = st.query_params.get(MODEL)
    match source_of(MODEL, None):
        case "address" if named and (free or named in names):
            st.session_state[MODEL] = named
        case "default":
            st.session_state[MODEL] = names[0]


def _name_in_address(first: str) -> None:
    """Write the model's name into the address, unless it is the default."""
    name = str(st.session_state.get(MODEL) or first)
    write(MODEL, None if name == first else name, None)
