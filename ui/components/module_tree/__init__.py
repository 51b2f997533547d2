"""A model's modules as PyTorch prints them, to fold and unfold, with parameters and shapes beside each."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

_HTML = """
<div class="bar"><button data-do="open">Unfold all</button><button data-do="shut">Fold all</button><span></span></div>
<div class="scroll"><table role="treegrid"><thead></thead><tbody></tbody></table></div>
"""
_component = st.components.v2.component(
    "module_tree",
    html=_HTML,
    css=Path(__file__).with_name("module_tree.css").read_text(encoding="utf-8"),
    js=Path(__file__).with_name("module_tree.js").read_text(encoding="utf-8"),
)


def module_tree(
    rows: list[dict[str, Any]],
    key: str,
    label: str,
    colours: Mapping[str, str],
    depth: int,
    wanted: str,
    selected: str,
    on_click: Callable[[], None],
) -> None:
    """The rows of a module tree.

    Args:
        rows: per module its id, parent, depth, name, words, parameters, share and shapes.
        key: of the component; what was clicked is its state "module" while on_click runs.
        label: what a screen reader calls the whole.
        colours: part -> colour.
        depth: levels open to begin with.
        wanted: rows with this in their path or words are marked, and opened.
        selected: id of the chosen row.
        on_click: called when a row was chosen.
    """
    _component(
        key=key,
        data={
            "rows": rows,
            "label": label,
            "colours": dict(colours),
            "depth": depth,
            "wanted": wanted,
            "selected": selected,
        },
        on_module_change=on_click,
        height="content",
    )
