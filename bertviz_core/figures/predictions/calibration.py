"""Reliability diagrams and coverage curves of classifiers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.marks import add_band, add_line
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, faint, layout, of_two
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.probing.results import CalibratedLabel, Calibration, CalibrationBins
from bertviz_core.text import counted, decimals, shortened

HEIGHT, LOWER = 520, 400
BOTTOM_OF_SHARES, TOP_OF_COUNTS = 0.36, 0.24
"""Shares of the height of the plot."""
DRAWN = 2_000
"""Most points of a coverage curve that are drawn, evenly over all."""
SYMBOLS = ("circle", "diamond")
SCORE_COLUMNS = {
    "texts": "texts",
    "accuracy": "accuracy",
    "ECE": "ece",
    "ECE, equal mass": "ece_equal_mass",
    "Brier score": "brier",
    "log loss": "log_loss",
}
"""Column of the table of scores -> its field."""
EQUAL_WIDTH, EQUAL_MASS = BINNED_BY = ("equal width", "equal mass")


def _drawn(calibration: Calibration, label: str) -> list[tuple[str, CalibratedLabel]]:
    """Name of each model, and the label in it; without models that lack it."""
    return [(one.model, each) for one in calibration.both for each in one.labels if each.label == label]


def _bins(label: CalibratedLabel, binned_by: str) -> CalibrationBins:
    return label.equal_mass if binned_by == EQUAL_MASS else label.equal_width


def _frame(calibration: Calibration, columns: Callable[[CalibratedLabel], dict[str, Any]]) -> "pd.DataFrame":
    """Rows for every model and label; the label is left out where classes exclude each other."""
    frames = [
        pd.DataFrame({**columns(each), "model": one.model, "label": each.label})
        for one in calibration.both
        for each in one.labels
    ]
    frame = pd.concat(frames, ignore_index=True)
    named = ["model", "label"] if frame["label"].any() else ["model"]
    return frame[[*named, *(name for name in frame if name not in ("model", "label"))]]


def bins_frame(calibration: Calibration, binned_by: str) -> "pd.DataFrame":
    """One row per bin with texts: model, label, edges, number of texts, mean probability, share, 95% interval."""

    def columns(label: CalibratedLabel) -> dict[str, Any]:
        bins = _bins(label, binned_by)
        edges = {"above": bins.low, "up to": bins.high, "texts": bins.counts}
        return {
            **edges,
            "mean probability": bins.probability,
            "share": bins.share,
            "low": bins.interval[0],
            "high": bins.interval[1],
        }

    return _frame(calibration, columns)


def scores_frame(calibration: Calibration) -> "pd.DataFrame":
    """Scores of each model and label on all texts, and on the half beside the fit without and with temperature."""

    def columns(label: CalibratedLabel) -> dict[str, Any]:
        measured = [("all texts", label.scores), ("half, without T", label.before), ("same half, with T", label.after)]
        known = [(name, scores) for name, scores in measured if scores is not None]
        fields = {name: [getattr(scores, key) for _, scores in known] for name, key in SCORE_COLUMNS.items()}
        temperature = [None, None, label.temperature][: len(known)]
        return {"measured on": [name for name, _ in known], **fields, "T": np.array(temperature, dtype=np.float64)}

    return _frame(calibration, columns)


def coverage_frame(calibration: Calibration) -> "pd.DataFrame":
    """One row per number of answered texts: model, label, least probability, share answered, accuracy, 95% interval."""

    def columns(label: CalibratedLabel) -> dict[str, Any]:
        shares = {"least probability": label.least_confidence, "answered": label.coverage}
        low, high = label.covered_interval
        return {**shares, "accuracy": label.covered_accuracy, "low": low, "high": high}

    return _frame(calibration, columns)


def scores_words(calibration: Calibration) -> str:
    """What the probabilities are worth, in one or two sentences."""
    scores = calibration.scores
    means = "" if len(calibration.labels) == 1 else f" (means over {counted(len(calibration.labels), 'label')})"
    return (
        f"{calibration.model}, {counted(scores.texts, 'text')}{means}: accuracy {scores.accuracy:.1%}, ECE "
        f"{scores.ece:.3f} (equal mass {scores.ece_equal_mass:.3f}), Brier score {scores.brier:.3f}, log loss "
        f"{scores.log_loss:.3f} nats."
    )


def temperature_words(label: CalibratedLabel) -> str:
    """What a temperature changes, in one sentence."""
    of, before, after = f" of {shortened(label.label, 40)}" if label.label else "", label.before, label.after
    fitted = label.scores.texts - before.texts
    if label.temperature is None or after is None or label.change is None:
        return (
            f"No temperature{of} helps: on the random half of {fitted:,} texts where one is fitted, all answers are "
            "right, or equal probabilities of all classes have the least log loss."
        )
    changes = (
        f"on the other {counted(before.texts, 'text')}, of which it answers {before.accuracy:.1%} right with and "
        f"without it: ECE {before.ece:.3f} → {after.ece:.3f}, Brier score {before.brier:.3f} → {after.brier:.3f}, log "
        f"loss {before.log_loss:.3f} → {after.log_loss:.3f}"
    )
    value = f"T = {decimals(label.temperature, 3)}, fitted on a random half of {counted(fitted, 'text')}"
    low, high = label.change
    if low >= 0:
        return f"No temperature{of} helps: the log loss with {value}, is no lower {changes}."
    if not high < 0:
        chance = (
            f"the 95% interval of the change of the log loss, {decimals(low, 3)} to {decimals(high, 3)}, contains 0"
        )
        return f"These texts do not show that a temperature{of} helps: with {value}, {chance}; {changes}."
    sure = "less" if label.temperature > 1 else "more"
    return f"A temperature{of} helps: {value}, makes answers {sure} sure and lowers the log loss {changes}."


def reliability_points(calibration: Calibration, label: str, binned_by: str, title: str, theme: Theme) -> go.Figure:
    """Draw how often each bin is right over its mean probability, and below it the number of its texts."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    look = {"name": "share = probability", "mode": "lines"}
    add_line(figure, [0, 1], [0, 1], "", theme.muted, 1.5, "dash", **look)
    looks = zip(_drawn(calibration, label), of_two(theme), SYMBOLS, strict=False)
    for (model, each), (colour, dash), symbol in looks:
        bins = _bins(each, binned_by)
        low, high = bins.interval
        bars = {"array": high - bins.share, "arrayminus": bins.share - low, "symmetric": False, "thickness": 1.2}
        hover = (
            "%{customdata[0]:,} texts with a probability above %{customdata[1]:.3f}, up to %{customdata[2]:.3f}: mean "
            "%{x:.3f}, true %{y:.3f} (%{customdata[3]:.3f} to %{customdata[4]:.3f})"
        )
        data = np.stack([bins.counts, bins.low, bins.high, low, high], axis=1)
        marks = {"customdata": data, "error_y": {**bars, "color": colour}, "marker": {"size": 9, "symbol": symbol}}
        name = escape(shortened(model, 40))
        add_line(figure, bins.probability, bins.share, hover, colour, 1.5, dash, name=name, **marks)
        figure.add_bar(
            x=(bins.low + bins.high) / 2,
            y=bins.counts,
            width=np.maximum(bins.high - bins.low, 0.002),
            marker={"color": faint(colour, 0.35), "line": {"color": colour, "width": 1}},
            hovertemplate="%{y:,} texts<extra></extra>",
            showlegend=False,
            yaxis="y2",
        )
    what = f"probability of {shortened(label, 30)}" if label else "probability of the answer"
    figure.update_layout(
        barmode="overlay",
        xaxis={"range": [-0.02, 1.02], "anchor": "y2", "title": escape(what)},
        yaxis={"domain": [BOTTOM_OF_SHARES, 1], "range": [-0.03, 1.03], "title": "share that is true"},
        yaxis2={"domain": [0, TOP_OF_COUNTS], "anchor": "x", "rangemode": "tozero", "title": "texts"},
    )
    return even_axes(figure, theme)


def coverage_lines(calibration: Calibration, label: str, title: str, theme: Theme) -> go.Figure:
    """Draw the accuracy of the most confident answers over their share."""
    figure = go.Figure(layout=layout(theme, escape(title), height=LOWER))
    drawn = _drawn(calibration, label)
    figure.update_layout(showlegend=len(drawn) > 1)
    for (model, each), (colour, dash) in zip(drawn, of_two(theme), strict=False):
        count = len(each.coverage)
        at = np.unique(np.linspace(0, count - 1, min(count, DRAWN)).astype(np.int64))
        x = 100 * each.coverage[at]
        add_band(figure, x, 100 * each.covered_interval[:, at], faint(colour, 0.15))
        hover = "%{x:.1f}% answered, from a probability of %{customdata:.3f} on: %{y:.1f}% right"
        more = {"name": escape(shortened(model, 40)), "customdata": each.least_confidence[at]}
        mode = "lines+markers" if count == 1 else "lines"
        add_line(figure, x, 100 * each.covered_accuracy[at], hover, colour, 2.5, dash, mode=mode, **more)
    figure.update_xaxes(range=[0, 102], title="texts answered, the most confident first, %")
    figure.update_yaxes(range=[0, 103], title="right answers among them, %")
    return even_axes(figure, theme)


def _title(what: str, calibration: Calibration, label: str) -> str:
    of = f" of {shortened(label, 30)}" if label else ""
    models = " and ".join(each.model for each in calibration.both)
    of += " of a probe, not of the model's head," if calibration.in_place_of_head else ""
    return f"{what}{of} on {counted(calibration.scores.texts, 'labelled text')} — {models}"


@figure("calibration", "predictions_calibration", table=bins_frame)
def calibration_figure(calibration: Calibration, calibrated_label: str, binned_by: str) -> FigureSpec:
    """How often answers of a probability are right, with intervals (--set with_gold=true; texts: TEXT LABEL ...)."""
    title = _title("Reliability", calibration, calibrated_label)
    about = " ".join(scores_words(each) for each in calibration.both)
    caption = f"{title}. {about} {calibration.bins} bins of {binned_by}; bars: Wilson's 95% intervals"
    return FigureSpec.of(
        title, f"{title}: {about}", caption, reliability_points, calibration, calibrated_label, binned_by
    )


@figure("coverage", "predictions_coverage", table=coverage_frame)
def coverage_figure(calibration: Calibration, calibrated_label: str) -> FigureSpec:
    """Accuracy of the most confident answers, by their share (--set with_gold=true; texts: TEXT LABEL ...)."""
    title = _title("Accuracy of the most confident answers", calibration, calibrated_label)
    halves = []
    for model, each in _drawn(calibration, calibrated_label):
        place = int(np.searchsorted(each.coverage, 0.5))
        share, accuracy = each.coverage[place], each.covered_accuracy[place]
        halves.append(f"{model}: {accuracy:.1%} right where {share:.1%} of the texts are answered")
    words = "; ".join(halves)
    return FigureSpec.of(
        title,
        f"{title}: {words}",
        f"{title}. {words}; band: Wilson's 95% intervals",
        coverage_lines,
        calibration,
        calibrated_label,
    )
