"""The presenter's frame around every page: no sidebar, large type, figures enlarged, and a way out."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from ui.components.navigation import HISTORY_JS
from ui.session import PRESENT

KEY = "presenter"
"""Key of the frame's container."""
LARGER = 1.3
"""How many times figures are enlarged, so that their usual text has 18 pixels; the same in `PAGE`."""
_HERE = Path(__file__)
PAGE = _HERE.with_name("page.css")
"""Stylesheet of a page in the frame."""
_component = st.components.v2.component(
    "presenter",
    html='<a href="#" role="button" aria-keyshortcuts="Escape">Leave <kbd>Esc</kbd></a>',
    css=_HERE.with_name("presenter.css").read_text(encoding="utf-8"),
    js=f'const PRESENT = "{PRESENT}";\n{HISTORY_JS}' + _HERE.with_name("presenter.js").read_text(encoding="utf-8"),
)


def presenter() -> None:
    """Show the way out of the presenter's frame."""
    st.html(PAGE)
    with st.container(key=KEY):
        _component(key="presenter_way_out", height="content", width="content")


@contextmanager
def enlarged(height: int, key: str) -> Iterator[int]:
    """Draw a chart of the presenter's frame inside the block, enlarged.

    Args:
        height: height of the chart in pixels, before it is enlarged.
        key: key of the chart.

    Yields:
        The height that the chart is given: Streamlit measures it on the screen, where it is larger.
    """
    with st.container(height=round(LARGER * height), border=False, key=f"enlarged_{key}"):
        yield round(height / LARGER)
