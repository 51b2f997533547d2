"""Remember for all sessions that the Hub could not be reached, so that lists say so and no page waits for it again.

A request that is not answered takes up to ten seconds, and each run of a page would repeat it.
"""

from time import monotonic

import streamlit as st

from ui.cache.sources import REMEMBERED_S, forget_unreached


class HubReach:
    """Whether the Hub was reached when it was last asked."""

    def __init__(self) -> None:
        self.reason = ""
        """Why it was not reached; "" if it was."""
        self.lost_at = 0.0
        """When it was not reached, by the monotonic clock in seconds."""


@st.cache_resource(max_entries=1, show_spinner=False)
def _reach() -> HubReach:
    """The state of this server."""
    return HubReach()


def lost(reason: str) -> None:
    """Remember that the Hub could not be reached.

    Args:
        reason: the sentence shown in place of a download.
    """
    reach = _reach()
    reach.reason, reach.lost_at = reason, monotonic()


def answered() -> None:
    """Forget an earlier failure: the Hub answered, or the reader wants it to be asked again."""
    _reach().reason = ""
    forget_unreached()


def reason() -> str:
    """Why the Hub could not be reached a short time ago; "" if it was reached or was not asked since."""
    reach = _reach()
    return reach.reason if monotonic() - reach.lost_at < REMEMBERED_S else ""


def is_lost() -> bool:
    """Whether the Hub could not be reached a short time ago."""
    return bool(reason())
