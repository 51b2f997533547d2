"""What Representations draws by itself: maps of all layers at once, and controls for tokens and texts."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import streamlit as st
from jaxtyping import Float

from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.hidden_states.heatmaps import token_similarity_figure, values_figure
from bertviz_core.hidden_states.geometry import (
    first_tokens,
    largest_value,
    most_alike,
    outlier_dimensions,
    shared_word,
    token_cosines,
)
from bertviz_core.hidden_states.results import state_name
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.hidden_states import (
    FIRST,
    MOST_PATHS,
    PICKED,
    SHOWN_TOKENS,
    TOKENS,
    WIDTH,
    WINDOW,
    WORD,
    run,
)
from bertviz_core.questions.view import Ask, Part
from bertviz_core.questions.views import representations as views
from bertviz_core.text import decimals, escape_markdown, isolated
from bertviz_core.trace.results import Tokens, Trace
from ui.address.navigation import source_of, write, write_brought
from ui.address.registry import whole
from ui.address.widgets import BOUND, keep_among, keep_span, level, span
from ui.cache.figures import cached_figure
from ui.cache.shared_model import SharedModel
from ui.components.chart import all_layers, clicked_cell, fit_ahead, run_again
from ui.engine import Specials, draw_parts
from ui.session import FIRST_TEXT, SECOND_TEXT
from ui.session import WORD as USUAL_WORD
from ui.widgets import run_model
from ui.widgets.figure_block import chart, download_row, explained, folded_table, numbers_table, page_theme
from ui.widgets.heading import page_pair, page_text, say_example, token_names
from ui.widgets.models import state_select

WORD_KEYS = ("word", "first_text", "second_text")
FILLED_IN = "word_filled_in"
"""Session key: the word and the sentences that were filled in for the reader."""
MOST_TOKENS = 512
WINDOWS = (8, 16, 32, 64, 128, 256)


def show_values(opened: SharedModel, ask: Ask, options: Options) -> Iterable[Part] | None:
    """A window of dimensions of one hidden state, or the pooler."""
    if options.get(views.VECTORS.key) == views.VECTORS.options[1]:
        return views.pooler_view(opened, ask, options)
    _values(opened, ask, ask(run, options).result)
    return None


def show_similarity(opened: SharedModel, ask: Ask, options: Options) -> None:
    """Cosines of all tokens in one hidden state."""
    _similarity(opened, ask(run, options).result)


@st.fragment
def show_paths(opened: SharedModel, ask: Ask, options: Options) -> None:
    """Paths of chosen tokens."""
    picked = picked_tokens(ask(run, options).result.tokens)
    if not picked:
        st.info("Choose at least one token.")
        return
    options = replace(options, values={PICKED.key: ".".join(map(str, picked))})
    draw_parts(views.paths_view(opened, ask, options), opened, ask, options)


def show_input(opened: SharedModel, ask: Ask, options: Options) -> Iterable[Part]:
    """The input of the tokens that are shown."""
    first, last = token_range(len(ask(run, options).result.tokens), SHOWN_TOKENS)
    return views.input_view(opened, ask, replace(options, values={TOKENS.key: f"{first}:{last}"}))


@st.fragment
def show_word(opened: SharedModel, ask: Ask, _: Options) -> None:
    """One word in two texts of the reader."""
    word, *texts = word_inputs()
    options = Options(tuple(texts), values={WORD.key: word})
    opened = SharedModel(opened.name, *(run_model.traced(opened.name, each, None) for each in texts))
    draw_parts(views.word_view(opened, ask, options), opened, ask, options)


@st.fragment
def _values(opened: SharedModel, ask: Ask, trace: Trace) -> None:
    hidden = trace.hidden_states.shape[-1]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        entry = _state(trace.num_hidden_layers)
        window = window_select([*(size for size in WINDOWS if size < hidden), hidden])
        first = level(FIRST, "First dimension", hidden - window, 0, least=0, width=320)
    values = trace.hidden_states[entry][:, first : first + window]
    pictures = [values_figure(trace, each, first, window) for each in range(len(trace.hidden_states))]
    picture, key, name = pictures[entry], "representations_values", state_name(entry)
    _switched(key, entry, pictures, trace.hidden_states[:, :, first : first + window])
    _clicked_value(trace, key, entry)
    _standing_out(trace, entry)
    download_row(picture, key, f"hidden states {name} {trace.model}", picture.title, texts=trace.tokens)
    draw_parts([views.all_states(trace, "values")], opened, ask, Options())
    folded_table(key, picture.frame, picture.title)
    shape = tuple(values.shape)
    code = views.VALUES_CODE.format(entry=entry, first=first, stop=first + window, name=name, shape=shape)
    explained(key, views.VALUES_WORDS, views.run_lines(opened, trace) + code)


def _clicked_value(trace: Trace, key: str, entry: int) -> None:
    """The exact value of the clicked cell."""
    cell = clicked_cell(key)
    if not cell or cell[0] >= len(trace.tokens) or cell[1] >= trace.hidden_states.shape[-1]:
        st.caption("Choose a cell for its exact value.")
        return
    token, dimension = cell
    word = escape_markdown(isolated(trace.tokens.tokens[token]))
    value = trace.hidden_states[entry][token, dimension]
    st.markdown(f"Token {token} **{word}**, dimension {dimension}, {state_name(entry)}: **{value:.7f}**")


OUTLIERS = (
    ": far from the token's other values in many tokens, not in one alone as the largest value may be, so that they "
    "weigh most in a cosine of raw hidden states."
)


def _standing_out(trace: Trace, entry: int) -> None:
    """The largest value shown, and the dimensions that are large for many tokens in any hidden state."""
    largest = largest_value(trace.hidden_states[entry])
    word = escape_markdown(isolated(trace.tokens.tokens[largest.token]))
    outliers = outlier_dimensions(trace.hidden_states)
    listed = ", ".join(
        f"dimension {dimension} (up to {peak:.1f} standard deviations)"
        for dimension, peak in zip(outliers.dimensions.tolist()[:6], outliers.peak.tolist(), strict=False)
    )
    st.markdown(
        f"Of all tokens and dimensions the largest value {state_name(entry)}, whatever its sign: "
        f"**{decimals(largest.value, 2)}** in dimension {largest.dimension} of "
        f"“**{word}**” ({largest.deviations:.1f} standard deviations from the mean of its values). "
        f"Outlier dimensions over all hidden states: **{listed or 'none'}**{OUTLIERS if listed else '.'}",
        help=outliers.rule,
    )


def _switched(
    key: str, entry: int, pictures: Sequence[FigureSpec], values: Float[np.ndarray, "states seq window"]
) -> None:
    """The chart of one hidden state; small charts are sent for all states, and the browser switches between them."""
    if len(pictures) == 1 or not fit_ahead(values):
        chart(pictures[entry], key, run_again)
        return
    theme = page_theme()
    drawn = [cached_figure(each, theme) for each in pictures]
    chart(pictures[0], key, run_again, layers=all_layers("layer", drawn, [each.alt for each in pictures]))


@st.fragment
def _similarity(opened: SharedModel, trace: Trace) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        entry = _state(trace.num_hidden_layers)
        first, last = token_range(len(trace.tokens), SHOWN_TOKENS)
    cosines, name = token_cosines(trace.hidden_states[:, first : last + 1]), state_name(entry)
    pictures = [token_similarity_figure(cosines, trace, first, each) for each in range(len(cosines))]
    picture, key = pictures[entry], "representations_similarity"
    _switched(key, entry, pictures, cosines)
    if pair := most_alike(cosines[entry], trace.tokens, first):
        one, two = (f"“**{escape_markdown(isolated(trace.tokens.tokens[place]))}**”" for place in pair)
        value = decimals(float(cosines[entry][pair[0] - first, pair[1] - first]), 2)
        st.markdown(
            f"Of the tokens drawn, most alike {name}: {one} and {two}, cosine **{value}**. 1 is the same direction, "
            "0 is unrelated; equal tokens and special ones are left out."
        )
    download_row(picture, key, f"token similarity {name} {trace.model}", picture.title, texts=trace.tokens)
    numbers_table(picture.frame(), picture.title)
    code = views.SIMILARITY_CODE.format(entry=entry, first=first, stop=last + 1, name=name)
    explained(key, views.SIMILARITY_WORDS, views.run_lines(opened, trace) + code)


def _state(layers: int) -> int:
    return state_select(layers, "The embeddings, or the output of this layer.")


def window_select(sizes: list[int]) -> int:
    """How many dimensions are drawn."""
    first = WINDOW if WINDOW in sizes else sizes[0]
    keep_among(WIDTH.key, sizes, sizes[0])
    stored = st.session_state.get(WIDTH.key, first)
    write_brought(WIDTH.key, None if stored == first else str(stored))
    chosen = st.selectbox("Dimensions shown", sizes, sizes.index(first), key=WIDTH.key, width=160, **BOUND)
    return int(chosen or sizes[0])


def token_range(count: int, shown: int) -> tuple[int, int]:
    """First and last position of the tokens drawn; no widget where all of them are drawn."""
    if count <= 2:
        return 0, count - 1
    if count <= shown:
        keep_span(TOKENS.key, count)
        return 0, count - 1
    help_text = f"Positions from and to, at most {MOST_TOKENS} at once."
    first, last = span(TOKENS, "Tokens", count, (0, shown - 1), help=help_text, width=320)
    if last - first >= MOST_TOKENS:
        last = first + MOST_TOKENS - 1
        st.caption(f"Showing tokens {first} to {last}; at most {MOST_TOKENS} are drawn at once.")
    return first, last


def picked_tokens(tokens: Tokens) -> list[int]:
    """Positions of the tokens whose paths are drawn; the address contains positions only."""
    own, of = first_tokens(tokens), (tokens.text, tokens.pair)
    match source_of(PICKED.key, of):
        case "address":
            st.session_state[PICKED.key] = _positions(st.query_params[PICKED.key], len(tokens)) or own
        case "default" | "elsewhere":
            st.session_state[PICKED.key] = own
    names = token_names(tokens)
    words = f"Whose paths are drawn, up to {MOST_PATHS}."
    picked = st.multiselect(
        "Tokens",
        range(len(tokens)),
        format_func=names.__getitem__,
        key=PICKED.key,
        max_selections=MOST_PATHS,
        help=words,
        persist_state="session",
    )
    places = sorted(int(place) for place in picked)
    write(PICKED.key, ".".join(map(str, places)) if places and places != own else None, of)
    return places


def _positions(written: str, count: int) -> list[int]:
    """Parse positions such as 1.4.5; empty for anything else."""
    places = [whole(part) for part in written.split(".")]
    valid = {place for place in places if place is not None}
    return sorted(place for place in valid if place < count) if None not in places and len(places) <= MOST_PATHS else []


def word_inputs() -> tuple[str, str, str]:
    """A word and two sentences that contain it: the reader's own texts, if they have a word in common.

    They follow the texts of the sidebar until the reader changes one of the three.
    """
    first_text, second_text = page_text(), page_pair() or ""
    shared = shared_word(first_text, second_text)
    usual = (USUAL_WORD, FIRST_TEXT, SECOND_TEXT)
    own = (shared, first_text, second_text) if shared else usual
    now = tuple(st.session_state.get(key) for key in WORD_KEYS)
    if now in ((None, None, None), st.session_state.get(FILLED_IN)):
        st.session_state.update(zip(WORD_KEYS, own, strict=True))
        st.session_state[FILLED_IN] = own
    for key, default in zip(WORD_KEYS, usual, strict=True):
        st.session_state.setdefault(key, default)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        word = st.text_input("Word", key="word", persist_state="session", width=160)
        first = st.text_input("Sentence 1", key="first_text", persist_state="session")
        second = st.text_input("Sentence 2", key="second_text", persist_state="session")
    texts = first or FIRST_TEXT, second or SECOND_TEXT
    if texts == usual[1:] and not shared:
        say_example(texts[1], "Two texts with a word in common. Write your own above.", texts[0])
    return (word or "").strip() or USUAL_WORD, *texts


SPECIAL: Specials = {
    "Values": show_values,
    "Token similarity": show_similarity,
    "Paths": show_paths,
    "Input": show_input,
    "One word, two texts": show_word,
}
