"""Render a report as a self-contained HTML file, with all texts escaped."""

import html
import math
from typing import TypeGuard

import numpy as np
from plotly.offline import get_plotlyjs

from bertviz_core.figures.base.export import description, font_face, spelled
from bertviz_core.figures.base.style import FONT, Theme
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.report.sections import Report, ReportSection
from bertviz_core.text import NO_TEXT, digits

# In a narrower window figures scroll horizontally: at a smaller size their texts would overlap.
STYLE = """
html{{scroll-behavior:smooth}} body{{background:{paper};color:{text};font-family:{font};line-height:1.5;margin:0 auto;
max-width:{width}px;padding:1.5rem}}
h1{{font-size:1.75rem;margin:0 0 .25rem}} h2{{font-size:1.25rem;margin:2rem 0 .5rem}} section{{margin-top:3rem}}
section h2{{position:absolute;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%)}}
a{{color:inherit}} p,figcaption,dt,summary{{color:{muted}}}
dl{{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:1rem 0}}
dd{{margin:0;overflow-wrap:anywhere}} figure{{margin:0;break-inside:avoid}}
h3{{font-size:1.25rem;margin:0 0 .5rem}} p.note{{color:{text};margin:.25rem 0;max-width:46rem;white-space:pre-line}}
.drawing{{overflow-x:auto}} .drawing>div{{min-width:{narrowest}px}}
iframe{{border:0;display:block;width:100%;min-width:{narrowest}px;height:700px}}
table{{border-collapse:collapse;font-size:.875rem;margin-bottom:.5rem}} td.number{{text-align:right}}
th,td{{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid {grid};vertical-align:top}}
code{{font-size:.85rem;overflow-wrap:anywhere;white-space:pre-wrap}}
@media (max-width:500px){{body{{padding:1rem}}dl{{grid-template-columns:1fr;gap:0}}dd{{margin-bottom:.5rem}}}}
@media print{{nav,details{{display:none}}.drawing{{overflow:visible;zoom:.68}}}}
"""
FIT = """<script>
for (const frame of document.querySelectorAll("iframe")) {
  const body = () => frame.contentDocument.body;
  const fit = () => { frame.style.height = `${Math.ceil(body().getBoundingClientRect().height) + 48}px`; };
  const begin = () => new frame.contentWindow.ResizeObserver(fit).observe(body());
  frame.addEventListener("load", begin);
  if (frame.contentDocument?.readyState === "complete") begin();
}
</script>"""
"""Makes every frame as high as the page in it."""
MOST_ROWS = 200
"""Maximum number of rows of a table; its own file has all."""


def report_page(report: Report, theme: Theme) -> str:
    """Render facts, contents, and each figure with its caption and the command that draws it.

    Args:
        theme: colours and typeface; with "print" the figures are static.
    """
    style = STYLE.format(
        paper=theme.paper,
        text=theme.text,
        muted=theme.muted,
        font=FONT,
        width=theme.pixels + 40,
        narrowest=theme.pixels,
        grid=theme.grid,
    )
    title = _text(report.title or f"{report.model}: a report").translate(NO_TEXT)
    facts = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in report.facts.items())
    named = f" — {report.model}"  # suffix of most titles, redundant here
    listed = [each for each in report.sections if each.note] or report.sections
    contents = "".join(
        f'<li><a href="#{each.name}">{_text(each.title.removesuffix(named))}</a></li>' for each in listed
    )
    notices = "".join(f"<p>{_text(each)}</p>" for each in report.notices)
    sections = "".join(_section(each, theme) for each in report.sections)
    body = (
        f"<body><header><h1>{title}</h1><p>{_text(report.about)}</p>"
        f"<dl>{facts}</dl>{notices}</header><nav><h2>Contents</h2><ol>{contents}</ol></nav>"
        f"<main>{sections}</main>{_left_out(report)}"
    ).translate(NO_TEXT)
    fit = FIT if any(each.page for each in report.sections) else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{font_face()}{style}</style><script>{get_plotlyjs()}</script></head>\n"
        f"{body}{fit}</body></html>\n"
    )


def _section(section: ReportSection, theme: Theme) -> str:
    config = {"showSendToCloud": False, "displaylogo": False, "responsive": True}
    config |= {"staticPlot": True, "displayModeBar": False} if theme.name == "print" else {}
    label = html.escape(description(section.alt, section.caption))
    titled = section.figure is not None or section.page  # which contain their titles
    drawing = "" if titled else f"<h3>{_text(section.title)}</h3>"
    if section.figure is not None:
        plot = section.figure.to_html(full_html=False, include_plotlyjs=False, include_mathjax=False, config=config)
        drawing += f'<div class="drawing" role="img" aria-label="{label}">{plot}</div>'
    if section.page:
        drawing += f'<div class="drawing"><iframe title="{label}" srcdoc="{html.escape(section.page)}"></iframe></div>'
    if section.note:
        drawing += f'<p class="note">{_text(section.note)}</p>'
    if section.table is not None:
        drawing += f'<div class="drawing">{_table(section.table)}</div>'
    words = "" if section.page else html.escape(section.caption.line)
    caption = f"<figcaption>{words}</figcaption>" if words else ""
    code = f"<details><summary>{_text(section.code_title)}</summary><code>{html.escape(section.code)}</code></details>"
    return (
        f'<section id="{section.name}"><h2>{_text(section.title)}</h2><figure>{drawing}'
        f"{caption}</figure>{code if section.code else ''}</section>"
    )


def _table(table: "pd.DataFrame") -> str:
    head = "".join(f"<th>{_text(str(name))}</th>" for name in table.columns)
    rows = "".join(
        f"<tr>{''.join(_cell(cell) for cell in row)}</tr>"
        for row in table.head(MOST_ROWS).itertuples(index=False, name=None)
    )
    more = len(table) - MOST_ROWS
    left = f"<p>{more:,} more rows are in the table's own file.</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{left}"


def cell_text(cell: object) -> str:
    """A cell of a table as a page writes it: numbers with separators and a real minus, nothing where there is none."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if not _is_number(cell):
        return str(cell)
    return digits(float(cell)) if isinstance(cell, float | np.floating) else f"{cell:,}".replace("-", "−")


def _is_number(cell: object) -> TypeGuard[float]:
    return isinstance(cell, int | float | np.integer | np.floating) and not isinstance(cell, bool)


def _cell(cell: object) -> str:
    text = cell_text(cell)
    return f'<td class="number">{text}</td>' if text and _is_number(cell) else f"<td>{_text(text)}</td>"


def _left_out(report: Report) -> str:
    if not report.left_out:
        return ""
    rows = "".join(f"<dt>{_text(', '.join(names))}</dt><dd>{_text(why)}</dd>" for why, names in report.left_out.items())
    return f"<footer><h2>Not in this report</h2><dl>{rows}</dl></footer>"


def _text(words: str) -> str:
    return html.escape(spelled(words))
