"""The logo of the dashboard: a stack of layers in the colours of its figures."""

from bertviz_core.figures.base.style import Theme

_BARS = (("pooler", 2), ("feed_forward", 9), ("attention", 16), ("embeddings", 23))


def mark(theme: Theme) -> str:
    """The logo without the name, as SVG, for the browser's tab and the folded sidebar."""
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="64" height="64">{_bars(theme)}</svg>'


def logo(theme: Theme) -> str:
    """The logo with the name, as SVG."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 150 32" width="300" height="64">{_bars(theme)}'
        f'<text x="40" y="23" font-family="Helvetica, Arial, sans-serif" font-size="19" font-weight="600" '
        f'fill="{theme.text}">Inside BERT</text></svg>'
    )


def _bars(theme: Theme) -> str:
    return "".join(
        f'<rect x="2" y="{top}" width="28" height="6" rx="2" fill="{theme.colours[name]}"/>' for name, top in _BARS
    )
