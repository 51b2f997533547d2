"""Below the drawing: what to try first, and what BERT is."""

import streamlit as st

from bertviz_core.journey.results import Journey
from bertviz_core.text import shortened
from bertviz_core.trace.tokenization import longest_piece
from ui.cache import models
from ui.components.step_links import Link, address, step_links

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
