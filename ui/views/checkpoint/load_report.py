"""The load report: which weights come from the file, what that means, and what the task's head adds."""

import pandas as pd
import streamlit as st

from bertviz_core.checkpoints.load_report.advice import share_text
from bertviz_core.checkpoints.load_report.report import LABELLED
from bertviz_core.checkpoints.load_report.results import HeadDifference, LoadReport
from bertviz_core.checkpoints.tables import keys_frame
from bertviz_core.errors import BertvizError, UnsupportedModelError
from bertviz_core.figures.checkpoints.load_report import report_figure, task_head_figure
from bertviz_core.questions.models import checkpoints
from bertviz_core.questions.parameters import Options
from bertviz_core.tables.typeset import readable
from bertviz_core.text import bytes_text, class_words, count, escape_markdown
from ui.cache import ledgers, sources
from ui.cache.shared_model import SharedModel
from ui.views.checkpoint import texts
from ui.views.checkpoint.controls import keys_filter, labels_input, load_task_select, own_task
from ui.widgets.figure_block import explained, figure_block, numbers_table
from ui.widgets.heading import unshown

KEY = "checkpoint_report"
MAX_ROWS = 20_000


def origin(name: str) -> str:
    """Class and origin of the checkpoint, in a line."""
    source = sources.source(name)
    classes = class_words(sources.saved_class(name), ledgers.ledger(name).architecture)
    if source.adapter is not None:
        classes = f"{classes}, an adapter of {source.adapter.base.name}"
    return f"{classes}; {'its weights are on this machine' if source.has_weights else 'without its weights'}"


def settings(name: str) -> tuple[str, int | None]:
    """The task whose class would be loaded, and the labels of its head."""
    tasks = sources.tasks(name)
    if not tasks:
        raise UnsupportedModelError(f"transformers has no class of {name!r} for any of the supported tasks.")
    config = sources.source(name).config
    task = load_task_select(tasks, own_task(sources.saved_class(name), tasks))
    return task, labels_input(len(config.get("id2label") or ()) or 2) if task in LABELLED else None


def view(name: str, task: str, labels: int | None) -> None:
    """The report for the task, or why there is none, and what the head adds or leaves out."""
    opened, options = SharedModel(name), Options(task=task, values={} if labels is None else {"labels": str(labels)})
    try:
        report = checkpoints.load_report(opened, options).result
    except BertvizError as error:
        st.warning(escape_markdown(str(error)), icon=":material/description:")
    else:
        _reported(report)
    difference = checkpoints.task_head(opened, options).result
    if difference.added or difference.removed:
        _difference(difference)


def _reported(report: LoadReport) -> None:
    spec = report_figure(report)
    caption = (
        f"{spec.title}: {report.matched:,} of {report.expected:,} tensors, {share_text(report.fraction_from_file)}."
    )
    filename = f"load report {report.task} {report.model}"
    with figure_block(spec, filename, readable(keys_frame(report.rows)), numbers="in files", caption=caption):
        _verdict(report)
        for notice in unshown(report.notices):
            st.warning(escape_markdown(notice))
        st.caption(texts.READING)
    values = {
        "Matched": f"{report.matched:,} of {report.expected:,}",
        "New": count(len(report.new)),
        "Unused": count(len(report.unused)),
        "Wrong shape": count(len(report.mismatched)),
        "From the file": share_text(report.fraction_from_file),
    }
    with st.container(horizontal=True):
        for label, value in values.items():
            st.metric(label, value, help=texts.HELP[label])
    _keys(report)
    read = bytes_text(report.header_nbytes) if report.header_nbytes else "the headers only, from the Hub"
    st.caption(
        f"The file: {report.stored_tensors:,} tensors, {bytes_text(report.stored_nbytes)}. Read for this: {read}."
    )
    explained(KEY, texts.REPORT, texts.report_code(report, sources.source(report.model)))


def _verdict(report: LoadReport) -> None:
    """The meaning of the figure, and how to repair the checkpoint."""
    sound = report.is_complete and not report.notices
    show = st.success if sound else st.error if report.repair or report.mismatched else st.warning
    show(escape_markdown(report.suggestion), icon=":material/check_circle:" if sound else ":material/warning:")
    repair = report.repair
    if repair is None:
        return
    st.markdown(
        f":material/build: **{escape_markdown(repair.words)}: {repair.before:,} → {repair.after:,} of "
        f"{repair.expected:,}** "
        f"tensors match once {repair.keys:,} keys are renamed."
    )
    st.code(repair.code, language="python")


@st.fragment
def _keys(report: LoadReport) -> None:
    """Every name with its status, filtered by status and search."""
    counts: dict[str, int] = {}
    for row in report.rows:
        counts[row.status] = counts.get(row.status, 0) + 1
    state, pattern = keys_filter(counts)
    rows = [
        row
        for row in report.rows
        if state in ("all", row.status)
        and any(pattern.lower() in name.lower() for name in (row.name, *row.stored_names))
    ]
    # Names without a counterpart come first: they are the subject of the report.
    rows.sort(key=lambda row: row.status == "matched")
    st.markdown(f"**{len(rows):,} keys**, " + ", ".join(f"{number:,} {each}" for each, number in counts.items()))
    numbers_table(
        readable(keys_frame(rows[:MAX_ROWS])), "Keys of the model and the file with their status", 330, first=330
    )
    if len(rows) > MAX_ROWS:
        st.caption(f"The first {MAX_ROWS:,} of {len(rows):,} rows; search to narrow them, the CSV has all.")


def _difference(difference: HeadDifference) -> None:
    """The tree of the class beside that of the base model, with additions and omissions marked."""
    st.header("What the head adds", anchor=False)
    st.markdown(f"{difference.architecture}: {texts.added_words(difference)}")
    frame = pd.DataFrame(
        {
            "name": [node.name or difference.architecture for node in difference.nodes],
            "class": [node.kind for node in difference.nodes],
            "shape": ["" if node.shape is None else str(node.shape) for node in difference.nodes],
            "parameters": [node.numel for node in difference.nodes],
            "beside the base model": [node.mark for node in difference.nodes],
            "tied to": [node.tied_to or "" for node in difference.nodes],
        }
    )
    figure_block(
        task_head_figure(difference),
        f"head {difference.task} {difference.model}",
        frame,
        explanation=(texts.DIFFERENCE, texts.difference_code(difference, sources.source(difference.model))),
    )
