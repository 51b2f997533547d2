"""Label axes with sentences: a number, and as much text as there is room for."""

from collections.abc import Sequence

import plotly.graph_objects as go

from bertviz_core.figures.base.axes import number_axis, sentence_text, token_axis
from bertviz_core.figures.base.style import TEXT_SIZE, WIDE, Theme
from bertviz_core.figures.base.text_width import label_width, shortened_label, wrapped_label

SIZE = TEXT_SIZE - 1
LONGEST = 200
"""Characters of a sentence that are looked at."""
SHARE = 0.36
"""Of the figure's width, at most so much is left to the sentences."""
BESIDE = 16
"""Pixels between a sentence and the plot."""
LINE, APART = 17, 6
"""Pixels of a line of a sentence, and between the sentences of two rows."""
COLUMN = 15
"""Characters of a sentence that stand below a column."""
WORDED = 12
"""Up to so many columns have words beside their number."""


def sentence_names(numbers: Sequence[int | str], sentences: Sequence[str], theme: Theme, row: float) -> list[str]:
    """The sentences in as many lines as a row has room for, cut where they are longer, each with its number behind it.

    A dot parts them: a sentence may end in a number of its own.

    Args:
        numbers: what stands behind each.
        sentences: as they were given.
        theme: its width is that of the figure.
        row: height of a row in pixels.
    """
    room, most = SHARE * theme.pixels - BESIDE, 1 if theme.narrow else max(1, int((row - APART) // LINE))
    return [_name(str(number), text, room, most) for number, text in zip(numbers, sentences, strict=True)]


def name_rows(figure: go.Figure, names: Sequence[str], pixels: float) -> float:
    """Names of rows from top to bottom; what comes back is the margin that they take.

    The margin is given, since measuring would lay the picture out twice.

    Args:
        figure: has a row for each name at 0, 1, 2 ...
        names: one for each row.
        pixels: height of all rows.
    """
    left = BESIDE + max((label_width(name, SIZE) for name in names), default=0.0)
    figure.update_yaxes(token_axis(names, round(pixels)), range=[len(names) - 0.5, -0.5], automargin=False)
    figure.update_yaxes(tickfont={"size": SIZE})
    figure.update_layout(margin={"l": round(left)})
    return left


def number_columns(figure: go.Figure, numbers: Sequence[int], sentences: Sequence[str], theme: Theme) -> int:
    """Columns by the numbers of their sentences, with the first words where there is room; the margin that they take.

    Args:
        figure: has a column for each sentence at 0, 1, 2 ...
        numbers: places of the sentences, from 0.
        sentences: those of the columns.
        theme: its width is that of the figure.
    """
    figure.update_xaxes(number_axis(numbers), range=[-0.5, len(numbers) - 0.5])
    if len(numbers) > WORDED or theme.pixels < WIDE:
        return 36
    words = [f"{number + 1}  {sentence_text(text, COLUMN)}" for number, text in zip(numbers, sentences, strict=True)]
    figure.update_xaxes(ticktext=words, tickangle=30, automargin=False, tickfont={"size": SIZE - 1})
    return 78


def _name(number: str, sentence: str, room: float, most: int) -> str:
    """A sentence in lines, its number at the end of the last."""
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
