"""Compare two checkpoints: names, changes of tensors, and behaviour with a text."""

import math

import pandas as pd
import streamlit as st

from bertviz_core.checkpoints.results import Behaviour, CheckpointComparison, TensorChange, TensorGrid
from bertviz_core.checkpoints.rounding.formats import COPIES
from bertviz_core.checkpoints.tables import adapter_frame, changes_frame
from bertviz_core.figures.checkpoints.adapter_updates import adapter_updates_figure
from bertviz_core.figures.checkpoints.comparison import (
    change_figure,
    changes_figure,
    cosines_figure,
    divergences_figure,
    most_changed,
    state_names,
)
from bertviz_core.isolation.regular_files import has_links
from bertviz_core.questions.models import checkpoints
from bertviz_core.questions.models.adapter import UPDATE_MEASURE, adapter_updates
from bertviz_core.questions.models.checkpoints import CHANGED
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.text import counted, decimals, digits, escape_markdown
from ui.address.registry import param
from ui.cache import ledgers, models, sources
from ui.cache.shared_model import SharedModel
from ui.components.cell_click import cell_click
from ui.views.checkpoint import cache
from ui.views.checkpoint import controls as checkpoint_controls
from ui.views.checkpoint.answers.lists import AnsweredTexts, answered_texts
from ui.views.checkpoint.answers.view import answers_view
from ui.views.checkpoint.layers import layers_view
from ui.views.checkpoint.texts import (
    ADAPTER,
    BEHAVIOUR,
    COMPARE,
    COPIED,
    EQUAL,
    WHOLE_CHANGE,
    adapter_code,
    behaviour_code,
    compare_code,
)
from ui.widgets import text_fields
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import explained, figure_block, folded, numbers_table
from ui.widgets.formatting import run_words
from ui.widgets.heading import unshown
from ui.widgets.models import run_model
from ui.widgets.models.second import needs_second, second_name


def behaviour_view(name: str, other: str) -> None:
    """Both models on the text of the sidebar."""
    text, pair = text_fields.text(), text_fields.pair()
    opened, options = SharedModel(name), Options((text,), pair, values={checkpoints.OTHER.key: other})
    rounding, read = COPIES.get(other), checkpoints.require_same_text(opened, options)
    with st.spinner("Running both models"):
        first = run_model.traced(name, text, pair)
        second = (
            run_model.traced(other, text, pair)
            if rounding is None
            else run_model.run_tokens(models.rounded(name, rounding), read)
        )
    place = st.empty()

    def progress(done: int, layers: int) -> None:
        place.progress(done / layers, f"Attention of layer {done} of {layers}")

    measured = checkpoints.behaviour_of(opened, options, first, second, progress).result
    place.empty()
    for notice in unshown(measured.notices):
        st.warning(escape_markdown(notice))
    st.caption(f"Both models ran {run_words(first.device, first.dtype)}.")
    _cosines(measured)
    _divergences(measured)
    explained(
        "checkpoint_behaviour", BEHAVIOUR, behaviour_code(sources.source(name), rounding or sources.source(other), read)
    )


def _cosines(behaviour: Behaviour) -> None:
    if behaviour.cosines is None:
        return
    last = behaviour.cosines[-1]
    frame = pd.DataFrame(
        behaviour.cosines, columns=[f"{place} {token}" for place, token in enumerate(behaviour.tokens.tokens)]
    )
    frame.insert(0, "hidden state", state_names(len(behaviour.cosines)))
    filename = f"cosine {behaviour.first} {behaviour.second}"
    words = figure_block(
        cosines_figure(behaviour), filename, frame, texts=behaviour.tokens, models=models_of(behaviour)
    )
    mean, least = float(last.mean()), float(last.min())
    words.markdown(
        f"After the last layer the mean cosine of all tokens is **{decimals(mean)}**, "
        f"the smallest **{decimals(least)}**."
    )


def _divergences(behaviour: Behaviour) -> None:
    if behaviour.divergences is None:
        return
    layer, head = divmod(int(behaviour.divergences.argmax()), behaviour.divergences.shape[1])
    largest = float(behaviour.divergences[layer, head])
    where = f"largest at layer {layer}, head {head}: **{digits(largest, 2)}** nats" if largest else "0 in every head"
    frame = pd.DataFrame(
        behaviour.divergences, columns=[f"head {head}" for head in range(behaviour.divergences.shape[1])]
    )
    frame.insert(0, "layer", range(len(behaviour.divergences)))
    filename = f"divergence {behaviour.first} {behaviour.second}"
    words = figure_block(
        divergences_figure(behaviour), filename, frame, texts=behaviour.tokens, models=models_of(behaviour)
    )
    words.markdown(f"Jensen-Shannon divergence, mean over the tokens that look; {where}. It is at most ln 2 = 0.6931.")


def models_of(comparison: CheckpointComparison | Behaviour) -> tuple[str, ...]:
    """Names of the models compared."""
    return tuple(dict.fromkeys((comparison.first, comparison.second)))


MAP = "checkpoint_changes"
WEIGHTS, WITH_TEXT, LAYERS, ANSWERS = param("compared").options


def settings(name: str) -> tuple[str, str, bool, str, AnsweredTexts | None]:
    """The other checkpoint, what is compared, how the map is drawn, and the texts that are answered."""
    other = second_name()
    if not other:
        return "", WEIGHTS, True, checkpoints.ORDER.options[0], None
    compared = checkpoint_controls.compared_select()
    logarithmic, order, texts = True, checkpoints.ORDER.options[0], None
    if compared == WEIGHTS:
        with st.popover("Options"):
            logarithmic = checkpoint_controls.scale_choice()
            order = checkpoint_controls.order_choice()
    elif compared == ANSWERS:
        texts = answered_texts(sources.source(name).config)
    return other, compared, logarithmic, order, texts


def view(name: str, other: str, compared: str, logarithmic: bool, order: str, texts: AnsweredTexts | None) -> None:
    """The changes from this checkpoint to another."""
    if needs_second("A comparison of checkpoints"):
        return
    options = Options(values={checkpoints.OTHER.key: other, checkpoints.ORDER.key: order})
    first, second = checkpoints.both_checkpoints(SharedModel(name), options)
    if second.rounding:
        st.caption(COPIED.format(rounding=second.rounding))
    elif first.folder == second.folder:
        st.info(EQUAL, icon=":material/info:")
    if compared == WEIGHTS:
        if sources.source(name).adapter is not None:
            _adapter(name)
        comparison = cache.comparison(name, options)
        for notice in unshown(checkpoints.checkpoint_comparison(SharedModel(name), options).notices):
            st.warning(escape_markdown(notice), icon=":material/warning:")
        _weights(name, options, comparison, logarithmic)
        _names(comparison)
    elif compared == WITH_TEXT:
        behaviour_view(name, other)
    elif compared == LAYERS:
        layers_view(name, other)
    else:
        answers_view(name, other, texts)


@st.fragment
@shown_to_user()
def _adapter(name: str) -> None:
    """What an adapter adds to each matrix of its base: a map, and a list with the singular values."""
    st.header("What the adapter did", anchor=False)
    values = {UPDATE_MEASURE.key: checkpoint_controls.update_measure_choice()}
    answer = adapter_updates(SharedModel(name), Options(values=values))
    updates, drawn = answer.result, answer.drawn
    for notice in unshown(answer.notices):
        st.warning(escape_markdown(notice))
    if not updates.updates:
        st.info("This adapter has no updates of low rank; it replaces whole tensors.", icon=":material/info:")
        return
    largest = max(updates.updates, key=lambda each: each.relative_norm)
    words = figure_block(
        adapter_updates_figure(drawn["update_grid"], updates, values[UPDATE_MEASURE.key]),
        f"updates of {updates.adapter} {values[UPDATE_MEASURE.key]}",
        adapter_frame(updates),
        alt=f"Updates of {updates.adapter}, with their singular values",
        explanation=(ADAPTER, adapter_code(sources.source(name), largest)),
    )
    ranks = sorted({each.rank for each in updates.updates})
    span = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {ranks[0]} to {ranks[-1]}"
    replaced = f", and replaces {counted(len(updates.saved), 'tensor')} as a whole" if updates.saved else ""
    words.caption(
        f"The adapter changes {len(updates.updates):,} matrices of {escape_markdown(updates.base)} by updates of {span}"
        f"{replaced}. Of all updates {escape_markdown(largest.name)} is the largest beside its matrix, with "
        f"{largest.relative_norm:.1%} of the matrix's norm. Below, the merged model beside the second model of the "
        "sidebar."
    )


def _names(comparison: CheckpointComparison) -> None:
    """Counts of matching tensors, and names without a partner."""
    equal = sum(each.changed == 0 and each.relative_change == 0 for each in comparison.tensors)
    with st.container(horizontal=True):
        whole = number(comparison.relative_change) if comparison.tensors else "–"
        st.metric("Relative change", whole, help=WHOLE_CHANGE)
        st.metric("Tensors in both", f"{len(comparison.tensors):,}", help="Of one shape, whatever their number format.")
        st.metric("Unchanged", f"{equal:,}", help="Every number of them is the same.")
        st.metric("Added", f"{len(comparison.added):,}", help=f"Only in {comparison.second}.")
        st.metric("Removed", f"{len(comparison.removed):,}", help=f"Only in {comparison.first}.")
        st.metric("Resized", f"{len(comparison.resized):,}", help="In both, with another shape.")
    for model, prefix in zip((comparison.first, comparison.second), comparison.prefixes, strict=True):
        if prefix:
            st.markdown(
                f"Names of {escape_markdown(model)} are read without their prefix **{escape_markdown(prefix)}**"
            )
    rows = [("added", each.name, "", _shape(each.shape)) for each in comparison.added]
    rows += [("removed", each.name, _shape(each.shape), "") for each in comparison.removed]
    rows += [("resized", each.name, _shape(each.first), _shape(each.second)) for each in comparison.resized]
    if rows:
        with folded(f"{len(rows):,} tensors that have no partner of their shape", "checkpoint_names"):
            numbers_table(
                pd.DataFrame(rows, columns=["what", "tensor", "first", "second"]), "Tensors without a partner"
            )


@st.fragment
@shown_to_user()
def _weights(name: str, options: Options, comparison: CheckpointComparison, logarithmic: bool) -> None:
    """The map of relative changes, the clicked tensor and the table."""
    if not comparison.tensors:
        words = "The two have no tensor of one name and shape, so nothing can be subtracted"
        st.info(f"{words}. What they do with texts can be compared: **What is compared**.", icon=":material/info:")
        return
    opened = SharedModel(name)
    grid: TensorGrid = checkpoints.changes(opened, options).drawn["change_grid"]
    spec = changes_figure(grid, comparison, logarithmic)
    filename = f"change from {comparison.first} to {comparison.second}"
    with figure_block(spec, filename, changes_frame(comparison), models=models_of(comparison)):
        cell = cell_click(MAP)
        st.caption("Click a cell to see its tensor below.")
        if grid.left_out:
            st.caption(f"{grid.left_out:,} more tensors are in the table.")
    checkpoint_controls.take_cell(CHANGED, cell, "" if cell is None else grid.tensor_at(*cell))
    by_name = {each.name: each for each in comparison.tensors}
    chosen = by_name[checkpoint_controls.tensor_select(CHANGED, list(by_name), most_changed(comparison))]
    first, second = checkpoints.both_checkpoints(opened, options)
    _tensor(opened, options, comparison, chosen)
    if has_links(first.folder) or has_links(second.folder):  # merged adapters, whose files are not the reader's
        lines = library_lines(checkpoints.changes, opened, options)
    else:
        lines = compare_code(first, second, chosen, sources.source(first.name), ledgers.ledger(first.name))
    explained(MAP, COMPARE, lines)


def _tensor(opened: SharedModel, options: Options, comparison: CheckpointComparison, change: TensorChange) -> None:
    """One tensor in both checkpoints: its numbers, and histograms of values and differences."""
    with st.container(horizontal=True):
        st.metric("Relative change", number(change.relative_change), help="Norm of the difference over the first norm.")
        st.metric("Norm of the difference", number(change.difference_norm))
        st.metric("First norm", number(change.first_norm))
        st.metric("Second norm", number(change.second_norm))
        st.metric("Largest difference", number(change.largest_difference), help="Of a single number.")
        st.metric("Numbers changed", f"{change.changed:,}", help=f"Of {math.prod(change.shape):,}.")
    values = {**options.values, checkpoints.CHANGED.key: change.name}
    drawn = checkpoints.tensor_change(opened, Options(values=values)).result
    edges, steps = drawn.first.edges, drawn.difference.edges
    frame = pd.DataFrame({"from": edges[:-1], "to": edges[1:]})
    frame["first"], frame["second"] = drawn.first.counts, drawn.second.counts
    frame["difference from"], frame["difference to"] = steps[:-1], steps[1:]
    frame["differences"] = drawn.difference.counts
    filename = f"change of {change.name} {comparison.second}"
    figure_block(change_figure(drawn, change, comparison), filename, frame, models=models_of(comparison))


def number(value: float) -> str:
    """Format a number with four digits; an exact 0 as 0."""
    return "0" if value == 0 else digits(value)


def _shape(shape: tuple[int, ...]) -> str:
    return str(shape)
