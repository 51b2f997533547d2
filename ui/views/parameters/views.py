"""The views of the parameters page: tree with table, layers, components, several models."""

import pandas as pd
import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.figures.parameters import (
    FORMS,
    ROOT_ID,
    components_figure,
    layers_figure,
    models_figure,
    tree_figure,
)
from bertviz_core.parameters.results import Ledger, Parameter
from ui.cache import ledgers as cache_ledgers
from ui.views.parameters import texts
from ui.widgets import controls
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import chart, download_row, explained, figure_block, numbers_table
from ui.widgets.formatting import bytes_text, escape_markdown, short_count

MAX_ROWS = 20_000
GROUPS = {"All": "", "Embedding layer": "embeddings", "First encoder": "first", "Output layer": "output"}


def table_view(ledger: Ledger, module: str, wanted: str) -> None:
    """The named parameters, narrowed by module, group and search."""
    group = controls.choice("Rows", list(GROUPS), "rows", label_visibility="collapsed")
    rows = [
        row
        for row in ledger.parameters
        if _in_group(row, GROUPS[group])
        and (not module or row.name == module or row.name.startswith(f"{module}."))
        and wanted.lower() in row.name.lower()
    ]
    counted = [row for row in rows if row.tied_to is None]
    total = sum(row.numel for row in counted)
    where = f"{escape_markdown(module)}: " if module else ""
    share = f"{total / ledger.total:.1%} of the model" if ledger.total else ""
    st.markdown(f"{where}**{len(counted):,} tensors, {total:,} parameters** ({short_count(total)}, {share})")
    frame = rows_frame(rows[:MAX_ROWS])
    numbers_table(frame, "Named parameters with shape, count, dtype, trainable and tied to", height=410, first=290)
    if len(rows) > MAX_ROWS:
        st.caption(f"The first {MAX_ROWS:,} of {len(rows):,} rows; search to narrow them, the CSV has all.")


def rows_frame(rows: tuple[Parameter, ...] | list[Parameter]) -> pd.DataFrame:
    """The rows of the named-parameter table."""
    return pd.DataFrame(
        {
            "name": [row.name for row in rows],
            "shape": [str(row.shape) for row in rows],
            "count": [row.numel for row in rows],
            "dtype": [row.dtype for row in rows],
            "trainable": [row.trainable for row in rows],
            "tied to": [row.tied_to or "" for row in rows],
            "component": [row.component for row in rows],
            "name in the file": [row.stored_name or "" for row in rows],
        }
    )


def _in_group(row: Parameter, group: str) -> bool:
    """The three groups in which teaching texts print BERT's parameters."""
    if group == "first":
        return row.layer == 0 and row.component == "encoder"
    if group == "output":
        return row.component in ("pooler", "task head")
    return not group or row.component == group


def balance(ledger: Ledger) -> None:
    """One line that shows how the rows, the parts and the file add up."""
    parts = " + ".join(f"{part.total:,}" for part in ledger.components)
    names = " + ".join(part.name for part in ledger.components)
    lines = [f"{names}: {parts} = **{ledger.total:,}**"]
    if ledger.stored_tensors is not None:
        buffers = sum(buffer.stored for buffer in ledger.buffers)
        repeated = sum(1 for row in ledger.parameters if row.tied_to and row.stored_name)
        files = {row.stored_name for row in ledger.parameters if row.stored_name}
        terms = [(len(files) - repeated, "unique"), (repeated, "stored again, tied"), (buffers, "buffer")]
        told = " + ".join(f"{number:,} {what}" for number, what in terms if number)
        lines.append(f"the file stores {ledger.stored_tensors:,} tensors = {told}")
    else:
        lines.append(f"{len(ledger.parameters):,} names = {ledger.tensors:,} unique + {ledger.tied:,} tied")
    st.markdown(":material/balance: The ledger balances. " + "; ".join(lines) + ".")


@st.fragment
def tree_view(name: str, task: str | None) -> None:
    """The module tree; a click on a module shows its rows."""
    with shown_to_user():
        ledger, deepest = cache_ledgers.ledger(name, task), cache_ledgers.depth(name, task)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        form = controls.choice("Form", FORMS, "form")
        depth = controls.level("Depth", deepest, 3, "depth", "Levels of modules that are drawn.")
        with shown_to_user():
            nodes = cache_ledgers.tree(name, depth, task)
        module = controls.module_select([node.id for node in nodes if node.id and not node.folded])
        wanted = controls.search("Search names", "search")
    with st.container(key="halves_tree"):
        picture, rows = st.columns([1, 1], gap="medium")
    with picture:
        picture_of_tree, key = tree_figure(ledger, nodes, form), "parameters_tree"
        chart(picture_of_tree, key, on_select=lambda: controls.take_click(key, ROOT_ID))
    with rows:
        table_view(ledger, module, wanted)
    table = rows_frame(ledger.parameters)
    download_row(picture_of_tree, key, f"parameters {form} {name}", picture_of_tree.caption, table)
    explained("parameters_tree", *texts.TREE)


def layers_view(name: str, task: str | None) -> None:
    """Stacked bars of the layers."""
    ledger = cache_ledgers.ledger(name, task)
    if not ledger.layers:
        st.info("No numbered layers were found among the names of this model; the tree shows all it has.")
        return
    frame = pd.DataFrame(
        {
            "layer": [row.layer for row in ledger.layers],
            "total": [row.total for row in ledger.layers],
            "attention": [row.attention for row in ledger.layers],
            "query": [row.query for row in ledger.layers],
            "key": [row.key for row in ledger.layers],
            "value": [row.value for row in ledger.layers],
            "fused q, k, v": [row.query_key_value for row in ledger.layers],
            "attention output": [row.attention_output for row in ledger.layers],
            "feed-forward": [row.feed_forward for row in ledger.layers],
            "layer norm": [row.layer_norm for row in ledger.layers],
            "other": [row.other + row.attention_other for row in ledger.layers],
            "applications": [row.applications for row in ledger.layers],
        }
    )
    words = figure_block(
        layers_figure(ledger),
        f"layers {name}",
        frame,
        alt="Parameters of each layer by part",
        numbers="open",
        explanation=texts.LAYERS,
    )
    runs, blocks = int(frame["applications"].sum()), len(frame)
    if runs != blocks:
        words.markdown(
            f"**{runs} applications, {blocks} {'block' if blocks == 1 else 'blocks'}**: layers share parameters."
        )


def components_view(name: str, task: str | None) -> None:
    """The components with their shares and their arithmetic in words."""
    ledger = cache_ledgers.ledger(name, task)
    frame = pd.DataFrame(
        {
            "component": [part.name for part in ledger.components],
            "parameters": [part.total for part in ledger.components],
            "share": [f"{part.total / ledger.total:.1%}" if ledger.total else "" for part in ledger.components],
            "tensors": [part.tensors for part in ledger.components],
            "arithmetic": [f"{part.arithmetic} = {part.total:,}" for part in ledger.components],
        }
    )
    figure_block(
        components_figure(ledger),
        f"components {name}",
        frame,
        alt="Components with parameters, share and arithmetic",
        numbers="open",
        explanation=texts.COMPONENTS,
    )


def compare_view(name: str, task: str | None) -> None:
    """Several models side by side, each with the head of the task where it has one."""
    names = controls.models_select(name)
    ledgers, refused = [], []
    for each in names:
        try:
            ledgers.append(cache_ledgers.ledger(each, task))
        except BertvizError as error:
            refused.append(str(error))
    for message in refused:
        st.warning(escape_markdown(message))
    if not ledgers:
        st.info("Choose at least one model to see its bar.")
        return
    frame = pd.DataFrame(
        {
            "model": [each.model for each in ledgers],
            "total": [each.total for each in ledgers],
            "relative": [f"{each.total / ledgers[0].total:.2f} ×" if ledgers[0].total else "" for each in ledgers],
            "tensors": [each.tensors for each in ledgers],
            "blocks": [len(each.layers) for each in ledgers],
            "applications": [sum(row.applications for row in each.layers) for each in ledgers],
            **{
                part: [sum(c.total for c in each.components if c.name == part) for each in ledgers]
                for part in ("embeddings", "encoder", "pooler", "task head")
            },
            "at float32": [bytes_text(each.total * 4) for each in ledgers],
        }
    )
    shown = [each.model for each in ledgers]
    filename = f"models side by side {' '.join(shown)}"
    figure_block(
        models_figure(ledgers),
        filename,
        frame,
        alt="Counts of several models",
        numbers="open",
        models=shown,
        explanation=texts.COMPARE,
    )
