"""Classes of a text, of its edited version, and of two models."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import lined_label, shortened_label, text_width
from bertviz_core.figures.base.marks import add_bars
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout
from bertviz_core.figures.predictions.marked_text import (
    answer_frame,
    answer_text,
    listed_answers,
    marked_text,
    question_line,
)
from bertviz_core.figures.predictions.tags import entity_frame, listed_entities, tagged_parts
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.results import (
    AnswerPrediction,
    ClassPrediction,
    ComparedKind,
    Entity,
    PredictionComparison,
    Scoring,
    TagPrediction,
    WordShift,
)
from bertviz_core.text import decimals, escape_controls, shortened

ClassOrder = Literal["by size", "as in the model"]
ORDERS: tuple[ClassOrder, ...] = ("by size", "as in the model")
"""Order by descending number, or by class index."""
MOST = 30
"""Maximum number of drawn classes; the table contains all."""
ROW, AROUND, FEWEST = 34, 116, 2
"""Pixels: height of a bar, margins for title and axis; minimum number of bars, so that axis labels fit."""
GAP = 0.3
"""Gap between rows, as a share of a row."""
HALF, NEAR, ROUND = 0.5, 0.01, 1e-6
"""Probability threshold of a class; margin within which labels count as crossing its line; numerical zero."""
NAMES = 0.32
"""Maximum share of the width for class names."""
SAYS: dict[Scoring, str] = {
    "softmax": "probability (softmax, sum 1)",
    "sigmoid": "probability of each class by itself (sigmoid)",
    "number": "value (a regression: no probability)",
}
"""Axis title for each scoring."""


def class_numbers(prediction: ClassPrediction) -> Float[np.ndarray, " labels"]:
    """Return the drawn number of each class: its probability, or the output itself for a regression."""
    return prediction.logits if prediction.probabilities is None else prediction.probabilities


def class_rows(prediction: ClassPrediction, order: ClassOrder) -> list[int]:
    """Return the indices of the drawn classes, at most the MOST greatest, in this order."""
    greatest = np.argsort(-class_numbers(prediction), kind="stable")[:MOST].tolist()
    return [int(row) for row in (greatest if order == "by size" else sorted(greatest))]


def class_bars(prediction: ClassPrediction, order: ClassOrder, title: str, theme: Theme) -> go.Figure:
    """Draw one bar per class, followed by its number."""
    rows = class_rows(prediction, order)
    values = class_numbers(prediction)[rows]
    figure = go.Figure(
        layout=layout(theme, escape(title), height=AROUND + ROW * max(len(rows), FEWEST), showlegend=False)
    )
    words = [number_words(value, prediction.scoring) for value in values.tolist()]
    add_lying_bars(figure, values, words, theme.colours["task head"], "", theme)
    return name_bars(figure, [prediction.labels[row] for row in rows], values, words, prediction.scoring, theme)


def add_lying_bars(
    figure: go.Figure, values: Float[np.ndarray, " rows"], words: list[str], colour: str, name: str, theme: Theme
) -> None:
    """Add bars from top to bottom, followed by text."""
    text = {"text": [f" {word}" for word in words], "textposition": "outside", "cliponaxis": False, "name": name}
    font = {"size": TEXT_SIZE - 1, "color": theme.text}
    add_bars(figure, values.astype(np.float32), "", colour, **text, textfont=font)


def name_bars(
    figure: go.Figure,
    names: list[str],
    values: Float[np.ndarray, " bars"],
    words: list[str],
    scoring: Scoring,
    theme: Theme,
    whole: bool = True,
) -> go.Figure:
    """Label the rows of a figure, and extend the axis for the text after the bars.

    The axis of probabilities extends to 1 if `whole`.
    """
    ticks: dict[str, Any] = {"nticks": 3 if theme.slim else 6}
    low, high = 0.0, 1.0
    if scoring == "number" or not whole:
        low, high = min(0.0, float(values.min(initial=0))), max(0.0, float(values.max(initial=0)))
        high = high if low < high else 1.0
    else:
        ticks = {"tickvals": [0, 1] if theme.narrow else [0, 0.5, 1] if theme.slim else [0, 0.25, 0.5, 0.75, 1]}
    widths = np.array([text_width(f" {word}", TEXT_SIZE - 1) for word in words])
    label = float(widths.max(initial=0))
    room = (high - low) * label / max(0.5 * theme.pixels - label, label)
    says = {"range": [low - (room if low < 0 else 0), high + room], "title": {"text": SAYS[scoring]}}
    rows = {"tickvals": list(range(len(names))), "range": [len(names) - 0.5, -0.5], "showgrid": False}
    plain = [escape(escape_controls(" ".join(name.split()))) for name in names]
    shown = [lined_label(name, NAMES * theme.pixels, TEXT_SIZE - 1) for name in plain]
    figure.update_yaxes(rows, ticktext=shown).update_xaxes(says, **ticks)
    if scoring == "sigmoid":
        line = {"color": theme.muted, "width": 1.5, "dash": "dash"}
        for top, bottom in clear_stretches(values, values + room * widths / max(label, 1.0), len(names)):
            figure.add_shape(type="line", x0=HALF, x1=HALF, y0=top, y1=bottom, line=line)
    return figure.update_layout(bargap=GAP)


def clear_stretches(
    starts: Float[np.ndarray, " bars"], ends: Float[np.ndarray, " bars"], rows: int
) -> list[tuple[float, float]]:
    """Return the intervals of the row axis, from top to bottom, in which a line at HALF crosses no text.

    Starts and ends are those of the texts after the first bars of all rows, then after the second bars.
    """
    bars = max(len(starts) // max(rows, 1), 1)
    thick = (1 - GAP) / bars
    places = sorted(
        (place % rows - thick * (bars / 2 - place // rows), place)
        for place in range(len(starts))
        if starts[place] - NEAR <= HALF <= ends[place] + NEAR
    )
    edges = [-0.5, *(edge for top, _ in places for edge in (top, top + thick)), rows - 0.5]
    return [(top, bottom) for top, bottom in zip(edges[::2], edges[1::2], strict=True) if bottom - top > ROUND]


def number_words(value: float, scoring: Scoring) -> str:
    """Format the number after a bar."""
    return decimals(value, 4 if scoring == "number" else 3)


def class_words(prediction: ClassPrediction, row: int) -> str:
    """Describe a class and its number."""
    name = escape_controls(" ".join(prediction.labels[row].split()))
    return f"{name} {number_words(float(class_numbers(prediction)[row]), prediction.scoring)}"


def _frame(class_prediction: ClassPrediction) -> "pd.DataFrame":
    """Every class in the model's order."""
    labels, shares = list(class_prediction.labels), class_prediction.probabilities
    if shares is None:
        return pd.DataFrame({"class": labels, "value": class_prediction.logits})
    return pd.DataFrame({"class": labels, "probability": shares, "logit": class_prediction.logits})


@figure("classes", "predictions_classes", reported=True, table=_frame)
def classes_figure(class_prediction: ClassPrediction, class_order: ClassOrder) -> FigureSpec:
    """Classes of a text or pair (--pair, --task)."""
    what = "pair" if class_prediction.tokens.pair is not None else "text"
    many = f", the {MOST} greatest of {count:,}" if (count := len(class_prediction.labels)) > MOST else ""
    head = "Value" if class_prediction.scoring == "number" else "Classes"
    title = f"{head} of the {what}{many} — {class_prediction.model}"
    return _of_one(class_prediction, class_order, title)


@figure("next-sentence", "predictions_next", reported=True, table=_frame)
def next_sentence_figure(class_prediction: ClassPrediction) -> FigureSpec:
    """Whether the second text follows the first (--pair, --task)."""
    return _of_one(class_prediction, "as in the model", f"Does the second text follow? — {class_prediction.model}")


def _of_one(prediction: ClassPrediction, order: ClassOrder, title: str) -> FigureSpec:
    alt = f"{title}: {', '.join(class_words(prediction, row) for row in class_rows(prediction, order))}"
    says = SAYS[prediction.scoring]
    caption = f"{title}. {says[0].upper()}{says[1:]}"
    return FigureSpec.of(title, alt, caption, class_bars, prediction, order)


BEFORE, AFTER = "The text", "Edited"
PAIR_ROW, ONE_ROW, LEGEND = 52, 34, 30
"""Pixels: height of two bars, of one bar, and of the legend."""
ROUNDING = 1e-7
"""Rounding error of probabilities: float32 has 24 binary digits."""
LONGEST = 24
"""Most characters of a token in a title."""


def paired_bars(
    names: list[str],
    before: Float[np.ndarray, " rows"],
    after: Float[np.ndarray, " rows"],
    scoring: Scoring,
    title: str,
    whole: bool,
    theme: Theme,
) -> go.Figure:
    """Draw two bars per name, for the text and its edited version, with the difference; one bar if all are equal.

    Without differences, rows are sorted by descending number, else they keep their order.
    """
    edited = not np.array_equal(before, after)
    if not edited:
        order = np.argsort(-before, kind="stable")
        names, before = [names[row] for row in order.tolist()], before[order]
    height = AROUND + (LEGEND + PAIR_ROW * len(names) if edited else ONE_ROW * len(names))
    figure = go.Figure(layout=layout(theme, escape(title), height=height))
    old = [number_words(value, scoring) for value in before.tolist()]
    new = [
        f"{number_words(value, scoring)} ({signed(change)})"
        for value, change in zip(after.tolist(), (after - before).tolist(), strict=True)
    ]
    add_lying_bars(figure, before, old, theme.hues[6], BEFORE, theme)
    if not edited:
        return name_bars(figure.update_layout(showlegend=False), names, before, old, scoring, theme, whole)
    add_lying_bars(figure, after, new, theme.colours["task head"], AFTER, theme)
    figure.update_layout(barmode="group", legend={"traceorder": "normal"})
    return name_bars(figure, names, np.concatenate([before, after]), [*old, *new], scoring, theme, whole)


def signed(change: float) -> str:
    """Format a signed difference; one below the precision of float32 is 0 without a sign."""
    return "0" if abs(change) < ROUNDING else f"{'+' if change > 0 else '−'}{decimals(abs(change), 3)}"


def _number_frame(column: str, names: Sequence[str], before: np.ndarray, after: np.ndarray) -> "pd.DataFrame":
    """Both numbers of every row, and their difference."""
    numbers = {each.lower(): values for each, values in ((BEFORE, before), (AFTER, after))}
    return pd.DataFrame({column: list(names), **numbers, "change": after - before})


def _class_frame(class_prediction: ClassPrediction, edited_classes: ClassPrediction) -> "pd.DataFrame":
    numbers = class_numbers(class_prediction), class_numbers(edited_classes)
    return _number_frame("class", class_prediction.labels, *numbers)


def _shift_frame(word_shift: WordShift) -> "pd.DataFrame":
    return _number_frame("word", word_shift.words, word_shift.before, word_shift.after)


def _of_versions(before: "pd.DataFrame", after: "pd.DataFrame") -> "pd.DataFrame":
    """The rows of both versions, with a column that names the version."""
    named = {BEFORE.lower(): before, AFTER.lower(): after}
    return pd.concat(named, names=["version"]).reset_index(0).reset_index(drop=True)


def _tag_frame(
    tag_prediction: TagPrediction,
    tag_entities: Sequence[Entity],
    edited_tags: TagPrediction,
    edited_entities: Sequence[Entity],
) -> "pd.DataFrame":
    return _of_versions(entity_frame(tag_prediction, tag_entities), entity_frame(edited_tags, edited_entities))


def _answer_frame(answer_prediction: AnswerPrediction, edited_answers: AnswerPrediction) -> "pd.DataFrame":
    return _of_versions(answer_frame(answer_prediction), answer_frame(edited_answers))


@figure("classes-change", "predictions_classes_change", table=_class_frame)
def classes_change_figure(class_prediction: ClassPrediction, edited_classes: ClassPrediction) -> FigureSpec:
    """Classes before and after an edit (--set edited=TEXT)."""
    first, second = class_numbers(class_prediction), class_numbers(edited_classes)
    rows = [int(row) for row in np.argsort(-np.abs(second - first), kind="stable")[:MOST]]
    names = [class_prediction.labels[row] for row in rows]
    title = f"Classes before and after the edit — {class_prediction.model}"
    listed = ", ".join(
        f"{class_words(class_prediction, row)}, edited {class_words(edited_classes, row)}" for row in rows
    )
    draw = partial(paired_bars, names, first[rows], second[rows], class_prediction.scoring, title, True)
    return FigureSpec(title, f"{title}: {listed}", draw, f"{title}. In brackets: the difference")


@figure("words-change", "predictions_words_change", table=_shift_frame)
def words_change_figure(word_shift: WordShift, guessed_token: str, model_name: str) -> FigureSpec:
    """Words at a mask before and after an edit (--set edited=TEXT, guess)."""
    where = f'the mask at "{shortened(guessed_token, LONGEST)}", position {word_shift.position}'
    title = f"Words at {where}, before and after the edit — {model_name}"
    numbers = zip(word_shift.words, word_shift.before.tolist(), word_shift.after.tolist(), strict=True)
    listed = ", ".join(f"{word} {decimals(before, 3)}, edited {decimals(after, 3)}" for word, before, after in numbers)
    draw = partial(paired_bars, list(word_shift.words), word_shift.before, word_shift.after, "softmax", title, False)
    return FigureSpec(title, f"{title}: {listed}", draw, f"{title}. In brackets: the difference")


@figure("tags-change", "predictions_tags_change", table=_tag_frame)
def tags_change_figure(
    tag_prediction: TagPrediction,
    tag_entities: Sequence[Entity],
    edited_tags: TagPrediction,
    edited_entities: Sequence[Entity],
) -> FigureSpec:
    """Entities before and after an edit (--set edited=TEXT)."""
    title = f"Entities before and after the edit — {tag_prediction.model}"
    parts = tagged_parts(tag_prediction, tag_entities, BEFORE)
    read = [(each.tokens.text, each.tokens.pair) for each in (tag_prediction, edited_tags)]
    if read[0] != read[1]:
        parts = [*parts, *tagged_parts(edited_tags, edited_entities, AFTER)]
    alt = f"{title}: {listed_entities(tag_entities)}; edited: {listed_entities(edited_entities)}"
    return FigureSpec.of(title, alt, "", marked_text, parts)


@figure("answers-change", "predictions_answers_change", table=_answer_frame)
def answers_change_figure(answer_prediction: AnswerPrediction, edited_answers: AnswerPrediction) -> FigureSpec:
    """Answers before and after an edit (--set edited=TEXT, edited_pair=TEXT)."""
    title = f"Answers before and after the edit — {answer_prediction.model}"
    both = [(BEFORE, answer_prediction), (AFTER, edited_answers)]
    read = [(each.question, each.context) for _, each in both]
    if read[0] == read[1]:
        del both[1]
    parts = [(f"{name}: {question_line(each)}", each) for name, each in both]
    alt = f"{title}: {listed_answers(answer_prediction)}; edited: {listed_answers(edited_answers)}"
    return FigureSpec.of(title, alt, "", answer_text, parts)


KINDS: Mapping[ComparedKind, tuple[str, str, str]] = {
    "classes": ("Classes in two models", "probability", "class"),
    "tags": ("Tags in two models", "probability of the tag", "word"),
    "entities": ("Entities in two models", "mean probability of the tag", "entity"),
    "answers": ("Answers of two models", "score: p(start) p(end)", "answer"),
    "words": ("Words at “{where}” in two models", "probability", "word"),
    "surprise": ("Surprise in two models", "surprise, nats", "part of the text"),
    "lens": ("Best word at “{where}” in every layer of two models", "probability of the best word", "hidden state"),
}
"""What the rows are -> start of the title, title of the axis of numbers, heading of the names of the rows."""
OUTSIDE = "O"
"""Tag of words outside all entities."""
ABSENT = "–"
"""Shown in place of a number that a model does not have."""
TWO_MODELS_LONGEST, LEGEND_NAME = 28, 0.42
"""Most characters of an answer beside a bar; share of the width for a model's name in the legend."""


def drawn_rows(comparison: PredictionComparison) -> list[int]:
    """Indices of the drawn rows, at most MOST.

    Classes are sorted by the greater of both numbers; words with tags are those with a tag in either model, if there
    are any. Other rows keep their order, and the largest changes are drawn where there are too many.
    """
    numbers = np.fmax(comparison.first_numbers, comparison.second_numbers)
    if comparison.kind == "classes":
        return [int(row) for row in np.argsort(-np.nan_to_num(numbers, nan=-np.inf), kind="stable")[:MOST]]
    rows = list(range(len(comparison.names)))
    if comparison.kind == "tags":
        sides = zip(comparison.first_answers, comparison.second_answers, strict=True)
        rows = [row for row, tags in enumerate(sides) if set(tags) - {OUTSIDE}] or rows
    if len(rows) <= MOST:
        return rows
    change = np.where(np.isnan(comparison.difference), np.inf, np.abs(comparison.difference))[rows]
    return sorted(rows[int(place)] for place in np.argsort(-change, kind="stable")[:MOST])


def compared_bars(comparison: PredictionComparison, title: str, theme: Theme) -> go.Figure:
    """Draw two bars per row, one for each model, with the difference beside the second."""
    rows = drawn_rows(comparison)
    scoring: Scoring = "softmax" if comparison.unit in ("probability", "score") else "number"
    beside = [[_beside(comparison, row, side, scoring) for row in rows] for side in (0, 1)]
    figure = two_model_bars(
        (comparison.first, comparison.second),
        [comparison.names[row] for row in rows],
        (comparison.first_numbers[rows], comparison.second_numbers[rows]),
        (beside[0], beside[1]),
        title,
        theme,
        scoring,
        comparison.kind in ("classes", "tags", "entities"),
    )
    return figure.update_xaxes(title={"text": "value" if comparison.unit == "value" else KINDS[comparison.kind][1]})


def two_model_bars(
    models: tuple[str, str],
    names: list[str],
    numbers: tuple[Float[np.ndarray, " rows"], Float[np.ndarray, " rows"]],
    beside: tuple[list[str], list[str]],
    title: str,
    theme: Theme,
    scoring: Scoring = "number",
    whole: bool = False,
) -> go.Figure:
    """Draw two bars per row, one for each model, in grey and in the colour of task heads; none for NaN."""
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + LEGEND + PAIR_ROW * max(len(names), 1)))
    colours, lengths = (theme.hues[6], theme.colours["task head"]), [np.nan_to_num(each) for each in numbers]
    for side, place in enumerate(("first", "second")):
        name = shortened_label(escape(f"{place}: {models[side]}"), LEGEND_NAME * theme.pixels, TEXT_SIZE)
        add_lying_bars(figure, lengths[side], [escape(each) for each in beside[side]], colours[side], name, theme)
    figure.update_layout(barmode="group", legend={"traceorder": "normal"})
    return name_bars(figure, names, np.concatenate(lengths), [*beside[0], *beside[1]], scoring, theme, whole)


def signed_difference(change: float) -> str:
    """A difference with its sign, 0 without one; – where there is none."""
    return ABSENT if np.isnan(change) else signed(change)


def comparison_frame(prediction_comparison: PredictionComparison) -> "pd.DataFrame":
    """One row per class, word, answer, part of the text or hidden state: both numbers and their difference."""
    compared = prediction_comparison
    columns: dict[str, Any] = {KINDS[compared.kind][2]: list(compared.names)}
    if compared.kind == "entities":
        tags = zip(compared.first_answers, compared.second_answers, strict=True)
        columns |= {"tag": [one or other for one, other in tags], "found by": _finders(compared)}
    elif compared.kind in ("tags", "lens"):
        columns |= {"first answer": compared.first_answers, "second answer": compared.second_answers}
    numbers = {"first": compared.first_numbers, "second": compared.second_numbers, "difference": compared.difference}
    return pd.DataFrame({**columns, **{name: values.astype(float) for name, values in numbers.items()}})


def _finders(compared: PredictionComparison) -> list[str]:
    sides = zip(np.isnan(compared.first_numbers), np.isnan(compared.second_numbers), strict=True)
    return ["only the second" if not_one else "only the first" if not_other else "both" for not_one, not_other in sides]


@figure("predictions-compared", "predictions_compared", table=comparison_frame)
def predictions_compared_figure(prediction_comparison: PredictionComparison) -> FigureSpec:
    """What two models predict for a text (--set other=, view=words|surprise|lens|entities; --pair, --task)."""
    compared, rows = prediction_comparison, drawn_rows(prediction_comparison)
    models = compared.first if compared.same_model else f"{compared.first} and {compared.second}"
    left = len(compared.names) - len(rows)
    part = f", {len(rows):,} of {len(compared.names):,} rows" if left and compared.kind != "tags" else ""
    title = f"{KINDS[compared.kind][0].format(where=compared.where)}{part} — {models}"
    scoring: Scoring = "number" if compared.unit == "value" else "softmax"
    listed = "; ".join(
        f"{escape_controls(compared.names[row])} {_beside(compared, row, 0, scoring)}, "
        f"{_beside(compared, row, 1, scoring)}"
        for row in rows
    )
    caption = f"{title}. Grey: the first model; in brackets: second − first"
    return FigureSpec.of(title, f"{title}: {listed}", caption, compared_bars, compared)


def _beside(compared: PredictionComparison, row: int, side: int, scoring: Scoring) -> str:
    """Text beside a bar: answer, number, and for the second model the difference."""
    answer = (compared.first_answers, compared.second_answers)[side][row]
    numbers: Float[np.ndarray, " rows"] = (compared.first_numbers, compared.second_numbers)[side]
    value, change = float(numbers[row]), float(compared.difference[row])
    number = ABSENT if np.isnan(value) else number_words(value, scoring)
    words = f"{shortened(escape_controls(answer), TWO_MODELS_LONGEST)} {number}" if answer else number
    return words if side == 0 or np.isnan(change) else f"{words} ({signed(change)})"
