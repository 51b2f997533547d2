"""Views of the Journey."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.errors import BertvizError, UnsupportedModelError
from bertviz_core.figures.base.style import Theme, theme_named
from bertviz_core.figures.journey.payload import MEASURES, DrawnChange, Ending, Path, journey_payload, parts_payload
from bertviz_core.journey.results import EmbeddingOpening, HeadOpening, Journey, LayerOpening
from bertviz_core.questions.interventions.effects import MEAN, REMOVED_FOR
from bertviz_core.questions.interventions.journey_change import (
    CHANGE,
    EMBEDDINGS,
    TEXT,
    changed_model,
    changed_number,
    drawn_change,
    journey_page,
)
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import opening_lines
from bertviz_core.questions.report.model_lines import LONGEST
from bertviz_core.questions.texts import journey as questions
from bertviz_core.questions.texts.hidden_states import QUERY
from bertviz_core.questions.texts.journey import strongest_keys
from bertviz_core.questions.texts.tokens import EDITED
from bertviz_core.text import escape_markdown, quoted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import longest_piece
from bertviz_core.trace.two_tokenizers import unchanged_positions
from ui import session
from ui.address.navigation import drawing_links, remember_journey, remember_view
from ui.address.registry import put, whole
from ui.cache.shared_model import SharedModel
from ui.components.journey import journey_parts, journey_view, serial
from ui.session import store, stored
from ui.views.journey.controls import DRAWING, first_steps, first_token, option, path_of, take_path
from ui.widgets.figure_block import explained, file_name, folded_table
from ui.widgets.files import chosen_theme, note_drawing, theme_select
from ui.widgets.heading import page_text
from ui.widgets.run_model import shown_to_user
from ui.widgets.target_controls import ChosenTarget, shared_model_of, target_options

EDITS = "journey_edits"
"""How often an edited text was compared, or the text replaced, in this session. It names the popover and its field:
under a new name the browser closes it, and has no old text to send for it."""
SHOWN = "journey_tokens"
"""The tokens that the drawing shows, of the text or of its edited version."""
HELP = "Change, add or remove words: the drawing then shows this text, and its cells the difference from the text."


def edit_button(name: str) -> None:
    """Show a button that opens a field for the edited text, with which the drawing of a model is compared."""
    text, of = page_text(), f"{EDITED.key}_of"
    if stored(of, text) != text:  # another text: nothing that was typed for the one before is an edit of it
        store(EDITED.key, text)
        store(EDITS, stored(EDITS, 0) + 1)
        if st.query_params.get(CHANGE.key, "").partition("-")[0] in (TEXT, "mask"):  # made for the text before
            put(CHANGE.key, None)
    store(of, text)
    key = f"{EDITS}_{stored(EDITS, 0)}"
    label = "Edit the text and compare"
    with (
        st.popover(label, type="tertiary", icon=":material/edit:", key=key, on_change="rerun"),
        st.form(f"{key}_form", border=False),
    ):
        st.text_area("The edited text", stored(EDITED.key, text), key=f"{key}_text", height=68, help=HELP)
        st.form_submit_button("Compare", on_click=_compare, args=(name, f"{key}_text"))


def _compare(name: str, field: str) -> None:
    edit, text, shown = str(stored(field) or ""), page_text(), stored(SHOWN)
    store(EDITED.key, edit)
    if edit != text or st.query_params.get(CHANGE.key) == TEXT:  # an unchanged text undoes no other change
        put(CHANGE.key, TEXT if edit != text else None)
    if shown is not None:
        token = whole(st.query_params.get(QUERY.key))
        try:
            after = SharedModel(name).tokens(edit or text, shown.pair)
            put(QUERY.key, _followed(shown, longest_piece(shown) if token is None else token, after))
            store(SHOWN, after)
        except BertvizError:  # which the drawing shows
            put(QUERY.key, None)
    store(EDITS, stored(EDITS, 0) + 1)


def _followed(before: Tokens, token: int, after: Tokens) -> str | None:
    """Position of a token after an edit; if it is gone that of the first new token, None if there is none."""
    unchanged = unchanged_positions(before, after)
    fresh = set(range(len(after))) - set(unchanged.values())
    return str(unchanged[token]) if token in unchanged else str(min(fresh)) if fresh else None


def change_values() -> dict[str, str]:
    """The change in the address and its edited text, as values of parameters; {} for none."""
    named = {param.key: st.query_params.get(param.key, "") for param in (CHANGE, REMOVED_FOR)}
    if named[CHANGE.key] == TEXT:
        named[EDITED.key] = str(stored(EDITED.key) or "")
    return {key: value for key, value in named.items() if value} if named[CHANGE.key] else {}


def page_change(name: str, journey: Journey) -> DrawnChange | None:
    """Run the text with the change in the address; None if it has none, or if the model was not run.

    A change that is not possible is refused in one sentence, and the drawing stays.
    """
    tokens, values = journey.tokens, change_values()
    if not values or journey.missing or tokens is None:
        return None
    try:
        with st.spinner("Running the model with the change"):
            return drawn_change(SharedModel(name), Options((tokens.text,), tokens.pair, values=values))
    except BertvizError as error:
        return DrawnChange(values[CHANGE.key], values.get(REMOVED_FOR.key) == MEAN, None, str(error))


def with_change(
    name: str, target: ChosenTarget | None, ending: Ending | None, change: DrawnChange | None
) -> Ending | None:
    """Add the number in the changed run to the end of the drawing; if it cannot be computed, a caption says why."""
    if target is None or ending is None or change is None or change.both is None:
        return ending
    if change.both.origin is not None:
        ending = replace(ending, tokens=None)  # shares of the tokens before
    try:
        changed = changed_number(shared_model_of(name), target_options(target, change_values()))
    except BertvizError as error:
        st.caption(escape_markdown(str(error)))
        return ending
    return replace(ending, changed=changed.result)


HEAD, KEY = "strongest head", "strongest key"


def numbers_table(
    opened: Opened, changed: Opened, journey: Journey, token: int, change: DrawnChange | None
) -> pd.DataFrame:
    """One token's numbers, a row per layer; under a change before and after it.

    Args:
        opened: the model.
        changed: the model as it runs with the change.
        journey: the journey that is drawn.
        token: position of the token.
        change: the change of the run.
    """
    both = None if change is None else change.both
    table = pd.DataFrame({"layer": np.arange(journey.layers)})
    for name in MEASURES:
        values, after = getattr(journey, name), None if both is None else getattr(both.after, name)
        if values is None:
            continue
        table[name] = values[:, token]
        if after is not None:
            table[f"{name} after"] = after[:, token]
            table[f"{name} difference"] = after[:, token] - values[:, token]
    if not journey.heads:
        return table
    if change is None or both is None:
        return _with_strongest(table, opened, journey, token, "")
    if both.origin is None:  # of an edited text, the text that is drawn is that after the edit
        table = _with_strongest(table, opened, journey, token, " before")
    table = _with_strongest(table, changed, journey, token, " after")
    kind, _, layer = change.name.partition("-")
    if kind == "layer":  # what its attention gives is not used
        table.loc[int(layer), [f"{HEAD} after", f"{KEY} after"]] = [pd.NA, None]
    return table


def _with_strongest(table: pd.DataFrame, opened: Opened, journey: Journey, token: int, when: str) -> pd.DataFrame:
    """Add the head and the key of the token's largest weight in each layer, in columns whose names end so."""
    if journey.tokens is None:
        return table
    options = Options((journey.tokens.text,), journey.tokens.pair, values={"query": str(token)})
    heads, keys = strongest_keys(opened, options).result
    labels = [f"{key} {journey.labels[key]}" for key in keys.tolist()]
    return table.assign(**{f"{HEAD}{when}": pd.Series(heads, dtype="Int64"), f"{KEY}{when}": pd.Series(labels)})


WORDS = """
The model runs the text once. For each layer and token:

* turn: `1 − cosine` of the token's vector before and after the layer;
* length: Euclidean length of the vector after the layer;
* entropy: `−Σ p ln p` of the token's row of attention `p`, mean over the heads, in nats.

A weight of a head is the softmax, over all keys, of the scaled product of query and key; "every number of this cell"
on the page Heads lists the scores of all keys. The strongest head and key in the table are those of all keys; the
sentence below the drawing names another word than the token itself.
"""
CHANGED = """
With a change the model runs once more. A head that is switched off has its output, before the output projection,
replaced by zero or by its mean over the reference texts; a layer that is switched off returns its input, or its input
plus its mean change; a masked token has the id of the mask token; of an edited text the tokens that both texts have are
compared, wherever they stand. A cell is the number of this run minus that of the unchanged run.
"""
RESTS_ON = """
What the answer rests on: a layer's colour is the number when this layer returns its input, minus the number as it is; a
head's frame is the same with the head's output replaced by zero, on a scale of its own. A token's share is the number
minus that of the text with the mask in place of its word, or without the word where the model has no mask.
"""


def journey_code(name: str, tokens: Tokens, change: Mapping[str, str]) -> str:
    """Lines that print the numbers of the drawing, and under a change before, after and difference.

    Args:
        name: name of the model.
        tokens: the text.
        change: values of the parameters of the change; {} for none.
    """
    texts = [each for each in (tokens.text, tokens.pair) if each is not None]
    arguments = ", ".join([*map(repr, texts)] if sum(map(len, texts)) <= LONGEST else ["text", "pair"][: len(texts)])
    lines = [f"{opening_lines(SharedModel(name))}way = model.journey({arguments})", "print(way.to_pandas())"]
    if change:
        mean = ", mean=True" if change.get(REMOVED_FOR.key) == MEAN else ""
        edited = f", edited={change[EDITED.key]!r}" if EDITED.key in change else ""
        lines.append(f"print(way.changed({change[CHANGE.key]!r}{mean}{edited}))   # before, after and difference")
    return "\n".join([*lines, ""])


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
