"""Addresses as an attacker writes them: every parameter of every page, and values that no control takes."""

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]
SHELL = ROOT / "ui" / "shell.py"
NAME = re.compile(r"[a-z][a-z_]{1,24}")
VIEWS = (
    ("overview", ""),
    ("parameters", ""),
    ("parameters", "Compare models"),
    ("architecture", ""),
    ("architecture", "One layer"),
    ("checkpoint", ""),
    ("checkpoint", "Two checkpoints"),
    ("tokens", ""),
    ("representations", "Values"),
    ("representations", "Token similarity"),
    ("heads", ""),
    ("heads", "One cell"),
    ("attention", ""),
    ("sentences", ""),
    ("sentences", "Token contributions"),
    ("predictions", ""),
    ("predictions", "Train a head"),
    ("predictions", "Lens"),
    ("causes", "Several heads"),
    ("causes", "Many sentences"),
    ("causes", "Patch"),
    ("words", ""),
    ("words", "Curves"),
    ("words", "Pairs"),
    ("corpus", "Search"),
    ("corpus", "Map"),
    ("corpus", "Probes"),
)
"""Pages and those of their views that have controls of their own; "" for the first."""
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
"""Values that stand behind a name of an address; a list repeats the name. All names with them in turn make an address
below 512 Ki characters and 1,000 fields: of a longer one Streamlit takes nothing."""
LEFT_ALONE = {"embed", "embed_options", "lesson", "arrive", "model", "view"}
"""Streamlit's own; and those that lead elsewhere than to the page that is asked for."""


@cache
def parameters() -> frozenset[str]:
    """Names that a parameter of an address may have: every plain word that the dashboard's code has as a text."""
    files = [*(ROOT / "ui").rglob("*.py"), *(ROOT / "pages").glob("*.py")]
    nodes = (node for path in files for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    words = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return frozenset(word for word in words if NAME.fullmatch(word)) - LEFT_ALONE


def opened_by(page: str, query: Mapping[str, Any]) -> AppTest:
    """A page after its first run, opened by an address; empty views are left out of it."""
    at = AppTest.from_file(str(SHELL), default_timeout=60)
    at.switch_page(f"../pages/{page}.py")
    for name, value in query.items():
        if value or name != "view":
            at.query_params[name] = value
    return at.run()
