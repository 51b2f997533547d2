"""Hostile addresses: every parameter of every page, with values that no widget accepts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from bertviz_core.figures.pages import PAGES
from ui.address.registry import FOLDED, NAMES

ROOT = Path(__file__).parents[2]
SHELL = ROOT / "ui" / "shell.py"
SEVERAL = (
    ("parameters", ""),
    ("parameters", "Compare models"),
    ("architecture", ""),
    ("architecture", "One layer"),
    ("checkpoint", ""),
    ("checkpoint", "Compare with base"),
    ("representations", "Values"),
    ("representations", "Token similarity"),
    ("heads", ""),
    ("heads", "One cell"),
    ("sentences", ""),
    ("sentences", "Token contributions"),
    ("predictions", ""),
    ("predictions", "Train a probe"),
    ("predictions", "Lens"),
    ("causes", "Several heads"),
    ("causes", "Many sentences"),
    ("causes", "Patch"),
    ("words", ""),
    ("words", "Remove word by word"),
    ("words", "Pairs"),
    ("corpus", "Search"),
    ("corpus", "Map"),
    ("corpus", "Probes"),
)
"""Pages, and their views that have their own widgets; "" for the first view."""
VIEWS = (*SEVERAL, *((page, "") for page in PAGES if page not in dict(SEVERAL)))
"""The same, and the first view of every other page."""
HOSTILE: tuple[str | list[str], ...] = (
    "9" * 5_000,
    "-" + "9" * 400,
    "1e999",
    "infinity",
    "nan",
    "-7",
    "2.5",
    "0x10",
    "1_000",
    " 3 ",
    "²",
    "٣",
    "１２",
    "",
    "a\0b",
    "\u202ecba",
    "x" * 2_500,
    "1e300",
    "99999999999999999999",
    ["1", "2"],
    ["9" * 500, "1e999", "x"],
    ["", ""],
    "../../../../etc/passwd",
    "<img src=x onerror=alert(1)>",
    "**[a](javascript:b)** $x$ :red[y]",
)
"""Values of parameters; a list repeats the name. An address with all names stays below 512 Ki characters and 1,000
fields: Streamlit ignores longer ones."""
LEFT_ALONE = {"model", "view"}
"""Parameters that lead to another page or model."""
BESIDE = {"step", "try", "no_page", "files", "list_file", "heads_matrix_table", "tokens_explained", "no_name_of_ours"}
"""Names without a widget: of navigation, of a link's files, of folded parts, and an unknown one."""


def parameters() -> frozenset[str]:
    """All names of address parameters."""
    return (NAMES | BESIDE) - LEFT_ALONE


def unknown_names(at: AppTest) -> set[str]:
    """Names of a page's widgets in the address that are not in the registry."""
    drawn = (*at.main, *at.sidebar)
    keys = {getattr(getattr(each, "proto", None), "query_param_key", "") for each in drawn}
    return {key for key in keys if key and key not in NAMES and not FOLDED.fullmatch(key)}


def opened_by(page: str, query: Mapping[str, Any]) -> AppTest:
    """Open a page by an address, and run it once; empty views are left out."""
    at = AppTest.from_file(str(SHELL), default_timeout=60)
    at.switch_page(f"../pages/{page}.py")
    for name, value in query.items():
        if value or name != "view":
            at.query_params[name] = value
    return at.run()
