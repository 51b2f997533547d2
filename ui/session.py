"""What holds for a whole session or for all of this server: settings, theme, models offered, values by key.

Streamlit's session state is read and written here, in the modules of controls (ui/widgets, ui/views/*/controls.py) and
by the tour of lessons, each for keys of its own; all others ask these modules. Every widget's key is its name in the
address, so that a link restores the view.
"""

from threading import Event
from typing import Any

import streamlit as st

from bertviz_core.figures.base.style import WIDE
from bertviz_core.models.sources import offers
from bertviz_core.settings import Settings

TEACHING_SIZES = (
    "bert-tiny",
    "bert-mini",
    "bert-small",
    "bert-medium",
    "bert-base-uncased",
    "bert-large-uncased",
    "albert-base-v2",
    "distilbert-base-uncased",
)
"""Models that stand side by side to begin with: BERT from tiny to large, and two ways to make it smaller."""
DEFAULT_TEXT = "I love my pet python."

MOST_AGREED = 100
"""Long runs that this server remembers to have been asked for."""
TRAINED_PROBE = "trained_probe"
"""Key of the session: the probe that the page Predictions showed last; it is a target on other pages."""
PIXELS = "page_pixels"
"""Key of the session: how wide the page is."""
WINDOW_WIDTH = "window_width"
"""Name of the cookie with the window's width in pixels, which is gone with the browser's session."""
FIGURE, ONLY = "figure", "only"
"""Name and value in the address of a frame that shows the figure of its view alone."""
TEXT_STORE = "inside-bert-texts"
"""Name of what a tab keeps of the texts that its reader typed, in the browser's own store of that tab."""
TEXTS_KEPT = "texts_kept"
"""Name of the cookie that says whether the tab loaded last keeps any: 1 for yes. The texts are in no cookie."""

first_page_sent = Event()
"""Set when this server has run its first page for a reader."""


def settings() -> Settings:
    """Settings of this server."""
    return Settings.from_environment()


def theme_name() -> str:
    """Theme of the reader's browser: light or dark."""
    return st.context.theme.type or "light"


def page_pixels() -> int:
    """Width of the reader's page, one of bertviz_core.figures.base.style.WIDTHS."""
    return int(stored(PIXELS, WIDE))


def figure_only() -> bool:
    """Whether this is a frame of another page, for the figure of the view and nothing else."""
    return bool(st.context.is_embedded and st.query_params.get(FIGURE) == ONLY)


def model_names() -> tuple[str, ...]:
    """Names of the models offered, those first that can run a text here."""
    return tuple(offer.name for offer in offers(settings()))


def stored(key: str, default: Any = None) -> Any:
    """What this session holds under a key, such as a widget's value; the default where it holds nothing."""
    return st.session_state.get(key, default)


def store(key: str, value: Any) -> None:
    """Have this session hold a value under a key."""
    st.session_state[key] = value


def run_allowed(run: str) -> bool:
    """Whether this reader, or another one of this server before, has asked for this long run."""
    return bool(stored("long_run") == run or run in _agreed_runs())


def allow_run(run: str) -> None:
    """Remember that the reader asked for this long run; who wants the same meanwhile is not asked again."""
    store("long_run", run)
    agreed = _agreed_runs()
    agreed[run] = None
    for old in list(agreed)[:-MOST_AGREED]:
        agreed.pop(old, None)


def forget_run(run: str) -> None:
    """Have this long run begin only when it is asked for again."""
    store("long_run", "")
    _agreed_runs().pop(run, None)


@st.cache_resource(max_entries=1, show_spinner=False)
def _agreed_runs() -> dict[str, None]:
    """The long runs that readers of this server asked for, the latest last."""
    return {}


def component_state(key: str) -> Any:
    """What the component of this key has said; None before it has said anything."""
    return st.session_state.get(key)


CORPUS_QUERY = "rain all night"
"""What is searched for in a corpus to begin with."""
WORD, FIRST_TEXT, SECOND_TEXT = "python", "I love my pet python.", "I love coding in python."
QUESTION = (
    "What does the python eat?",
    "My pet python sleeps in a warm corner of the kitchen. Once a week it eats a mouse, and then it rests for days.",
)
"""An example of a question and the context that is searched for its answer."""
