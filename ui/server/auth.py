"""Sign-in through Streamlit's OpenID Connect: off unless a setting or the instance's secrets enable it."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.settings import Settings
from bertviz_core.text import escape_markdown
from ui.session import settings

NEEDED = "authlib"
"""The package required by Streamlit's sign-in; it is in deploy/requirements-sign-in.txt."""
OF_ALL, OF_PROVIDER = ("redirect_uri", "cookie_secret"), ("client_id", "client_secret", "server_metadata_url")
"""Required keys of [auth], and of a provider in it or in [auth.NAME]."""


def check_sign_in(current: Settings) -> bool:
    """Check at startup whether sign-in is on and can work; log a warning if there are secrets and it is off.

    Raises:
        BertvizError: sign-in is on and incomplete; the message says what is missing.
    """
    if not current.require_sign_in and _providers() is None:
        if _secrets_files():
            sys.stderr.write("Sign-in is off: the secrets have no section [auth]. Everyone who reaches this is in.\n")
        return False
    lacks = _lacks()
    if lacks:
        raise BertvizError(
            f"Sign-in is required (INSIDE_BERT_REQUIRE_SIGN_IN or a section [auth]) and cannot work: {lacks}. "
            "docs/deployment.md shows a complete section; without sign-in, unset the one and remove the other."
        )
    return True


def _lacks() -> str:
    """What sign-in lacks, as part of a sentence; "" for nothing."""
    files = " or ".join(str(path) for path in st.get_option("secrets.files"))
    if not _secrets_files():
        return f"there is no secrets file ({files})"
    if not _secrets_read():
        return f"the secrets file ({files}) cannot be read as TOML"
    if "auth" not in st.secrets:
        others = ", ".join(f"[{name}]" for name in st.secrets) or "nothing"
        return f"the secrets have no section [auth], spelled like that, but {others}"
    section: Any = st.secrets["auth"]
    if not hasattr(section, "items"):
        return "auth is a value in the secrets where a section [auth] is expected"
    lacking = [name for name in OF_ALL if not _filled(section, name)]
    providers = {name: value for name, value in section.items() if hasattr(value, "items")} or {"": section}
    for provider, value in providers.items():
        lacking += [f"{provider}.{name}".lstrip(".") for name in OF_PROVIDER if not _filled(value, name)]
    if lacking:
        return f"[auth] does not say {', '.join(lacking)}"
    return "" if find_spec(NEEDED) else f"the package {NEEDED} is not installed"


def _filled(section: Any, name: str) -> bool:
    return name in section and isinstance(section[name], str) and bool(section[name].strip())


def _secrets_read() -> bool:
    """Whether there is a valid secrets file."""
    try:
        return bool(st.secrets.load_if_toml_exists())
    except (OSError, UnicodeDecodeError):  # not valid UTF-8
        return False


def _secrets_files() -> list[str]:
    return [path for path in st.get_option("secrets.files") if Path(path).exists()]


def require_sign_in() -> None:
    """Require a sign-in if it is on: show a sign-out button to users, and end the page for everyone else.

    Call this after `st.navigation`, before anything that shows a model or a text. The provider decides who may sign in.
    If the secrets file cannot be read, nobody gets in, since it may require a sign-in.
    """
    providers = _providers()
    if providers is None:
        if not settings().require_sign_in:
            return
        providers = ()
    if not providers:
        _refuse(
            "Sign-in is set up in a way that cannot be used; whoever runs this instance finds more in docs/deployment."
        )
    if find_spec(NEEDED) is None:
        _refuse("Sign-in is required but not installed; whoever runs this instance finds how in docs/deployment.")
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
    """Names of the providers in [auth], "" for the unnamed one; None if sign-in is off."""
    if not _secrets_read():
        return () if _secrets_files() else None
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
