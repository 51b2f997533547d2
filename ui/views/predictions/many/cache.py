"""Predictions of many texts for whoever asks: from the board of jobs, with progress and an end."""

from collections.abc import Callable
from hashlib import sha256

import streamlit as st

from bertviz_core.errors import Progress
from bertviz_core.predictions.labelled.results import Probe, TextPredictions
from bertviz_core.predictions.labelled.table import probe_table, text_predictions
from bertviz_core.questions.byte_cache import held_nbytes
from ui.cache import models
from ui.cache.decorator import results
from ui.cache.jobs import JobBoard
from ui.views.predictions.cache import head
from ui.widgets.lists.progress import awaited

SHORT_LIST = 512
"""More texts wait for their turn."""
PATIENCE_S = 2.0
"""Seconds for which the page waits without a way to end the run."""


@st.cache_resource(max_entries=1, show_spinner=False)
def jobs() -> JobBoard[TextPredictions]:
    """The lists that this server works on."""
    return JobBoard(SHORT_LIST, held_nbytes, results())


def answers_of_head(name: str, task: str, texts: tuple[str, ...], pairs: tuple[str, ...] | None) -> TextPredictions:
    """What a head says of each text; the page ends here until all are there.

    Raises:
        BertvizError: as text_predictions and load_head.
    """
    asked, tokenizer = head(name, task), models.tokenizer(name)
    return _awaited(
        (asked.name, asked.base.revision, task, pairs),
        texts,
        lambda tell: text_predictions(asked, tokenizer, texts, pairs, tell=tell),
    )


def answers_of_probe(name: str, probe: Probe, texts: tuple[str, ...]) -> TextPredictions:
    """What a probe says of each text; the page ends here until all are there.

    Raises:
        BertvizError: as probe_table.
    """
    model, tokenizer = models.loaded(name), models.tokenizer(name)
    weights = sha256(probe.weight.tobytes() + probe.bias.tobytes()).hexdigest()
    return _awaited(
        (model.name, model.revision, probe.pooling, probe.layer, probe.classes, weights),
        texts,
        lambda tell: probe_table(probe, model, tokenizer, texts, tell),
    )


def _awaited(
    what: tuple[object, ...], texts: tuple[str, ...], work: Callable[[Progress], TextPredictions]
) -> TextPredictions:
    key = sha256(repr((what, texts)).encode("utf-8", "backslashreplace")).hexdigest()
    job = jobs().start(key, len(texts), work, held_nbytes(texts))
    return awaited(jobs, key, job, "texts", PATIENCE_S)
