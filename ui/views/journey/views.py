"""The drawing of the text's way through the whole model, and its numbers as a table."""

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.figures.base.style import theme_named
from bertviz_core.figures.journey.payload import Path, journey_payload
from bertviz_core.journey.results import EmbeddingOpening, HeadOpening, Journey, LayerOpening
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts import journey as questions
from ui import session
from ui.cache.shared_model import SharedModel
from ui.components.journey import journey_view, serial
from ui.views.journey.controls import DRAWING, EMBEDDINGS, option, path_of, take_path
from ui.widgets import controls
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import folded_table
from ui.widgets.formatting import escape_markdown

LINKS = {"attention": "attention", "cell": "heads?view=One+cell"}
"""Place in the drawing -> the page that shows it whole."""


@st.fragment
@shown_to_user()
def drawing_view(name: str, journey: Journey) -> None:
    """The drawing; what opens in it is computed when it opens."""
    path = path_of(journey)
    openings = [] if journey.missing else _openings(SharedModel(name), path)
    colour = option(questions.COLOUR.key, questions.COLOURS)
    payload = journey_payload(
        journey,
        theme=theme_named(session.theme_name()),
        path=path,
        colour=colour,
        ribbon=option(questions.RIBBON.key, questions.RIBBON.options),
        openings=openings,
        said=serial(DRAWING),
        links=LINKS,
    )
    journey_view(payload, DRAWING, take_path)
    if journey.turn is not None:
        folded_table(DRAWING, _table(journey, path.token), f"The way of token {path.token} through {journey.model}")


def _openings(opened: SharedModel, path: Path) -> list[EmbeddingOpening | LayerOpening | HeadOpening]:
    """What is open; a part that this model does not have is said below the drawing."""
    values = {"query": str(path.token)}
    found: list[EmbeddingOpening | LayerOpening | HeadOpening] = []
    try:
        if path.open == EMBEDDINGS:
            found.append(questions.embeddings(opened, _asked(values)).result)
        elif path.open:
            values["layer"] = path.open
            layer = questions.layer_opening(opened, _asked(values)).result
            found.append(layer)
            if path.head is not None:
                key = int(layer.rows[path.head].argmax()) if path.key is None else path.key
                values |= {"head": str(path.head), "key": str(key)}
                found.append(questions.head_opening(opened, _asked(values)).result)
    except UnsupportedModelError as error:
        st.caption(escape_markdown(str(error)))
    return found


def _asked(values: dict[str, str]) -> Options:
    return Options((controls.text(),), controls.pair(), values=dict(values))


def _table(journey: Journey, token: int) -> pd.DataFrame:
    """One token's numbers, a row a layer."""
    named = {"turn": journey.turn, "length": journey.length, "entropy": journey.entropy}
    columns = {name: values[:, token] for name, values in named.items() if values is not None}
    return pd.DataFrame({"layer": np.arange(journey.layers), **columns})
