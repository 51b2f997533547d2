"""Label axes with sentences: a number, and as much text as fits."""

from collections.abc import Sequence

import plotly.graph_objects as go

from bertviz_core.figures.base.axes import number_axis, sentence_text, token_axis
from bertviz_core.figures.base.style import TEXT_SIZE, WIDE, Theme
from bertviz_core.figures.base.text_width import label_width, shortened_label, wrapped_label

SIZE = TEXT_SIZE - 1
LONGEST = 200
"""Maximum number of characters of a sentence to consider."""
SHARE = 0.36
"""Maximum share of the figure's width for sentences."""
BESIDE = 16
"""Pixels between a sentence and the plot."""
LINE, APART = 17, 6
"""Line height of a sentence, and distance between the sentences of two rows, in pixels."""
COLUMN = 15
"""Maximum length of a sentence below a column, in characters."""
WORDED = 12
"""Maximum number of columns with words beside their number."""


def sentence_names(numbers: Sequence[int | str], sentences: Sequence[str], theme: Theme, row: float) -> list[str]:
    """Break sentences into as many lines as fit a row, cut if longer, each followed by its number.

    A dot separates them, since a sentence may end in a number.

    Args:
        numbers: number after each sentence.
        sentences: the sentences.
        theme: theme with the width of the figure.
        row: height of a row in pixels.
    """
    room, most = SHARE * theme.pixels - BESIDE, 1 if theme.narrow else max(1, int((row - APART) // LINE))
    return [_name(str(number), text, room, most) for number, text in zip(numbers, sentences, strict=True)]


def name_rows(figure: go.Figure, names: Sequence[str], pixels: float) -> float:
    """Label rows from top to bottom; return the margin for the labels.

    The margin is set explicitly, since measuring would lay the figure out twice.

    Args:
        figure: figure with a row per name at 0, 1, 2 ...
        names: labels of the rows.
        pixels: total height of the rows.
    """
    left = BESIDE + max((label_width(name, SIZE) for name in names), default=0.0)
    figure.update_yaxes(token_axis(names, round(pixels)), range=[len(names) - 0.5, -0.5], automargin=False)
    figure.update_yaxes(tickfont={"size": SIZE})
    figure.update_layout(margin={"l": round(left)})
    return left


def number_columns(figure: go.Figure, numbers: Sequence[int], sentences: Sequence[str], theme: Theme) -> int:
    """Label columns with the numbers of their sentences, and first words if they fit; return the margin.

    Args:
        figure: figure with a column per sentence at 0, 1, 2 ...
        numbers: indices of the sentences, from 0.
        sentences: sentences of the columns.
        theme: theme with the width of the figure.
    """
    figure.update_xaxes(number_axis(numbers), range=[-0.5, len(numbers) - 0.5])
    if len(numbers) > WORDED or theme.pixels < WIDE:
        return 36
    words = [f"{number + 1}  {sentence_text(text, COLUMN)}" for number, text in zip(numbers, sentences, strict=True)]
    figure.update_xaxes(ticktext=words, tickangle=30, automargin=False, tickfont={"size": SIZE - 1})
    return 78


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
