"""Load and run the chosen model, downloaded where need be."""

from collections.abc import Hashable
from hashlib import sha256
from pathlib import Path
from time import perf_counter

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.checkpoints.download import HubFiles, download, needed_files
from bertviz_core.errors import BertvizError, Progress, UnreachableHubError
from bertviz_core.models import catalog
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.sources import resolve
from bertviz_core.text import bytes_text, escape_markdown
from bertviz_core.trace.cost import RunCost, run_cost
from bertviz_core.trace.results import Tokens, Trace
from ui.cache import models
from ui.cache.jobs import Job, board
from ui.session import allow_run, forget_run, run_allowed, settings
from ui.widgets import models as hub_reach
from ui.widgets.heading import duration

CONFIRM_ABOVE_SECONDS = 8.0
"""Longer runs need the reader's confirmation."""
QUIET_S = 0.4
"""Shorter runs show no progress, so that nothing flickers."""


def traced(name: str, text: str, pair: str | None) -> Trace:
    """Run a model on a text, or return the cached trace.

    Raises:
        BertvizError: the model cannot be loaded, or cannot run on this text.
    """
    return run_tokens(models.loaded(name), models.tokens(name, text, pair))


def run_tokens(model: LoadedModel, tokens: Tokens) -> Trace:
    """Run a model on tokens, or return the cached trace.

    Raises:
        BusyError: too many readers wait for the model.
        BertvizError: the model cannot run on these tokens.
    """
    place = st.empty()
    trace = models.traces().cached(model, tokens)
    if trace is not None:
        return trace
    cost = agreed_cost(model, tokens)
    return _run(model, tokens, cost, place)


def agreed_cost(model: LoadedModel, tokens: Tokens, runs: int = 1) -> RunCost:
    """Estimate the cost of runs; if they take long, the page ends here until the reader confirms.

    Args:
        model: the model.
        tokens: the text.
        runs: number of runs.
    """
    cost = run_cost(model, len(tokens), runs)
    if cost.seconds > CONFIRM_ABOVE_SECONDS:
        words = f"On this machine the run needs {cost_words(cost)}. It can be stopped."
        agreed_work(_run_key(model, tokens, runs), words, "Run the model", "start_run")
    return cost


def agreed_work(work: str, reason: str, label: str = "Begin", key: str = "start_work") -> None:
    """End the page until a reader of this server has confirmed work that takes long.

    Args:
        work: identifies the work.
        reason: why it takes long, in Markdown.
        label: label of the button.
        key: key of the button.
    """
    if not run_allowed(work):
        st.info(reason, icon=":material/timer:")
        st.button(label, type="primary", on_click=allow_run, args=(work,), key=key)
        st.stop()


def _run_key(model: LoadedModel, tokens: Tokens, runs: int = 1) -> str:
    facts = (model.name, model.revision, tokens.text, tokens.pair, *((runs,) if runs > 1 else ()))
    return sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()


def cost_words(cost: RunCost) -> str:
    """The cost of a run, in a few words."""
    time = f", about {duration(cost.seconds)}, longer on a busy machine" if cost.seconds >= 1 else ""
    return f"{cost.tokens:,} tokens, {bytes_text(cost.nbytes)} of memory{time}"


def _run(model: LoadedModel, tokens: Tokens, cost: RunCost, place: DeltaGenerator) -> Trace:
    started = perf_counter()
    bar: DeltaGenerator | None = None

    def write(share: float, words: str) -> None:
        nonlocal bar
        if bar is None:
            with place.container():
                bar = st.empty()
                if cost.seconds > CONFIRM_ABOVE_SECONDS:
                    args = (_run_key(model, tokens),)
                    st.button("Stop this run", on_click=forget_run, args=args, key="stop_run")
        bar.progress(share, text=words)

    def is_needed(ahead: int) -> bool:
        if perf_counter() - started > QUIET_S:
            write(0.0, waiting_words(ahead))
        return True

    def progress(done: int, layers: int) -> None:
        spent = perf_counter() - started
        if spent > QUIET_S:
            left = duration(spent / done * (layers - done))
            write(done / layers, f"Layer {done} of {layers}, about {left} left ({cost_words(cost)})")

    trace = models.traces().trace(model, tokens, is_needed, progress, cost.nbytes, settings().max_queued_runs)
    place.empty()
    return trace


def waiting_words(ahead: int) -> str:
    """The message of a waiting run."""
    if ahead == 0:
        return "The model is free: this run starts."
    runs = "one run is" if ahead == 1 else f"{ahead:,} runs are"
    return f"Waiting for the model: {runs} ahead of this one."


POLL_S = 1.0


def offer(name: str) -> None:
    """Show a download button with the size of a model, or the progress of its download.

    Raises:
        UnreachableHubError: the Hub cannot be reached, or could not a short time ago.
        BertvizError: the Hub is switched off or refuses, or has no such model.
    """
    job = board().find(_key(name))
    if job is None:
        if reason := hub_reach.reason():
            raise UnreachableHubError(reason)
        files = needed_files(resolve(name, settings()), settings())
        hub_reach.answered()
        st.button(
            f"Download {bytes_text(files.nbytes)} from the Hub",
            type="primary",
            key="download_model",
            icon=":material/download:",
            help=f"{len(files.files)} files of {files.hub_id}: weights in safetensors, config and tokenizer. They stay "
            "in the Hub's cache on this machine.",
            on_click=_begin,
            args=(name, files),
        )
        entry = catalog.find(name)
        if entry is not None:
            licence = f"Licence: {entry.licence}." if entry.licence else "Its page names no licence."
            st.caption(escape_markdown(f"{entry.title}. {licence}"))
    else:
        _watch(name)


def _key(name: str) -> Hashable:
    """Key of the download job of a model; downloads run one at a time."""
    return "download", name


def _begin(name: str, files: HubFiles) -> None:
    current = settings()

    def work(progress: Progress) -> Path:
        return download(files, current, progress)

    board().start(_key(name), files.nbytes, work, turns="downloads", long=0, caches_itself=True)


@st.fragment(run_every=POLL_S)
def _watch(name: str) -> None:
    job = board().find(_key(name))
    if job is None or job.state == "done":
        board().forget(_key(name))
        st.rerun()
    if job.state == "failed" and job.error is not None:
        if not isinstance(job.error, BertvizError):
            raise job.error
        st.error(escape_markdown(str(job.error)), icon=":material/block:")
        st.button("Try again", key="retry_download", on_click=board().forget, args=(_key(name),))
        return
    if job.state == "stopped":
        board().forget(_key(name))
        st.rerun()
    st.progress(min(job.done / max(job.total, 1), 1.0), text=_words(job))
    st.caption("The download continues while you look at another page.")
    st.button("Cancel", key="stop_download", on_click=job.stop)


def _words(job: Job[Path]) -> str:
    if job.state == "waiting":
        return "Waiting for another download to finish."
    left = "" if job.seconds_left is None else f", about {duration(job.seconds_left)} left"
    return f"{bytes_text(job.done)} of {bytes_text(job.total)}, {bytes_text(job.rate)} per second{left}"
