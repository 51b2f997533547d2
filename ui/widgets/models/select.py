"""The model of the whole session: a list that says what can be run here; its name stands in the address."""

import streamlit as st

from bertviz_core.models.sources import Offer, offers
from bertviz_core.settings import DEFAULT_MODEL
from ui.address.following import source_of, write
from ui.session import settings
from ui.widgets.formatting import escape_markdown, short_count

MODEL = "model"
"""Key of the choice, and its name in the address."""
LONGEST_IN_BOX = 22
"""Letters of a name that the box of the list shows; a longer one stands below it in full."""
WORDS = {"ready": "ready", "hub": "Hub", "structure": "structure"}
HEADS = {
    "masked-lm": "masked words",
    "sequence-classification": "classes",
    "token-classification": "tags",
    "question-answering": "answers",
    "next-sentence": "next sentence",
}
"""What a model of the catalogue predicts, by the task of its head."""
HELP = (
    "Ready: weights and tokenizer are on this machine. Structure: parameters, shapes and layers are known, "
    "but the model cannot run on a text. Hub: downloaded when you ask for it. Masked words, classes, tags or answers: "
    "what its head predicts. Choose one, or type a folder below the models folder or a Hub id such as org/name."
)


def model_select() -> None:
    """The list, in the sidebar. The address holds the name alone, whatever else a line of the list says."""
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
    held = str(st.session_state.get(MODEL) or first)
    if len(held) > LONGEST_IN_BOX:
        st.caption(escape_markdown(held))


def choose_model(name: str) -> None:
    """Make a model the session's, as a button's answer; the page then runs with it."""
    st.session_state[MODEL] = name


def ready_model() -> str | None:
    """The first model that can run a text here; None where there is none."""
    return next((offer.name for offer in offers(settings()) if offer.readiness == "ready"), None)


def label(offer: Offer) -> str:
    """What the list says of a model: name, whether it can be run here, what it predicts, parameters.

    A long line is cut at its end, so what tells models apart stands in front.
    """
    count = "" if offer.parameters is None else short_count(offer.parameters)
    said = (offer.name, WORDS[offer.readiness], HEADS.get(offer.task, ""), count)
    return " · ".join(each for each in said if each)


def _follow_address(names: tuple[str, ...], free: bool) -> None:
    """Take the model that the address names where it names another than before: a link, or the way back."""
    named = st.query_params.get(MODEL)
    match source_of(MODEL, None):
        case "address" if named and (free or named in names):
            st.session_state[MODEL] = named
        case "default":
            st.session_state[MODEL] = names[0]


def _name_in_address(first: str) -> None:
    """Let the address name the model, but for the one that everyone begins with."""
    held = str(st.session_state.get(MODEL) or first)
    write(MODEL, None if held == first else held, None)
