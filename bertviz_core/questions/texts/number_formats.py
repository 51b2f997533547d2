"""The question what a model loses and saves when its weights are rounded to fewer bits."""

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bertviz_core.checkpoints.comparison import rounded_format
from bertviz_core.checkpoints.layer_similarity import NEIGHBOURS
from bertviz_core.checkpoints.results import NumberFormats, RoundedFormat, TextAgreement
from bertviz_core.checkpoints.rounding import FORMATS, SCALED, Rounding
from bertviz_core.checkpoints.tensor_statistics import Tell
from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.figures.checkpoints.weights import PARTS
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.models.local_files import adapter_notices
from bertviz_core.predictions.probing.reading import MAX_TEXTS, example_set
from bertviz_core.predictions.probing.results import TextPredictions
from bertviz_core.predictions.probing.table import text_predictions
from bertviz_core.predictions.run import HeadModel, stored_task
from bertviz_core.questions.models.architecture import count_notices
from bertviz_core.questions.models.checkpoints import comparison_of, copied_from, opened_checkpoint
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer, AnswerCost, Job, PartOfJob, after, long_question
from bertviz_core.questions.texts.sentences import option_sentences, own_plan, sentence_plan
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.two_models import LEAST_SENTENCES, require_finite, sentence_comparison
from bertviz_core.text import counted, escape_controls, tensors_not_finite

ALL: tuple[Rounding, ...] = (*reversed(tuple(FORMATS)), *SCALED)
"""All formats, those of more bits first."""
USUAL: tuple[Rounding, ...] = (
    "float16", "float8_e4m3fn", "int8", "int8 per channel", "int4 groups of 64", "nf4"
)  # fmt: skip
"""The formats that are compared by default."""
NUMBER_FORMATS = Param("formats", "text", f"names of number formats, after commas: {', '.join(ALL)}")
WEIGHTS, EXAMPLES = "weights alone", "example set"
ROUNDED_FOR = choice(
    "rounded_for",
    (WEIGHTS, EXAMPLES, "my own list"),
    "what is compared; texts that are given are run, once for each format",
    "Compare",
)
ROUNDED_BY = choice("rounded_by", PARTS, "the parts whose error is drawn", "Error by")
STEPS = 20
"""Steps of the progress that reading the weights in one format counts as."""
CLASSIFIES = "sequence-classification"
DESCRIPTION = (
    "Formats of whole numbers and nf4 round the weight matrices, tensors of at least two axes, with the tables of the "
    "embeddings; biases and layer norms stay as they are."
)


def formats_options(texts: Sequence[str] = (), formats: Sequence[str] | None = None, examples: bool = False) -> Options:
    """Options for the comparison of number formats.

    Args:
        formats: names of the formats; None for the usual ones.
        examples: whether the example set is run, where no texts are given.
    """
    values = {} if formats is None else {NUMBER_FORMATS.key: ",".join(formats)}
    values |= {ROUNDED_FOR.key: EXAMPLES} if examples else {}
    return Options(tuple(texts), values=values)


def chosen_formats(options: Options) -> tuple[Rounding, ...]:
    """The formats that are compared."""
    names = [name.strip() for name in options.names(NUMBER_FORMATS.key)]
    unknown = [name for name in names if name not in ALL]
    if unknown:
        raise TextError(
            f"There is no number format {escape_controls(unknown[0][:30])!r}; choose from {', '.join(ALL)}."
        )
    return tuple(each for each in ALL if each in names) or USUAL


def _texts(opened: Opened, options: Options) -> tuple[str, ...]:
    """The texts that are run: those given, or the example set if it is chosen."""
    if not options.texts and options.choice(ROUNDED_FOR) != EXAMPLES:
        return ()
    texts = option_sentences(options) if options.texts else example_set().texts
    if len(texts) > MAX_TEXTS:
        raise TextError(f"The list has {len(texts):,} texts; at most {MAX_TEXTS:,} are compared. Give some of it.")
    return texts


def _classifies(opened: Opened, options: Options) -> bool:
    """Whether the model has a head that classifies texts, whose answers are then compared."""
    if options.task is not None:
        return options.task == CLASSIFIES
    try:
        return stored_task(opened.source) == CLASSIFIES
    except UnsupportedModelError:
        return False


def _cost(opened: Opened, options: Options) -> AnswerCost:
    if _texts(opened, options):
        _ = opened.head(CLASSIFIES) if _classifies(opened, options) else opened.loaded  # load before the work begins
    return AnswerCost(_steps(opened, options))


@long_question(_cost, figures=("number-formats",), params=(NUMBER_FORMATS, ROUNDED_FOR, ROUNDED_BY))
def number_formats(opened: Opened, options: Options, job: Job[NumberFormats]) -> Answer[NumberFormats]:
    """Error and bytes of a model's weights in formats of fewer bits, and what vectors and answers of texts keep."""
    formats, texts, parts = chosen_formats(options), _texts(opened, options), options.choice(ROUNDED_BY)
    checkpoint, total = opened_checkpoint(opened), _steps(opened, options)
    rows: list[RoundedFormat] = []
    unread: tuple[str, ...] = ()
    not_finite: list[str] = []
    for place, rounding in enumerate(formats):
        compared = comparison_of(opened, copied_from(rounding), _reading(after(job, place * STEPS, total)))
        rows.append(rounded_format(checkpoint, rounding, compared))
        unread = compared.unread
        not_finite = [each.name for each in compared.tensors if not isfinite(each.first_norm)]
    notices = [*count_notices(opened), *adapter_notices(opened.source, opened.settings)]
    notices += [f"{tensors_not_finite(not_finite)}, so no error is measured there."] if not_finite else []
    notices += [DESCRIPTION] if any(each.name in SCALED for each in rows) else []
    notices += [_uneven(each) for each in rows if each.uneven]
    pooling, nbytes = "", 0
    if texts:
        runs = TextRuns(opened, options, texts)
        own = runs.of_model(None, after(job, STEPS * len(formats), total))
        require_finite(opened.name, own.vectors)
        pooling, nbytes = own.pooling, own.nbytes
        agreement = []
        for place, rounding in enumerate(formats, 1):
            begun = STEPS * len(formats) + place * runs.passes * len(texts)
            copy = runs.of_model(rounding, after(job, begun, total))
            agreement.append(runs.agreement(own, copy))
            broken = int(np.isnan(agreement[-1].cosines).sum())
            if broken:
                notices.append(f"Rounded to {rounding}, the model gives NaN or infinity for {counted(broken, 'text')}.")
        rows = [each.with_texts(one) for each, one in zip(rows, agreement, strict=True)]
        plan = own_plan(opened)
        notices += [*(() if plan.from_checkpoint else (plan.reason,)), *own.notices]
    about = tuple(dict.fromkeys(notices))
    result = NumberFormats(opened.source.name, tuple(rows), texts, pooling, nbytes, unread, notices=about)
    drawn = {"number_formats": result, "rounded_by": parts}
    return answered(opened, result, result.notices, **drawn)


def _reading(job: PartOfJob) -> Tell:
    """Convert bytes read to steps."""
    return lambda done, total, _: job(done * STEPS // max(total, 1), STEPS)


def _steps(opened: Opened, options: Options) -> int:
    passes = 1 + _classifies(opened, options)
    count = len(chosen_formats(options))
    return STEPS * count + passes * (count + 1) * len(_texts(opened, options))


def _uneven(each: RoundedFormat) -> str:
    scaled, plural = SCALED[next(known for known in ALL if known == each.name)], len(each.uneven) > 1
    what = f"{'the rows of ' if scaled.by_row else ''}{counted(len(each.uneven), 'tensor')}"
    verb = "are" if plural or scaled.by_row else "is"
    return (
        f"{each.name}: {what} {verb} no multiple of {scaled.group} numbers, so that a last group is smaller "
        f"({escape_controls(each.uneven[0][:80])})."
    )


class TextRun(NamedTuple):
    """Vectors and answers of the texts by one model."""

    name: str
    vectors: Float[np.ndarray, "texts dimensions"]
    pooling: str
    answers: TextPredictions | None
    nbytes: int
    notices: tuple[str, ...]


class TextRuns:
    """Runs of a model and of its copies on a list of texts; a copy is dropped after its run."""

    def __init__(self, opened: Opened, options: Options, texts: Sequence[str]) -> None:
        """Refer to the model; nothing is run."""
        self._opened, self._texts, self._options = opened, tuple(texts), options
        self._classifies = _classifies(opened, options)
        self.passes = 1 + self._classifies
        """Number of times that a model reads the texts."""

    def of_model(self, rounding: Rounding | None, job: PartOfJob) -> TextRun:
        """Run the model, or a copy that is rounded to a format."""
        opened, texts, total = self._opened, self._texts, self.passes * len(self._texts)
        head = self._head(rounding)
        loaded = head.base if head else opened.loaded if rounding is None else opened.rounded(rounding)
        plan = sentence_plan(opened, self._options)
        vectors = sentence_vectors(loaded, opened.tokenizer, texts, plan, progress=after(job, 0, total))
        answers = None
        if head is not None and np.isfinite(vectors.vectors).all():  # of other vectors a head makes no answer
            answers = text_predictions(head, opened.tokenizer, texts, progress=after(job, len(texts), total))
        nbytes = sum(weight.nbytes for weight in (loaded.model if head is None else head.model).parameters())
        return TextRun(loaded.name, vectors.vectors, plan.pooling, answers, nbytes, vectors.notices)

    def _head(self, rounding: Rounding | None) -> HeadModel | None:
        if not self._classifies:
            return None
        opened = self._opened
        return opened.head(CLASSIFIES) if rounding is None else opened.rounded_head(CLASSIFIES, rounding)

    def agreement(self, own: TextRun, copy: TextRun) -> TextAgreement:
        """Compare the run of a copy with that of the model."""
        with np.errstate(invalid="ignore"):
            cosines = np.einsum("td,td->t", unit(own.vectors), unit(copy.vectors), dtype=np.float64)
        finite = np.isfinite(copy.vectors).all(axis=1)
        cosines = np.where(finite, np.clip(cosines, -1, 1), np.nan)
        neighbours, shared = None, None
        if len(self._texts) >= LEAST_SENTENCES and finite.all():
            neighbours = max(1, min(NEIGHBOURS, (len(self._texts) - 1) // 2))
            names = (own.name, copy.name)
            shared = sentence_comparison(names, self._texts, own.vectors, copy.vectors, neighbours).shared
        changed = None
        if own.answers is not None and copy.answers is not None and not own.answers.are_numbers:
            pairs = zip(own.answers.answers, copy.answers.answers, strict=True)
            changed = np.flatnonzero([one != other for one, other in pairs])
        return TextAgreement(cosines, neighbours, shared, changed)
