"""The code and the style of the drawing, as one module and one sheet for the page and for files."""

from functools import cache
from pathlib import Path

PARTS = ("data", "layout", "pen", "wide", "opened", "tall", "journey")
HTML = (
    '<div class="journey"><div class="bar"></div><div class="sheet"></div>'
    '<div class="live" aria-live="polite"></div></div>'
)
_HERE = Path(__file__).parent


@cache
def script() -> str:
    """The drawing's code, its files one behind the other, without lines of comment."""
    return "\n".join(_code(f"js/{part}.js") for part in PARTS)


@cache
def style() -> str:
    """The drawing's style sheet."""
    return _code("journey.css")


def _code(name: str) -> str:
    lines = (line.strip() for line in (_HERE / name).read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))
