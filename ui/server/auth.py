"""Sign-in through Streamlit's own OpenID Connect: off, unless the instance's secrets have a section [auth]."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import streamlit as st

from ui.widgets.formatting import escape_markdown

NEEDED = "authlib"
"""The package that Streamlit's sign-in runs on; deploy/requirements-sign-in.txt has it."""


def require_sign_in() -> None:
    """Nothing where sign-in is off; else a way out for those who are in, and the end of the page for all others.

    To be called after `st.navigation`, before anything that shows a model or a text. Who may sign in is decided by the
    provider. A secrets file that cannot be read lets no one in, since it may have asked for a sign-in.
    """
    providers = _providers()
    if providers is None:
        return
    if not providers:
        _refuse(
            "Sign-in is set up in a way that cannot be used; whoever runs this instance finds more in docs/deployment."
        )
    if find_spec(NEEDED) is None:
        _refuse("Sign-in is asked for but not installed; whoever runs this instance finds how in docs/deployment.")
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


def _providers() -> tuple[str, ...] | None:
    """Names of the providers in [auth], the unnamed one as ""; None where sign-in is off."""
    if not st.secrets.load_if_toml_exists():
        unread = any(Path(path).exists() for path in st.get_option("secrets.files"))
        return () if unread else None
    if "auth" not in st.secrets:
        return None
    section: Any = st.secrets["auth"]
    if not hasattr(section, "items"):
        return ()
    named = tuple(name for name, value in section.items() if hasattr(value, "items") and "client_id" in value)
    return ("", *named) if "client_id" in section else named


def _refuse(sentence: str) -> None:
    st.error(sentence, icon=":material/block:")
    st.stop()
