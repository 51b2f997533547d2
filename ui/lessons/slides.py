"""The pinned views as slides: a button that draws them, in the background and in turn, then one that saves the file."""

from collections.abc import Hashable

import streamlit as st

from bertviz_core.errors import BertvizError
from ui import session
from ui.cache.jobs import board
from ui.cache.readers import this_reader
from ui.lessons.handout import picture_count, slide_maker, slides_key
from ui.lessons.pins import PinnedViews
from ui.widgets.formatting import escape_markdown
from ui.widgets.lists.progress import progress_words

PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
KIND, TURNS, EVERY_S = "slides", "slides", 0.5
"""Kind of the work, of which a reader waits for one; its queue, so that one browser draws at a time; how often the
progress is shown anew."""
FAULT = "pinned_slides_fault"
"""Session key: what the last slides were made from and the sentence why they could not be; None for none."""
HELP = "One slide a view, 16:9: title and note as text to edit, figures as pictures, the whole note in the notes."


def slides_button(views: PinnedViews, file_name: str) -> None:
    """Show the button that makes the slides of the pinned views, their progress, or the button that saves them.

    Args:
        views: the pinned views, one at least.
        file_name: name of the file.
    """
    key = slides_key(views)
    job = board().find(key)
    if job is not None and job.error is not None:
        board().forget(key)
        if not isinstance(job.error, BertvizError):
            raise job.error
        session.store(FAULT, (key, str(job.error)))
    elif job is not None and job.state in ("waiting", "running"):
        _progress(key)
        return
    elif job is not None and job.result is not None:
        st.download_button(
            f"Save the slides, {len(job.result) / 2**20:.1f} MiB",
            job.result,
            file_name,
            PPTX,
            key="pinned_slides",
            icon=":material/download:",
            on_click="ignore",
        )
        return
    of, fault = session.stored(FAULT) or (None, "")
    if of == key:
        st.error(escape_markdown(fault), icon=":material/block:")
    if st.button("Make slides (PPTX)", key="pinned_slides_make", icon=":material/slideshow:", help=HELP):
        session.store(FAULT, None)
        board().forget(key)  # one that was stopped
        board().start(key, picture_count(views), slide_maker(views), turns=TURNS, long=0)
        st.rerun()


@st.fragment(run_every=EVERY_S)
def _progress(key: Hashable) -> None:
    """Show how many pictures are drawn; afterwards the whole panel is drawn anew."""
    job = board().find(key)
    if job is None or job.state not in ("waiting", "running"):
        st.rerun()
    this_reader().wait_for(KIND, job)
    words = "Waiting for other slides to be drawn." if job.state == "waiting" else progress_words(job, "pictures")
    st.progress(min(job.done / max(job.total, 1), 1.0), words)
    st.button("Stop", key="pinned_slides_stop", on_click=job.stop)
