"""A foldable tree of a model's modules, with parameters and shapes."""

from collections.abc import Callable, Mapping
from typing import Any

from ui.components import component, file_text

_HTML = """
<div class="bar"><button data-do="open">Unfold all</button><button data-do="shut">Fold all</button><span></span></div>
<div class="scroll"><table role="treegrid"><thead></thead><tbody></tbody></table></div>
"""
_component = component(
    "module_tree", html=_HTML, css=file_text(__file__, "module_tree.css"), js=file_text(__file__, "module_tree.js")
)


def module_tree(
    rows: list[dict[str, Any]],
    key: str,
    label: str,
    colours: Mapping[str, str],
    depth: int,
    search: str,
    selected: str,
    on_click: Callable[[], None],
) -> None:
    """Show a module tree; rows that contain the search are marked and opened.

    While `on_click` runs, the state "module" of the component is the clicked module.
    """
    _component(
        key=key,
        data={
            "rows": rows,
            "label": label,
            "colours": dict(colours),
            "depth": depth,
            "search": search,
            "selected": selected,
        },
        on_module_change=on_click,
        height="content",
    )
