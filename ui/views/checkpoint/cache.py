"""Weights read for the reader: cost first, progress while it goes on, an end where it is not wanted; then kept.

As in ui.widgets.run_model every word written is where Streamlit ends a script whose reader has clicked on.
"""

from collections.abc import Callable
from hashlib import sha256
from threading import Lock
from time import perf_counter
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.checkpoints.results import CheckpointComparison, CheckpointStatistics
from bertviz_core.checkpoints.tensor_statistics import Tell
from bertviz_core.checkpoints.values import Checkpoint
from bertviz_core.questions.models import checkpoints
from bertviz_core.questions.parameters import Options
from ui.cache.shared_model import SharedModel
from ui.session import allow_run, run_allowed
from ui.widgets.formatting import bytes_text, escape_markdown

T = TypeVar("T")
CONFIRM_ABOVE_NBYTES = 4 * 1024**3
"""More than this is read when the reader says so: about ten seconds."""
QUIET_S, EVERY_S, WAIT_S = 0.4, 0.1, 0.05


def statistics(name: str) -> CheckpointStatistics:
    """Statistics of every tensor of a model."""
    opened = SharedModel(name)
    files = (checkpoints.opened_checkpoint(opened),)
    return _read(opened, files, lambda progress: checkpoints.statistics_of(opened, progress))


def comparison(name: str, options: Options) -> CheckpointComparison:
    """What changed from a model to another that the options name."""
    opened = SharedModel(name)
    files = checkpoints.both_checkpoints(opened, options)
    return _read(opened, files, lambda progress: checkpoints.comparison_of(opened, options, progress))


@st.cache_resource(max_entries=1, show_spinner=False)
def _turn() -> Lock:
    """Held by the one who reads: two at once would only take the disk from each other."""
    return Lock()


def _read(opened: SharedModel, files: tuple[Checkpoint, ...], ask: Callable[[Tell | None], T]) -> T:
    """A result at hand, or made with progress; one at a time, and not for a reader who has left."""
    place, turn, nbytes = st.empty(), _turn(), sum(each.nbytes for each in files)
    key = checkpoints.read_key(*files)
    if opened.has(key):
        return ask(None)
    run = sha256(repr(key).encode("utf-8", "surrogatepass")).hexdigest()
    if nbytes > CONFIRM_ABOVE_NBYTES and not run_allowed(run):
        st.info(f"{bytes_text(nbytes)} of weights are read for this, piece by piece.", icon=":material/timer:")
        st.button("Read the weights", type="primary", on_click=allow_run, args=(run,), key="start_reading")
        st.stop()
    while not turn.acquire(timeout=WAIT_S):
        place.progress(0.0, text="Waiting: another checkpoint is being read.")
    try:
        made = ask(_teller(place))
    finally:
        turn.release()
    place.empty()
    return made


def _teller(place: DeltaGenerator) -> Tell:
    """Writes how far the reading is, but nothing where it is quick, and not more often than is seen."""
    started = perf_counter()
    written = started

    def progress(done: int, total: int, name: str) -> None:
        nonlocal written
        now = perf_counter()
        if now - started < QUIET_S or now - written < EVERY_S:
            return
        written = now
        left = (now - started) / max(done, 1) * (total - done)
        words = f"{escape_markdown(name)}: {bytes_text(done)} of {bytes_text(total)}, about {left:.0f} s left"
        place.progress(done / max(total, 1), text=words)

    return progress
