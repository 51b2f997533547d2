"""How answers to templates with exchanged words are shown."""

from typing import Any

from bertviz_core.figures.predictions.swaps import means_frame, row_words
from bertviz_core.predictions.probing.results import WordSwaps
from bertviz_core.questions.tables.lines import Faces, records
from bertviz_core.text import counted

MOST = 40
"""Most rows that are printed."""
LIMITS = (
    "Such a table shows what this model answers to these sentences when one word changes. It is no measure of bias, "
    "nor of how well a model understands in general: the templates are few and written by hand, and the interval is "
    "about the choice of these templates alone, not about other words, other sentences or other models."
)


def _texts(swaps: WordSwaps) -> list[dict[str, Any]]:
    """Each pair in each template: both texts with their numbers, and what is compared."""
    return [
        {
            "pair": pair,
            "template": template,
            "texts": swaps.texts[2 * (place * len(swaps.templates) + row) :][:2],
            "values": swaps.values[place, row],
            "numbers": swaps.numbers[place, row],
        }
        for place, pair in enumerate(swaps.pairs)
        for row, template in enumerate(swaps.templates)
    ]


WORD_SWAPS: Faces[WordSwaps] = Faces(
    keys="model compared_by unit outputs pairs templates means texts notices",
    made={"means": lambda swaps: records(means_frame(swaps)), "texts": _texts},
    frame=means_frame,
    above=lambda swaps: [
        f"{counted(len(swaps.pairs), 'pair')} of words in {counted(len(swaps.templates), 'template')}, compared by "
        f"{swaps.compared_by}.",
        *(row_words(swaps, output) for output in swaps.outputs[:10]),
    ],
    most=MOST,
    rest="rows; --json has all, and the texts",
    below=lambda swaps: ["", LIMITS],
)
