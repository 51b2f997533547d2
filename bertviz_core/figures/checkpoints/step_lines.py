"""Draw numbers over the steps of a training run: plots below one another with a common axis."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from bertviz_core.checkpoints.training.results import FINAL
from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.spec import DASHES
from bertviz_core.figures.base.style import HUES, TEXT_SIZE, Theme, escape, layout
from bertviz_core.figures.base.text_width import label_width, shortened_label
from bertviz_core.text import escape_controls

PLOT_HEIGHT, BETWEEN, AROUND, NAMES_HEIGHT = 170, 24, 110, 24
"""Pixels: height of a plot, distance of two plots, margins, and the row of names above the plots."""
BESIDE = 120
"""Pixels beside the plots."""
LONGEST, LEAST = 150, 24
"""Most pixels of a name above the plots, and the fewest in which one is drawn."""
GAP = 6
"""Pixels between two names."""
MOST_MARKS = 60
"""Number of checkpoints above which lines have no marks."""


@dataclass(frozen=True, slots=True, eq=False)
class StepPlot:
    """A plot with lines or bars."""

    title: str
    """Title of its axis, with the unit."""
    lines: Sequence[tuple[str, Float[np.ndarray, " _"]]]
    """Name and values of each line, a value for each checkpoint; NaN leaves a gap."""
    form: str = ".4f"
    """Format of the values in a hover."""
    span: tuple[float, float] | None = None
    """Ends of the axis; None for those of the values."""
    as_bars: bool = False
    """Whether the values are drawn as bars from 0."""


@dataclass(frozen=True, slots=True, eq=False)
class StepAxis:
    """The checkpoints along the axis of steps."""

    checkpoints: tuple[str, ...]
    """Names of the checkpoints."""
    steps: Int[np.ndarray, " checkpoints"]
    """Step of each."""
    names: Sequence[tuple[int, str]] = field(default=())
    """Index of a checkpoint, and a name that is drawn above the plots from there on."""

    @property
    def hovered(self) -> list[str]:
        """Name and step of each checkpoint, escaped."""
        both = zip(self.checkpoints, self.steps.tolist(), strict=True)
        return [escape(f"{escape_controls(name)}, step {step:,}") for name, step in both]

    def labels(self) -> list[str]:
        """Step of each checkpoint, as text."""
        both = zip(self.checkpoints, self.steps.tolist(), strict=True)
        return [f"{step:,}{' final' if name == FINAL else ''}" for name, step in both]


def step_plots(plots: Sequence[StepPlot], axis: StepAxis, title: str, theme: Theme) -> go.Figure:
    """Draw plots below one another over the steps of the checkpoints, with names above from the steps where they begin.

    Args:
        plots: the plots, from top to bottom.
        axis: the checkpoints.
        title: title of the figure.
        theme: theme of the figure.
    """
    above = NAMES_HEIGHT if axis.names else 0
    inside = above + PLOT_HEIGHT * len(plots) + BETWEEN * (len(plots) - 1)
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + inside))
    top = 1 - above / inside
    count = 0
    for index, plot in enumerate(plots):
        number = str(index + 1) if index else ""
        bottom = max(top - PLOT_HEIGHT / inside, 0.0)
        settings: dict[str, Any] = {"domain": [bottom, top], "title": plot.title, "anchor": "x"}
        if plot.span is not None:
            settings["range"] = plot.span
        if plot.as_bars:
            largest = max((float(np.nanmax(values, initial=0)) for _, values in plot.lines), default=0)
            settings |= {"range": (0, 1.05 * largest or 1), "dtick": _whole_ticks(largest)}
        figure.update_layout({f"yaxis{number}": settings})
        for name, values in plot.lines:
            _add_line(figure, plot, name, values, axis, f"y{number}", count, theme)
            count += 1
        top = bottom - BETWEEN / inside
    _add_names(figure, axis, 1 - above / inside, theme)
    number = str(len(plots)) if len(plots) > 1 else ""
    figure.update_xaxes(title="step", anchor=f"y{number}", position=0, range=list(_range(axis.steps)))
    return even_axes(figure, theme)


def _add_line(
    figure: go.Figure,
    plot: StepPlot,
    name: str,
    values: Float[np.ndarray, " _"],
    axis: StepAxis,
    y_axis: str,
    place: int,
    theme: Theme,
) -> None:
    shown = escape(escape_controls(name))
    same: dict[str, Any] = {
        "x": axis.steps,
        "y": [value if np.isfinite(value) else None for value in values.tolist()],
        "yaxis": y_axis,
        "name": shown,
        "customdata": axis.hovered,
        "hovertemplate": f"{shown}, %{{customdata}}: %{{y:{plot.form}}}<extra></extra>",
    }
    colour = HUES[place % len(HUES)]
    if plot.as_bars:
        figure.add_bar(**same, marker={"color": colour}, width=_bar_width(axis.steps))
        return
    figure.add_scatter(
        **same,
        mode="lines+markers" if len(axis.steps) <= MOST_MARKS else "lines",
        line={"color": colour, "width": 2.5, "dash": DASHES[place // len(HUES) % len(DASHES)]},
        marker={
            "size": [11 if name == FINAL else 7 for name in axis.checkpoints],
            "symbol": ["diamond" if name == FINAL else "circle" for name in axis.checkpoints],
        },
    )


def _range(steps: Int[np.ndarray, " checkpoints"]) -> tuple[float, float]:
    """Ends of the axis of steps, so that no mark is cut."""
    first, last = float(steps[0]), float(steps[-1])
    beside = max((last - first) * 0.04, _bar_width(steps) * 0.6)
    return first - beside, last + beside


def _whole_ticks(largest: float) -> int:
    """Distance of the ticks of counts: 1, 2 or 5 times a power of ten, at most six ticks."""
    power: int = 10 ** max(len(str(int(largest))) - 2, 0)
    ticks = [each * power for each in (1, 2, 5, 10, 20, 50)]
    return next(tick for tick in ticks if largest <= 5 * tick)


def _bar_width(steps: Int[np.ndarray, " checkpoints"]) -> float:
    """Width of a bar in steps: less than the smallest distance of two checkpoints."""
    apart = np.diff(np.unique(steps))
    return 0.5 * float(apart.min()) if len(apart) else 0.5


def _add_names(figure: go.Figure, axis: StepAxis, bottom: float, theme: Theme) -> None:
    """Name what begins at a step, with a line through the plots; a name without room is in the hovers alone."""
    if not axis.names:
        return
    low, high = _range(axis.steps)
    room = max(theme.pixels - BESIDE, 1)
    ends = [*(axis.steps[place] for place, _ in axis.names[1:]), high]
    for (place, name), end in zip(axis.names, ends, strict=True):
        step = float(axis.steps[place])
        if place:
            line = {"color": theme.muted, "width": 1, "dash": "dot"}
            figure.add_shape(type="line", x0=step, x1=step, y0=0, y1=1, xref="x", yref="paper", line=line)
        pixels = min((float(end) - step) / (high - low) * room - GAP, LONGEST)
        label = shortened_label(escape(escape_controls(name)), pixels, TEXT_SIZE - 2) if pixels >= LEAST else ""
        if not label or label_width(label, TEXT_SIZE - 2) > pixels:
            continue
        figure.add_annotation(
            text=label, x=step, xref="x", xanchor="left", y=bottom, yref="paper", yanchor="bottom", showarrow=False,
            font={"size": TEXT_SIZE - 2, "color": theme.text}, xshift=2 if place else 0, borderpad=0,
        )  # fmt: skip
