"""Runs a model on a text for one reader: cost first, progress while it goes on, and an end where it is not wanted.

Every word written to the page is a point at which Streamlit ends a script whose reader has clicked on: so a run that
is superseded stops at its next layer, and one that waits for its turn leaves the queue.
"""

from hashlib import sha256
from time import perf_counter

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.models.loading import LoadedModel
from bertviz_core.trace.cost import RunCost, run_cost
from bertviz_core.trace.results import Tokens, Trace
from ui.cache import models
from ui.session import allow_run, forget_run, run_allowed, settings
from ui.widgets.formatting import bytes_text, duration

CONFIRM_ABOVE_SECONDS = 8.0
"""A run that takes longer than this begins when the reader says so."""
QUIET_S = 0.4
"""A run shorter than this writes nothing, so that nothing flickers."""


def traced(name: str, text: str, pair: str | None) -> Trace:
    """What a model makes of a text; run once, whoever asks.

    Raises:
        BertvizError: as run_tokens, tokenize and load_model.
    """
    return run_tokens(models.loaded(name), models.tokens(name, text, pair))


def run_tokens(model: LoadedModel, tokens: Tokens) -> Trace:
    """What a model makes of these tokens; run once, whoever asks.

    Raises:
        BusyError: too many wait for the model.
        BertvizError: as bertviz_core.trace.run.trace.
    """
    place = st.empty()
    trace = models.traces().held(model, tokens)
    if trace is not None:
        return trace
    cost = agreed_cost(model, tokens)
    return _run(model, tokens, cost, place)


def agreed_cost(model: LoadedModel, tokens: Tokens, runs: int = 1) -> RunCost:
    """What runs of a model on these tokens will need; where that is long, the page ends here until the reader agrees.

    Args:
        model: the model.
        tokens: the text.
        runs: how often the model is run.
    """
    cost = run_cost(model, len(tokens), runs)
    if cost.seconds > CONFIRM_ABOVE_SECONDS:
        words = f"On this machine the run needs {cost_words(cost)}. It can be stopped."
        _agreed(_run_key(model, tokens, runs), words, "Run the model", "start_run")
    return cost


def agreed_work(work: str, reason: str) -> None:
    """End the page until the reader, or another one before, has agreed to work that takes long.

    Args:
        work: names it.
        reason: why it takes long.
    """
    _agreed(work, reason, "Begin", "start_work")


def _agreed(work: str, words: str, label: str, key: str) -> None:
    """End the page with words and a button until somebody on this server has pressed it for this work."""
    if not run_allowed(work):
        st.info(words, icon=":material/timer:")
        st.button(label, type="primary", on_click=allow_run, args=(work,), key=key)
        st.stop()


def _run_key(model: LoadedModel, tokens: Tokens, runs: int = 1) -> str:
    facts = (model.name, model.revision, tokens.text, tokens.pair, *((runs,) if runs > 1 else ()))
    return sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()


def cost_words(cost: RunCost) -> str:
    """What a run needs, in a line."""
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

    def wanted(ahead: int) -> bool:
        if perf_counter() - started > QUIET_S:
            write(0.0, waiting_words(ahead))
        return True

    def progress(done: int, layers: int) -> None:
        spent = perf_counter() - started
        if spent > QUIET_S:
            left = duration(spent / done * (layers - done))
            write(done / layers, f"Layer {done} of {layers}, about {left} left ({cost_words(cost)})")

    trace = models.traces().trace(model, tokens, wanted, progress, cost.nbytes, settings().max_queued_runs)
    place.empty()
    return trace


def waiting_words(ahead: int) -> str:
    """Why nothing is seen yet."""
    if ahead == 0:
        return "The model is free: this run begins."
    runs = "one run is" if ahead == 1 else f"{ahead:,} runs are"
    return f"Waiting for the model: {runs} ahead of this one."
