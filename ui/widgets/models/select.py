"""Select the model of the session from a list that shows what can run here; its name is in the address."""

import streamlit as st

from bertviz_core.models.catalog.offers import Offer, offers
from bertviz_core.settings import DEFAULT_MODEL
from ui.address.following import source_of, write
from ui.session import settings
from ui.widgets.formatting import short_count
from ui.widgets.models.fields import name_below

MODEL = "model"
"""Key of the widget, and its name in the address."""
WORDS = {"ready": "ready", "hub": "Hub", "structure": "structure"}
HEADS = {
    "masked-lm": "masked words",
    "sequence-classification": "classes",
    "token-classification": "tags",
    "question-answering": "answers",
    "next-sentence": "next sentence",
}
"""Task of a model's head -> its predictions, in the list."""
HELP = (
    "Ready: weights and tokenizer are on this machine. Structure: parameters, shapes and layers are known, "
    "but the model cannot run on a text. Hub: downloaded when you ask for it. Masked words, classes, tags or answers: "
    "what its head predicts. Choose one, or type a folder below the models folder or a Hub id such as org/name."
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
        on_change=_name_in_address,
        args=(first,),
        persist_state="session",
    )
    _name_in_address(first)
    name_below(str(st.session_state.get(MODEL) or first))


def choose_model(name: str) -> None:
    """Select a model, for callbacks of buttons; the page then runs with it."""
    st.session_state[MODEL] = name


def ready_model() -> str | None:
    """The first model that can run a text here; None if there is none."""
    return next((offer.name for offer in offers(settings()) if offer.readiness == "ready"), None)


def label(offer: Offer) -> str:
    """Entry of a model in the list: name, whether it can run here, predictions, number of parameters.

    The closed list cuts long entries at their end, so distinguishing parts come first.
    """
    count = "" if offer.parameters is None else short_count(offer.parameters)
    parts = (offer.name, WORDS[offer.readiness], HEADS.get(offer.task, ""), count)
    return " · ".join(each for each in parts if each)


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
