"""Widgets of the predictions page."""

import numpy as np
import streamlit as st

from bertviz_core.figures.predictions.logit_lens import MEASURES, LensMeasure
from bertviz_core.predictions.masked_lm import MAX_MASKS
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.masked_lm import (
    COMPARE,
    FIRST_TERMS,
    LENS,
    MASK,
    MOST_TERMS,
    NO_MASK,
    POSITION,
    SHOWN,
)
from bertviz_core.text import escape_markdown
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import longest_piece
from ui.address.following import source_of, write
from ui.address.query import whole
from ui.address.registry import param
from ui.address.widgets import choice, level, typed
from ui.cache import models
from ui.widgets.cell_controls import put_token, token_names, token_select
from ui.widgets.heading import unshown
from ui.widgets.text_fields import pair, text
from ui.widgets.view_and_layer import store_state

COMPARE_WIDTH = 220
LAST_CELL = "lens_last_cell"
"""Session key of the cell of the lens clicked last."""
TERMS_OF = param("terms").options
TEXT_CHART = "predictions_text"
"""Key of the chart in which a click masks a token."""


def masked_positions(tokens: Tokens, mask_id: int | None) -> tuple[int, ...]:
    """Return the masked positions, without masks in the text itself; the longest word's by default if it has none.

    The address contains positions only, since words belong to the text.
    """
    own, stored = _first_masks(tokens, mask_id), st.session_state.get(MASK.key)
    match source_of(MASK.key, (tokens.text, tokens.pair)):
        case "address":
            written = st.query_params[MASK.key]
            stored = _positions(written, len(tokens))
            if stored is None:
                words = (
                    f"There is no mask={written[:20]} here; write up to {MAX_MASKS} positions of the text such as 2,5."
                )
                st.toast(escape_markdown(words))
        case "default" | "elsewhere":
            stored = None
    if stored is None or max(stored, default=0) >= len(tokens):
        stored = own
    own_masks = set(_typed(tokens, mask_id))
    return _keep(tokens, mask_id, [place for place in stored if place not in own_masks])


def masked_options(tokens: Tokens, masked: tuple[int, ...], position: int | None = None, word: str = "") -> Options:
    """Options for a text with masks, a position in it, and the reader's own word there."""
    values = {MASK.key: ",".join(map(str, masked)) or NO_MASK}
    values |= {} if position is None else {POSITION.key: str(position)}
    return Options((tokens.text,), tokens.pair, values={**values, **({COMPARE.key: word} if word else {})})


def mask_select(tokens: Tokens, mask_id: int | None) -> None:
    """A list of masked tokens, for the keyboard; a click on a token changes it, too."""
    names, own_masks = token_names(tokens), set(_typed(tokens, mask_id))
    st.multiselect(
        "Masked tokens",
        [place for place in range(len(tokens)) if place not in own_masks],
        format_func=names.__getitem__,
        key=MASK.key,
        max_selections=MAX_MASKS - len(own_masks) if len(own_masks) < MAX_MASKS else 1,
        help=f"Up to {MAX_MASKS}, typed ones included. A click on a token of the text masks it or takes its mask away.",
        placeholder="none",
        select_all=False,
        persist_state="session",
    )


def position_select(tokens: Tokens, masked: tuple[int, ...], mask_id: int | None) -> int:
    """The position whose words are listed, masked or not."""
    first = (*_typed(tokens, mask_id), *masked, longest_piece(tokens))[0]
    return token_select("Position", tokens, POSITION.key, first, "The token whose words are listed, masked or not.")


def read_text(name: str) -> Tokens:
    """Tokenize the sidebar's text, and show its notices."""
    tokens = models.tokens(name, text(), pair())
    for notice in unshown(tokens.notices):
        st.warning(escape_markdown(notice), icon=":material/content_cut:" if "cut off" in notice else None)
    return tokens


def lens_measure() -> LensMeasure:
    """The measure of the lens."""
    return choice(LENS, "Coloured by", MEASURES, width="content")


def take_cell(cell: tuple[int, int] | None, states: int, seq: int) -> None:
    """Select a newly clicked cell of the lens; an old click does not undo a later choice."""
    if cell != st.session_state.get(LAST_CELL):
        st.session_state[LAST_CELL] = cell
        if cell is not None and cell[0] < states and cell[1] < seq:
            store_state(cell[0])
            put_token(POSITION.key, cell[1])


def terms_choice() -> str:
    """Which terms of a pair are drawn."""
    return choice(param("terms"), "Terms of", width="content")


def shown_terms(count: int) -> int:
    """Number of terms that are drawn, the heaviest first."""
    help_text = "The heaviest ones; all are in the CSV."
    return level(SHOWN, "Terms shown", min(count, MOST_TERMS), FIRST_TERMS, help=help_text)


def word_input() -> str:
    """The reader's own word."""
    words = "How likely is it at this position, which is masked for it?"
    return typed(COMPARE, "A word of your own", help=words, width=COMPARE_WIDTH)


def take_mask() -> None:
    """Mask or unmask the clicked token, and select its position; the first click replaces the mask of the default."""
    event = st.session_state.get(TEXT_CHART)
    points = event["selection"]["points"] if event else []
    if not points:
        return
    at = points[0].get("customdata")
    place = int(at[0] if isinstance(at, list) else at)
    masked = set(st.session_state.get(MASK.key) or ())
    if MASK.key not in st.query_params and place not in masked:
        masked = set()
    if place not in masked and len(masked) >= MAX_MASKS:
        st.toast(f"At most {MAX_MASKS} tokens are masked at once; take a mask away first.")
    else:
        st.session_state[MASK.key] = sorted(masked ^ {place})
    put_token(POSITION.key, place)


def _keep(tokens: Tokens, mask_id: int | None, places: list[int]) -> tuple[int, ...]:
    """Store the masks, and write them into the address unless they are the default ones."""
    places = sorted({int(place) for place in places})
    st.session_state[MASK.key] = places
    own = places == _first_masks(tokens, mask_id)
    write(MASK.key, None if own else ",".join(map(str, places)) or NO_MASK, (tokens.text, tokens.pair))
    return tuple(places)


def _first_masks(tokens: Tokens, mask_id: int | None) -> list[int]:
    return [] if _typed(tokens, mask_id) else [longest_piece(tokens)]


def _typed(tokens: Tokens, mask_id: int | None) -> list[int]:
    """Positions of masks in the text itself."""
    return [] if mask_id is None else np.flatnonzero(np.asarray(tokens.input_ids) == mask_id).tolist()


def _positions(written: str, count: int) -> list[int] | None:
    """Parse positions such as 2,5; None for anything else."""
    if written == NO_MASK:
        return []
    places = [whole(part) for part in written.split(",")]
    valid = [place for place in places if place is not None and place < count]
    return valid if len(valid) == len(places) <= MAX_MASKS else None
