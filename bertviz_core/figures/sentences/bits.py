"""What vectors of fewer bits and dimensions keep, over their bytes, and its words."""

from collections.abc import Mapping
from itertools import groupby

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.marks import add_line
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.analysis.results import BitsComparison, SmallerVectors, VectorFormat
from bertviz_core.text import counted

LOOKS: Mapping[VectorFormat, tuple[int, str]] = {
    "float32": (0, "circle"),
    "float16": (5, "square"),
    "int8": (1, "triangle-up"),
    "uint8": (4, "triangle-down"),
    "binary": (2, "diamond"),
}
"""Place in HUES, and mark, of each format; rescored, its line is dotted and its marks are open."""
HEIGHT, MARK = 440, 10
MEBIBYTE, MANY = 2**20, 1_000_000


def format_name(each: SmallerVectors) -> str:
    """A format in words."""
    return f"{each.format}, rescored" if each.rescored else each.format


def format_rows(comparison: BitsComparison) -> list[list[SmallerVectors]]:
    """The formats, each with all of its numbers of dimensions."""
    return [list(rows) for _, rows in groupby(comparison.formats, key=lambda each: (each.format, each.rescored))]


def asking_words(comparison: BitsComparison) -> str:
    """What looks for its nearest texts, in one sentence."""
    count = len(comparison.queries)
    if not count:
        return "Each sentence is a query for all others."
    return "One query looks for them." if count == 1 else f"{count:,} queries look for them."


def candidate_words(comparison: BitsComparison) -> str:
    """What rescoring is, in one sentence."""
    most = len(comparison.sentences) - (not comparison.queries)
    names = counted(min(comparison.oversampling * comparison.neighbours, most), "candidate")
    times = f"at most {comparison.oversampling:,} times k"
    return f"Rescored: the small vectors name {names} ({times}), among which the float32 query decides."


def kept_words(comparison: BitsComparison) -> str:
    """What int8 and the signs of all dimensions keep, without and with rescoring, in one sentence."""
    full = {format_name(rows[0]): rows[0] for rows in format_rows(comparison)}
    words = {
        name: f"{full[name].recall:.1%} (rescored {full[f'{name}, rescored'].recall:.1%}) with "
        f"{counted(full[name].nbytes, 'byte')}"
        for name in ("int8", "binary")
    }
    near = "nearest text" if comparison.neighbours == 1 else f"{comparison.neighbours} nearest texts"
    return (
        f"Of the {near} by vectors of {counted(full['float32'].nbytes, 'byte')}, int8 finds {words['int8']}, and the "
        f"signs alone find {words['binary']}."
    )


def widest_words(comparison: BitsComparison) -> str:
    """Which dimension has the largest range, and how many signs tell no texts apart, in one sentence."""
    widest = comparison.widest
    times = f", {widest.range / widest.median_range:,.1f} times the median" if widest.median_range > 0 else ""
    one = comparison.constant_signs == 1
    return (
        f"Dimension {widest.dimension} has the largest range ({widest.range:.3f}{times}) and {widest.share:.1%} of the "
        f"squared length of the vectors; {comparison.constant_signs:,} of {counted(comparison.dimensions, 'sign')} "
        f"{'is' if one else 'are'} the same in all texts."
    )


def bits_frame(bits_comparison: BitsComparison) -> "pd.DataFrame":
    """One row per format and number of dimensions: bytes, recall, rank correlation, changed nearest texts."""
    return pd.DataFrame(
        [
            {
                "format": format_name(each),
                "dimensions": each.dimensions,
                "bytes per vector": each.nbytes,
                "MiB per million": each.nbytes * MANY / MEBIBYTE,
                "recall": each.recall,
                "Spearman": each.spearman,
                "nearest changed": each.changed,
            }
            for each in bits_comparison.formats
        ]
    )


def bits_lines(comparison: BitsComparison, title: str, theme: Theme) -> go.Figure:
    """Draw recall over the bytes of a vector: a line for each format, a mark for each number of dimensions."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    for rows in format_rows(comparison):
        hue, symbol = LOOKS[rows[0].format]
        colour = theme.hues[hue]
        again, name = rows[0].rescored, format_name(rows[0])
        hovers = [
            f"{name}: {counted(each.dimensions, 'dimension')}, {counted(each.nbytes, 'byte')}"
            f"<br>rank correlation {each.spearman:.4f}"
            for each in rows
        ]
        marker = {"size": MARK, "symbol": f"{symbol}-open" if again else symbol, "line": {"width": 2 if again else 0}}
        hover = "%{customdata}<br>recall: %{y:.4f}"
        look = (colour, 2.5, "dot" if again else "solid")
        places, recalls = np.log2([each.nbytes for each in rows]).tolist(), [each.recall for each in rows]
        add_line(figure, places, recalls, hover, *look, name=name, marker=marker, customdata=hovers)
    return _with_axes(figure, comparison, theme)


def _with_axes(figure: go.Figure, comparison: BitsComparison, theme: Theme) -> go.Figure:
    sizes = sorted({each.nbytes for each in comparison.formats})
    low, high = np.log2([sizes[0], sizes[-1]]).tolist()
    room = 0.04 * (high - low) or 0.5
    axis = {"tickvals": np.log2(sizes).tolist(), "ticktext": [f"{each:,}" for each in sizes]}
    figure.update_xaxes(axis, range=[low - room, high + room], title="bytes per vector, logarithmic", showgrid=False)
    least = min(each.recall for each in comparison.formats)
    figure.update_yaxes(title=f"recall@{comparison.neighbours}", range=[max(least - 0.1, -0.02), 1.04])
    return even_axes(figure, theme)


@figure("bits", "sentences_bits", table=bits_frame)
def bits_figure(bits_comparison: BitsComparison) -> FigureSpec:
    """Recall of vectors of fewer bits and dimensions over their bytes."""
    title = f"What smaller vectors keep — {bits_comparison.model}"
    counts = ", ".join(f"{each.dimensions:,}" for each in format_rows(bits_comparison)[0])
    texts = counted(len(bits_comparison.sentences), "sentence")
    alt = f"{title}: recall@{bits_comparison.neighbours} over the bytes of a vector, {counts} dimensions, {texts}"
    return FigureSpec.of(title, alt, "", bits_lines, bits_comparison)
