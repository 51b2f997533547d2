"""How answers to templates with exchanged words are shown."""

from bertviz_core.figures.predictions.swaps import mean_words, means_frame
from bertviz_core.predictions.probing.results import WordSwaps
from bertviz_core.questions.tables.lines import Faces
from bertviz_core.text import counted

MOST = 40
"""Most rows that are printed."""
LIMITS = (
    "Such a table shows what this model answers to these sentences when one word changes. It is no measure of bias, "
    "nor of how well a model understands in general: the templates are few and written by hand, and the interval is "
    "about the choice of these templates alone, not about other words, other sentences or other models."
)


WORD_SWAPS: Faces[WordSwaps] = Faces(
    keys="model compared_by unit outputs pairs templates texts values numbers names mean interval notices",
    frame=means_frame,
    above=lambda swaps: [
        f"{counted(len(swaps.pairs), 'pair')} of words in {counted(len(swaps.templates), 'template')}, compared by "
        f"{swaps.compared_by}.",
        *(mean_words(swaps, output) for output in swaps.outputs[:10]),
    ],
    most=MOST,
    rest="rows; --json has all, and the texts",
    below=lambda swaps: ["", LIMITS],
)
