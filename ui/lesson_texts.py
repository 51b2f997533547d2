"""What the steps of a lesson write into the reader's text fields, and what the reader had there before."""

import streamlit as st

from bertviz_core.results.lesson import Step
from ui.sentence_examples import EXAMPLES

KEYS = ("text", "pair", "sentences")
GIVEN, OWN = "tour_given", "tour_own"
"""Keys of the session: texts that steps wrote, and the reader's that they replaced."""


def give(step: Step) -> None:
    """Write the step's texts where the model reads them; what the reader had there is kept for the end of the tour."""
    given, own = dict(st.session_state.get(GIVEN, {})), dict(st.session_state.get(OWN, {}))
    for key, text in _texts(step).items():
        now = st.session_state.get(key)
        if now is not None and now != given.get(key):
            own[key] = now
        if key not in st.query_params:
            st.session_state[key] = text
        given[key] = text
    st.session_state.update({GIVEN: given, OWN: own})


def _texts(step: Step) -> dict[str, str]:
    """Key of a text field -> what the step writes into it; a text of a step stands without the reader's second one."""
    found = {} if step.text is None else {"text": step.text, "pair": step.pair or ""}
    (example,) = step.query.get("example", ("",))[:1]
    if step.sentences is not None:
        found["sentences"] = "\n".join(step.sentences)
    elif example in EXAMPLES:
        found["sentences"] = EXAMPLES[example][1]
    return found


def give_back() -> None:
    """Bring back what the reader had; a field that the reader changed since stays."""
    given, own = st.session_state.pop(GIVEN, {}), st.session_state.pop(OWN, {})
    for key, text in own.items():
        if st.session_state.get(key) == given.get(key):
            st.session_state[key] = text
