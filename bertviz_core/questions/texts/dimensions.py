"""The question what the vectors of sentences keep when they are cut to their first dimensions (Matryoshka)."""

from dataclasses import replace

from bertviz_core.checkpoints.layer_similarity import NEIGHBOURS
from bertviz_core.errors import Named, TextError
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import MOST_DIGITS, Options, Param
from bertviz_core.questions.question import Answer, question
from bertviz_core.questions.texts.sentences import VECTORS, check_dense, sentence_plan, sentence_vectors, vector_options
from bertviz_core.sentences.dimensions import dimension_curve, trained_dimensions
from bertviz_core.sentences.results import DimensionCurve
from bertviz_core.text import escape_controls

DIMENSIONS = Param("dimensions", "text", "numbers of dimensions, after commas; usual ones by default")
NOT_TRAINED = (
    "The settings of {model} name no Matryoshka dimensions: it was not trained to be cut, so its first dimensions hold "
    "no more than others."
)
TRAINED = "The settings of {model} name these Matryoshka dimensions, which are marked: {dimensions}."


@question(figures=("dimensions",), params=(*VECTORS, DIMENSIONS))
def fewer_dimensions(opened: Opened, options: Options) -> Answer[DimensionCurve]:
    """Neighbours kept and rank correlation of the cosines for vectors of fewer dimensions, with their bytes."""
    check_dense(sentence_plan(opened, options), "Fewer dimensions")
    made = sentence_vectors(opened, vector_options(opened, options))
    name, sentences, vectors = opened.source.name, made.result.sentences, made.result.vectors
    trained = trained_dimensions(opened.source, opened.settings)
    curve = dimension_curve(name, sentences, vectors, NEIGHBOURS, chosen_dimensions(options), trained)
    notices = [NOT_TRAINED.format(model=name)]
    if curve.trained:
        notices = [TRAINED.format(model=name, dimensions=", ".join(f"{each:,}" for each in curve.trained))]
    if len(sentences) > len(curve.sentences):
        compared = f"{len(curve.sentences):,} of the {len(sentences):,} sentences are compared"
        notices.append(f"{compared}, evenly spaced in the list.")
    curve = replace(curve, notices=tuple(notices))
    return made.of(curve, curve.notices, dimension_curve=curve)


def chosen_dimensions(options: Options) -> tuple[int, ...] | None:
    """The numbers of dimensions of the options; None for the usual ones."""
    written = [each.strip() for each in options.get(DIMENSIONS.key).split(",") if each.strip()]
    wrong = next((each for each in written if not (each.isascii() and each.isdigit() and len(each) <= MOST_DIGITS)), "")
    if wrong:
        raise TextError(
            f"{escape_controls(wrong[:20])!r} is no number of dimensions; give ", Named(DIMENSIONS.key), "=8,16,32."
        )
    return tuple(map(int, written)) or None
