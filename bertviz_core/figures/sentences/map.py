"""Draw sentences as points of a plane, coloured by a column."""

from collections.abc import Container, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import HOVERED, point_labels, same_scale, sentence_text
from bertviz_core.figures.base.colour_bars import colour_bar
from bertviz_core.figures.base.fitted import STANDING
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, TEXT_SIZE, Theme, escape, layout, sequential
from bertviz_core.figures.sentences.poolings import pooling_and_layer
from bertviz_core.sentences.results import SentenceMap, SentenceVectors
from bertviz_core.text import counted, formula_safe

HEIGHT = 430
BESIDE, BELOW = 100, 120
"""Pixels beside the plot, and above and below it, for axis labels and titles."""
ROOM, EDGE = 0.18, 20
"""Share of the width on either side for labels of the outermost points; margin without labels in pixels."""
LENGTHS = (24, 32, 40, 52, 64, 80)
"""Label lengths in characters; the longest that fits is used."""
LABELLED = 40
"""Maximum number of points with labels."""
DRAWN = 5_000
"""Maximum number of drawn points, above which only every second, third etc. is drawn: fast without a graphics card."""
GROUPS = 7
"""Number of column values with their own colour; the rest share one."""


def sentence_scatter(
    placed: SentenceMap,
    sentences: Sequence[str],
    title: str,
    theme: Theme,
    column: str = "",
    values: Sequence[Any] | None = None,
) -> go.Figure:
    """Draw every sentence as a point; its index is its customdata, so that a selection can be listed.

    Args:
        placed: the points.
        sentences: sentences of the points.
        title: title of the figure.
        theme: theme of the figure.
        column: name of the colour column.
        values: number or word per sentence; None for a single colour.
    """
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    numbers = drawn_points(len(sentences))
    groups = _groups(numbers, values, column, theme)
    bar = STANDING if any("colorbar" in marker for _, _, marker in groups) and not theme.narrow else 0
    across = float(theme.pixels - BESIDE - bar)
    texts = 0 < len(sentences) <= LABELLED
    free = (ROOM * across if texts else EDGE, float(EDGE))
    extent = same_scale(figure, placed.points, (across, float(HEIGHT - BELOW)), free) if len(sentences) else np.ones(2)
    names = [[sentence_text(text, longest) for longest in LENGTHS] for text in sentences] if texts else []
    labels = point_labels(placed.points[None], names, extent, (across - float(extent[0])) / 2) if texts else []
    for name, chosen, marker in groups:
        figure.add_trace(
            go.Scatter(
                x=placed.points[chosen, 0].astype(np.float32),
                y=placed.points[chosen, 1].astype(np.float32),
                mode="markers+text" if texts else "markers",
                name=sentence_text(name, 30),
                showlegend=bool(name),
                marker={"size": 10 if len(sentences) <= 500 else 5, "line": {"width": 0}, **marker},
                text=[labels[index][0] for index in chosen.tolist()] if texts else None,
                textposition=[labels[index][1] or "top center" for index in chosen.tolist()] if texts else None,
                textfont={"size": TEXT_SIZE - 2},
                customdata=chosen.astype(np.int32),
                hovertext=[f"{index + 1}  {sentence_text(sentences[index], HOVERED)}" for index in chosen.tolist()],
                hovertemplate="%{hovertext}<extra></extra>",
            )
        )
    words = ["first axis", "second axis"]
    if placed.explained is not None:
        shares = [f"{share:.1%}" for share in placed.explained.tolist()]
        words = [
            f"{place} component, {share} of the variance"
            for place, share in zip(("first", "second"), shares, strict=True)
        ]
    figure.update_xaxes(title=words[0])
    figure.update_yaxes(title=words[1])
    return figure.update_layout(dragmode="lasso", margin={"r": 16}, legend_title_text=sentence_text(column))


def drawn_points(count: int) -> np.ndarray:
    """Return the indices of the drawn points, evenly spaced over the list."""
    return np.arange(0, count, -(-count // DRAWN) or 1)


def _groups(
    numbers: np.ndarray, values: Sequence[Any] | None, column: str, theme: Theme
) -> list[tuple[str, np.ndarray, dict[str, Any]]]:
    """Return (name, indices, marker) of every trace: one per word, or one for numbers."""
    if values is None:
        return [("", numbers, {"color": HUES[0]})]
    array = np.asarray([values[index] for index in numbers.tolist()])
    if array.dtype.kind in "iuf":
        array = array.astype(np.float32)
        finite = array[np.isfinite(array)]
        bar = colour_bar(sentence_text(column), float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf)))
        bar["ticktext"] = [word.replace(",", "") for word in bar["ticktext"]]  # the numbers may be years
        scale = sequential(theme)[1:]
        even = [[step / (len(scale) - 1), colour] for step, (_, colour) in enumerate(scale)]
        return [("", numbers, {"color": array, "colorscale": even, "colorbar": bar})]
    words = array.astype(str)
    found, counts = np.unique(words, return_counts=True)
    largest = found[np.argsort(-counts, kind="stable")][:GROUPS].tolist()
    groups = [(word, numbers[words == word], {"color": HUES[place]}) for place, word in enumerate(largest)]
    rest = numbers[~np.isin(words, largest)]
    if rest.size:
        groups.append((f"{len(found) - len(largest)} others", rest, {"color": theme.muted}))
    return groups


def free_name(column: str, used: Container[str]) -> str:
    """A column name that differs from the table's own and that no spreadsheet reads as a formula."""
    name = formula_safe(column)
    return f"{name} (of the file)" if name in used else name


def _points_frame(
    sentence_map: SentenceMap, vectors: SentenceVectors, column: str, values: Sequence[Any] | None
) -> pd.DataFrame:
    """The sentences with their coordinates, and the column that colours them."""
    frame = pd.DataFrame({"sentence": list(vectors.sentences)})
    frame[["first", "second"]] = sentence_map.points
    if values is not None:
        frame[free_name(column, {*frame.columns})] = values
    return frame


@figure("map", "sentences_map", "sentences in a plane (--pooling, --layer)", table=_points_frame)
def sentence_map_figure(
    sentence_map: SentenceMap, vectors: SentenceVectors, column: str, values: Sequence[Any] | None
) -> FigureSpec:
    """Plot every sentence as a point, coloured by a column unless its values are None."""
    title = f"Map of {counted(len(vectors.sentences), 'sentence')}, {pooling_and_layer(vectors)}"
    draw = partial(sentence_scatter, sentence_map, vectors.sentences, title, column=column, values=values)
    return FigureSpec(title, f"{title}: a point per sentence", draw)
