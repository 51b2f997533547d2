"""What a page runs and asks: confirmed where it takes long, with its progress, and what is shown where it cannot."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.errors import StreamlitAPIException

from bertviz_core.checkpoints.download import HubFiles, download, needed_files
from bertviz_core.errors import (
    BertvizError,
    HubError,
    MissingFilesError,
    ModelNotFoundError,
    Progress,
    UnreachableHubError,
    is_out_of_memory,
)
from bertviz_core.models import catalog
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.sources import resolve
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer, Question
from bertviz_core.text import bytes_text, escape_markdown
from bertviz_core.trace.cost import RunCost, run_cost
from bertviz_core.trace.results import Tokens, Trace
from ui.cache import models
from ui.cache.jobs import Job, board, duration, steps_done, this_reader
from ui.cache.shared_model import SharedModel, SharedSubject
from ui.components.frame import PageLink, page_links
from ui.session import allow_run, end_page, forget_run, reader_waits, run_allowed, settings
from ui.widgets.heading import draw_text_on_page
from ui.widgets.models import answered, choose_model, is_lost, lost, model_before, ready_model, unreached_reason

CONFIRM_ABOVE_SECONDS = 8.0
"""Longer runs need the reader's confirmation."""
QUIET_S = 0.4
"""Shorter work shows no progress, so that nothing flickers."""


def traced(name: str, text: str, pair: str | None) -> Trace:
    """Run a model on a text, or return the cached trace."""
    model, tokens, place = models.loaded(name), models.tokens(name, text, pair), st.empty()
    trace = models.traces().cached(model, tokens)
    return _run(model, tokens, agreed_cost(model, tokens), place) if trace is None else trace


def agreed_cost(model: LoadedModel, tokens: Tokens, runs: int = 1) -> RunCost:
    """Estimate the cost of runs; if they take long, the page ends here until the reader confirms."""
    cost = run_cost(model, len(tokens), runs)
    if cost.seconds > CONFIRM_ABOVE_SECONDS:
        words = f"On this machine the run needs {cost_words(cost)}. It can be stopped."
        agreed_work(_run_key(model, tokens, runs), words, "Run the model", "start_run")
    return cost


def agreed_work(work: str, reason: str, label: str = "Begin", key: str = "start_work") -> None:
    """End the page until a reader of this server has confirmed work that takes long, for this reason in Markdown."""
    if not run_allowed(work):
        st.info(reason, icon=":material/timer:")
        st.button(label, type="primary", on_click=allow_run, args=(work,), key=key)
        end_page()


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
    """Show a download button with the size of a model, or the progress of its download."""
    job = board().find(_key(name))
    if job is None:
        if reason := unreached_reason():
            raise UnreachableHubError(reason)
        files = needed_files(resolve(name, settings()), settings())
        answered()
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


SUGGESTED = "suggested_model"
"""Key of the button that opens a model with a similar name."""
UNREACHED = (
    "The Hub cannot be reached from this machine now, so nothing can be downloaded. Models marked ready in the list "
    "need no network; a model's folder can also be copied into the models folder."
)


@contextmanager
def shown_to_user() -> Iterator[None]:
    """Show an error of the library as one sentence, which ends the page; the sidebar stays usable."""
    try:
        yield
    except MissingFilesError as error:
        _missing_files(error)
        _end()
    except BertvizError as error:
        st.error(escape_markdown(str(error)), icon=":material/block:")
        unreached = isinstance(error, UnreachableHubError)
        if unreached and not is_lost():
            lost(UNREACHED)
        with st.container(horizontal=True):
            if error.suggestion:
                st.button(
                    f"Open {escape_markdown(error.suggestion)}",
                    on_click=choose_model,
                    args=(error.suggestion,),
                    key=SUGGESTED,
                )
            if isinstance(error, ModelNotFoundError | HubError) and (before := model_before()) is not None:
                _choice(f"Back to {escape_markdown(before)}", before, "secondary")
            if unreached:
                _ask_again()
        _end()
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        st.error(
            "There is not enough memory on this machine for this request. Try a shorter text, or try again later. "
            "Nothing else is lost.",
            icon=":material/memory:",
        )
        _end()


@contextmanager
def shown_in_place() -> Iterator[None]:
    """Show an error of the library as one sentence where the block would draw, without ways to continue."""
    try:
        yield
    except BertvizError as error:
        st.error(escape_markdown(str(error)), icon=":material/block:")


def _end() -> None:
    with suppress(StreamlitAPIException):  # a fragment cannot draw it
        draw_text_on_page()
    end_page()


def no_such_page(words: str, near: PageLink | None) -> None:
    """Say that the address names no page, with a link to a page of a similar name."""
    st.info(escape_markdown(words), icon=":material/search_off:")
    if near is not None:
        page_links([("", [near])], "nearest_page", label="The page with the most similar name", width="content")


def _missing_files(error: MissingFilesError) -> None:
    """Say which files are missing, with the ways to continue."""
    are = "are" if error.what == "weights" else "is"
    st.info(
        f"The {error.what} of {escape_markdown(repr(error.model))} {are} not on this machine, so the model cannot run "
        "on a text. The pages Overview, Parameters and Architecture work without.",
        icon=":material/cloud_off:",
    )
    ways_on(error.model)


def ways_on(model: str) -> None:
    """Show a button for each way to continue where files of a model are missing: its download, and another model."""
    with st.container(horizontal=True, vertical_alignment="center", key="ways_on"):
        reason = _offer_download(model)
        before, other = model_before(), ready_model()
        weight: Literal["primary", "secondary"] = "secondary" if reason is None else "primary"
        if before is not None and before != model:
            _choice(f"Back to {escape_markdown(before)}", before, weight)
        elif other is not None and other != model:
            _choice(f"Continue with {escape_markdown(other)}", other, weight)
        if is_lost():
            _ask_again()
    if reason is not None:
        st.caption(escape_markdown(reason))


def _ask_again() -> None:
    """Show the button after which a Hub that could not be reached is asked once more."""
    st.button("Ask the Hub again", key="ask_hub", icon=":material/refresh:", on_click=answered)


def _choice(label: str, model: str, weight: Literal["primary", "secondary"]) -> None:
    """Show the button that opens another model in place of one that cannot be opened."""
    icon = ":material/arrow_back:" if label.startswith("Back") else ":material/arrow_forward:"
    st.button(label, key="go_on", type=weight, icon=icon, on_click=choose_model, args=(model,))


def _offer_download(model: str) -> str | None:
    """Offer a download; returns why there is none, or None.

    When the Hub is first found to be out of reach, the page is run again, so that the list of models says so.
    """
    try:
        offer(model)
    except UnreachableHubError as error:
        if is_lost():
            return str(error)
        lost(UNREACHED)
        st.rerun()
    except BertvizError as error:
        return str(error)
    return None


T = TypeVar("T")
CHECK_EVERY_S = 0.05
PATIENCE_S = 2.0
"""Seconds that the page waits for an answer before it offers to cancel the work."""
PASSING = "passing"
"""Beginning of the key of a progress bar that soon goes; it lies over the page and pushes nothing."""


def answer(
    question: Question[Any, T], opened: SharedSubject, options: Options, draw: Callable[[Answer[T]], None] | None = None
) -> Answer[T]:
    """Return the answer to a question; the page ends here while a long answer is computed.

    Work of minutes starts when the reader confirms it. It continues while the reader looks at another page, and is
    shared by all readers with the same question. `draw` shows a partial answer each second, and after a cancellation.
    """
    # The place of the progress is there also where none is shown, so that what follows keeps its own.
    place = st.empty() if question.cost else None
    known: Answer[T] | None = opened.cached(question.key(options))
    if known is not None:
        return known
    if question.cost is None:
        with reader_waits():  # also in a section, which runs without its page
            return question(opened, options)
    key = opened.key(question.key(options))
    job = board().find(key)
    if job is None:
        cost = question.cost(opened, options)
        if cost.slow:
            agreed_work(_digest(key), cost.slow, cost.action)
        if cost.tokens is not None and isinstance(opened, SharedModel):
            agreed_cost(opened.loaded, cost.tokens, cost.runs)
        work, turns = partial(question, opened, options), question.module.rpartition(".")[0]
        job = board().start(key, cost.steps, work, cost.nbytes, turns=turns, long=cost.short, caches_itself=True)
    return awaited(key, job, question.noun, draw, question.name, place)


def _digest(key: Hashable) -> str:
    return sha256(repr(key).encode("utf-8", "backslashreplace")).hexdigest()


def awaited(
    key: Hashable,
    job: Job[T],
    noun: str,
    draw: Callable[[T], None] | None = None,
    kind: str = "",
    place: DeltaGenerator | None = None,
) -> T:
    """Return the result of a job; the page shows its progress and ends here until it is done.

    A session waits for one job of each kind, the noun by default. The progress is first shown in the place, if given.
    """
    this_reader().wait_for(kind or noun, job)
    _wait(job, noun, place or st.empty(), f"{PASSING}_{_digest(key)}")
    if job.error is not None:
        board().forget(key)
        raise job.error
    if job.result is None:
        _job_progress(key, noun, draw, kind or noun)
        end_page()
    return job.result


def progress_words(job: Job[Any], noun: str) -> str:
    """Progress of a job, with its rate and the time left once they are known."""
    if job.state == "waiting":
        return "Waiting for another list to be finished."
    return steps_done(job, noun)


def _wait(job: Job[Any], noun: str, place: DeltaGenerator, name: str) -> None:
    """Wait for a job; writing to the page lets a superseded script stop."""
    started, bar = perf_counter(), None
    while not job.wait(CHECK_EVERY_S):
        spent = perf_counter() - started
        if spent > PATIENCE_S:
            break
        if spent > QUIET_S:
            bar = bar or place.container(key=name).empty()
            bar.progress(min(job.done / max(job.total, 1), 1.0), text=progress_words(job, noun))
    place.empty()


@st.fragment(run_every=POLL_S)
def _job_progress(key: Hashable, noun: str, draw: Callable[[T], None] | None, kind: str) -> None:
    """Show the progress of a job, refreshed each second."""
    job = board().find(key)
    if job is not None:
        this_reader().wait_for(kind, job)  # again if the connection was interrupted
    if job is None or job.state in ("done", "failed"):
        st.rerun()
    so_far = job.so_far
    if draw is not None and so_far is not None:
        st.markdown("**So far:** what follows is not final.")
        draw(so_far)  # above the message, in the place of the complete figure
    if job.state == "stopped":
        st.info(f"Stopped after {job.done:,} of {job.total:,} {noun}.", icon=":material/stop_circle:")
        st.button("Continue", type="primary", key="resume_job", on_click=board().forget, args=(key,))
    else:
        st.progress(min(job.done / max(job.total, 1), 1.0), text=progress_words(job, noun))
        st.caption("The work continues while you look at another page, and its result is kept.")
        st.button("Cancel", key="stop_job", on_click=job.stop)


_WAITING: ContextVar[list[Callable[[], None]] | None] = ContextVar("waiting", default=None)
"""What is still to be drawn; None where nothing waits."""


@contextmanager
def later_last() -> Iterator[None]:
    """Draw what `later` puts off at the end of the block."""
    waiting: list[Callable[[], None]] = []
    before = _WAITING.set(waiting)
    try:
        yield
    finally:
        _WAITING.reset(before)
    for draw in waiting:
        draw()


def later(draw: Callable[[], None]) -> None:
    """Draw at this place, but last; at once in a section that is drawn anew by itself."""
    place, waiting = st.container(), _WAITING.get()

    def drawn() -> None:
        with place:
            draw()

    if waiting is None:
        drawn()
    else:
        waiting.append(drawn)
