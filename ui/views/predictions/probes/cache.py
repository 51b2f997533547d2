"""Probes fitted for whoever asks: from the board of jobs, with progress and an end, by what they are fitted on."""

from dataclasses import dataclass
from hashlib import sha256

import streamlit as st

from bertviz_core.errors import Progress, TextError
from bertviz_core.predictions.labelled.fitting import (
    fitted_probe,
    fold_count,
    layer_vectors,
    probe_scores,
    probed_layers,
)
from bertviz_core.predictions.labelled.probe import probe_predictions, read_probe
from bertviz_core.predictions.labelled.results import LabelledTexts, Probe, ProbeScores
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.questions.byte_cache import held_nbytes
from bertviz_core.sentences.batches import edge_tokens
from bertviz_core.sentences.results import EdgeTokens, Pooling
from ui.cache import models
from ui.cache.decorator import cached_by_bytes, results
from ui.cache.jobs import JobBoard
from ui.widgets.lists import files
from ui.widgets.lists.progress import awaited

SHORT_SET = 512
"""More texts wait for their turn."""
PATIENCE_S = 2.0
"""Seconds for which the page waits without a way to end the fit."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedProbes:
    """What one fit gives."""

    scores: ProbeScores
    """Of every layer."""
    probes: tuple[Probe, ...]
    """One for each of these layers."""


@st.cache_resource(max_entries=1, show_spinner=False)
def jobs() -> JobBoard[FittedProbes]:
    """The fits of this server."""
    return JobBoard(SHORT_SET, held_nbytes, results())


def fitted(name: str, labelled: LabelledTexts, pooling: Pooling, seed: int) -> FittedProbes:
    """Probes on every layer of a model; fitted once for whoever asks. The page ends here until they are there.

    Raises:
        BertvizError: as layer_vectors and load_model.
    """
    model, tokenizer = models.loaded(name), models.tokenizer(name)
    digest = sha256(repr((model.name, model.revision, labelled, pooling, seed)).encode("utf-8", "backslashreplace"))
    count = len(labelled.texts)
    total = count + 2 * len(probed_layers(model, pooling)) * fold_count(labelled)

    def work(tell: Progress) -> FittedProbes:
        vectors = layer_vectors(model, tokenizer, labelled.texts, pooling, lambda done, _: tell(done, total))
        scores = probe_scores(model, labelled, pooling, vectors, seed, lambda done, _: tell(count + done, total))
        probes = tuple(fitted_probe(labelled, scores, vectors, layer) for layer in scores.layers)
        return FittedProbes(scores, probes)

    board, key = jobs(), digest.hexdigest()
    job = board.start(key, total, work, held_nbytes(labelled))
    return awaited(jobs, key, job, "steps", PATIENCE_S)


def opened(name: str, digest: str) -> Probe:
    """The probe of a file that was handed over.

    Raises:
        CheckpointError: it is no such file.
    """
    return _opened(digest, name)


@cached_by_bytes()
def _opened(digest: str, name: str) -> Probe:
    return read_probe(name, files.content(digest))


def prediction(name: str, probe: Probe, text: str) -> ClassPrediction:
    """What a probe says of a text.

    Raises:
        BertvizError: as probe_predictions.
    """
    if not text.strip():
        raise TextError("The text is empty; write one in the field Text, so that the probe has something to read.")
    weights = sha256(probe.weight.tobytes() + probe.bias.tobytes() + repr(probe.classes).encode()).hexdigest()
    return _prediction(models.loaded(name).revision, name, text, weights, probe)


@cached_by_bytes("Asking the probe")
def _prediction(revision: str, name: str, text: str, weights: str, _probe: Probe) -> ClassPrediction:
    return probe_predictions(_probe, models.loaded(name), models.tokenizer(name), (text,))[0]


def edges(name: str) -> EdgeTokens:
    """The special tokens that a model's tokenizer puts around a text."""
    return edge_tokens(models.tokenizer(name))
