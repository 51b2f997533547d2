"""Checkpoints read for the reader: cost first, progress while it goes on, an end where it is not wanted; then kept.

As in ui.widgets.run_model every word written is where Streamlit ends a script whose reader has clicked on.
"""

from collections.abc import Callable
from hashlib import sha256
from threading import Lock
from time import perf_counter
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.checkpoints.comparison import change_histograms, compare_checkpoints
from bertviz_core.checkpoints.results import ChangeHistograms, CheckpointComparison, CheckpointStatistics, Histogram
from bertviz_core.checkpoints.tensor_statistics import Tell, checkpoint_statistics, tensor_histogram
from bertviz_core.checkpoints.values import Checkpoint, open_checkpoint, tensor_slices
from ui.cache.decorator import cached_by_bytes, results
from ui.cache.sources import source
from ui.session import allow_run, run_allowed, settings
from ui.widgets.formatting import bytes_text, escape_markdown

T = TypeVar("T")
Key = tuple[str, ...]
CONFIRM_ABOVE_NBYTES = 4 * 1024**3
"""More than this is read when the reader says so: about ten seconds."""
QUIET_S, EVERY_S, WAIT_S = 0.4, 0.1, 0.05


def checkpoint(name: str) -> Checkpoint:
    """A model's files as they are now; their headers are read.

    Raises:
        BertvizError: the weights are not on this machine, or damaged.
    """
    return open_checkpoint(source(name), settings())


def statistics(checkpoint: Checkpoint) -> CheckpointStatistics:
    """Statistics of every tensor of a checkpoint."""
    key = ("statistics", checkpoint.name, checkpoint.revision)
    return _made(key, checkpoint.nbytes, lambda tell: checkpoint_statistics(checkpoint, tell))


def comparison(first: Checkpoint, second: Checkpoint) -> CheckpointComparison:
    """What changed from one checkpoint to another."""
    key = ("comparison", first.name, first.revision, second.name, second.revision)
    return _made(key, first.nbytes + second.nbytes, lambda tell: compare_checkpoints(first, second, tell))


def histogram(checkpoint: Checkpoint, name: str, low: float, high: float) -> Histogram:
    """The values of one tensor between two ends."""
    return _histogram(checkpoint.name, checkpoint.revision, name, low, high, checkpoint)


def changes(first: Checkpoint, name: str, second: Checkpoint, second_name: str) -> ChangeHistograms:
    """The values of one tensor in two checkpoints."""
    return _changes(first.name, first.revision, name, second.name, second.revision, second_name, first, second)


@st.cache_resource(max_entries=1, show_spinner=False)
def _turn() -> Lock:
    """Held by the one who reads: two at once would only take the disk from each other."""
    return Lock()


@cached_by_bytes("Reading the tensor")
def _histogram(model: str, revision: str, name: str, low: float, high: float, _found: Checkpoint) -> Histogram:
    return tensor_histogram(tensor_slices(_found)[name], low, high)


@cached_by_bytes("Reading the tensor")
def _changes(
    model: str,
    revision: str,
    name: str,
    other: str,
    other_revision: str,
    other_name: str,
    _first: Checkpoint,
    _second: Checkpoint,
) -> ChangeHistograms:
    return change_histograms(tensor_slices(_first)[name], tensor_slices(_second)[other_name])


def _made(key: Key, nbytes: int, make: Callable[[Tell], T]) -> T:
    """A result at hand, or made with progress; one at a time, and not for a reader who has left."""
    place, turn = st.empty(), _turn()
    kept: T | None = results().get(key)
    if kept is not None:
        return kept
    run = sha256(repr(key).encode("utf-8", "surrogatepass")).hexdigest()
    if nbytes > CONFIRM_ABOVE_NBYTES and not run_allowed(run):
        st.info(f"{bytes_text(nbytes)} of weights are read for this, piece by piece.", icon=":material/timer:")
        st.button("Read the weights", type="primary", on_click=allow_run, args=(run,), key="start_reading")
        st.stop()
    while not turn.acquire(timeout=WAIT_S):
        place.progress(0.0, text="Waiting: another checkpoint is being read.")
    try:
        made: T = results().made(key, lambda: make(_teller(place)))
    finally:
        turn.release()
    place.empty()
    return made


def _teller(place: DeltaGenerator) -> Tell:
    """Writes how far the reading is, but nothing where it is quick, and not more often than is seen."""
    started = perf_counter()
    written = started

    def tell(done: int, total: int, name: str) -> None:
        nonlocal written
        now = perf_counter()
        if now - started < QUIET_S or now - written < EVERY_S:
            return
        written = now
        left = (now - started) / max(done, 1) * (total - done)
        words = f"{escape_markdown(name)}: {bytes_text(done)} of {bytes_text(total)}, about {left:.0f} s left"
        place.progress(done / max(total, 1), text=words)

    return tell
