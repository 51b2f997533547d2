"""How a comparison of smaller vectors is shown."""

from bertviz_core.figures.sentences.bits import asking_words, bits_frame, candidate_words, kept_words, widest_words
from bertviz_core.questions.tables.lines import Faces, every, fields, number_cell
from bertviz_core.sentences.analysis.results import BitsComparison
from bertviz_core.text import counted, escape_controls

ROW = "format rescored dimensions bytes_per_vector=nbytes recall spearman nearest_changed=changed"


def _above(comparison: BitsComparison) -> list[str]:
    sentences = counted(len(comparison.sentences), "sentence")
    first = f"{comparison.model}: {sentences} of {counted(comparison.dimensions, 'dimension')}"
    near = f"recall@{comparison.neighbours}, the ranges of int8 by {counted(comparison.calibration, 'sentence')}"
    return [
        f"{escape_controls(first)}, {near}. {asking_words(comparison)}",
        candidate_words(comparison),
        kept_words(comparison),
        widest_words(comparison),
    ]


BITS: Faces[BitsComparison] = Faces(
    keys="model sentences queries dimensions neighbours oversampling calibration formats widest constant_signs trained",
    made={
        "formats": lambda comparison: every(comparison.formats, ROW),
        "widest": lambda comparison: fields(comparison.widest, "dimension range median_range share"),
    },
    frame=bits_frame,
    above=_above,
    columns={
        "format": "format",
        "dimensions": "dimensions",
        "bytes per vector": "bytes per vector",
        "MiB per million": ("MiB per million", ",.1f"),
        "recall": ("recall", ".1%"),
        "Spearman": ("Spearman", lambda value: number_cell(value) if value == value else ""),
        "nearest changed": "nearest changed",
    },
    align="lrrrrrr",
)
