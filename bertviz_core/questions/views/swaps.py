"""What the view Word swaps shows: the difference for each pair with its interval, and all texts."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Literal

from bertviz_core.figures.predictions.swaps import means_frame, row_words, swaps_figure, texts_frame
from bertviz_core.predictions.probing.results import WordSwaps
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.swaps import OUTPUT, word_swaps
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.tables.swaps import LIMITS
from bertviz_core.questions.view import Ask, Figure, Notices, Part, Section, Table, TableFiles, Text
from bertviz_core.questions.views.texts.predictions import WORD_SWAPS
from bertviz_core.text import escape_markdown

TITLE = "Word swaps"
FEW, HEIGHT = 10, 420
"""Most rows of a table that is not scrolled, and pixels of one that is."""


def swap_parts(opened: Opened, ask: Ask, of: Options) -> Iterator[Part]:
    """What the model answers to all texts; it runs once for whatever number is drawn."""
    answer = ask(word_swaps, of)
    names = answer.result.outputs
    params = (replace(OUTPUT, values=lambda *_: names),) if len(names) > 1 else ()
    yield Section(params, partial(_drawn, of, answer))


def _drawn(of: Options, answer: Answer[WordSwaps], opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    result = answer.result
    output = options.get(OUTPUT.key) or result.outputs[0]
    drawn = replace(answer, drawn={**answer.drawn, "swap_output": output})
    of = replace(of, values={**of.values, OUTPUT.key: output})
    yield Figure.of(
        swaps_figure,
        drawn,
        f"{result.compared_by} {output} {opened.name}",
        numbers="open",
        height=_height(len(result.names) * len(result.outputs)),
        formats=_formats(means_frame(result, output).columns),
        **explained(WORD_SWAPS, word_swaps, opened, of),
        below=[
            Text(escape_markdown(row_words(result, output))),
            Text(LIMITS, "caption"),
            Notices(answer.notices, "caption"),
        ],
    )
    frame = texts_frame(result, output)
    yield Text("**All texts**")
    yield Table(frame, "The texts with both words", _height(len(frame)), formats=_formats(frame.columns))
    yield TableFiles(lambda: frame, "predictions_swapped", f"texts {result.compared_by} {output} {opened.name}")


def _height(rows: int) -> int | Literal["auto"]:
    return HEIGHT if rows > FEW else "auto"


def _formats(columns: Iterable[object]) -> dict[str, str]:
    words = ("pair", "number", "templates", "first text", "second text")
    return {str(name): "%.4f" for name in columns if name not in words}
