"""Code and style of the drawing, and a self-contained file of it that works offline."""

from functools import cache
from pathlib import Path

from bertviz_core.figures.base.export import offline_page, without_comments

PARTS = ("data", "layout", "lanes", "pen", "change", "wide", "opened", "steps", "tall", "focus", "words", "journey")
HTML = (
    '<div class="journey"><div class="bar"></div><div class="sheet"></div>'
    '<div class="live" aria-live="polite"></div></div>'
)
_HERE = Path(__file__).parent


def journey_html(payload: bytes, title: str, caption: str) -> str:
    """Build one HTML page with the drawing of a message (payload.journey_payload); it makes no request."""
    return offline_page(payload, HTML, style(), script(), title, caption)


@cache
def script(parts: tuple[str, ...] = PARTS) -> str:
    """Return the drawing's code, or some of its files: concatenated, without comment lines."""
    return "\n".join(without_comments(_HERE / f"js/{part}.js") for part in parts)


@cache
def style() -> str:
    """Return the drawing's style sheet."""
    return without_comments(_HERE / "journey.css")
