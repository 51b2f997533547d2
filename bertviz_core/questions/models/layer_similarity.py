"""The question how alike the layers of two models are over many texts."""

from bertviz_core.checkpoints.layer_similarity import layer_similarity as compared_layers
from bertviz_core.checkpoints.results import LayerSimilarity
from bertviz_core.checkpoints.rounding import COPIES
from bertviz_core.errors import TextError
from bertviz_core.figures.checkpoints.layer_similarity import LAYER_MEASURES
from bertviz_core.predictions.probing.reading import MAX_TEXTS, example_set
from bertviz_core.predictions.probing.scores import layer_vectors
from bertviz_core.questions.models.checkpoints import OTHER, other_name
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, choice
from bertviz_core.questions.question import Answer, AnswerCost, AnswerJob, after, long_question
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.settings import Settings

LAYER_MEASURE = choice("layer_measure", LAYER_MEASURES, "the number of two layers that is drawn", "Of two layers")


def compared_texts(settings: Settings, options: Options) -> tuple[str, ...]:
    """The given texts, one on each line; by default the example set.

    Raises:
        TextError: there are too many.
    """
    if not options.texts:
        return example_set().texts
    texts = read_sentences("The list", "\n".join(options.texts), settings).sentences
    if len(texts) > MAX_TEXTS:
        raise TextError(f"The list has {len(texts):,} texts; at most {MAX_TEXTS:,} are compared. Give some of it.")
    return tuple(texts)


def _cost(opened: Opened, options: Options) -> AnswerCost:
    return AnswerCost(2 * len(compared_texts(opened.settings, options)))


@long_question(_cost, figures=("layer-similarity", "text-cosines"), params=(OTHER, LAYER_MEASURE), noun="texts")
def layer_similarity(
    opened: Opened, options: Options, job: AnswerJob[Answer[LayerSimilarity]]
) -> Answer[LayerSimilarity]:
    """CKA and shared neighbours of all layers of two models over many texts, and the mean cosine of the texts."""
    texts, other = compared_texts(opened.settings, options), other_name(options)
    measure, total = options.choice(LAYER_MEASURE), 2 * len(texts)
    second = opened if other in COPIES else opened.other(other)
    sides = []
    for place, (subject, rounding) in enumerate(((opened, None), (second, COPIES.get(other)))):
        loaded = subject.loaded if rounding is None else subject.rounded(rounding)
        done = after(job, place * len(texts), total)
        sides.append((loaded.name, layer_vectors(loaded, subject.tokenizer, texts, "mean", done)))
    (first_name, first), (second_name, vectors) = sides
    compared = compared_layers((first_name, second_name), first, vectors)
    models = tuple(dict.fromkeys((each.source.name, each.source.revision) for each in (opened, second)))
    return Answer(compared, models, (), compared.notices, {"layer_similarity": compared, "layer_measure": measure})
