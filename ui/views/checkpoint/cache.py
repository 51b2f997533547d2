"""Read weights with confirmation, progress and cancellation, and cache the results.

As in ui.widgets.models.run_model, Streamlit ends a superseded script when it writes to the page.
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
from bertviz_core.text import bytes_text, escape_markdown
from ui.cache.shared_model import SharedModel
from ui.widgets.models.run_model import agreed_work

T = TypeVar("T")
CONFIRM_ABOVE_NBYTES = 4 * 1024**3
"""Reading more bytes, which takes about ten seconds, needs the reader's confirmation."""
QUIET_S, EVERY_S, WAIT_S = 0.4, 0.1, 0.05


def statistics(name: str) -> CheckpointStatistics:
    """Statistics of every tensor of a model."""
    opened = SharedModel(name)
    files = (checkpoints.opened_checkpoint(opened),)
    return _read(opened, files, lambda progress: checkpoints.statistics_of(opened, progress))


def comparison(name: str, options: Options) -> CheckpointComparison:
    """The comparison of a model with the one in the options."""
    opened = SharedModel(name)
    files = checkpoints.both_checkpoints(opened, options)
    return _read(opened, files, lambda progress: checkpoints.comparison_of(opened, options, progress))


@st.cache_resource(max_entries=1, show_spinner=False)
def _turn() -> Lock:
    """Lock of the disk: two readings at once would slow each other down."""
    return Lock()


def _read(opened: SharedModel, files: tuple[Checkpoint, ...], ask: Callable[[Tell | None], T]) -> T:
    """Return a cached result, or compute it with progress; one at a time, and only while the reader is connected."""
    place, turn, nbytes = st.empty(), _turn(), sum(each.nbytes for each in files)
    key = checkpoints.read_key(*files)
    if opened.has(key):
        return ask(None)
    run = sha256(repr(key).encode("utf-8", "surrogatepass")).hexdigest()
    if nbytes > CONFIRM_ABOVE_NBYTES:
        reason = f"{bytes_text(nbytes)} of weights are read for this, piece by piece."
        agreed_work(run, reason, "Read the weights", "start_reading")
    while not turn.acquire(timeout=WAIT_S):
        place.progress(0.0, text="Waiting: another checkpoint is being read.")
    try:
        result = ask(_teller(place))
    finally:
        turn.release()
    place.empty()
    return result


def _teller(place: DeltaGenerator) -> Tell:
    """Show the progress of slow reading, at a limited rate."""
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
