"""Draw answers in their context, and the map of all spans by first and last token."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import token_axis, token_text
from bertviz_core.figures.base.cells import cell_numbers
from bertviz_core.figures.base.colour_bars import colour_bar
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout, sequential
from bertviz_core.figures.predictions.marked_text import Stretch, marked_text
from bertviz_core.predictions.results import AnswerPrediction, AnswerSpan, answer_log_sums
from bertviz_core.predictions.tables import answer_rows
from bertviz_core.text import decimals, escape_controls, shortened

AROUND = 30
"""Number of words of context drawn before the first answer and after the last."""
FLOOR = -12.0
"""Log-probability below which all spans have the colour of the paper: about one in 160,000."""
EXACT_CELLS = 20_000
"""Maximum number of cells sent with their numbers; larger maps use 255 steps."""
ROW, SMALLEST, LARGEST = 26, 330, 620
BLANK = 0
"""Step of a span that cannot be an answer."""


def apart(answers: Sequence[AnswerSpan]) -> list[int]:
    """Return the indices of answers that share no character with a better one, best first."""
    indices: list[int] = []
    for place, each in enumerate(answers):
        if all(each.end <= answers[other].start or each.start >= answers[other].end for other in indices):
            indices.append(place)
    return indices


def answer_stretches(prediction: AnswerPrediction, colour: str) -> list[Stretch]:
    """Split the context into spans: non-overlapping answers, darker if more likely, the best one outlined.

    The number and score of an answer are below it. Overlapping answers share the mark of the best one, since their
    boxes and labels would overlap.
    """
    context, stretches, at = prediction.context, [], 0
    answers = prediction.answers
    for place in sorted(apart(answers), key=lambda place: answers[place].start):
        best = answers[place]
        if best.start > at:
            stretches.append(Stretch(context[at : best.start]))
        same = [other for other, each in enumerate(answers) if each.start < best.end and each.end > best.start]
        hover = "<br>".join(escape(_listed(other, answers[other])) for other in same)
        label = f"{place + 1}: {decimals(best.score, 3)}"
        strength = 0.12 + 0.5 * min(1.0, best.score)
        text = context[best.start : best.end]
        stretches.append(Stretch(text, label, colour, strength, hover=hover, edged=place == 0))
        at = best.end
    if at < len(context):
        stretches.append(Stretch(context[at:]))
    return _around(stretches)


def _around(stretches: list[Stretch]) -> list[Stretch]:
    """Return the spans without most of the text far from every answer."""
    marked = [place for place, each in enumerate(stretches) if each.colour]
    if not marked:
        return stretches
    first, last = marked[0], marked[-1]
    before = "".join(each.text for each in stretches[:first])
    behind = "".join(each.text for each in stretches[last + 1 :])
    inside = [
        Stretch(_cut(each.text, AROUND, AROUND)) if not each.colour else each for each in stretches[first : last + 1]
    ]
    return [Stretch(_cut(before, 0, AROUND)), *inside, Stretch(_cut(behind, AROUND, 0))]


def _cut(text: str, first: int, last: int) -> str:
    """Return the first and the last words of a text, and the number of words omitted between them."""
    words = text.split()
    left = len(words) - first - last
    if left <= 0:
        return text
    shortened = [*words[:first], f"[… {left:,} words …]", *words[len(words) - last :]]
    return f" {' '.join(shortened)} "


def _listed(place: int, answer: AnswerSpan) -> str:
    return f"{place + 1}: {escape_controls(shortened(answer.text, 80))}, {decimals(answer.score)}"


def answer_text(parts: Sequence[tuple[str, AnswerPrediction]], title: str, theme: Theme) -> go.Figure:
    """Draw contexts with their answers, one below another.

    Args:
        parts: heading of a context, "" for none, and its answers.
        title: title of the figure.
        theme: theme of the figure.
    """
    colour = theme.colours["task head"]
    return marked_text([(name, answer_stretches(each, colour)) for name, each in parts], title, theme)


def span_logs(prediction: AnswerPrediction, window: int, longest: int) -> Float[np.ndarray, "start end"]:
    """Compute ln p(start) + ln p(end) of all spans of context tokens in one window, see AnswerSpan.score.

    NaN if the end precedes the start, or the span exceeds the maximum length of an answer.
    """
    start, end = answer_log_sums(prediction.windows, prediction.null_logit is not None)
    part = prediction.windows[window]
    table = (part.start_logits[part.context] - start)[:, None] + (part.end_logits[part.context] - end)[None, :]
    places = np.arange(len(table))
    length = places[None, :] - places[:, None]
    return np.where((length >= 0) & (length < longest), table, np.nan).astype(np.float32)


def answer_map(prediction: AnswerPrediction, window: int, longest: int, title: str, theme: Theme) -> go.Figure:
    """Draw the spans of one window: first tokens as rows, last tokens as columns, dark for likely ones."""
    part = prediction.windows[window]
    places = np.flatnonzero(part.context)
    logs, names = span_logs(prediction, window, longest), [token_text(part.tokens[place]) for place in places]
    height = max(SMALLEST, min(LARGEST, 150 + ROW * len(names)))
    figure = go.Figure(layout=layout(theme, escape(title), height=height, showlegend=False))
    exact = logs.size <= EXACT_CELLS
    figure.add_heatmap(
        x=np.arange(len(names), dtype=np.int32),
        y=np.arange(len(names), dtype=np.int32),
        z=logs if exact else _steps(logs),
        zmin=FLOOR if exact else BLANK,
        zmax=0 if exact else 255,
        colorscale=sequential(theme),
        colorbar=colour_bar("ln p", FLOOR, 0.0, None if exact else (BLANK, 255)),
        hovertemplate=f"from token %{{y}} to %{{x}}{': ln p %{z:.3f}' if exact else ''}<extra></extra>",
        hoverongaps=False,
    )
    _add_best(figure, prediction, window, places, theme)
    figure.update_xaxes(token_axis(names, 760), title="last token of the answer", tickangle=-90, side="bottom")
    figure.update_yaxes(token_axis(names, height - 130), title="first token", autorange="reversed")
    figure.update_layout(plot_bgcolor=theme.neutral)
    room = (theme.pixels - (120 if theme.narrow else 220), height - 150)
    shares = np.where(np.isnan(logs), np.nan, np.exp(logs)).astype(np.float32)
    if len(names) <= 24:
        cell_numbers(figure, np.where(shares < 0.0005, np.nan, shares), ".3f", sequential(theme), (0, 1), room)
    return figure


def _steps(logs: Float[np.ndarray, "start end"]) -> np.ndarray:
    """Quantise the cells to steps from 1 at FLOOR to 255; BLANK for spans that cannot be answers."""
    shares = np.clip((logs - FLOOR) / -FLOOR, 0, 1)
    return np.where(np.isnan(logs), BLANK, 1 + np.round(254 * np.nan_to_num(shares))).astype(np.uint8)


def _add_best(figure: go.Figure, prediction: AnswerPrediction, window: int, places: np.ndarray, theme: Theme) -> None:
    """Outline the cells of all listed answers found in this window."""
    rows = {int(place): row for row, place in enumerate(places)}
    for each in prediction.answers:
        if each.window == window:
            x, y = rows[each.last], rows[each.first]
            line = {"color": theme.colours["task head"], "width": 2}
            figure.add_shape(type="rect", x0=x - 0.5, x1=x + 0.5, y0=y - 0.5, y1=y + 0.5, line=line)


def answer_frame(answer_prediction: AnswerPrediction) -> pd.DataFrame:
    """A row for every answer, the best first, among them that there is none."""
    listed = answer_rows(answer_prediction)
    return pd.DataFrame(
        {
            "answer": [each["text"] or each["label"] for each in listed],
            "score": np.array([each["score"] for each in listed], dtype=float),
            "logit": [each["logit"] for each in listed],
            "characters": ["" if each["start"] is None else f"{each['start']}:{each['end']}" for each in listed],
            "window": pd.array([None if each["window"] is None else each["window"] + 1 for each in listed], "Int64"),
        }
    )


def _logit_frame(answer_prediction: AnswerPrediction, answer_window: int) -> pd.DataFrame:
    """The two logits of every token in one window, from which the map is computed."""
    part = answer_prediction.windows[answer_window]
    places = np.flatnonzero(part.context)
    columns = {"token": [part.tokens[place] for place in places], "position": places}
    return pd.DataFrame({**columns, "start logit": part.start_logits[places], "end logit": part.end_logits[places]})


@figure(
    "answers",
    "predictions_answers",
    "answers in their context (TEXT the question, --pair)",
    reported=True,
    table=answer_frame,
)
def answers_figure(answer_prediction: AnswerPrediction) -> FigureSpec:
    """Plot the context with the best answers marked."""
    title = f"{question_line(answer_prediction)} — {answer_prediction.model}"
    draw = partial(answer_text, (("", answer_prediction),), title)
    caption = (
        f"{title}. Below an answer: its place and its score; darker answers are likelier{_hidden(answer_prediction)}"
    )
    return FigureSpec(title, f"{title}: {listed_answers(answer_prediction)}", draw, caption)


@figure(
    "answer-map",
    "predictions_answer_map",
    "all spans of a context, start by end",
    reported=True,
    table=_logit_frame,
)
def answer_map_figure(answer_prediction: AnswerPrediction, answer_window: int, longest_answer: int) -> FigureSpec:
    """Plot the probability of every span of a window as the answer."""
    count = len(answer_prediction.windows)
    part = f", window {answer_window + 1} of {count}" if count > 1 else ""
    title = f"Spans as answers, first token by last{part} — {answer_prediction.model}"
    draw = partial(answer_map, answer_prediction, answer_window, longest_answer, title)
    caption = f"{title}. Framed: the listed answers. Grey: no answer, since it ends before it begins or is too long"
    return FigureSpec(title, f"{title}: {listed_answers(answer_prediction)}", draw, caption)


def _hidden(prediction: AnswerPrediction) -> str:
    """Describe the listed answers without their own mark, after a semicolon; "" if there are none."""
    marked = apart(prediction.answers)
    rest = [str(place + 1) for place in range(len(prediction.answers)) if place not in marked]
    if not rest:
        return ""
    if len(rest) == 1:
        return f"; {rest[0]} overlaps a better answer and is not marked"
    return f"; {', '.join(rest[:-1])} and {rest[-1]} overlap a better answer and are not marked"


def question_line(prediction: AnswerPrediction) -> str:
    """Format the question for a title."""
    return escape_controls(shortened(" ".join(prediction.question.split()), 70))


def listed_answers(prediction: AnswerPrediction) -> str:
    """List the answers with their scores."""
    return "; ".join(_listed(place, each) for place, each in enumerate(prediction.answers))
