"""Attention maps of a trace, their cost, and the check against the model's own attention."""

import streamlit as st

from bertviz_core.attention.results import AttentionAtlas, AttentionMap, MapOptions, PooledMap
from bertviz_core.errors import Progress
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts import attention
from bertviz_core.trace.results import Trace
from bertviz_core.trace.verification import receipt as receipt_of
from ui.cache import models
from ui.cache.models import checked
from ui.cache.shared_model import SharedModel

ATLAS_CELLS = 250_000_000
"""Most cells of all maps that are shown at once without confirmation."""
CELLS_PER_SECOND = 100_000_000
"""Approximate number of cells of attention computed per second; for messages only."""


def cells(trace: Trace) -> int:
    """Cells of all maps of a trace."""
    return trace.num_hidden_layers * trace.num_attention_heads * len(trace.tokens) ** 2


def atlas_words(trace: Trace) -> str:
    """Estimated time for all heads of a long text, in words."""
    seconds = cells(trace) / CELLS_PER_SECOND
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def atlas(trace: Trace, reading: MapOptions, progress: Progress | None = None) -> AttentionAtlas:
    """All heads at a glance; writing progress to the page ends superseded work."""
    return attention.atlas_of(SharedModel(trace.model, trace), trace, reading, progress)


def one_map(trace: Trace, layer: int, head: int, reading: MapOptions) -> AttentionMap:
    """The map of one head."""
    return attention.head_map(SharedModel(trace.model, trace), trace, layer, head, reading)


def part_map(trace: Trace, layer: int, head: int, part: tuple[int, int, int, int] | None) -> PooledMap:
    """The map of one head of a long text, or of a part of it, pooled to a limited size."""
    values = {"layer": str(layer), "head": str(head)}
    if part is not None:
        values[attention.QUERIES.key] = f"{part[0]}:{part[1] - 1}"
        values[attention.KEYS.key] = f"{part[2]}:{part[3] - 1}"
    options = Options((trace.tokens.text,), trace.tokens.pair, values=values)
    return attention.pooled_map(SharedModel(trace.model, trace), options).result


def receipt(trace: Trace) -> str:
    """Describe how the recorded attention compares with the model's own; the comparison is made if needed.

    Returns "" for attention that is not recorded, and for a model that just failed: its next run is not recorded.
    """
    receipts = _receipts()
    key = trace.model, trace.revision, trace.dtype
    if trace.attention_source == "recorded" and key not in receipts:
        check = checked(models.loaded(trace.model))
        receipts.update({key: receipt_of(check)} if check is not None else {})
    return receipts.get(key, "") if trace.attention_source == "recorded" else ""


@st.cache_resource(max_entries=1, show_spinner=False)
def _receipts() -> dict[tuple[str, str, str], str]:
    """Cached sentences by model, revision and number format."""
    return {}
