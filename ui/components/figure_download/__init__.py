"""Buttons that save a chart as PNG (twice its size, at least 1,600 pixels wide) or SVG, in the browser.

For a slide or a column of a paper the files have the size of bertviz_core.figures.base.export.for_medium.
"""

from pathlib import Path
from typing import Any

import streamlit as st

from bertviz_core.figures.base.export import (
    CAPTION_SIZE,
    COLUMN_MM,
    EDGE,
    HEADING_LINE,
    HEADING_SIZE,
    LEAST,
    LINE,
    MEDIA,
    SCALE,
    SELECTION,
    SLIDE,
    SLIDE_PIXELS,
    WIDTH,
    Caption,
    slide_words,
)
from bertviz_core.figures.base.style import FAMILY, FONT, WIDE, Theme

_HTML = '<div><button data-format="png">PNG</button><button data-format="svg">SVG</button></div>'
_CSS = """
div { display: flex; gap: 0.5rem; }
button {
  font: inherit; font-size: 0.875rem; line-height: 1.6; min-height: 2.5rem; padding: 0.25rem 0.75rem; cursor: pointer;
  color: var(--st-text-color); background: var(--st-background-color);
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius, 0.5rem);
}
button:hover, button:focus-visible {
  border-color: var(--st-primary-color); color: var(--st-primary-color); outline: none;
}
button:focus-visible { box-shadow: 0 0 0 2px var(--st-primary-color); }
"""
_component = st.components.v2.component(
    "figure_download",
    html=_HTML,
    css=_CSS,
    js=Path(__file__).with_name("figure_download.js").read_text(encoding="utf-8"),
)


def figure_download(
    chart_key: str,
    filename: str,
    title: str,
    caption: Caption,
    theme: Theme,
    alt: str = "",
    again: Any = None,
    look: dict[str, Any] | None = None,
    medium: str = "",
) -> None:
    """Show the two buttons of a chart.

    Args:
        chart_key: key of the chart on the page.
        filename: name of the files without an extension.
        title: title of the picture, for screen readers.
        caption: caption below the picture.
        theme: theme of the files.
        alt: description of the picture.
        again: the figure in that theme; None to save the chart as it is on the page.
        look: colours for a component that draws its own file (on "attention:draw"); None for a chart.
        medium: "slide" or "column", whose size the files have; "" for that of the page.
    """
    heading, below = slide_words(caption) if medium == SLIDE else ("", caption.line)
    sizes: dict[str, Any] = {"letters": CAPTION_SIZE, "line": LINE, "edge": EDGE, "scale": SCALE, "png": LEAST}
    sizes |= {"heading": HEADING_SIZE, "high": HEADING_LINE, "slide": SLIDE_PIXELS, "column": COLUMN_MM}
    data = {
        "chart": chart_key,
        "filename": filename,
        "title": title,
        "caption": caption.line,
        "heading": heading,
        "below": below,
        "medium": medium,
        "alt": alt,
        "figure": again.to_json() if again is not None else None,
        "look": look,
        "theme": theme.name if again is not None else "",
        "paper": theme.paper,
        "text": theme.text,
        "font": FONT,
        "family": FAMILY,
        "width": MEDIA.get(medium, WIDTH),
        "least": WIDE,
        "sizes": sizes,
        "selection": SELECTION,
    }
    _component(key=f"{chart_key}_images", data=data, width="content", height="content")
