"""Draw the accuracy of linear probes by layer, and confusion matrices."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Int

from bertviz_core.figures.base.axes import even_axes, shortened_label, text_width
from bertviz_core.figures.base.cells import add_cells
from bertviz_core.figures.base.marks import add_line, state_axis
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, colour_bar, escape, layout, sequential
from bertviz_core.figures.sentences.poolings import POOLING_WORDS
from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.probing.results import GoldScores, LabelErrors, ProbeScores
from bertviz_core.predictions.tables import accuracy_table, joint_table
from bertviz_core.text import counted, escape_controls

HEIGHT = 400
MOST_NAMED = 30
"""Maximum number of class names beside a confusion matrix; of more, every second or third is shown."""
FEW = 12
ROW, AROUND, BAR, LONGEST = 34, 170, 170, 130
"""Pixels: height of a row of the matrix, margins, width of colour bar and axis title, maximum width of a class name."""
LONGEST_SIDE = 260
"""Pixels: maximum width of what the rows are, which stands upright beside them."""


def accuracy_lines(scores: ProbeScores, layer: int, title: str, theme: Theme) -> go.Figure:
    """Draw accuracy, macro-F1 and control task over the layers, with their spread over the folds."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    layers, (task, other) = list(scores.layers), (theme.colours["task head"], theme.colours["layer_norm"])
    for name, values, colour, dash, symbol in (
        ("accuracy", scores.accuracy, task, "solid", "circle"),
        ("macro-F1", scores.macro_f1, theme.colours["embeddings"], "dash", "square"),
        ("control task", scores.control_accuracy, other, "dot", "diamond"),
    ):
        spread = 100 * values.std(axis=1)
        named = np.array([[state_name(state), each] for state, each in zip(layers, spread, strict=True)])
        bars = {"array": spread, "thickness": 1.2, "width": 4} if name != "macro-F1" else None
        look = {"name": name, "marker": {"size": 8, "symbol": symbol}, "customdata": named, "error_y": bars}
        hover = f"{name}, %{{customdata[0]}}: %{{y:.1f}} ± %{{customdata[1]:.1f}}%"
        add_line(figure, layers, 100 * values.mean(axis=1), hover, colour, 2, dash, **look)
    ends = [min(layers), max(layers)]
    majority = [np.float32(100 * scores.majority)] * 2
    line = {"color": theme.muted, "width": 1.5, "dash": "longdash"}
    figure.add_scatter(x=ends, y=majority, name="most frequent class", mode="lines", line=line, hoverinfo="y+name")
    if len(layers) > 1:
        figure.add_vline(x=layer, line={"color": theme.muted, "width": 1, "dash": "dot"})
    figure.update_xaxes(state_axis(layers, max(1, len(layers) // 12)), title="after layer", showgrid=False)
    return even_axes(figure.update_yaxes(title="held-out texts, %", range=[0, 104]), theme)


@figure("probe", "predictions_probe", table=accuracy_table)
def probe_figure(probe_scores: ProbeScores, probed_layer: int) -> FigureSpec:
    """Accuracy of a linear probe on every layer (--pooling, --set seed=; texts: 'LABEL<tab>TEXT' or none)."""
    pooling = POOLING_WORDS[probe_scores.pooling]
    title = f"Which layer tells {len(probe_scores.classes)} classes apart? {pooling.capitalize()} pooling — "
    title += probe_scores.model
    probes = f"Linear probes on {int(probe_scores.counts.sum()):,} texts ({probe_scores.texts})"
    return accuracy_spec(probe_scores, probed_layer, title, "class", probes)


def accuracy_spec(scores: ProbeScores, layer: int, title: str, noun: str, probes: str) -> FigureSpec:
    """Build the figure of probe accuracy by layer."""
    means = zip(scores.layers, scores.accuracy.mean(axis=1).tolist(), strict=True)
    accuracies = ", ".join(f"{state_name(state)} {value:.1%}" for state, value in means)
    alt = f"{title}: accuracy {accuracies}; most frequent {noun} {scores.majority:.1%}"
    parts = f"{scores.accuracy.shape[1]} held-out parts, seed {scores.seed}; bars: standard deviation"
    return FigureSpec.of(title, alt, f"{title}. {probes}, {parts}", accuracy_lines, scores, layer)


def confusion_cells(
    classes: Sequence[str],
    confusion: Int[np.ndarray, "classes classes"],
    sides: tuple[str, str],
    title: str,
    theme: Theme,
) -> go.Figure:
    """Draw the numbers of texts by two labels of each."""
    count = len(classes)
    names = [shortened_label(escape(escape_controls(name) or "∅"), LONGEST, TEXT_SIZE - 1) for name in classes]
    beside = max(text_width(name, TEXT_SIZE) for name in names)
    rows, columns = (escape(side) for side in sides)
    upright = shortened_label(rows, LONGEST_SIDE, TEXT_SIZE)
    inside = max(float(ROW * count), text_width(upright, TEXT_SIZE))
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + inside))
    cells = confusion.astype(np.float32)
    most = float(cells.max())
    bar = colour_bar("texts", 0, most)
    if most <= FEW:  # integer ticks: counts have no fractions
        step = max(1, -(-int(most) // 5))
        ticks = [*range(0, int(most) - step // 2, step), int(most)]
        bar |= {"tickvals": ticks, "ticktext": list(map(str, ticks))}
    room = (theme.pixels - beside - BAR, inside) if count <= MOST_NAMED else (0.0, 0.0)
    hover = f"{rows} %{{y}}, {columns} %{{x}}: %{{z:,.0f}} texts"
    add_cells(figure, cells, ",.0f", sequential(theme), (0.0, most), room, "texts", hover, colorbar=bar)
    step = -(-count // MOST_NAMED)
    names_at: dict[str, Any] = {"tickvals": list(range(0, count, step)), "ticktext": names[::step], "showgrid": False}
    figure.update_xaxes(title=columns, **names_at)
    figure.update_yaxes(title=upright, autorange="reversed", **names_at)
    return even_axes(figure, theme)


def _confusion_frame(gold_scores: GoldScores) -> "pd.DataFrame":
    names = list(gold_scores.classes)
    return pd.DataFrame(gold_scores.confusion, columns=names).assign(**{"gold label": names})


@figure("confusion", "predictions_confusion", table=_confusion_frame)
def confusion_figure(gold_scores: GoldScores, model_name: str) -> FigureSpec:
    """Gold labels against answers (texts: 'LABEL<tab>TEXT' each)."""
    title = f"Gold labels and answers of {counted(len(gold_scores.compared), 'text')} — {model_name}"
    right = f"accuracy {gold_scores.accuracy:.1%}, macro-F1 {gold_scores.macro_f1:.1%}"
    draw = partial(confusion_cells, gold_scores.classes, gold_scores.confusion, ("gold label", "answer"), title)
    return FigureSpec(title, f"{title}: {right}", draw, f"{title}: {right}")


@figure("label-errors", "predictions_label_errors", table=joint_table)
def label_errors_figure(label_errors: LabelErrors) -> FigureSpec:
    """Given labels against the classes that texts confidently belong to (texts: 'LABEL<tab>TEXT' or none)."""
    result, every = label_errors, counted(len(label_errors.texts), "text")
    of = every if result.uncounted == 0 else f"{len(result.texts) - result.uncounted:,} of {every}"
    title = f"Given and likely labels of {of} — {result.model}"
    wrong = f"an estimated {result.estimated:,} wrong if the {result.probabilities_from} is right"
    about = f"{title}: {len(result.suspects):,} suspect, {wrong} ({result.source})"
    sides = ("given label", f"likely label by the {result.probabilities_from}")
    draw = partial(confusion_cells, result.classes, result.joint.counts, sides, title)
    return FigureSpec(title, about, draw, about)
