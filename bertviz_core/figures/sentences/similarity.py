"""Similarities of sentences, and their map."""

from collections.abc import Container, Sequence
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from bertviz_core.figures.base.axes import (
    HOVERED,
    MEASURE_WORDS,
    even_axes,
    label_width,
    number_axis,
    point_labels,
    same_scale,
    sentence_text,
    shortened_label,
    similarity_colours,
    token_axis,
    wrapped_label,
)
from bertviz_core.figures.base.cells import cell_numbers
from bertviz_core.figures.base.export import quoted_text
from bertviz_core.figures.base.marks import add_line, add_map
from bertviz_core.figures.base.spec import STANDING, FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, colour_bar, escape, layout, of_two, sequential
from bertviz_core.figures.sentences.bars import add_score_bars
from bertviz_core.figures.sentences.poolings import pooling_and_layer
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.results import (
    BlockSummary,
    ClusterOrder,
    DimensionCurve,
    Measure,
    Neighbours,
    SentenceMap,
    SentenceVectors,
)
from bertviz_core.text import counted, formula_safe

SIZE = TEXT_SIZE - 1
LONGEST = 200
"""Maximum number of characters of a sentence to consider."""
SHARE, OF_SLIDE = 0.36, 0.44
"""Maximum share of the figure's width for sentences, and on a slide, where a text that is cut cannot be pointed at."""
BESIDE = 16
"""Pixels between a sentence and the plot."""
LINE, APART = 17, 6
"""Line height of a sentence, and distance between the sentences of two rows, in pixels."""
TWO_LINES = 44
"""Height of a row from which on a phone, too, has two lines in it."""
NUMBERS = 36
"""Height of the numbers below columns."""


def sentence_row(row: int, theme: Theme) -> int:
    """Return the height of a row beside a sentence: on a phone two lines of it have room."""
    return max(row, TWO_LINES) if theme.narrow else row


def sentence_names(numbers: Sequence[int | str], sentences: Sequence[str], theme: Theme, row: float) -> list[str]:
    """Break sentences into as many lines as fit a row, cut if longer, each followed by its number.

    A dot separates them, since a sentence may end in a number.
    """
    one = theme.narrow and row < TWO_LINES
    share = OF_SLIDE if theme.tall else SHARE
    room, most = share * theme.pixels - BESIDE, 1 if one else max(1, int((row - APART) // LINE))
    return [_name(str(number), text, room, most) for number, text in zip(numbers, sentences, strict=True)]


def name_rows(figure: go.Figure, names: Sequence[str], pixels: float) -> float:
    """Label rows from top to bottom; return the margin for the labels.

    The margin is set explicitly, since measuring would lay the figure out twice.
    """
    left = BESIDE + max((label_width(name, SIZE) for name in names), default=0.0)
    figure.update_yaxes(token_axis(names, round(pixels)), range=[len(names) - 0.5, -0.5], automargin=False)
    figure.update_yaxes(tickfont={"size": SIZE})
    figure.update_layout(margin={"l": round(left)})
    return left


def _name(number: str, sentence: str, room: float, most: int) -> str:
    """Break a sentence into lines, with its number at the end of the last."""
    text = sentence_text(" ".join(sentence.split()), LONGEST)
    lines = wrapped_label(text, room, SIZE)
    behind = f" ·  {number}" if text and number.isdigit() else f"  {number}"
    last = room - label_width(behind, SIZE)
    if len(lines) < most:
        lines = [*lines[:-1], *wrapped_label(lines[-1], last, SIZE)]
    if len(lines) > most:
        lines = [*lines[: most - 1], " ".join(lines[most - 1 :])]
    lines[-1] = shortened_label(lines[-1], last, SIZE)
    return "<br>".join(lines) + behind


ROW, SMALLEST, LARGEST = 34, 120, 470
"""Pixels: height of a sentence's row, minimum and maximum height of all rows."""
TREE = 72
"""Height in pixels of the dendrogram above a map."""


def similarity_heatmap(
    similarity: Float[np.ndarray, "sentences sentences"],
    sentences: Sequence[str],
    measure: Measure,
    title: str,
    theme: Theme,
    clusters: ClusterOrder | None = None,
) -> go.Figure:
    """Draw all pairs of sentences; with clusters, in their order and below their dendrogram."""
    count = len(sentences)
    order = np.arange(count) if clusters is None else clusters.order
    cells = similarity[np.ix_(order, order)].astype(np.float32)
    numbers = order.tolist()
    plot = max(SMALLEST, min(LARGEST, sentence_row(ROW, theme) * count))
    figure = go.Figure(layout=layout(theme, escape(title)))
    pairs = [[f"{row + 1} and {column + 1}" for column in numbers] for row in numbers]
    hover = f"sentences %{{customdata}}, {MEASURE_WORDS[measure]}: %{{z:.4f}}"
    add_map(figure, cells, hover, pairs, coloraxis="coloraxis")
    colours = similarity_colours(measure, float(np.abs(cells).max(initial=0)), theme)
    if measure != "cosine":
        colours["colorbar"] = colour_bar(MEASURE_WORDS[measure], colours["cmin"], colours["cmax"])
    shown = [sentences[number] for number in numbers]
    names = sentence_names([number + 1 for number in numbers], shown, theme, plot / max(count, 1))
    left = name_rows(figure, names, plot)
    figure.update_xaxes(number_axis(numbers), range=[-0.5, count - 0.5])
    figure.update_layout(coloraxis=colours, margin={"b": NUMBERS, "r": 8}, height=48 + plot + NUMBERS)
    if clusters is not None and count > 1:
        _add_tree(figure, clusters, theme, plot)
    ends = (float(colours["cmin"]), float(colours["cmax"]))
    return cell_numbers(figure, cells, ".2f", colours["colorscale"], ends, (theme.pixels - left - STANDING, plot))


def _add_tree(figure: go.Figure, clusters: ClusterOrder, theme: Theme, plot: int) -> None:
    """Draw the dendrogram above the map: every merge at its distance, 1 - cosine."""
    x, y = tree_lines(clusters.order, clusters.linkage)
    add_line(figure, x, y, "", theme.muted, 1.5, mode="lines", yaxis="y2", showlegend=False)
    top = float(clusters.linkage[:, 2].max(initial=0)) or 1.0
    share = TREE / (plot + TREE)
    axis = {"domain": [1 - share + 0.015, 1], "range": [0, top * 1.05], "nticks": 3, "zeroline": False}
    axis |= {"title": {"text": "1 - cosine", "standoff": 6, "font": {"size": TEXT_SIZE - 1}}, "automargin": False}
    axis |= {"gridcolor": theme.grid, "tickfont": {"size": TEXT_SIZE - 2}}
    figure.update_layout(height=figure.layout.height + TREE, yaxis={"domain": [0, 1 - share]}, yaxis2=axis)


def tree_lines(
    order: Int[np.ndarray, " sentences"], linkage: Float[np.ndarray, "merges 4"]
) -> tuple[list[float | None], list[float | None]]:
    """Return the lines of the dendrogram: for each merge up, across and down, separated by None."""
    count = len(order)
    place, level = np.zeros(2 * count - 1), np.zeros(2 * count - 1)
    place[order] = np.arange(count)
    x: list[float | None] = []
    y: list[float | None] = []
    for step, (one, other, distance, _) in enumerate(linkage.tolist()):
        left, right = int(one), int(other)
        x += [place[left], place[left], place[right], place[right], None]
        y += [level[left], distance, distance, level[right], None]
        place[count + step] = (place[left] + place[right]) / 2
        level[count + step] = distance
    return x, y


def blocks_heatmap(summary: BlockSummary, sentences: Sequence[str], title: str, theme: Theme) -> go.Figure:
    """Draw many sentences as blocks of similar ones; cells are mean cosines of the pairs between two blocks."""
    count = len(summary.starts)
    plot = max(SMALLEST, min(LARGEST, 22 * count))
    figure = go.Figure(layout=layout(theme, escape(title), height=plot + 104))
    sizes = summary.sizes.tolist()
    pairs = [[f"{row:,} by {column:,} sentences" for column in sizes] for row in sizes]
    cells, hover = summary.similarity.astype(np.float32), "%{customdata}, mean cosine: %{z:.4f}"
    add_map(figure, cells, hover, pairs, coloraxis="coloraxis")
    figure.update_layout(coloraxis=similarity_colours("cosine", 1.0, theme))
    examples = [sentences[index] for index in summary.examples.tolist()]
    names = sentence_names([f"({size:,})" for size in sizes], examples, theme, plot / max(count, 1))
    figure.update_xaxes(number_axis(range(count), 150), title="block", range=[-0.5, count - 0.5])
    name_rows(figure, names, plot)
    return figure.update_layout(margin={"b": 56, "r": 8})


def sentence_bars(
    scores: np.ndarray,
    numbers: Sequence[int],
    sentences: Sequence[str],
    unit: str,
    title: str,
    theme: Theme,
    row: int = ROW,
) -> go.Figure:
    """Draw bars of scores beside sentences and their numbers, the first at the top, in rows of this height."""
    plot = (row := sentence_row(row, theme)) * max(len(sentences), 3)
    figure = go.Figure(layout=layout(theme, escape(title), height=104 + plot))
    add_score_bars(figure, scores, [f"{sentence_text(text, HOVERED)}:" for text in sentences], theme.hues[0], theme)
    name_rows(figure.update_xaxes(title=unit), sentence_names(numbers, sentences, theme, row), plot)
    return figure.update_layout(margin={"b": 56, "r": 16})


def neighbour_bars(neighbours: Neighbours, sentences: Sequence[str], title: str, theme: Theme) -> go.Figure:
    """Draw the sentences nearest to a query, nearest at the top, as bars of their scores."""
    numbers = neighbours.index.tolist()
    names = [number + 1 for number in numbers], [sentences[number] for number in numbers]
    return sentence_bars(neighbours.score, *names, MEASURE_WORDS[neighbours.measure], title, theme)


def vectors_heatmap(
    vectors: Float[np.ndarray, "sentences dimensions"], sentences: Sequence[str], first: int, title: str, theme: Theme
) -> go.Figure:
    """Draw sentence vectors as rows of numbers, on a scale symmetric around 0."""
    rows = len(vectors)
    limit = float(np.abs(vectors).max(initial=0)) or 1.0
    plot = max(SMALLEST, min(LARGEST, sentence_row(ROW, theme) * rows))
    figure = go.Figure(layout=layout(theme, escape(title), height=104 + plot))
    add_map(figure, vectors.astype(np.float32), "dimension %{x}: %{z:.6f}", coloraxis="coloraxis")
    figure.update_layout(coloraxis=similarity_colours("dot", limit, theme))
    figure.update_layout(coloraxis_colorbar=colour_bar("value", -limit, limit))
    figure.update_xaxes(title="dimension", showgrid=False)
    names = sentence_names(range(first + 1, first + rows + 1), sentences, theme, plot / max(rows, 1))
    name_rows(figure, names, plot)
    return figure.update_layout(margin={"b": 56, "r": 8})


def _pairs_frame(
    similarity: Float[np.ndarray, "sentences sentences"], vectors: SentenceVectors, clusters: ClusterOrder | None
) -> "pd.DataFrame":
    """Number, sentence and similarities to all, in the order of the figure."""
    order = np.arange(len(similarity)) if clusters is None else clusters.order
    frame = pd.DataFrame(similarity[np.ix_(order, order)], columns=[str(number + 1) for number in order.tolist()])
    frame.insert(0, "sentence", [vectors.sentences[number] for number in order.tolist()])
    frame.insert(0, "number", order + 1)
    return frame


@figure("sentences", "sentences_similarity", table=_pairs_frame)
def pairs_figure(
    similarity: Float[np.ndarray, "sentences sentences"],
    vectors: SentenceVectors,
    similarity_measure: Measure,
    clusters: ClusterOrder | None,
) -> FigureSpec:
    """How alike sentences are (--pooling, --layer)."""
    word = MEASURE_WORDS[similarity_measure]
    count, measure = len(vectors.sentences), f"{word[0].upper()}{word[1:]}"
    title = f"How alike are {counted(count, 'sentence')}? {measure}, {pooling_and_layer(vectors)}"
    alt = f"{title}: a row and a column per sentence"
    return FigureSpec.of(
        title, alt, "", similarity_heatmap, similarity, vectors.sentences, similarity_measure, clusters=clusters
    )


EVERY_PAIR = 150
"""Maximum number of sentences for a map of all pairs; longer lists are drawn as blocks."""
BLOCKS, NEIGHBOURS, ROWS = 24, 10, 40
"""Number of blocks of a long list, of nearest sentences, and of vectors drawn at once."""


def _blocks_frame(block_summary: BlockSummary, vectors: SentenceVectors) -> "pd.DataFrame":
    """A row per block: its middle, its size, and its mean cosine with each."""
    count = len(block_summary.sizes)
    frame = pd.DataFrame(block_summary.similarity, columns=[f"block {block + 1}" for block in range(count)])
    frame.insert(0, "sentences", block_summary.sizes)
    frame.insert(0, "nearest to its middle", [vectors.sentences[index] for index in block_summary.examples.tolist()])
    return frame


@figure("blocks", "sentences_blocks", table=_blocks_frame)
def blocks_figure(block_summary: BlockSummary, vectors: SentenceVectors) -> FigureSpec:
    """Many sentences as blocks (--pooling, --layer)."""
    title = f"Sentence blocks, {pooling_and_layer(vectors)}"
    alt = f"{title}: a row and a column per block"
    return FigureSpec.of(title, alt, "", blocks_heatmap, block_summary, vectors.sentences)


def _query_frame(neighbours: Neighbours, vectors: SentenceVectors) -> "pd.DataFrame":
    """The nearest sentences with their scores and numbers."""
    numbers = neighbours.index.tolist()
    sentences = [vectors.sentences[number] for number in numbers]
    columns = {MEASURE_WORDS[neighbours.measure]: neighbours.score, "number": neighbours.index + 1}
    return pd.DataFrame({**columns, "sentence": sentences})


@figure("query", "sentences_query", table=_query_frame)
def query_figure(neighbours: Neighbours, vectors: SentenceVectors, query: str) -> FigureSpec:
    """Sentences nearest to a query (--pooling, --layer)."""
    title = f"Nearest to the query, {pooling_and_layer(vectors)}"
    alt = f"{title}: a bar per sentence, the nearest at the top"
    return FigureSpec.of(
        title, alt, f"{title}. Query: {quoted_text(query)}", neighbour_bars, neighbours, vectors.sentences
    )


def _vectors_frame(vectors: SentenceVectors, first_row: int) -> "pd.DataFrame":
    """The sentences that are drawn, and their vectors."""
    shown = slice(first_row, first_row + ROWS)
    columns = [f"d{dimension}" for dimension in range(vectors.dimensions)]
    frame = pd.DataFrame(vectors.vectors[shown], columns=columns)
    frame.insert(0, "sentence", list(vectors.sentences[shown]))
    return frame


@figure("vectors", "sentences_vectors", table=_vectors_frame)
def vectors_figure(vectors: SentenceVectors, first_row: int) -> FigureSpec:
    """Vectors of sentences (--pooling, --layer)."""
    title = f"Sentence vectors, {pooling_and_layer(vectors)}"
    alt = f"{title}: a row per sentence, a column per dimension, symmetric scale"
    shown = slice(first_row, first_row + ROWS)
    return FigureSpec.of(title, alt, "", vectors_heatmap, vectors.vectors[shown], vectors.sentences[shown], first_row)


HEIGHT = 430
MAP_BESIDE, BELOW = 100, 120
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
    """Draw every sentence as a point; its index is its customdata, so that a selection can be listed."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    numbers = drawn_points(len(sentences))
    groups = _groups(numbers, values, column, theme)
    bar = STANDING if any("colorbar" in marker for _, _, marker in groups) and not theme.narrow else 0
    across = float(theme.pixels - MAP_BESIDE - bar)
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
        return [("", numbers, {"color": theme.hues[0]})]
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
    groups = [(word, numbers[words == word], {"color": theme.hues[place]}) for place, word in enumerate(largest)]
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
) -> "pd.DataFrame":
    """The sentences with their coordinates, and the column that colours them."""
    frame = pd.DataFrame({"sentence": list(vectors.sentences)})
    frame[["first", "second"]] = sentence_map.points
    if values is not None:
        frame[free_name(column, {*frame.columns})] = values
    return frame


@figure("map", "sentences_map", table=_points_frame)
def sentence_map_figure(
    sentence_map: SentenceMap, vectors: SentenceVectors, column: str, values: Sequence[Any] | None
) -> FigureSpec:
    """Sentences in a plane (--pooling, --layer)."""
    title = f"Map of {counted(len(vectors.sentences), 'sentence')}, {pooling_and_layer(vectors)}"
    draw = partial(sentence_scatter, sentence_map, vectors.sentences, title, column=column, values=values)
    return FigureSpec(title, f"{title}: a point per sentence", draw)


DIMENSIONS_HEIGHT = 380


def dimension_lines(curve: DimensionCurve, title: str, theme: Theme) -> go.Figure:
    """Draw neighbours kept and the rank correlation over the dimensions; diamonds are those of the training."""
    figure = go.Figure(layout=layout(theme, escape(title), height=DIMENSIONS_HEIGHT))
    counts, places = curve.dimensions.tolist(), np.log2(curve.dimensions).tolist()
    trained = [count in curve.trained for count in counts]
    hovers = [
        f"{count:,} dimensions, {nbytes:,} bytes{', trained' if marked else ''}"
        for count, nbytes, marked in zip(counts, curve.nbytes.tolist(), trained, strict=True)
    ]
    marks = {"size": [12 if each else 7 for each in trained], "symbol": ["diamond" if x else "circle" for x in trained]}
    names = (f"neighbours kept, of {curve.neighbours}", "Spearman correlation of the cosines")
    for name, values, look in zip(names, (curve.shared, curve.spearman), of_two(theme), strict=True):
        numbers, hover = [value if value == value else None for value in values.tolist()], f"<br>{name}: %{{y:.4f}}"
        named = {"name": name, "marker": marks, "customdata": hovers}
        add_line(figure, places, numbers, f"%{{customdata}}{hover}", look[0], 2.5, look[1], **named)
    drawn = [value for value in (*curve.shared.tolist(), *curve.spearman.tolist()) if value == value]
    axis = {"tickvals": places, "ticktext": [f"{count:,}" for count in counts]}
    low, high = places[0], places[-1]
    room = 0.04 * (high - low) or 0.5
    figure.update_xaxes(axis, range=[low - room, high + room], title="first dimensions, logarithmic", showgrid=False)
    figure.update_yaxes(title="kept", range=[min(0.0, *drawn) - 0.02, 1.04])
    return even_axes(figure, theme)


def dimensions_frame(dimension_curve: DimensionCurve) -> "pd.DataFrame":
    """One row per number of dimensions: neighbours kept, rank correlation, bytes of a vector, if trained for."""
    curve = dimension_curve
    return pd.DataFrame(
        {
            "dimensions": curve.dimensions,
            "neighbours kept": curve.shared,
            "Spearman": curve.spearman,
            "bytes per vector": curve.nbytes,
            "trained": [count in curve.trained for count in curve.dimensions.tolist()],
        }
    )


@figure("dimensions", "sentences_dimensions", table=dimensions_frame)
def dimensions_figure(dimension_curve: DimensionCurve) -> FigureSpec:
    """What vectors of fewer dimensions keep."""
    title = f"What the first dimensions keep — {dimension_curve.model}"
    numbers = counted(len(dimension_curve.dimensions), "number")
    over = f"over {numbers} of dimensions, {counted(len(dimension_curve.sentences), 'sentence')}"
    alt = f"{title}: neighbours kept and Spearman correlation {over}"
    return FigureSpec.of(title, alt, "", dimension_lines, dimension_curve)
