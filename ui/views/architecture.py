"""The module tree: printed, folded, searched, with the parameters and shapes of every module."""

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from bertviz_core.architecture.cost import STATED_TOKENS
from bertviz_core.architecture.module_tree import printed
from bertviz_core.architecture.results import ModuleRow, ModuleShape, ModuleTree, Shape, ShapeRun
from bertviz_core.errors import BertvizError
from bertviz_core.figures.base.style import theme_named
from bertviz_core.questions.models import architecture
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.view import Ask
from bertviz_core.questions.views.architecture import TREE_MADE, tree_lines, with_readable_text
from bertviz_core.tables.typeset import csv_text
from bertviz_core.text import escape_markdown, short_count
from ui import session
from ui.address.registry import param
from ui.address.widgets import level, select, toggle, words
from ui.cache.shared_model import SharedModel
from ui.components.module_tree import module_tree
from ui.session import store, stored
from ui.widgets.downloads import SAVE, save_button
from ui.widgets.figure_block import explained, folded, folded_table

TREE_KEY = "architecture_tree"
LOOKED_AT = param("looked_at")


def tree_view(opened: SharedModel, ask: Ask, options: Options) -> None:
    """The tree with its widgets, the selected module, the printed text and the table."""
    own, options = Options(task=options.task), with_readable_text(opened, options)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        single = toggle(architecture.ONE_BY_ONE, "Every layer in its own rows", help="Equal layers are folded.")
        tree = ask(architecture.modules, replace(own, values={architecture.ONE_BY_ONE.key: str(single).lower()})).result
        help_text = "Each row can still be folded and unfolded by itself."
        depth = level(param("levels"), "Levels open", max(row.depth for row in tree.rows), 4, help=help_text)
        search = words(
            param("find"), "Search modules", placeholder="part of a name or class, such as query or LayerNorm"
        )
    run = _shapes(opened, options)
    label = f"Modules of {tree.model}"
    selected = str(stored(LOOKED_AT.key, ""))
    module_tree(
        [_drawn(row, tree, run) for row in tree.rows],
        TREE_KEY,
        label,
        theme_named(session.theme_name()).colours,
        depth,
        search,
        selected,
        _take_module,
    )
    st.caption(_source_words(opened, options, tree, run))
    _details(tree, run)
    frame = tree_frame(tree, run)
    _take_away(opened, own, frame)
    folded_table(TREE_KEY, lambda: frame, label)
    tokens = run.seq if run else STATED_TOKENS
    explained(TREE_KEY, TREE_MADE, tree_lines(opened, tree.architecture, tokens, architecture.way_of(opened, own)))


def tree_frame(tree: ModuleTree, run: ShapeRun | None) -> pd.DataFrame:
    """The rows as a table."""
    moved = [_moved(row, run) for row in tree.rows]
    return pd.DataFrame(
        {
            "module": [row.id or tree.architecture for row in tree.rows],
            "class": [row.class_name for row in tree.rows],
            "times": [len(row.paths) for row in tree.rows],
            "parameters": [row.numel for row in tree.rows],
            "share": [_share(row, tree) for row in tree.rows],
            "own weights": [_weights(row) for row in tree.rows],
            "input shape": [_inputs(each) for each in moved],
            "output shape": [", ".join(map(_shape, each.outputs)) if each else "" for each in moved],
            "calls": [each.calls if each else 0 for each in moved],
        }
    )


def _shapes(opened: SharedModel, options: Options) -> ShapeRun | None:
    """The shapes; None, with a message, where this class cannot run without its values."""
    try:
        return architecture.shapes(opened, options)
    except BertvizError as error:
        st.warning(escape_markdown(f"{error} The tree is shown without shapes."), icon=":material/info:")
        return None


def _drawn(row: ModuleRow, tree: ModuleTree, run: ShapeRun | None) -> dict[str, Any]:
    """A row in the form of the component."""
    moved = _moved(row, run)
    times = len(row.paths)
    count = f"{row.numel:,}" if times == 1 or row.numel % times else f"{times} × {row.numel // times:,}"
    first = moved.inputs[0][1] if moved and moved.inputs else None
    last = moved.outputs[0] if moved and moved.outputs else None
    often = f"  × {moved.calls} calls" if moved and moved.calls > 1 else ""
    return {
        "id": row.id,
        "parent": row.parent,
        "depth": row.depth,
        "name": row.name,
        "times": f"{row.repeats} x " if row.repeats > 1 else "",
        "head": row.head,
        "extra": " ".join(row.extra),
        "inside": row.closes and any(each.parent == row.id for each in tree.rows),
        "count": count if row.numel else "",
        "share": _share(row, tree) if row.numel else "",
        "fraction": round(row.numel / tree.total, 4) if tree.total else 0,
        "part": row.part,
        "shapes": f"{_shape(first)} \u2192 {_shape(last)}{often}" if moved and (first or last) else "",
        "unshaped": ""
        if run is None
        else "called with no tensor"
        if moved
        else "only holds modules"
        if row.closes
        else "not called",
    }


def _moved(row: ModuleRow, run: ShapeRun | None) -> ModuleShape | None:
    return run.modules.get(row.paths[0]) if run else None


def _details(tree: ModuleTree, run: ShapeRun | None) -> None:
    """Details of a module."""
    rows = {row.id: row for row in tree.rows}
    chosen = select(
        LOOKED_AT,
        "Selected module",
        list(rows),
        "",
        format_func=lambda each: each or f"{tree.architecture} (the model itself)",
    )
    row = rows[chosen]
    moved = _moved(row, run)
    times = len(row.paths)
    each = f", {row.numel // times:,} in each of {times}" if times > 1 and row.numel % times == 0 else ""
    lines = [
        f"**{escape_markdown(row.class_name)}** with **{row.numel:,} parameters** ({short_count(row.numel)}, "
        f"{_share(row, tree)} of the model{each})"
    ]
    lines.append(f"Weights of its own: {escape_markdown(_weights(row)) or 'none'}")
    if moved:
        calls = "once" if moved.calls == 1 else f"{moved.calls} times"
        lines.append(f"Input shape: {escape_markdown(_inputs(moved)) or 'no tensor'}")
        lines.append(
            f"Output shape: {escape_markdown(', '.join(map(_shape, moved.outputs))) or 'no tensor'}, called {calls} in "
            f"one run"
        )
    elif run:
        lines.append("The run does not call it: it only holds other modules, or its weights are used elsewhere.")
    st.markdown("  \n".join(lines))


def _take_away(opened: SharedModel, own: Options, frame: pd.DataFrame) -> None:
    """The printed text and the table as CSV."""
    text = printed(architecture.modules(opened, own).result)
    with st.popover("Download", icon=SAVE, key="architecture_files"), st.container(horizontal=True):
        name = f"modules-{opened.name.replace('/', '-')}"
        save_button("TXT", text + "\n", f"{name}.txt", "text/plain", "architecture_txt")
        save_button("CSV", lambda: csv_text(frame), f"{name}.csv", "text/csv", "architecture_csv")
    with folded("The text of print(model)", "architecture_printed") as place:
        if place.open:
            st.code(text, language=None)


def _source_words(opened: SharedModel, options: Options, tree: ModuleTree, run: ShapeRun | None) -> str:
    """The input of the shapes, and whether the file has another parameter count than the class."""
    words = []
    if run:
        known = bool(options.texts)
        tokens_first = any(axis for axes in run.batch_axes.values() for axis in axes)
        axes = "(in some modules tokens before the batch of 1)" if tokens_first else "(batch, tokens, ...)"
        if known:
            words.append(f"Shapes {axes} are those of your text, {run.seq:,} tokens.")
        else:
            words.append(
                f"Shapes {axes} are those of a text of {run.seq:,} tokens, because the tokenizer is not "
                "on this machine."
            )
    if run and run.decoder_tokens:
        words.append("The decoder is given its start token only.")
    stored = architecture.parameters(opened, Options()).result
    if stored.architecture == tree.architecture and stored.total != tree.total:
        words.append(
            f"The class has {tree.total:,} parameters, the file {stored.total:,}; the page Checkpoint says which."
        )
    words.append("Choose a row for its details.")
    return escape_markdown(" ".join(words))


def _share(row: ModuleRow, tree: ModuleTree) -> str:
    return f"{row.numel / tree.total:.1%}" if tree.total else ""


def _weights(row: ModuleRow) -> str:
    tied = ((each, f" tied to {each.tied_to}" if each.tied_to else "") for each in row.weights)
    return ", ".join(f"{each.name} {_shape(each.shape)}{note}" for each, note in tied)


def _inputs(moved: ModuleShape | None) -> str:
    return ", ".join(f"{name} {_shape(shape)}".strip() for name, shape in moved.inputs) if moved else ""


def _shape(shape: Shape | None) -> str:
    return "()" if not shape else f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _take_module() -> None:
    """Select the module of the clicked row."""
    module = st.session_state[TREE_KEY].get("module")
    if module is not None:
        store(LOOKED_AT.key, str(module))
