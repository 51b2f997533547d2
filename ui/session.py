"""Settings, theme, models and stored values of a session, and who may have one.

Session state is read and written here, in the modules of widgets (ui/widgets, ui/views/*/controls.py), in ui/address
and by the lessons, each for its own keys. A widget's key is its name in the address, so that a link restores the view.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any, NoReturn

import streamlit as st

from bertviz_core.figures.base.style import WIDE
from bertviz_core.models.sources import Offer, offers
from bertviz_core.settings import Settings
from bertviz_core.text import escape_markdown

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
"""Models compared by default: BERT from tiny to large, and two smaller variants."""
DEFAULT_TEXT = "I love my pet python."

MOST_AGREED = 100
"""Most long runs whose confirmation this server remembers."""
TRAINED_PROBE = "trained_probe"
"""Session key of the probe trained last; other pages offer it as a target."""
TOUR = "tour"
"""Session key of the current place in a lesson."""
MODELS = "models_to_choose_from"
"""Session key: the models that the current run offers."""
PIXELS = "page_pixels"
"""Session key of the page's width in pixels."""
WINDOW_WIDTH = "window_width"
"""Name of the session cookie with the window's width in pixels."""
FIGURE, ONLY = "figure", "only"
"""Name and value in the address of a frame that shows only the view's figure."""
PRESENT = "present"
"""Name in the address of the presenter's frame, which has no sidebar and large type; true where it is shown."""
TEXT_STORE = "inside-bert-texts"
"""Key of the typed texts in the browser's session storage."""
HAS_TAB_TEXTS = "has_tab_texts"
"""Name of the cookie that is 1 where the tab has stored texts. The texts themselves are in no cookie."""

at_the_end: ContextVar[tuple[Callable[[], None], ...]] = ContextVar("at_the_end", default=())
"""What is still to be sent where a page ends early: after `st.stop` nothing can be, not even by a `finally`."""
first_page_sent = Event()
"""Set when this server has sent its first page."""
_waiting: list[None] = []
"""An entry for each page or answer that a reader waits for now."""


@contextmanager
def reader_waits() -> Iterator[None]:
    """A reader waits for what is done inside the block."""
    _waiting.append(None)
    try:
        yield
    finally:
        _waiting.pop()


def is_read() -> bool:
    """Whether a reader of this server waits for a page or an answer."""
    return bool(_waiting)


def settings() -> Settings:
    """The settings of this server."""
    return _settings(tuple(os.environ.items()))


@cache
def _settings(environment: tuple[tuple[str, str], ...]) -> Settings:
    return Settings.from_environment()


def theme_name() -> str:
    """The theme of the reader's browser: light or dark."""
    return st.context.theme.type or "light"


def page_pixels() -> int:
    """The width of the reader's page, one of bertviz_core.figures.base.style.WIDTHS."""
    return int(stored(PIXELS, WIDE))


def figure_only() -> bool:
    """Whether the page is embedded and shows only the view's figure."""
    return bool(st.context.is_embedded and st.query_params.get(FIGURE) == ONLY)


def is_presenting() -> bool:
    """Whether the page is shown in the presenter's frame, which a frame on another site never is."""
    return st.query_params.get(PRESENT) == "true" and not st.context.is_embedded


def figure_fills() -> bool:
    """Whether one figure fills the window."""
    return figure_only() or is_presenting()


def look_for_models() -> tuple[Offer, ...]:
    """Look once a run which models there are to choose from; those that can run a text here come first."""
    offered = offers(settings())
    store(MODELS, offered)
    return offered


def model_offers() -> tuple[Offer, ...]:
    """The models to choose from, as this run has found them."""
    return stored(MODELS) or offers(settings())


def model_names(ready: bool = False) -> tuple[str, ...]:
    """Names of the offered models, or of those that can run a text here, which come first."""
    return tuple(each.name for each in model_offers() if not ready or each.readiness == "ready")


def end_page() -> NoReturn:
    """End the run of the page here."""
    for each in reversed(at_the_end.get()):
        each()
    st.stop()


def stored(key: str, default: Any = None) -> Any:
    """The session's value of a key, such as that of a widget, or the state that a component has sent."""
    return st.session_state.get(key, default)


def store(key: str, value: Any) -> None:
    """Store a value in this session."""
    st.session_state[key] = value


def run_allowed(run: str) -> bool:
    """Whether a reader of this server has confirmed this long run."""
    return bool(stored("long_run") == run or run in _agreed_runs())


def allow_run(run: str) -> None:
    """Remember that this long run was confirmed; other readers need not confirm it again."""
    store("long_run", run)
    agreed = _agreed_runs()
    agreed[run] = None
    for old in list(agreed)[:-MOST_AGREED]:
        agreed.pop(old, None)


def forget_run(run: str) -> None:
    """Require a new confirmation before this long run starts."""
    store("long_run", "")
    _agreed_runs().pop(run, None)


@st.cache_resource(max_entries=1, show_spinner=False)
def _agreed_runs() -> dict[str, None]:
    """Long runs that readers of this server have confirmed, the latest last."""
    return {}


WORD, FIRST_TEXT, SECOND_TEXT = "python", "I love my pet python.", "I love coding in python."
NEEDED = "authlib"
"""The package required by Streamlit's sign-in; it is in deploy/requirements-sign-in.txt."""


def has_sign_in() -> bool:
    """Whether that package is installed."""
    return find_spec(NEEDED) is not None


def secrets_read() -> bool:
    """Whether there is a valid secrets file."""
    try:
        return bool(st.secrets.load_if_toml_exists())
    except (OSError, UnicodeDecodeError):  # not valid UTF-8
        return False


def secrets_files() -> list[str]:
    """The secrets files that are there."""
    return [path for path in st.get_option("secrets.files") if Path(path).exists()]


def require_sign_in() -> None:
    """Require a sign-in if it is on: show a sign-out button to users, and end the page for everyone else.

    Call this after `st.navigation`, before anything that shows a model or a text. The provider decides who may sign in.
    If the secrets file cannot be read, nobody gets in, since it may require a sign-in.
    """
    providers = sign_in_providers()
    if providers is None:
        if not settings().require_sign_in:
            return
        providers = ()
    if not providers:
        _refuse_sign_in(
            "Sign-in is set up in a way that cannot be used; whoever runs this instance finds more in docs/deployment."
        )
    if not has_sign_in():
        _refuse_sign_in(
            "Sign-in is required but not installed; whoever runs this instance finds how in docs/deployment."
        )
    if st.user.is_logged_in:
        with st.sidebar:
            who = st.user.get("name") or st.user.get("email") or "someone"
            st.caption(f"Signed in as {escape_markdown(str(who))}")
            st.button("Sign out", key="sign_out", on_click=st.logout)
        return
    st.title("Inside BERT", anchor=False)
    st.write("Please sign in to use this instance.")
    for provider in providers:
        label = "Sign in" if provider == "" else f"Sign in with {escape_markdown(provider)}"
        st.button(label, key=f"sign_in_{provider}", on_click=st.login, args=(provider,) if provider else ())
    st.stop()


def sign_in_providers() -> tuple[str, ...] | None:
    """Names of the providers in [auth], "" for the unnamed one; None if sign-in is off."""
    if not secrets_read():
        return () if secrets_files() else None
    if "auth" not in st.secrets:
        return None
    section: Any = st.secrets["auth"]
    if not hasattr(section, "items"):
        return ()
    named = tuple(name for name, value in section.items() if hasattr(value, "items") and "client_id" in value)
    return ("", *named) if "client_id" in section else named


def _refuse_sign_in(sentence: str) -> None:
    st.error(sentence, icon=":material/block:")
    st.stop()
