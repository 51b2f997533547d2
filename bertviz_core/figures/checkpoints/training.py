"""A training run: its log, its movement, what its checkpoints answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Float32, Int

from bertviz_core.checkpoints.tables import (
    cka_frame,
    entropy_frame,
    labels_frame,
    log_frame,
    movement_frame,
    text_frame,
)
from bertviz_core.checkpoints.training.results import (
    ALL_PARTS,
    FINAL,
    FollowedLabels,
    FollowedStates,
    FollowedText,
    TrainingLog,
    TrainingMovement,
)
from bertviz_core.figures.base.axes import even_axes, label_width, shortened_label, token_axis
from bertviz_core.figures.base.cells import add_cells
from bertviz_core.figures.base.marks import add_bars, add_heading, add_line, add_points, row_axis
from bertviz_core.figures.base.spec import DASHES, FigureSpec, figure
from bertviz_core.figures.base.style import HUES, TEXT_SIZE, Theme, diverging, escape, layout, round_limit, sequential
from bertviz_core.figures.checkpoints.comparison import state_names
from bertviz_core.figures.checkpoints.weights import number_cells, number_scale
from bertviz_core.text import counted, escape_controls, shortened

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
    values = [entry.values[name] if np.isfinite(entry.values[name]) else None for entry in rows]
    look = theme.colours[COLOURS[place % len(COLOURS)]], 2, DASHES[place // len(COLOURS) % len(DASHES)]
    mode, hover = "lines+markers" if len(rows) <= MOST_MARKS else "lines", f"{escape(name)}, step %{{x:,}}: %{{y:.5g}}"
    steps, named = [entry.step for entry in rows], {"name": escape(name), "yaxis": axis}
    add_line(figure, steps, values, hover, *look, mode=mode, marker={"size": 5}, **named)


def _with_checkpoints(figure: go.Figure, log: TrainingLog, panels: int, height: float, theme: Theme) -> go.Figure:
    """Mark the checkpoints in a row below the plots, and by a line through them unless there are many."""
    number = str(panels + 1) if panels else ""
    bare = {"showticklabels": False, "showgrid": False, "ticks": "", "range": [-1, 1], "fixedrange": True}
    figure.update_layout({f"yaxis{number}": {**bare, "domain": [0, height], "anchor": "x"}})
    named = {"name": "checkpoint", "customdata": [escape(name) for name in log.checkpoints], "yaxis": f"y{number}"}
    hover, diamond = "%{customdata}, step %{x:,}", {"symbol": "diamond"}
    add_points(figure, log.steps, np.zeros(len(log.steps)), hover, 10, theme.text, diamond, **named)
    if len(log.steps) <= MOST_MARKS:
        for step in dict.fromkeys(log.steps.tolist()):
            _add_step_line(figure, step, theme, layer="between")
    return figure.update_xaxes(title="step", rangemode="tozero", anchor=f"y{number}", position=0)


def _add_step_line(figure: go.Figure, step: float, theme: Theme, **settings: Any) -> None:
    line, ends = {"color": theme.muted, "width": 1, "dash": "dot"}, {"x0": step, "x1": step, "y0": 0, "y1": 1}
    figure.add_shape(type="line", **ends, xref="x", yref="paper", line=line, **settings)


def movement_map(
    values: Float[np.ndarray, "places checkpoints"],
    places: Sequence[str],
    movement: TrainingMovement,
    logarithmic: bool,
    title: str,
    theme: Theme,
) -> go.Figure:
    """Draw the movement of every layer and component at every checkpoint; a cell that is not finite stays empty."""
    axis, room = StepAxis(movement.checkpoints, movement.steps), max(theme.pixels - BESIDE, 1)
    pixels = max(ROW * len(places), LEAST_ROWS)
    unit = "relative change" if logarithmic else "relative change, linear"  # the other scale is named by `fitted`
    scale = number_scale(values.reshape(-1).tolist(), unit, theme, logarithmic=logarithmic)
    figure = go.Figure(layout=layout(theme, escape(title), height=110 + pixels))
    figure.update_layout(coloraxis=scale.axis, plot_bgcolor=theme.grid)
    names = [[f"{place}, {name}" for name in axis.named] for place in places]
    number_cells(figure, values, range(values.shape[1]), names, scale, (room, pixels), ": ", 5)
    figure.update_xaxes(token_axis(axis.labels(), room, theme=theme), title="step of the checkpoint", showgrid=False)
    return even_axes(figure.update_yaxes(row_axis([escape(place) for place in places])), theme)


@figure("training-log", "checkpoint_training_log", table=log_frame)
def training_log_figure(training_log: TrainingLog) -> FigureSpec:
    """What a trainer logged, with the checkpoints marked."""
    panels = log_panels(training_log.metrics)
    title = f"Training log — {training_log.run}"
    measured = ", ".join(panel.title for panel in panels) or "no numbers"
    alt = f"{title}: {measured} over the steps, {counted(len(training_log.steps), 'checkpoint')} marked"
    undrawn = undrawn_text(training_log, panels)
    caption = f"{title}; {undrawn}" if undrawn else ""
    return FigureSpec.of(title, alt, caption, log_curves, training_log, panels)


@figure("training-movement", "checkpoint_training_movement", table=movement_frame)
def training_movement_figure(
    training_movement: TrainingMovement, moved_from: str, moved_part: str, movement_logarithmic: bool
) -> FigureSpec:
    """How far each layer moved by each checkpoint of a run."""
    movement = training_movement
    whole = movement.from_first if moved_from == FIRST else movement.from_previous
    values = whole[:, :, movement.parts.index(moved_part)].T
    has_part = [index for index in range(len(values)) if moved_part == ALL_PARTS or "layer" in movement.places[index]]
    places = [movement.places[index] for index in has_part]
    of_what = "Movement" if moved_part == ALL_PARTS else f"Movement of {moved_part}"
    start = f"the base {movement.base}" if movement.base and moved_from == FIRST else moved_from
    title = f"{of_what} from {start} — {movement.run}"
    alt = f"{title}: layers and components by checkpoints"
    return FigureSpec.of(title, alt, "", movement_map, values[has_part], places, movement, movement_logarithmic)


PLOT_HEIGHT, STEP_LINES_BETWEEN, STEP_LINES_AROUND, NAMES_HEIGHT = 170, 24, 110, 24
"""Pixels: height of a plot, distance of two plots, margins, and the row of names above the plots."""
STEP_LINES_BESIDE = 120
"""Pixels beside the plots."""
LONGEST, LEAST = 150, 24
"""Most pixels of a name above the plots, and the fewest in which one is drawn."""
GAP = 6
"""Pixels between two names."""


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
    def named(self) -> list[str]:
        """Name and step of each checkpoint."""
        both = zip(self.checkpoints, self.steps.tolist(), strict=True)
        return [f"{escape_controls(name)}, step {step:,}" for name, step in both]

    @property
    def hovered(self) -> list[str]:
        """Name and step of each checkpoint, escaped."""
        return list(map(escape, self.named))

    def labels(self) -> list[str]:
        """Step of each checkpoint, as text."""
        both = zip(self.checkpoints, self.steps.tolist(), strict=True)
        return [f"{step:,}{' final' if name == FINAL else ''}" for name, step in both]


def step_plots(plots: Sequence[StepPlot], axis: StepAxis, title: str, theme: Theme) -> go.Figure:
    """Draw plots below one another over the steps of the checkpoints, with names above where they begin."""
    above = NAMES_HEIGHT if axis.names else 0
    inside = above + PLOT_HEIGHT * len(plots) + STEP_LINES_BETWEEN * (len(plots) - 1)
    figure = go.Figure(layout=layout(theme, escape(title), height=STEP_LINES_AROUND + inside))
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
        for line, (name, values) in enumerate(plot.lines):
            near = (np.allclose(values, other, rtol=0.02, equal_nan=True) for _, other in plot.lines[:line])
            _add_line(figure, plot, name, values, axis, f"y{number}", count, sum(near), theme)
            count += 1
        top = bottom - STEP_LINES_BETWEEN / inside
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
    hidden: int,
    theme: Theme,
) -> None:
    shown, colour = escape(escape_controls(name)), theme.hues[place % len(HUES)]
    numbers = [value if np.isfinite(value) else None for value in values.tolist()]
    hover = f"{shown}, %{{customdata}}: %{{y:{plot.form}}}"
    named: dict[str, Any] = {"yaxis": y_axis, "name": shown, "customdata": axis.hovered}
    if plot.as_bars:
        add_bars(figure, numbers, hover, colour, False, x=axis.steps, width=_bar_width(axis.steps), **named)
        return
    final = [each == FINAL for each in axis.checkpoints]
    marks = {"size": [11 if each else 7 for each in final], "symbol": ["diamond" if x else "circle" for x in final]}
    mode, dash = (
        "lines+markers" if len(final) <= MOST_MARKS else "lines",
        DASHES[(place // len(HUES) + hidden) % len(DASHES)],
    )
    add_line(figure, axis.steps, numbers, hover, colour, 2.5, dash, mode=mode, marker=marks, **named)


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
    room = max(theme.pixels - STEP_LINES_BESIDE, 1)
    ends = [*(axis.steps[place] for place, _ in axis.names[1:]), high]
    for (place, name), end in zip(axis.names, ends, strict=True):
        step = float(axis.steps[place])
        if place:
            _add_step_line(figure, step, theme)
        pixels = min((float(end) - step) / (high - low) * room - GAP, LONGEST)
        label = shortened_label(escape(escape_controls(name)), pixels, TEXT_SIZE - 2) if pixels >= LEAST else ""
        if not label or label_width(label, TEXT_SIZE - 2) > pixels:
            continue
        look = {"font": {"size": TEXT_SIZE - 2, "color": theme.text}, "xshift": 2 if place else 0, "borderpad": 0}
        add_heading(figure, label, step, bottom, xref="x", **look)


OF_STEP, CHANGE = "at each step", "change from the first checkpoint"
ENTROPIES = (OF_STEP, CHANGE)
"""What is drawn of the entropy of the heads."""
STATES_ROW, STATES_LEAST_ROWS, STATES_BESIDE, STATES_AROUND = 26, 130, 190, 110
"""Pixels: height of a row, minimum height of all rows, room for names and colour bar, margins."""
HEAD_ROW, LEAST_LAYER, MOST_ROWS = 18, 26, 620
"""Pixels: height of a head's row, minimum height of a layer's rows, and maximum height of all."""
MOST_LAYERS = 30
"""Number of layers above which not each is named."""


@figure("training-cka", "checkpoint_training_cka", table=cka_frame)
def training_cka_figure(followed_states: FollowedStates) -> FigureSpec:
    """CKA of each layer with that of the first checkpoint of a run."""
    followed = followed_states
    title = f"CKA with the first checkpoint — {followed.run}"
    alt = f"{title}, over {counted(followed.texts, 'text')}: hidden states by {_count(followed)}"
    return FigureSpec.of(title, alt, "", cka_map, followed)


def cka_map(followed: FollowedStates, title: str, theme: Theme) -> go.Figure:
    """Draw hidden states by checkpoints, on a scale from 0, or from the smallest value below it, to 1."""
    values = followed.cka.T.astype(np.float32)
    least = float(np.nanmin(values, initial=0.0))
    ends = (-round_limit(-least) if least < 0 else 0.0, 1.0)
    names = state_names(len(values))
    pixels = max(STATES_ROW * len(names), STATES_LEAST_ROWS)
    figure = _step_map(followed, values, names, (pixels, "CKA", ".2f"), (sequential(theme), ends), title, theme)
    return even_axes(figure.update_yaxes(row_axis(names)), theme)


@figure("training-entropy", "checkpoint_training_entropy", table=entropy_frame)
def training_entropy_figure(followed_states: FollowedStates, entropy_drawn: str) -> FigureSpec:
    """Attention entropy of each head by checkpoint of a run."""
    followed = followed_states
    if followed.entropy is None:
        raise ValueError("the attention is not known")
    what = "Attention entropy" if entropy_drawn == OF_STEP else "Change of the attention entropy"
    title = f"{what} — {followed.run}"
    alt = f"{title}, over {counted(followed.texts, 'text')}: heads of each layer by {_count(followed)}"
    is_change = entropy_drawn == CHANGE
    return FigureSpec.of(title, alt, "", entropy_map, followed, followed.entropy, is_change)


def entropy_map(
    followed: FollowedStates,
    entropy: Float[np.ndarray, "checkpoints layers heads"],
    is_change: bool,
    title: str,
    theme: Theme,
) -> go.Figure:
    """Draw heads by checkpoints, the heads of a layer together; a layer is separated from the next by a line."""
    _, layers, heads = entropy.shape
    drawn = entropy - entropy[0] if is_change else entropy
    values = drawn.reshape(len(drawn), layers * heads).T.astype(np.float32)
    names = [f"layer {layer}, head {head}" for layer in range(layers) for head in range(heads)]
    top = round_limit(float(np.nanmax(np.abs(values), initial=0.0)))
    scale = (diverging(theme), (-top, top)) if is_change else (sequential(theme), (0.0, top))
    pixels = max(min(HEAD_ROW * len(names), MOST_ROWS), LEAST_LAYER * min(layers, MOST_LAYERS), STATES_LEAST_ROWS)
    figure = _step_map(followed, values, names, (pixels, "nats", ".2f"), scale, title, theme)
    for layer in range(1, layers):
        place, line = layer * heads - 0.5, {"color": theme.text, "width": 1}
        figure.add_shape(type="line", x0=0, x1=1, xref="paper", y0=place, y1=place, yref="y", line=line)
    step = -(-layers // MOST_LAYERS)
    named = range(0, layers, step)
    rows = {"tickvals": [(layer + 0.5) * heads - 0.5 for layer in named], "ticktext": [f"layer {x}" for x in named]}
    return even_axes(figure.update_yaxes(**rows, range=[len(names) - 0.5, -0.5]), theme)


def _step_map(
    followed: FollowedStates,
    values: Float32[np.ndarray, "rows checkpoints"],
    names: Sequence[str],
    form: tuple[int, str, str],
    scale: tuple[list[list[float | str]], tuple[float, float]],
    title: str,
    theme: Theme,
) -> go.Figure:
    """Draw a map of rows by checkpoints; the form is height of all rows, unit, and format of the numbers."""
    (pixels, unit, digits), (colours, ends) = form, scale
    axis, room = StepAxis(followed.checkpoints, followed.steps), max(theme.pixels - STATES_BESIDE, 1)
    figure = go.Figure(layout=layout(theme, escape(title), height=STATES_AROUND + pixels))
    words = {"customdata": [[[f"{name}, {each}"] for each in axis.hovered] for name in names], "hoverongaps": False}
    hover = "%{customdata[0]}: %{z:.4f}"
    add_cells(figure, values, digits, colours, ends, (room, pixels), unit, hover, **words)
    figure.update_xaxes(token_axis(axis.labels(), room, theme=theme), title="step of the checkpoint", showgrid=False)
    return figure.update_yaxes(showgrid=False)


def _count(followed: FollowedStates) -> str:
    return counted(len(followed.checkpoints), "checkpoint")


MOST_CLASSES = 6
"""Maximum number of classes with a line: those that are an answer, then those with the largest probability."""
MOST_QUOTED = 60
"""Maximum length of the text in a title."""


@figure("training-text", "checkpoint_training_text", table=text_frame)
def training_text_figure(followed_text: FollowedText) -> FigureSpec:
    """What each checkpoint of a run answers to a text (TEXT, --pair)."""
    followed = followed_text
    title = f"“{shortened(followed.text, MOST_QUOTED)}” through the steps — {followed.run}"
    named = (0, *followed.changes) if any(followed.answers) else ()
    names = [(place, f"{'→' if place else 'answer:'} {followed.answers[place] or 'none'}") for place in named]
    axis = StepAxis(followed.checkpoints, followed.steps, names)
    plots = text_plots(followed)
    alt = f"{title}: {', '.join(plot.title for plot in plots)} over the steps of {_counted(followed.checkpoints)}"
    return FigureSpec.of(title, alt, "", step_plots, plots, axis)


def text_plots(followed: FollowedText) -> list[StepPlot]:
    """The plots of a text: probabilities or the number of a head, surprise, cosine; each where it is known."""
    plots = []
    if followed.probabilities is not None:
        chosen = drawn_classes(followed)
        lines = [(followed.labels[place], followed.probabilities[:, place]) for place in chosen]
        plots.append(StepPlot("probability", lines, span=(-0.03, 1.03)))
    elif np.isfinite(followed.scores).any():
        is_number = not any(followed.answers)
        lines = [("number" if is_number else "answer", followed.scores)]
        title = "number" if is_number else "probability of the answer"
        plots.append(StepPlot(title, lines, span=None if is_number else (-0.03, 1.03)))
    if followed.null_differences is not None:
        lines = [("null score − best span", followed.null_differences)]
        plots.append(StepPlot("no answer above 0", lines))
    if followed.surprise is not None:
        plots.append(StepPlot("surprise, nats", [("surprise", followed.surprise)]))
    if followed.cosine is not None:
        plots.append(StepPlot("cosine", [("cosine of the two texts", followed.cosine)]))
    return plots


def drawn_classes(followed: FollowedText) -> list[int]:
    """Indices of the classes that have a line, in the order of the head."""
    if followed.probabilities is None:
        return []
    answers = set(followed.answers)
    largest = followed.probabilities.max(axis=0)
    order = sorted(range(len(followed.labels)), key=lambda at: (followed.labels[at] not in answers, -largest[at]))
    return sorted(order[:MOST_CLASSES])


@figure("training-scores", "checkpoint_training_scores", table=labels_frame)
def training_scores_figure(followed_labels: FollowedLabels) -> FigureSpec:
    """Accuracy and macro-F1 of each checkpoint of a run (--set with_gold=true; texts: TEXT LABEL ...)."""
    followed = followed_labels
    count = counted(sum(map(bool, followed.gold)), "text")
    title = f"Scores of {count} with gold labels — {followed.run}"
    lines = [("accuracy", 100 * followed.accuracy), ("macro-F1", 100 * followed.macro_f1)]
    changed = [("answers that changed", np.array((np.nan, *followed.changed[1:])))]
    sure = (("ECE", followed.ece), ("Brier score", followed.brier), ("log loss, nats", followed.log_loss))
    known = [(name, values) for name, values in sure if values is not None]
    plots = (
        StepPlot("score, %", lines, ".1f", (-3, 103)),
        *([StepPlot("calibration", known)] if known else []),
        StepPlot("answers that changed", changed, ".0f", as_bars=True),
    )
    alt = f"{title}: accuracy, macro-F1 and answers that changed over the steps of {_counted(followed.checkpoints)}"
    return FigureSpec.of(title, alt, "", step_plots, plots, StepAxis(followed.checkpoints, followed.steps))


def _counted(checkpoints: tuple[str, ...]) -> str:
    return counted(len(checkpoints), "checkpoint")
