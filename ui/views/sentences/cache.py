"""Sentence vectors for one reader: from the board of jobs, with progress, a question before a long run, and an end."""

from collections.abc import Sequence
from hashlib import sha256
from time import perf_counter

import streamlit as st

from bertviz_core.byte_cache import held_nbytes
from bertviz_core.results.sentences import SentenceDtype, SentencePlan, SentenceVectors, TokenPairShares
from bertviz_core.results.trace import Trace
from bertviz_core.sentence_batches import prompt_tokens, sentence_tokens
from bertviz_core.sentences import sentence_vectors
from bertviz_core.token_pairs import token_pair_shares
from ui import models, sentence_models
from ui.jobs import Job, Progress
from ui.runs import run_tokens
from ui.sentence_controls import allow_job, job_allowed
from ui.text import duration

ASK = 4_000
"""A list of more begins when the reader says so."""
QUIET_S, LOOK_S, BOARD_WAIT_S = 0.4, 0.05, 1.0
POLL_S = 1.0


def vectors(name: str, sentences: Sequence[str], chosen: SentencePlan, dtype: SentenceDtype) -> SentenceVectors:
    """Vectors of the sentences; computed once for whoever asks, and kept on disk.

    A long list is worked on beside the page, which shows how far it is and ends there until it is done.

    Raises:
        BertvizError: as bertviz_core.sentences.sentence_vectors and load_model.
    """
    model = models.loaded(name)
    key = job_key(name, sentences, chosen, dtype)
    board = sentence_models.jobs()
    if board.find(key) is None and len(sentences) > ASK and not job_allowed(key):
        _ask(len(sentences), key)
    tokenizer, store = sentence_models.tokenizer_of(name), sentence_models.vector_store()

    def work(tell: Progress) -> SentenceVectors:
        return sentence_vectors(model, tokenizer, sentences, chosen, dtype, tell, store)

    job = board.start(key, len(sentences), work, held_nbytes(sentences))
    _wait(job)
    if job.error is not None:
        board.forget(key)
        raise job.error
    if job.result is None:
        _watch(key)
        st.stop()
    return job.result


def pair_shares(name: str, first: str, second: str, chosen: SentencePlan) -> TokenPairShares:
    """The cosine of two sentences as a sum over pairs of their tokens.

    Raises:
        BertvizError: as bertviz_core.token_pairs.token_pair_shares and the trace.
    """
    traces = _traced(name, first, chosen), _traced(name, second, chosen)
    return token_pair_shares(*traces, chosen, prompt_tokens(sentence_models.tokenizer_of(name), chosen))


def progress_words(job: Job[SentenceVectors]) -> str:
    """How far a job is, at what rate, and what is left."""
    if job.state == "waiting":
        return "Waiting for another list of sentences to be finished."
    left = job.seconds_left
    rest = f", about {duration(left)} left" if left is not None else ""
    return f"{job.done:,} of {job.total:,} sentences, {job.rate:,.0f} per second{rest}"


def _wait(job: Job[SentenceVectors]) -> None:
    """Wait for a short job to its end and for a long one a moment; every word written lets a superseded page stop."""
    started, place = perf_counter(), st.empty()
    short = job.total <= sentence_models.SHORT
    while not job.wait(LOOK_S):
        spent = perf_counter() - started
        if not short and spent > BOARD_WAIT_S:
            break
        if spent > QUIET_S:
            place.progress(min(job.done / max(job.total, 1), 1.0), text=progress_words(job))
    place.empty()


@st.fragment(run_every=POLL_S)
def _watch(key: str) -> None:
    """How far a job is; looked at again each second, whatever page its reader comes from."""
    job = sentence_models.jobs().find(key)
    if job is None or job.state in ("done", "failed"):
        st.rerun()
    if job.state == "stopped":
        st.info(
            f"Stopped after {job.done:,} of {job.total:,} sentences. What is computed is kept.",
            icon=":material/stop_circle:",
        )
        st.button("Go on", type="primary", key="resume_job", on_click=_resume, args=(key,))
        return
    st.progress(min(job.done / max(job.total, 1), 1.0), text=progress_words(job))
    st.caption("This goes on when you look at another page, and its result is kept for the next time.")
    st.button("Cancel", key="stop_job", on_click=job.stop)


def _resume(key: str) -> None:
    allow_job(key)
    sentence_models.jobs().forget(key)


def _ask(count: int, key: str) -> None:
    st.info(
        f"{count:,} sentences take a while the first time; what this model has computed before comes from the store. "
        "You see how far it is, and can cancel.",
        icon=":material/timer:",
    )
    st.button("Compute the vectors", type="primary", key="start_job", on_click=allow_job, args=(key,))
    st.stop()


def _traced(name: str, sentence: str, chosen: SentencePlan) -> Trace:
    """One sentence's run, as its plan has it read."""
    return run_tokens(models.loaded(name), sentence_tokens(sentence_models.tokenizer_of(name), sentence, chosen))


def job_key(name: str, sentences: Sequence[str], chosen: SentencePlan, dtype: SentenceDtype) -> str:
    """What a result depends on; the dense layers and the maximum length belong to the revision."""
    model = models.loaded(name)
    way = chosen.pooling, chosen.layer, chosen.normalize, chosen.prompt, len(chosen.dense), chosen.truncate_dim
    facts = (model.name, model.revision, *way, dtype)
    digest = sha256(repr(facts).encode())
    for sentence in sentences:
        digest.update(sentence.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()
