"""Views of the page Parameters: tree with table, layers or components, several models."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

import pandas as pd
import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.figures.parameters.bars import components_figure, layers_figure, models_figure
from bertviz_core.figures.parameters.tree import FORMS, ROOT_ID, TreeForm, tree_figure
from bertviz_core.parameters.results import Ledger, Parameter
from bertviz_core.questions.models.parameters import DEPTH, FIRST_DEPTH, FORM
from bertviz_core.questions.tables.parameters import parameters_frame, readable
from ui.address.registry import param
from ui.address.widgets import choice, level
from ui.cache import ledgers as cache_ledgers
from ui.cache import sources
from ui.views.parameters import texts
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import chart, download_row, explained, figure_block, numbers_table
from ui.widgets.formatting import bytes_text, count, escape_markdown, short_count
from ui.widgets.models import fields

MAX_ROWS = 20_000
GROUPS = {"All": "", "Embeddings": "embeddings", "Layer 0": "first", "Pooler and head": "output"}
MEBIBYTE = 2**20


def rows_view(ledger: Ledger, modules: list[str]) -> None:
    """The named parameters, filtered by module, group and search."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        module = fields.module_select(modules)
        pattern = fields.search("search", "Search names")
    group = choice(param("rows"), "Rows of the table", label_visibility="collapsed")
    rows = [
        row
        for row in ledger.parameters
        if _in_group(row, GROUPS[group])
        and (not module or row.name == module or row.name.startswith(f"{module}."))
        and pattern.lower() in row.name.lower()
    ]
    counted = [row for row in rows if row.tied_to is None]
    total = sum(row.numel for row in counted)
    where = f"{escape_markdown(module)}: " if module else ""
    share = f"{total / ledger.total:.1%} of the model" if ledger.total else ""
    st.markdown(f"{where}**{len(counted):,} tensors, {total:,} parameters** ({short_count(total)}, {share})")
    shown = informative_columns(readable(parameters_frame(rows[:MAX_ROWS])))
    alt = "Named parameters with shape, count and what else differs between them"
    numbers_table(shown, alt, height=300, first=NAME_WIDTH)
    st.caption(same_for_all(rows))
    if len(rows) > MAX_ROWS:
        st.caption(f"The first {MAX_ROWS:,} of {len(rows):,} rows; search to narrow them, the CSV has all.")


NAME_WIDTH = 300
"""Pixels of the column of names."""


def informative_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Name, shape and count, and those other columns that differ between rows."""
    varied = [column for column in ("dtype", "trainable", "tied_to") if frame[column].nunique() > 1]
    renamed = (frame["stored_name"] != "") & (frame["stored_name"] != frame["name"])
    return frame[["name", "shape", "numel", *varied, *(["stored_name"] if renamed.any() else [])]]


def same_for_all(rows: Sequence[Parameter]) -> str:
    """What all rows have in common."""
    dtypes = {row.dtype for row in rows}
    sentences = [f"all {next(iter(dtypes))}"] if len(dtypes) == 1 else []
    trainable = {row.trainable for row in rows}
    sentences += ["all trainable" if True in trainable else "none trainable"] if len(trainable) == 1 else []
    sentences += ["none tied"] if rows and not any(row.tied_to for row in rows) else []
    return f"In these rows: {', '.join(sentences)}." if sentences else ""


def _in_group(row: Parameter, group: str) -> bool:
    """Whether a row belongs to one of the three groups of BERT's parameters in teaching texts."""
    if group == "first":
        return row.layer == 0 and row.component == "encoder"
    if group == "output":
        return row.component in ("pooler", "task head")
    return not group or row.component == group


def totals(ledger: Ledger) -> None:
    """The sums of the model, its size, and how rows, parts and file add up."""
    sizes = {dtype: ledger.total * nbytes for dtype, nbytes in (("float32", 4), ("float16", 2), ("int8", 1))}
    formats = {row.dtype for row in ledger.parameters}
    with st.container(horizontal=True):
        st.metric("Total", count(ledger.total), help=f"{short_count(ledger.total)}; tied parameters counted once.")
        st.metric("Trainable", count(ledger.trainable), help="Parameters that training changes.")
        st.metric("Tensors", count(ledger.tensors), help="Named parameters, tied ones counted once.")
        stored = "As stored" if ledger.stored_nbytes is not None else f"In {next(iter(formats), 'its format')}"
        st.metric(stored, bytes_text(ledger.nbytes), help=f"{ledger.nbytes:,} bytes, {', '.join(sorted(formats))}.")
        for dtype, size in sizes.items():
            if formats != {dtype}:
                more = {"float16": "; the same in bfloat16", "int8": ", without scales"}.get(dtype, "")
                st.metric(f"In {dtype}", bytes_text(size), help=f"{size:,} bytes{more}.")
    st.caption(balance(ledger))


def balance(ledger: Ledger) -> str:
    """Sums of the components and of the tensors in the file."""
    parts = " + ".join(f"{part.name} {part.total:,}" for part in ledger.components)
    sentences = [f"{parts} = **{ledger.total:,}** parameters."]
    if ledger.stored_tensors is not None:
        buffers = sum(buffer.stored for buffer in ledger.buffers)
        repeated = sum(1 for row in ledger.parameters if row.tied_to and row.stored_name)
        files = {row.stored_name for row in ledger.parameters if row.stored_name}
        terms = [
            (len(files) - repeated, "with parameters"),
            (repeated, "tied, stored again"),
            (buffers, "buffer" if buffers == 1 else "buffers"),
        ]
        sums = " + ".join(f"{number:,} {what}" for number, what in terms if number)
        sentences.append(f"The file stores {ledger.stored_tensors:,} tensors: {sums}.")
    elif ledger.tied:
        sentences.append(f"{len(ledger.parameters):,} names: {ledger.tensors:,} tensors, {ledger.tied:,} names tied.")
    return "  \n".join(sentences)


def tree_controls(name: str, task: str | None) -> tuple[TreeForm, int]:
    """Form and depth of the tree."""
    form = choice(FORM, "Form", FORMS)
    with st.container(width=DEPTH_WIDTH):
        deepest, help_text = cache_ledgers.depth(name, task), "Levels of modules that are drawn."
        depth = level(DEPTH, "Depth", deepest, FIRST_DEPTH, help=help_text)
    return form, depth


DEPTH_WIDTH = 200
"""Pixels."""


@st.fragment
def tree_view(name: str, task: str | None, form: TreeForm, depth: int) -> None:
    """The module tree; a click on a module shows its rows."""
    with shown_to_user():
        ledger, nodes = cache_ledgers.ledger(name, task), cache_ledgers.tree(name, depth, task)
        source = sources.source(name)
    with st.container(key="halves_tree"):
        picture, rows = st.columns([1, 1], gap="medium")
    picture_of_tree, key = tree_figure(ledger, nodes, form), "parameters_tree"
    with picture:
        chart(picture_of_tree, key, on_select=lambda: fields.take_click(key, ROOT_ID), share=0.49)
    with rows:
        rows_view(ledger, [node.id for node in nodes if node.id and not node.folded])
    table = readable(parameters_frame(ledger.parameters))
    download_row(picture_of_tree, key, f"parameters {form} {name}", picture_of_tree.caption, table)
    totals(ledger)
    explained("parameters_tree", *texts.tree(source, ledger))


def split_view(name: str, task: str | None, split: str) -> None:
    """Bars of the layers, or the components as one bar; below them the sums of the model."""
    ledger, layered = cache_ledgers.ledger(name, task), split == "layers"
    if layered and not ledger.layers:
        st.info("No numbered layers were found among the names of this model; split it by components instead.")
        return
    block = figure_block(
        layers_figure(ledger) if layered else components_figure(ledger),
        f"{split} {name}",
        layers_frame(ledger) if layered else components_frame(ledger),
        alt="Parameters of each layer by part" if layered else "Components with parameters, share and arithmetic",
        numbers="open",
        explanation=(texts.layers if layered else texts.components)(sources.source(name), ledger),
        formats={"share": "percent"},
    )
    if layered:
        block.markdown(layers_words(ledger))
    totals(ledger)


def layers_frame(ledger: Ledger) -> pd.DataFrame:
    """A row per layer; parts that no layer has are left out."""
    stacks = len({row.component for row in ledger.layers}) > 1
    parts = {
        "attention": [row.attention for row in ledger.layers],
        "query": [row.query for row in ledger.layers],
        "key": [row.key for row in ledger.layers],
        "value": [row.value for row in ledger.layers],
        "query, key, value (fused)": [row.query_key_value for row in ledger.layers],
        "attention output": [row.attention_output for row in ledger.layers],
        "attention, other": [row.attention_other for row in ledger.layers],
        "feed-forward": [row.feed_forward for row in ledger.layers],
        "layer norm": [row.layer_norm for row in ledger.layers],
        "other": [row.other for row in ledger.layers],
    }
    runs = [row.applications for row in ledger.layers]
    return pd.DataFrame(
        {
            **({"stack": [row.component for row in ledger.layers]} if stacks else {}),
            "layer": [row.layer for row in ledger.layers],
            "parameters": [row.total for row in ledger.layers],
            "share": [row.total / ledger.total for row in ledger.layers],
            **{part: counts for part, counts in parts.items() if any(counts)},
            **({"runs per pass": runs} if any(run > 1 for run in runs) else {}),
        }
    )


def layers_words(ledger: Ledger) -> str:
    """What the layers have in common."""
    rows = ledger.layers
    runs, blocks = sum(row.applications for row in rows), len(rows)
    sizes = Counter(row.total for row in rows)
    usual, times = max(sizes.items(), key=itemgetter(1))
    sentences = [f"**{blocks} {'layer' if blocks == 1 else 'layers'}**"]
    if len(sizes) == 1 and blocks > 1:
        sentences = [f"**{blocks} layers of {usual:,} parameters each**"]
    elif times > 1:
        stacks = len({row.component for row in rows}) > 1
        others = [f"{row.component} " * stacks + f"layer {row.layer}" for row in rows if row.total != usual]
        sentences = [f"**{blocks} layers**, {times} of {usual:,} parameters; of another size: {', '.join(others)}"]
    if runs != blocks:
        word = "block" if blocks == 1 else "blocks"
        sentences.append(f"layers share their parameters: **{blocks} {word}, run {runs} times** in one pass")
    return "; ".join(sentences) + "."


def components_frame(ledger: Ledger) -> pd.DataFrame:
    """A row per component, with its arithmetic in words."""
    return pd.DataFrame(
        {
            "component": [part.name for part in ledger.components],
            "parameters": [part.total for part in ledger.components],
            "share": [part.total / (ledger.total or 1) for part in ledger.components],
            "tensors": [part.tensors for part in ledger.components],
            "arithmetic": [f"{part.arithmetic} = {part.total:,}" for part in ledger.components],
        }
    )


def compare_view(name: str, task: str | None) -> None:
    """Several models side by side, each with the head of the task if it has one."""
    place = st.container()
    with st.popover("Models compared"):
        names = fields.models_select(name)
    ledgers, refused = [], []
    for each in names:
        try:
            ledgers.append(cache_ledgers.ledger(each, task))
        except BertvizError as error:
            refused.append(str(error))
    with place:
        for message in refused:
            st.warning(escape_markdown(message))
        if not ledgers:
            st.info("Choose at least one model to see its bar.")
            return
        shown = [each.model for each in ledgers]
        figure_block(
            models_figure(ledgers),
            f"models side by side {' '.join(shown)}",
            models_frame(ledgers),
            alt="Counts of several models",
            numbers="open",
            models=shown,
            explanation=texts.compare([sources.source(each) for each in shown], ledgers),
            formats={f"relative to {shown[0]}": "%.2f ×", "MiB in float32": "%.1f"},
        )


def models_frame(ledgers: Sequence[Ledger]) -> pd.DataFrame:
    """A row per model."""
    first = ledgers[0]
    parts = ("embeddings", "encoder", "decoder", "pooler", "task head")
    counts = {part: [sum(c.total for c in each.components if c.name == part) for each in ledgers] for part in parts}
    runs = [sum(row.applications for row in each.layers) for each in ledgers]
    return pd.DataFrame(
        {
            "model": [each.model for each in ledgers],
            "total": [each.total for each in ledgers],
            f"relative to {first.model}": [each.total / (first.total or 1) for each in ledgers],
            "tensors": [each.tensors for each in ledgers],
            "layers run": runs,
            "layers stored": [len(each.layers) for each in ledgers],
            **{part: totals for part, totals in counts.items() if any(totals)},
            "MiB in float32": [each.total * 4 / MEBIBYTE for each in ledgers],
        }
    )


VIEWS: Mapping[str, Callable[..., None]] = {"Tree": tree_view, "Layers": split_view, "Compare models": compare_view}
"""Name -> view of a model and a task, and of what its controls return."""


def view_controls(view: str, name: str, task: str | None) -> tuple[object, ...]:
    """Controls of a view, beside the names of the views."""
    if view == "Tree":
        return tree_controls(name, task)
    return (choice(param("split"), "Split by"),) if view == "Layers" else ()
