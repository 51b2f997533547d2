"""Statistics of a checkpoint's weights: problems, all tensors, one tensor."""

import pandas as pd
import streamlit as st

from bertviz_core.checkpoints.health import CHECKED, diagnose_weights
from bertviz_core.checkpoints.results import CheckpointStatistics, TensorStatistics
from bertviz_core.checkpoints.tables import statistics_frame
from bertviz_core.figures.checkpoints.weights import (
    STATISTICS,
    drawn_range,
    first_matrix,
    statistic_figure,
    tensor_values_figure,
)
from bertviz_core.questions.models import checkpoints
from bertviz_core.questions.models.checkpoints import TENSOR
from bertviz_core.questions.models.parameters import count_notices
from bertviz_core.questions.parameters import Options
from bertviz_core.text import bytes_text, digits, escape_markdown
from ui.cache import ledgers, sources
from ui.cache.shared_model import SharedModel
from ui.components.cell_click import cell_click
from ui.views.checkpoint import cache, controls
from ui.views.checkpoint.texts import HISTOGRAM, WEIGHTS, histogram_code, weights_code
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import figure_block

MAP = "checkpoint_weights"


def settings(name: str) -> tuple[str, bool]:
    """The statistic that is drawn, and whether its scale is logarithmic."""
    statistic = controls.statistic_choice()
    signed = STATISTICS[statistic][2]
    return statistic, not signed and controls.weights_scale_choice()


def view(name: str, statistic: str, logarithmic: bool) -> None:
    """Statistics of all tensors, and whether they look healthy."""
    statistics = cache.statistics(name)
    signs = diagnose_weights(statistics, checkpoints.opened_checkpoint(SharedModel(name)).config)
    for sentence in (*count_notices(SharedModel(name)), *(sign.sentence for sign in signs)):
        st.warning(escape_markdown(sentence), icon=":material/warning:")
    _tensors(name, statistics, statistic, logarithmic)
    if not signs:
        st.success(f"Nothing suspicious in {len(statistics.tensors):,} tensors.", icon=":material/check_circle:")
    read = f"{len(statistics.tensors):,} tensors, {bytes_text(statistics.nbytes)}, were read piece by piece. Looked for"
    st.caption(f"{read}: {'; '.join(CHECKED)}.")
    if statistics.unread:
        unread, first = len(statistics.unread), escape_markdown(statistics.unread[0])
        st.caption(f"Skipped, since the number format is not supported: {unread:,} ({first}, ...).")


@st.fragment
@shown_to_user()
def _tensors(name: str, statistics: CheckpointStatistics, statistic: str, logarithmic: bool) -> None:
    """The map, the clicked tensor and the table."""
    values = {checkpoints.STATISTIC.key: statistic}
    grid = checkpoints.tensor_statistics(SharedModel(name), Options(values=values)).result
    source, ledger = sources.source(statistics.model), ledgers.ledger(statistics.model)
    words = figure_block(
        statistic_figure(grid, statistic, statistics.model, logarithmic),
        f"{statistic} {statistics.model}",
        statistics_frame(statistics),
        alt=f"Statistics of every tensor of {statistics.model}",
        explanation=(WEIGHTS, weights_code(source, ledger)),
    )
    with words:
        cell = cell_click(MAP)
        st.caption("Click a cell to see its tensor below.")
        if grid.left_out:
            st.caption(f"{grid.left_out:,} more tensors are in the table.")
    controls.take_cell(TENSOR, cell, "" if cell is None else grid.tensor_at(*cell))
    by_name = statistics.by_name()
    if by_name:
        chosen = controls.tensor_select(TENSOR, list(by_name), first_matrix(statistics))
        _values(name, statistics, by_name[chosen])


def _values(name: str, statistics: CheckpointStatistics, tensor: TensorStatistics) -> None:
    """One tensor: its numbers, and a histogram of its values."""
    with st.container(horizontal=True):
        st.metric("Shape", "×".join(map(str, tensor.shape)) or "1", help=f"{tensor.numel:,} numbers, {tensor.dtype}.")
        st.metric("Mean", digits(tensor.mean))
        st.metric("Standard deviation", digits(tensor.std), help="Around the mean.")
        st.metric("Smallest", digits(tensor.minimum))
        st.metric("Largest", digits(tensor.maximum))
        st.metric("Zeros", f"{tensor.zeros:,}")
        st.metric("NaN, infinite", f"{tensor.nan:,}, {tensor.infinite:,}")
    if not tensor.finite:
        st.caption("None of its values is finite, so there is no histogram.")
        return
    source, ledger = sources.source(statistics.model), ledgers.ledger(statistics.model)
    answer = checkpoints.tensor_values(SharedModel(name), Options(values={checkpoints.TENSOR.key: tensor.name}))
    histogram, deviation = answer.result, answer.drawn["initial_deviation"]
    low, high = drawn_range(tensor, deviation)
    edges = histogram.edges.tolist()
    frame = pd.DataFrame({"from": edges[:-1], "to": edges[1:], "count": histogram.counts})
    words = figure_block(
        tensor_values_figure(histogram, deviation, tensor, statistics.model),
        f"values {tensor.name} {statistics.model}",
        frame,
        explanation=(HISTOGRAM, histogram_code(source, ledger, tensor.location.module_name, low, high)),
    )
    if histogram.left_out:
        words.caption(f"{histogram.left_out:,} values lie outside the picture.")
