"""Code and style of the drawing, and a self-contained file of it that works offline."""

import json
from functools import cache
from pathlib import Path

from bertviz_core.figures.base.export import offline_page, without_comments
from bertviz_core.figures.pages import ENTRIES

PARTS = ("data", "layout", "lanes", "pen", "change", "wide", "opened", "steps", "tall", "focus", "words", "journey")
HTML = (
    '<div class="journey"><div class="bar"></div><div class="sheet"></div>'
    '<div class="live" aria-live="polite"></div></div>'
)
TERMS = (
    *("token", "embedding", "layer", "head", "attention", "attention sink", "ribbon", "value-weighted attention"),
    *("query vector", "key vector", "value vector", "softmax", "feed-forward", "residual connection", "layer norm"),
    *("hidden state", "hidden size", "turn of the vector", "norm", "entropy", "nat", "cosine", "effect", "position"),
    *("token type", "ablation", "mask token", "pooler", "task head"),
)
"""Words of the glossary that the drawing explains where it has them."""
_HERE = Path(__file__).parent


def journey_html(payload: bytes, title: str, caption: str) -> str:
    """Build one HTML page with the drawing of a message (payload.journey_payload); it makes no request."""
    return offline_page(payload, HTML, style(), script(), title, caption)


@cache
def script(parts: tuple[str, ...] = PARTS) -> str:
    """Return the drawing's code, or some of its files: concatenated, without comment lines.

    The file "words" comes with the meanings of its terms.
    """
    meanings = {form: f"{each.word}: {each.meaning}." for each in ENTRIES for form in each.forms if form in TERMS}
    glossary = [f"const GLOSSARY = {json.dumps(meanings)};"] if "words" in parts else []
    return "\n".join([*glossary, *(without_comments(_HERE / f"js/{part}.js") for part in parts)])


@cache
def style() -> str:
    """Return the drawing's style sheet."""
    return without_comments(_HERE / "journey.css")
