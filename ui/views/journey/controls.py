"""Selection and open parts of the drawing, as stored in the address."""

import numpy as np
import streamlit as st

from bertviz_core.figures.journey.payload import Path
from bertviz_core.journey.results import Journey
from bertviz_core.questions.interventions.journey_change import CHANGE, FORMS
from bertviz_core.questions.interventions.journey_file import EMBEDDINGS
from bertviz_core.questions.interventions.single_text import REMOVED_FOR
from bertviz_core.questions.parameters import Param
from bertviz_core.questions.texts.heads import HEAD, KEY, LAYER, QUERY
from bertviz_core.questions.texts.journey import LOOKS
from bertviz_core.trace.tokenization import longest_piece
from ui.address.query import whole
from ui.address.values import put_all
from ui.components.journey import browser_message, chosen_path

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
