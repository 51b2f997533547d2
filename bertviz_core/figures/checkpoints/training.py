"""Figures of a training run: the trainer's log with the checkpoints marked, and the movement of the weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.checkpoints.tables import log_frame, movement_frame
from bertviz_core.checkpoints.training.results import ALL_PARTS, FINAL, TrainingLog, TrainingMovement
from bertviz_core.figures.base.axes import even_axes, token_axis
from bertviz_core.figures.base.cells import cell_gaps
from bertviz_core.figures.base.spec import DASHES, FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout
from bertviz_core.figures.checkpoints.scales import number_scale
from bertviz_core.figures.checkpoints.weights import add_numbers
from bertviz_core.text import counted, digits

FIRST, PREVIOUS = "the first checkpoint", "the previous checkpoint"
MOVED_FROM = (FIRST, PREVIOUS)
"""What a movement is measured from."""
NOT_DRAWN = ("runtime", "per_second", "flos", "samples", "time", "tokens", "memory")
"""Ends of the names of logged numbers about the machine, which are in the table alone."""
FROM_ZERO = ("learning_rate", "grad_norm")
"""Logged numbers whose axis begins at 0."""
PANEL_HEIGHT, MARKS_HEIGHT, AROUND = 100, 26, 110
"""Pixels: height of a plot of the log, height of the row of checkpoints, margins for title, legend and axis."""
BETWEEN = 14
"""Pixels between two plots of the log."""
MOST_PANELS, MOST_LINES = 5, 6
MOST_MARKS = 60
"""Number of checkpoints above which only their row is drawn, without lines through the plots."""
COLOURS = ("embeddings", "task head", "feed_forward", "pooler", "query", "value")
ROW, LEAST_ROWS, BESIDE = 26, 130, 190
"""Pixels: height of a row of the map, minimum height of all rows, room for names and colour bar."""


@dataclass(frozen=True, slots=True)
class LogPanel:
    """Logged numbers that share an axis."""

    title: str
    """Title of the axis."""
    metrics: tuple[str, ...]
    """Their names."""


def log_panels(metrics: Sequence[str]) -> tuple[LogPanel, ...]:
    """Group logged numbers by what they measure: losses, scores of the evaluation, learning rate, gradient, others."""
    drawn = [name for name in metrics if not name.endswith(NOT_DRAWN) and not name.startswith("train_")]
    losses = [name for name in drawn if name.endswith("loss")]
    scores = [name for name in drawn if name.startswith("eval_") and name not in losses]
    rest = [name for name in drawn if name not in (*losses, *scores)]
    groups = [("loss", losses), ("evaluation", scores), *((name.replace("_", " "), [name]) for name in rest)]
    panels = [LogPanel(title, tuple(names[:MOST_LINES])) for title, names in groups if names]
    return tuple(panels[:MOST_PANELS])


def undrawn_text(log: TrainingLog, panels: Sequence[LogPanel]) -> str:
    """How many logged numbers have no curve and are in the table alone; "" if there are none."""
    count = len(log.metrics) - sum(len(panel.metrics) for panel in panels)
    return f"{counted(count, 'more logged number')} {'is' if count == 1 else 'are'} in the table" if count else ""


def log_curves(log: TrainingLog, panels: Sequence[LogPanel], title: str, theme: Theme) -> go.Figure:
    """Draw a plot for each group of logged numbers above a row of checkpoints, over the steps of the optimizer."""
    inside = PANEL_HEIGHT * len(panels) + MARKS_HEIGHT + BETWEEN * len(panels)
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + inside))
    names = [name for panel in panels for name in panel.metrics]
    top = 1.0
    for index, panel in enumerate(panels):
        number = "" if index == 0 else str(index + 1)
        bottom = top - PANEL_HEIGHT / inside
        axis = {"domain": [max(bottom, 0), top], "title": escape(panel.title), "anchor": "x", "exponentformat": "e"}
        axis["rangemode"] = "tozero" if panel.metrics[0] in FROM_ZERO else "normal"
        figure.update_layout({f"yaxis{number}": axis})
        top = bottom - BETWEEN / inside
        for name in panel.metrics:
            _add_curve(figure, log, name, names.index(name), f"y{number}", theme)
    return even_axes(_with_checkpoints(figure, log, len(panels), MARKS_HEIGHT / inside, theme), theme)


def _add_curve(figure: go.Figure, log: TrainingLog, name: str, place: int, axis: str, theme: Theme) -> None:
    rows = [entry for entry in log.entries if name in entry.values]
    figure.add_scatter(
        x=[entry.step for entry in rows],
        y=[entry.values[name] if np.isfinite(entry.values[name]) else None for entry in rows],
        yaxis=axis,
        name=escape(name),
        mode="lines+markers" if len(rows) <= MOST_MARKS else "lines",
        line={
            "color": theme.colours[COLOURS[place % len(COLOURS)]],
            "width": 2,
            "dash": DASHES[place // len(COLOURS) % len(DASHES)],
        },
        marker={"size": 5},
        hovertemplate=f"{escape(name)}, step %{{x:,}}: %{{y:.5g}}<extra></extra>",
    )


def _with_checkpoints(figure: go.Figure, log: TrainingLog, panels: int, height: float, theme: Theme) -> go.Figure:
    """Mark the checkpoints in a row below the plots, and by a line through them unless there are many."""
    number = str(panels + 1) if panels else ""
    bare = {"showticklabels": False, "showgrid": False, "ticks": "", "range": [-1, 1], "fixedrange": True}
    figure.update_layout({f"yaxis{number}": {**bare, "domain": [0, height], "anchor": "x"}})
    figure.add_scatter(
        x=log.steps,
        y=np.zeros(len(log.steps)),
        yaxis=f"y{number}",
        name="checkpoint",
        mode="markers",
        marker={"symbol": "diamond", "size": 10, "color": theme.text},
        customdata=[escape(name) for name in log.checkpoints],
        hovertemplate="%{customdata}, step %{x:,}<extra></extra>",
    )
    if len(log.steps) <= MOST_MARKS:
        for step in dict.fromkeys(log.steps.tolist()):
            line = {"color": theme.muted, "width": 1, "dash": "dot"}
            figure.add_shape(
                type="line", x0=step, x1=step, y0=0, y1=1, xref="x", yref="paper", line=line, layer="between"
            )
    return figure.update_xaxes(title="step", rangemode="tozero", anchor=f"y{number}", position=0)


def movement_map(
    values: Float[np.ndarray, "places checkpoints"],
    places: Sequence[str],
    movement: TrainingMovement,
    logarithmic: bool,
    title: str,
    theme: Theme,
) -> go.Figure:
    """Draw the movement of every layer and component at every checkpoint; a cell that is not finite stays empty."""
    pixels = max(ROW * len(places), LEAST_ROWS)
    unit = "relative change" if logarithmic else "relative change, linear"  # the other scale is named by `fitted`
    scale = number_scale(values.reshape(-1).tolist(), unit, theme, logarithmic=logarithmic)
    figure = go.Figure(layout=layout(theme, escape(title), height=110 + pixels))
    figure.update_layout(coloraxis=scale.axis, plot_bgcolor=theme.grid)
    named = [f"{name}, step {step:,}" for name, step in zip(movement.checkpoints, movement.steps.tolist(), strict=True)]
    room = max(theme.pixels - BESIDE, 1)
    figure.add_heatmap(
        z=scale.drawn(values),
        x=list(range(len(named))),
        y=list(range(len(places))),
        customdata=[
            [[escape(f"{place}, {name}"), digits(value, 5)] for name, value in zip(named, row, strict=True)]
            for place, row in zip(places, values.tolist(), strict=True)
        ],
        coloraxis="coloraxis",
        **cell_gaps((room, pixels), values.shape),
        hoverongaps=False,
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
    )
    add_numbers(figure, values, scale, range(len(named)), (room, pixels))
    steps = [
        f"{step:,}{' final' if name == FINAL else ''}"
        for name, step in zip(movement.checkpoints, movement.steps.tolist(), strict=True)
    ]
    figure.update_xaxes(token_axis(steps, room, theme=theme), title="step of the checkpoint", showgrid=False)
    rows = {"tickvals": list(range(len(places))), "ticktext": [escape(place) for place in places]}
    figure.update_yaxes(**rows, range=[len(places) - 0.5, -0.5], showgrid=False)
    return even_axes(figure, theme)


@figure(
    "training-log", "checkpoint_training_log", "what a trainer logged, with the checkpoints marked", table=log_frame
)
def training_log_figure(training_log: TrainingLog) -> FigureSpec:
    """Plot the logged numbers over the steps, with the checkpoints marked."""
    panels = log_panels(training_log.metrics)
    title = f"Training log — {training_log.run}"
    measured = ", ".join(panel.title for panel in panels) or "no numbers"
    alt = f"{title}: {measured} over the steps, {counted(len(training_log.steps), 'checkpoint')} marked"
    undrawn = undrawn_text(training_log, panels)
    caption = f"{title}; {undrawn}" if undrawn else ""
    return FigureSpec(title, alt, partial(log_curves, training_log, panels, title), caption)


@figure(
    "training-movement",
    "checkpoint_training_movement",
    "how far each layer moved by each checkpoint of a run",
    table=movement_frame,
)
def training_movement_figure(
    training_movement: TrainingMovement, moved_from: str, moved_part: str, movement_logarithmic: bool
) -> FigureSpec:
    """Plot the movement of layers and components, from the first checkpoint, or the base, or the previous one."""
    movement = training_movement
    whole = movement.from_first if moved_from == FIRST else movement.from_previous
    values = whole[:, :, movement.parts.index(moved_part)].T
    has_part = [index for index in range(len(values)) if moved_part == ALL_PARTS or "layer" in movement.places[index]]
    places = [movement.places[index] for index in has_part]
    of_what = "Movement" if moved_part == ALL_PARTS else f"Movement of {moved_part}"
    start = f"the base {movement.base}" if movement.base and moved_from == FIRST else moved_from
    title = f"{of_what} from {start} — {movement.run}"
    draw = partial(movement_map, values[has_part], places, movement, movement_logarithmic, title)
    return FigureSpec(title, f"{title}: layers and components by checkpoints", draw)
