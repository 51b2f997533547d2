"""Controls of the Journey, and its ending."""

import numpy as np
import streamlit as st

from bertviz_core.figures.journey.payload import Path
from bertviz_core.journey.results import Journey
from bertviz_core.questions.interventions.effects import REMOVED_FOR
from bertviz_core.questions.interventions.journey_change import CHANGE, EMBEDDINGS, FORMS
from bertviz_core.questions.parameters import Param
from bertviz_core.questions.texts.hidden_states import HEAD, KEY, LAYER, QUERY
from bertviz_core.questions.texts.journey import LOOKS
from bertviz_core.text import shortened
from bertviz_core.trace.tokenization import longest_piece
from ui.address.registry import put_all, whole
from ui.cache import models
from ui.components.journey import browser_message, chosen_path
from ui.components.links import Link, address, step_links

DRAWING = "journey"


def take_path() -> None:
    """Write the reader's selection, open parts and change of the run into the address."""
    path, words = chosen_path(DRAWING), browser_message(DRAWING)
    if path is None:
        return
    named = {QUERY.key: path.token, LAYER.key: path.open, HEAD.key: path.head, KEY.key: path.key}
    values = {name: None if value is None else str(value) for name, value in named.items()}
    for param in LOOKS:
        value = words.get(param.key)
        values[param.key] = value if value in param.options[1:] else None
    change = words.get(CHANGE.key)
    values[CHANGE.key] = change if isinstance(change, str) and FORMS.fullmatch(change) else None
    values[REMOVED_FOR.key] = REMOVED_FOR.options[1] if words.get("mean") is True else None
    put_all(values)


def path_of(journey: Journey) -> Path:
    """Return the selection and open parts in the address, limited to those that this model and text have."""
    count = max(len(journey.labels), 1)
    token = _within(QUERY.key, count)
    if token is None:
        token = first_token(journey)
    opened = _named_layer(st.query_params.get(LAYER.key, ""), journey, token)
    number = whole(opened)
    if opened != EMBEDDINGS and (number is None or number >= journey.layers):
        return Path(token)
    head = _within(HEAD.key, journey.heads) if opened != EMBEDDINGS else None
    return Path(token, opened, head, None if head is None else _within(KEY.key, count))


def _named_layer(name: str, journey: Journey, token: int) -> str:
    """The number of a layer that the address names in words: the middle one, the last, or that which turned most."""
    match name:
        case "middle":
            return str(journey.layers // 2)
        case "last":
            return str(journey.layers - 1)
        case "most":  # of a model that was not run, the first
            return "0" if journey.turn is None else str(np.nan_to_num(journey.turn[:, token]).argmax())
    return name


def first_token(journey: Journey) -> int:
    """Position of the token that is selected by default: the first that an edit brought, or the longest."""
    if journey.turn is not None and np.isnan(journey.turn).any():
        return int(np.isnan(journey.turn).any(axis=0).argmax())
    return 0 if journey.tokens is None else longest_piece(journey.tokens)


def _within(name: str, count: int) -> int | None:
    """A number in the address that is below a count; None for anything else."""
    number = whole(st.query_params.get(name))
    return number if number is not None and number < count else None


def option(param: Param) -> str:
    """The option of a parameter that is in the address; the first by default."""
    named = st.query_params.get(param.key, "")
    return named if named in param.options else param.options[0]


WHAT_BERT_IS = (
    "**What BERT is.** BERT reads a whole text at once and gives each token a vector, a list of numbers that depends "
    "on all other tokens. It is a stack of layers of one build: in each, attention lets a token take in what the "
    "others hold, and a feed-forward block works on every token alone. From the last vectors a text is searched for, "
    "classified, tagged, or asked a question."
)
MOST_QUOTED = 20
"""Most characters of a token in a link."""


def first_steps(name: str, journey: Journey) -> None:
    """Show three things to try with this text, and what BERT is in a few sentences.

    Args:
        name: name of the model.
        journey: the drawing's numbers.
    """
    with st.container(key="journey_first_steps"):
        if links := _links(name, journey):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown("**Try**", width="content")
                step_links(links, "journey_try", "Three things to try")
        st.markdown(WHAT_BERT_IS)


def _links(name: str, journey: Journey) -> list[Link]:
    if journey.tokens is None or journey.turn is None:
        return []
    token = longest_piece(journey.tokens)
    layer = int(journey.turn[:, token].argmax())
    word = f"“{shortened(journey.labels[token], MOST_QUOTED)}”"
    masked = models.tokenizer(name).tokenizer.mask_token_id is not None
    change = (f"Mask {word}", f"mask-{token}") if masked else (f"Switch layer {layer} off", f"layer-{layer}")
    model, query = ("model", name), ("query", str(token))
    return [
        Link(
            f"Open layer {layer}, which turned {word} more than any other",
            address("journey", [model, query, ("layer", str(layer))]),
        ),
        Link(f"{change[0]} and see what moves", address("journey", [model, query, ("change", change[1])])),
        Link("See what every head looks at", address("attention", [model])),
    ]
