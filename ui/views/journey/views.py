"""The drawing of the text's path through the whole model, and its numbers as a table."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.figures.base.style import Theme, theme_named
from bertviz_core.figures.journey.payload import DrawnChange, Ending, Path, journey_payload, parts_payload
from bertviz_core.journey.results import EmbeddingOpening, HeadOpening, Journey, LayerOpening
from bertviz_core.questions.interventions.journey_change import changed_model
from bertviz_core.questions.interventions.journey_file import EMBEDDINGS, journey_page
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts import journey as questions
from bertviz_core.text import escape_markdown, quoted
from bertviz_core.trace.results import Tokens
from ui import session
from ui.address.journey_links import drawing_links
from ui.address.journey_place import remember_journey
from ui.address.navigation import remember_view
from ui.cache.shared_model import SharedModel
from ui.components.journey import journey_parts, journey_view, serial
from ui.views.journey.change import SHOWN, change_values, page_change, with_change
from ui.views.journey.controls import DRAWING, first_token, option, path_of, take_path
from ui.views.journey.first_steps import first_steps
from ui.views.journey.table import numbers_table
from ui.views.journey.texts import CHANGED, RESTS_ON, WORDS, journey_code
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import explained, file_name, folded_table
from ui.widgets.files.captions import note_drawing
from ui.widgets.files.theme import chosen_theme, theme_select
from ui.widgets.target_controls.opened import ChosenTarget

SAME = "norms"
"""Name of the figure with the numbers of the drawing's cells, in `figure --list`."""
FILE_HELP = "One file in which the layers and heads of the chosen token still open; it needs no network."


@st.fragment
@shown_to_user()
def drawing_view(
    name: str, journey: Journey, target: ChosenTarget | None, ending: Ending | None, with_first_steps: bool = False
) -> None:
    """Show the drawing; a change, and the content of a part, are computed when the reader asks for them.

    Args:
        name: name of the model.
        journey: the numbers of the drawing.
        target: the number that is traced back; None for none.
        ending: that number and what it rests on, once it is computed.
        with_first_steps: whether the drawing is followed by what a beginner can try.
    """
    change, longest = page_change(name, journey), first_token(journey)
    both = None if change is None else change.both
    drawn = journey if both is None else both.before
    path = path_of(drawn)
    session.store(SHOWN, drawn.tokens)
    remember_journey(path, journey.layers, longest)
    remember_view()
    ending = with_change(name, target, ending, change)
    opened = SharedModel(name)
    run = opened if drawn.tokens is None else changed_model(opened, _options(drawn.tokens), change)
    openings = [] if journey.missing else _openings(run, drawn, path)
    payload = journey_payload(
        drawn,
        theme=theme_named(session.theme_name()),
        path=path,
        openings=openings,
        ending=ending,
        change=change,
        answered=serial(DRAWING),
        links=[] if st.context.is_embedded else drawing_links(journey.layers, longest),
        controls=not session.figure_only(),
        looks={param.key: option(param) for param in questions.LOOKS},
    )
    journey_view(payload, DRAWING, take_path)
    if openings and path.open != EMBEDDINGS:
        journey_parts(parts_payload(drawn, _next_openings(run, drawn, path), change), f"{DRAWING}_parts")
    if with_first_steps:
        first_steps(name, journey)
    if journey.turn is not None:
        _files(name, drawn, path, ending, change)
        words = f"The way of token {path.token} through {journey.model}{f'. {both.sentence}' if both else ''}"
        folded_table(DRAWING, numbers_table(opened, run, drawn, path.token, change), words)
        if journey.tokens is not None:
            code = journey_code(name, journey.tokens, {} if both is None else change_values())
            words = WORDS + ("" if both is None else CHANGED) + ("" if ending is None else RESTS_ON)
            explained(DRAWING, words, code)
    if openings and path.head is None:  # last, since the reader may not open it
        journey_parts(parts_payload(drawn, _next_layer(run, drawn, path), change), f"{DRAWING}_next")


def _files(name: str, journey: Journey, path: Path, ending: Ending | None, change: DrawnChange | None) -> None:
    """Downloads: the drawing as an interactive HTML page, and its numbers."""
    tokens = journey.tokens
    if tokens is None:
        return
    changed = change is not None and change.both is not None
    filename = file_name(DRAWING, f"journey {journey.model}{f' {change.name}' if change and changed else ''}")
    chosen = {"query": str(path.token), "layer": path.open}
    chosen |= {name: str(at) for name, at in (("head", path.head), ("key", path.key)) if at is not None}
    chosen |= {param.key: option(param) for param in questions.LOOKS}

    def page(theme: Theme) -> str:
        return journey_page(SharedModel(name), _options(tokens, chosen), theme, ending, change if changed else None)[0]

    note_drawing(DRAWING, f"Journey of {quoted(tokens.text, 60)} through {journey.model}", page, (SAME,))
    theme = theme_named(chosen_theme() or session.theme_name())
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.download_button(
            "HTML",
            partial(page, theme),
            f"{filename}.html",
            "text/html",
            key=f"{DRAWING}_html",
            help=FILE_HELP,
            on_click="ignore",
        )
        theme_select(DRAWING)


def _options(tokens: Tokens, values: Mapping[str, str] | None = None) -> Options:
    return Options((tokens.text,), tokens.pair, values=dict(values or {}))


def _openings(opened: Opened, journey: Journey, path: Path) -> list[EmbeddingOpening | LayerOpening | HeadOpening]:
    """Compute the open parts; for a part that this model does not have, a message is shown below the drawing."""
    tokens, values = journey.tokens, {"query": str(path.token)}
    if tokens is None:
        return []
    found: list[EmbeddingOpening | LayerOpening | HeadOpening] = []
    try:
        if path.open == EMBEDDINGS:
            found.append(questions.embeddings(opened, _options(tokens, values)).result)
        elif path.open:
            values["layer"] = path.open
            layer = questions.layer_opening(opened, _options(tokens, values)).result
            found.append(layer)
            if path.head is not None:
                key = int(layer.rows[path.head].argmax()) if path.key is None else path.key
                values |= {"head": str(path.head), "key": str(key)}
                found.append(questions.head_opening(opened, _options(tokens, values)).result)
    except UnsupportedModelError as error:
        st.caption(escape_markdown(str(error)))
    return found


def _next_layer(
    opened: Opened, journey: Journey, path: Path
) -> tuple[EmbeddingOpening | LayerOpening | HeadOpening, ...]:
    """Compute the layer after the open one and its heads, so that stepping through the layers does not wait."""
    layer = int(path.open) + 1 if path.open.isdecimal() else journey.layers
    if layer >= journey.layers:
        return ()
    following = Path(path.token, str(layer))
    return (*_openings(opened, journey, following), *_next_openings(opened, journey, following))


def _next_openings(opened: Opened, journey: Journey, path: Path) -> tuple[HeadOpening, ...]:
    """Compute what can be opened in the open part; nothing where this model has no such parts."""
    tokens, ribbon = journey.tokens, questions.RIBBON
    if tokens is None:
        return ()
    values = {"query": str(path.token), "layer": path.open, ribbon.key: option(ribbon)}
    if path.head is not None:
        values["head"] = str(path.head)
    try:
        return questions.next_openings(opened, _options(tokens, values)).result
    except UnsupportedModelError:
        return ()
