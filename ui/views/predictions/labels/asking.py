"""What the views of heads that label tell before and beside an answer: what is missing, and what must be known."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.views.predictions.labels import cache, controls
from ui.widgets.controls import pair
from ui.widgets.formatting import escape_markdown


def needs_pair(what: str, example: tuple[str, str]) -> bool:
    """Whether there is no second text; then it is said, and an example offered.

    Args:
        what: what asks for two texts, the beginning of a sentence.
        example: a first and a second text.
    """
    if pair() is not None:
        return False
    st.info(f"{what}: write a second text in the sidebar.", icon=":material/info:")
    st.button("Put in an example", key="put_example", on_click=controls.put_texts, args=example)
    return True


def notices(place: DeltaGenerator, told: Sequence[str], name: str, task: str) -> None:
    """Say what a reader must know of an answer, but for what the page says of its head anyway.

    Args:
        place: where it is written.
        told: sentences.
        name: name of the model.
        task: of its head.
    """
    for notice in dict.fromkeys(told):
        if notice not in cache.head_notices(name, task):
            place.warning(escape_markdown(notice), icon=":material/info:")
