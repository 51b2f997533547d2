"""The module tree: printed, folded, searched, with the parameters and shapes of every module."""

from dataclasses import replace
from typing import Any

import streamlit as st

from bertviz_core.architecture.module_tree import printed
from bertviz_core.architecture.results import ModuleRow, ModuleTree, ShapeRun
from bertviz_core.figures.architecture.modules import (
    count_text,
    inputs_text,
    passed_text,
    shape_text,
    shaped,
    share_text,
    weights_text,
)
from bertviz_core.figures.base.style import theme_named
from bertviz_core.questions.models import architecture
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.view import Ask, Notices
from bertviz_core.questions.views.architecture import tree_picture, with_readable_text
from bertviz_core.text import escape_markdown, short_count
from ui import session
from ui.address.registry import param
from ui.address.widgets import level, select, toggle, words
from ui.cache.shared_model import SharedModel
from ui.components.module_tree import module_tree
from ui.engine import draw
from ui.session import store, stored
from ui.widgets.downloads import SAVE, save_button
from ui.widgets.figure_block import chart, download_row, explained, folded, folded_table

TREE_KEY = "architecture_tree"
LOOKED_AT = param("looked_at")


def tree_view(opened: SharedModel, ask: Ask, options: Options) -> None:
    """The tree with its widgets, the selected module, the printed text and the table."""
    own, options = Options(task=options.task), with_readable_text(opened, options)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        single = toggle(architecture.ONE_BY_ONE, "Every layer in its own rows", help="Equal layers are folded.")
        values = {architecture.ONE_BY_ONE.key: str(single).lower()}
        tree = ask(architecture.modules, replace(own, values=values)).result
        help_text = "Each row can still be folded and unfolded by itself."
        most = max(row.depth for row in tree.rows)
        depth = level(architecture.LEVELS, architecture.LEVELS.label, most, architecture.FIRST_LEVELS, help=help_text)
        search = words(param("find"), "Search modules", placeholder="such as query")
    label = f"Modules of {tree.model}"
    of = replace(options, values=values | {architecture.LEVELS.key: str(depth)})
    answer, part = ask(architecture.drawn_modules, of), tree_picture(opened, ask, of)
    run: ShapeRun | None = answer.drawn["module_shapes"]
    draw(Notices(answer.notices), opened, ask, options)
    if filled := session.figure_fills():  # on a slide it is read, not unfolded
        chart(part.spec, part.spec.chart)
    else:
        rows = [_drawn(row, tree, run) for row in tree.rows]
        colours, selected = theme_named(session.theme_name()).colours, str(stored(LOOKED_AT.key, ""))
        module_tree(rows, TREE_KEY, label, colours, depth, search, selected, _take_module)
        st.caption(_source_words(opened, options, tree, run))
        _details(tree, run)
    download_row(part.spec, part.spec.chart, part.file, part.spec.caption, part.texts, preview=not filled)
    folded_table(TREE_KEY, part.spec.frame, part.alt)
    _printed(opened, own)
    explained(TREE_KEY, part.explanation, part.code)


def _drawn(row: ModuleRow, tree: ModuleTree, run: ShapeRun | None) -> dict[str, Any]:
    """A row in the form of the component."""
    passed = shaped(row, run)
    return {
        "id": row.id,
        "parent": row.parent,
        "depth": row.depth,
        "name": row.name,
        "modules": len(row.paths),
        "times": f"{row.repeats} x " if row.repeats > 1 else "",
        "head": row.head,
        "extra": " ".join(row.extra),
        "inside": row.closes and any(each.parent == row.id for each in tree.rows),
        "count": count_text(row),
        "share": share_text(row, tree) if row.numel else "",
        "fraction": round(row.numel / tree.total, 4) if tree.total else 0,
        "part": row.part,
        "shapes": passed_text(passed),
        "unshaped": ""
        if run is None
        else "called with no tensor"
        if passed
        else "only holds modules"
        if row.closes
        else "not called",
    }


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
    passed = shaped(row, run)
    times = len(row.paths)
    norms = sum(part.numel for part in rows.values() if part.id.startswith(f"{row.id}.") and "Norm" in part.class_name)
    each = f", {row.numel // times:,} in each of {times}" if times > 1 and row.numel % times == 0 else ""
    lines = [
        f"**{escape_markdown(row.class_name)}** with **{row.numel:,} parameters** ({short_count(row.numel)}, "
        f"{share_text(row, tree)} of the model{each}{f'; {norms:,} in norms inside' if norms else ''})"
    ]
    lines.append(f"Weights of its own: {escape_markdown(weights_text(row)) or 'none'}")
    if passed:
        calls = "once" if passed.calls == 1 else f"{passed.calls} times"
        lines.append(f"Input shape: {escape_markdown(inputs_text(passed)) or 'no tensor'}")
        outputs = escape_markdown(", ".join(map(shape_text, passed.outputs))) or "no tensor"
        lines.append(f"Output shape: {outputs}, called {calls} in one run")
    elif run:
        lines.append("The run does not call it: it only holds other modules, or its weights are used elsewhere.")
    st.markdown("  \n".join(lines))


def _printed(opened: SharedModel, own: Options) -> None:
    """The printed text, and its file."""
    with folded("The text of print(model)", "architecture_printed") as place:
        if place.open:
            text = printed(architecture.modules(opened, own).result)
            name = f"modules-{opened.name.replace('/', '-')}.txt"
            save_button("TXT", text + "\n", name, "text/plain", "architecture_txt", icon=SAVE)
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
        counted = f"the file {stored.total:,}; the page Checkpoint says which."
        if opened.source.adapter is not None:
            counted = f"into which those of the adapter are merged; Parameters counts them apart: {stored.total:,}."
        words.append(f"The class has {tree.total:,} parameters, {counted}")
    words.append("Choose a row for its details.")
    return escape_markdown(" ".join(words))


def _take_module() -> None:
    """Select the module of the clicked row."""
    module = st.session_state[TREE_KEY].get("module")
    if module is not None:
        store(LOOKED_AT.key, str(module))
