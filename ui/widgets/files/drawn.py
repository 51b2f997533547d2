"""Files that the server's browser draws, in the background and in turn: progress with Stop, then a button to save."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.errors import BertvizError, Progress
from bertviz_core.text import bytes_text, escape_markdown
from ui import session
from ui.cache.jobs import board
from ui.cache.readers import this_reader
from ui.widgets.formatting import steps_done

PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
TURNS, EVERY_S = "drawn_files", 0.5
"""The queue of all these files, so that one browser draws at a time; how often the progress is shown anew."""


@dataclass(frozen=True, slots=True)
class DrawnFile:
    """A file that the server's browser draws, and the button that saves it."""

    widget: str
    """Beginning of the keys of its buttons; a reader waits for one file of each."""
    key: Hashable
    """What it is made from; equal for equal files."""
    name: str
    """Name of the file."""
    media_type: str
    save: str
    """Label of the button that saves it; the size follows."""
    noun: str = ""
    """What its steps are, such as "pictures"; "" for a single one."""


def start_drawing(file: DrawnFile, steps: int, draw: Callable[[Progress], bytes]) -> None:
    """Start to draw a file in the background; one that was stopped or failed is drawn again.

    Args:
        file: the file.
        steps: number of steps.
        draw: returns its content; called with the progress of the steps, which may raise to end the work. It needs no
            session.
    """
    session.store(_fault(file), None)
    job = board().find(file.key)
    if job is not None and job.state in ("stopped", "failed"):
        board().forget(file.key)
    board().start(file.key, steps, draw, turns=TURNS, long=0)


def show_drawing(file: DrawnFile, fault_place: DeltaGenerator | None = None) -> bool:
    """Show the progress of a file, the button that saves it, or the sentence why it could not be drawn.

    Args:
        file: the file.
        fault_place: where that sentence stands, if elsewhere.

    Returns:
        Whether it is being drawn or is there, so that the reader needs no button that starts it.
    """
    job = board().find(file.key)
    if job is not None and job.error is not None:
        board().forget(file.key)
        if not isinstance(job.error, BertvizError):
            raise job.error
        session.store(_fault(file), (file.key, str(job.error)))
    elif job is not None and job.state in ("waiting", "running"):
        _progress(file)
        return True
    elif job is not None and job.result is not None:
        st.download_button(
            f"{file.save}, {bytes_text(len(job.result))}",
            job.result,
            file.name,
            file.media_type,
            key=f"{file.widget}_save",
            icon=":material/download:",
            on_click="ignore",
        )
        return True
    of, fault = session.stored(_fault(file)) or (None, "")
    if of == file.key:
        (fault_place or st).error(escape_markdown(fault), icon=":material/block:")
    return False


@st.fragment(run_every=EVERY_S)
def _progress(file: DrawnFile) -> None:
    """Show how many steps are done; afterwards the whole page is drawn anew."""
    job = board().find(file.key)
    if job is None or job.state not in ("waiting", "running"):
        st.rerun()
    this_reader().wait_for(file.widget, job)
    drawing = steps_done(job, file.noun, with_rate=False) if file.noun else "The file is being drawn."
    words = "Waiting for other files to be drawn." if job.state == "waiting" else drawing
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.progress(min(job.done / max(job.total, 1), 1.0), words)
        st.button("Stop", key=f"{file.widget}_stop", on_click=job.stop)


def _fault(file: DrawnFile) -> str:
    """Session key: what the last file was made from and the sentence why it could not be; None for none."""
    return f"{file.widget}_fault"
