"""A figure as a file that needs nothing else: an HTML page with plotly inside, which opens without a network."""

import html

import plotly.graph_objects as go


def standalone_html(figure: go.Figure, title: str, caption: str) -> str:
    """One HTML page with the figure, its caption and plotly's own code; no request leaves it."""
    body = figure.to_html(
        full_html=False, include_plotlyjs=True, config={"showSendToCloud": False, "displaylogo": False}
    )
    look = f"background:{figure.layout.paper_bgcolor};color:{figure.layout.font.color}"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title></head>\n'
        f'<body style="{look};font-family:sans-serif;margin:1.5rem">{body}<p>{html.escape(caption)}</p></body></html>\n'
    )
