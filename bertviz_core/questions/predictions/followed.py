"""Questions about what the checkpoints of a run answer."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.attention.atlas import PROFILE_MEASURES, head_profile
from bertviz_core.checkpoints.layer_similarity import layer_similarity
from bertviz_core.checkpoints.training.folder import RunCheckpoint
from bertviz_core.checkpoints.training.results import FollowedLabels, FollowedStates, FollowedText
from bertviz_core.errors import BertvizError, Named, Progress, TextError, UnsupportedModelError
from bertviz_core.figures.checkpoints.training import ENTROPIES
from bertviz_core.models.safetensors.adapters.merging import short_lived_merges
from bertviz_core.models.skeleton import quietly
from bertviz_core.predictions.masked_lm import mask_id
from bertviz_core.predictions.probing.calibration import calibration
from bertviz_core.predictions.probing.gold import gold_scores, without_gold
from bertviz_core.predictions.probing.results import CalibrationScores, TextPredictions
from bertviz_core.predictions.probing.scores import layer_vectors
from bertviz_core.predictions.probing.table import text_predictions
from bertviz_core.predictions.run import stored_task
from bertviz_core.predictions.scoring import pseudo_likelihood
from bertviz_core.questions.models.checkpoints import compared_texts
from bertviz_core.questions.models.training import TrainingSubject, last_model
from bertviz_core.questions.opened import ModelCopy, OpenedModel
from bertviz_core.questions.parameters import Options, choice
from bertviz_core.questions.predictions.labelled_texts import PAIRED
from bertviz_core.questions.predictions.two_models import WITH_GOLD, answered_columns
from bertviz_core.questions.question import Answer, AnswerCost, Job, after, long_question, question, shows_answers
from bertviz_core.questions.texts.sentences import own_plan
from bertviz_core.resources import retained_nbytes
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.similarity import similarity_matrix
from bertviz_core.text import counted, escape_controls, quoted
from bertviz_core.trace.run import trace

T = TypeVar("T")
GIB = 1024**3
SLOW_NBYTES = 4 * GIB
"""Bytes of all checkpoints above which the reader has to confirm the work."""


@dataclass(frozen=True, slots=True, eq=False)
class Followed(Generic[T]):
    """What the checkpoints of a run computed so far."""

    checkpoints: tuple[str, ...]
    """Names of the checkpoints that were run."""
    models: tuple[str, ...]
    """Names of them as models."""
    steps: Int[np.ndarray, " checkpoints"]
    """Step of each."""
    values: tuple[T, ...]
    """Result of each."""
    notices: tuple[str, ...]
    """Checkpoints that are left out, one sentence each."""
    waiting: int
    """Number of checkpoints that have not been run yet."""

    def notices_with(self, own: Iterable[Sequence[str]]) -> tuple[str, ...]:
        """The notices of the run and of its checkpoints; those that differ in the checkpoint's name alone are one."""
        by_words: dict[str, list[str]] = {}
        for name, notices in zip(self.models, own, strict=True):
            for notice in dict.fromkeys(notices):
                by_words.setdefault(notice.replace(escape_controls(name), ""), []).append(notice)
        about = []
        for first, *others in by_words.values():
            more = f" So it is with {counted(len(others), 'further checkpoint')}." if {*others} - {first} else ""
            about.append(f"{first}{more}")
        return tuple(dict.fromkeys((*self.notices, *about)))


class _RunFolder(ModelCopy):
    """The folder of a checkpoint."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def folder(self) -> Path:
        """Path of the folder."""
        return self._folder


def checkpoint_model(opened: TrainingSubject, each: RunCheckpoint) -> OpenedModel:
    """A checkpoint of a run as a model, which is loaded on first use."""
    return OpenedModel(each.checkpoint.name, opened.settings, copy=_RunFolder(each.checkpoint.folder))


def follow(
    opened: TrainingSubject,
    key: Hashable,
    compute: Callable[[OpenedModel, Progress], T],
    job: Progress,
    count: int,
    show: Callable[[Followed[T]], None] | None = None,
) -> Followed[T]:
    """Compute something for every checkpoint of a run; results are cached by the files of the checkpoint.

    A checkpoint that cannot be run is left out with a sentence. An error that is due to the texts ends the work at the
    first checkpoint.

    Args:
        key: identifies what is computed, besides the checkpoint.
        compute: computes the result of a checkpoint; called with its model and the progress.
        job: receives progress in texts of all checkpoints; may raise to cancel.
        count: number of texts that each checkpoint reads.
        show: receives what is done after each checkpoint but the last.
    """
    run = opened.run
    done: list[tuple[RunCheckpoint, T]] = []
    errors: list[BertvizError] = []
    notices = list(run.notices)
    total = count * len(run.checkpoints)
    for place, each in enumerate(run.checkpoints):
        progress = after(job, place * count, total)

        def value(each: RunCheckpoint = each, progress: Progress = progress) -> T:
            with quietly(), short_lived_merges():
                return compute(checkpoint_model(opened, each), progress)

        try:
            done.append((each, opened.get_or_compute_by_key((__name__, key, *checkpoint_key(each)), value)))
        except (BertvizError, OSError) as error:
            if isinstance(error, TextError) and not done:
                raise
            if isinstance(error, BertvizError):
                errors.append(error)
            reason = error if isinstance(error, BertvizError) else "one of its files cannot be read; look again."
            notices.append(f"{quoted(each.name)} is left out: {reason}")
        job((place + 1) * count, total)
        if show is not None and done and place + 1 < len(run.checkpoints):
            show(_followed(done, notices, len(run.checkpoints) - place - 1))
    if not done and errors:
        raise errors[0]
    return _followed(done, notices, 0)


def checkpoint_key(each: RunCheckpoint) -> tuple[str, str]:
    """Cache key of a checkpoint: its folder and the state of its files."""
    return str(each.checkpoint.folder), each.checkpoint.revision


def follow_cost(opened: TrainingSubject, count: int, nbytes: int = 0) -> AnswerCost:
    """Cost of running every checkpoint on a number of texts."""
    checkpoints = opened.run.checkpoints
    read = sum(each.checkpoint.nbytes for each in checkpoints)
    slow = f"{counted(len(checkpoints), 'checkpoint')} with {read / GIB:.1f} GiB are loaded, one after another."
    return AnswerCost(count * len(checkpoints), slow=slow if read > SLOW_NBYTES else "", nbytes=nbytes)


def _followed(done: list[tuple[RunCheckpoint, T]], notices: list[str], waiting: int) -> Followed[T]:
    steps = np.array([each.step for each, _ in done], dtype=np.int64)
    names, values = tuple(each.name for each, _ in done), tuple(value for _, value in done)
    models = tuple(each.checkpoint.name for each, _ in done)
    return Followed(names, models, steps, values, tuple(notices), waiting)


NAMED = 5
"""Maximum number of labels named in a message."""


@dataclass(frozen=True, slots=True, eq=False)
class _TextAnswer:
    """What one checkpoint computes for the text."""

    task: str
    predictions: TextPredictions | None
    surprise: float | None
    cosine: float | None
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _ScoredAnswers:
    """Answers of one checkpoint to the labelled texts."""

    answers: tuple[str, ...]
    gold: tuple[str, ...]
    accuracy: float
    macro_f1: float
    sure: CalibrationScores | None
    notices: tuple[str, ...]


def _text_cost(opened: TrainingSubject, options: Options) -> AnswerCost:
    return follow_cost(opened, 1)


@long_question(_text_cost, figures=("training-text",), noun="checkpoints")
def followed_text(opened: TrainingSubject, options: Options, job: Job[FollowedText]) -> Answer[FollowedText]:
    """The answer of every checkpoint to a text or a pair: class, surprise, and the cosine of the two texts."""
    text, pair = options.text(), options.pair
    if not text.strip():
        raise TextError("The text is empty; write one.")

    def answer(series: Followed[_TextAnswer]) -> Answer[FollowedText]:
        followed = _followed_text(opened.run.name, text, pair, series)
        return Answer(followed, last_model(opened.run), (text, pair), followed.notices, {"followed_text": followed})

    def compute(model: OpenedModel, progress: Progress) -> _TextAnswer:
        return _text_answer(model, text, pair, options.task)

    show = (lambda series: job.show(answer(series))) if shows_answers(job) else None
    return answer(follow(opened, (__name__, "text", *options.key()), compute, job, 1, show))


def _text_answer(model: OpenedModel, text: str, pair: str | None, task: str | None) -> _TextAnswer:
    named = task or _own_task(model)
    predictions = surprise = cosine = None
    notices: list[str] = []
    if named:
        head, tokens = model.head(named), model.tokens(text, pair)
        notices += head.notices
        if named == "masked-lm" and not (tokens.input_ids == mask_id(model.tokenizer)).any():
            likelihood = pseudo_likelihood(head, model.tokenizer, tokens)
            surprise = likelihood.mean
            notices += likelihood.notices
        else:
            predictions = text_predictions(head, model.tokenizer, (text,), None if pair is None else (pair,))
            notices += predictions.notices
    if pair is not None:
        plan = own_plan(model)
        vectors = sentence_vectors(model.loaded, model.tokenizer, (text, pair), plan)
        cosine = float(similarity_matrix(vectors.vectors)[0, 1])
        notices += [*([] if plan.from_checkpoint else [plan.reason]), *vectors.notices]
    elif not named:
        raise TextError(
            "The checkpoints have no task head that answers one text; give a second text (",
            Named("pair"),
            "), so that the cosine of both is followed.",
        )
    return _TextAnswer(named, predictions, surprise, cosine, tuple(notices))


def _own_task(model: OpenedModel) -> str:
    """Task of the head that the checkpoint was saved with; "" for none."""
    try:
        return stored_task(model.source)
    except UnsupportedModelError:
        return ""


def _followed_text(run: str, text: str, pair: str | None, series: Followed[_TextAnswer]) -> FollowedText:
    first = series.values[0]
    answered = [each.predictions for each in series.values]
    labels = () if first.predictions is None else first.predictions.labels
    is_number = first.predictions is not None and first.predictions.are_numbers
    return FollowedText(
        run=run,
        text=text,
        pair=pair,
        task=first.task,
        checkpoints=series.checkpoints,
        steps=series.steps,
        answers=tuple("" if each is None or is_number else each.answers[0] for each in answered),
        scores=np.array([_score(each, is_number) for each in answered]),
        labels=labels,
        probabilities=_probabilities(answered) if labels else None,
        surprise=_numbers([each.surprise for each in series.values]),
        cosine=_numbers([each.cosine for each in series.values]),
        null_differences=_null_differences(answered),
        notices=series.notices_with(each.notices for each in series.values),
        waiting=series.waiting,
    )


def _score(predictions: TextPredictions | None, is_number: bool) -> float:
    if predictions is None:
        return float("nan")
    return float(predictions.answers[0]) if is_number else float(predictions.scores[0])


def _probabilities(answered: Sequence[TextPredictions | None]) -> np.ndarray:
    rows = [each.probabilities[0] for each in answered if each is not None and each.probabilities is not None]
    return np.stack(rows).astype(np.float64)


def _null_differences(answered: Sequence[TextPredictions | None]) -> np.ndarray | None:
    rows = [each.null_differences for each in answered if each is not None and each.null_differences is not None]
    return np.concatenate(rows) if rows else None


def _numbers(values: Sequence[float | None]) -> np.ndarray | None:
    """The values as an array; None if the first is None."""
    return None if values[0] is None else np.array(values, dtype=np.float64)


def _labels_cost(opened: TrainingSubject, options: Options) -> AnswerCost:
    texts = answered_columns(options, opened.run.checkpoints[-1].checkpoint.config).texts
    return follow_cost(opened, len(texts), retained_nbytes(options.texts))


@long_question(_labels_cost, figures=("training-scores",), params=(PAIRED, WITH_GOLD), noun="answers")
def followed_labels(opened: TrainingSubject, options: Options, job: Job[FollowedLabels]) -> Answer[FollowedLabels]:
    """Accuracy and macro-F1 of every checkpoint on texts with gold labels, and how many answers changed."""
    texts, pairs, gold, _ = answered_columns(options, opened.run.checkpoints[-1].checkpoint.config)
    tables = opened.run.tables
    if gold is None:
        raise TextError("Scores need gold labels; give each text with its own.")

    def answer(series: Followed[_ScoredAnswers]) -> Answer[FollowedLabels]:
        followed = _followed_labels(opened.run.name, texts, pairs, series)
        return Answer(followed, last_model(opened.run), (), followed.notices, {"followed_labels": followed})

    def compute(model: OpenedModel, progress: Progress) -> _ScoredAnswers:
        head = model.head(options.task)
        predictions = text_predictions(head, model.tokenizer, texts, pairs, progress=progress)
        return _scored(predictions, gold, tables)

    show = (lambda series: job.show(answer(series))) if shows_answers(job) else None
    return answer(follow(opened, (__name__, "labels", *options.key()), compute, job, len(texts), show))


def _scored(predictions: TextPredictions, gold: Sequence[str], tables: Sequence[str]) -> _ScoredAnswers:
    """Score the answers of a checkpoint; raises TextError if no gold label is a class of its head."""
    scores = gold_scores(predictions, gold)
    if refusal := without_gold(predictions, scores):
        there = f" The folder of the run has {', '.join(map(quoted, tables[:NAMED]))}." if tables else ""
        raise TextError(f"{refusal}{there}")
    notices = tuple(dict.fromkeys((*predictions.notices, *scores.notices)))
    try:
        sure = calibration(predictions, gold).scores
    except BertvizError:  # no probabilities, or texts of a single class
        sure = None
    return _ScoredAnswers(predictions.answers, scores.gold, scores.accuracy, scores.macro_f1, sure, notices)


def _followed_labels(
    run: str, texts: tuple[str, ...], pairs: tuple[str, ...] | None, series: Followed[_ScoredAnswers]
) -> FollowedLabels:
    sure = [each.sure for each in series.values if each.sure is not None]
    measured = {
        name: np.array([getattr(each, name) for each in sure]) if len(sure) == len(series.values) else None
        for name in ("ece", "brier", "log_loss")
    }
    return FollowedLabels(
        run=run,
        checkpoints=series.checkpoints,
        steps=series.steps,
        texts=texts,
        pairs=pairs,
        gold=series.values[0].gold,
        answers=tuple(each.answers for each in series.values),
        accuracy=np.array([each.accuracy for each in series.values]),
        macro_f1=np.array([each.macro_f1 for each in series.values]),
        **measured,
        notices=series.notices_with(each.notices for each in series.values),
        waiting=series.waiting,
    )


Vectors = Float[np.ndarray, "states texts hidden"]
ENTROPY = PROFILE_MEASURES.index("entropy")
ENTROPY_DRAWN = choice(
    "entropy_drawn", ENTROPIES, "what is drawn of the attention entropy of the heads", "Attention entropy"
)
NO_ENTROPY = "The attention of this model cannot be recorded, so there is no entropy of its heads."


@dataclass(frozen=True, slots=True, eq=False)
class _States:
    """What one checkpoint computes over the texts."""

    cka: Float[np.ndarray, " states"]
    entropy: Float[np.ndarray, "layers heads"] | None
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _First:
    """The first checkpoint that can be run, with which the others are compared."""

    key: tuple[str, str]
    vectors: Vectors


def _cost(opened: TrainingSubject, options: Options) -> AnswerCost:
    return follow_cost(opened, 2 * len(compared_texts(opened.settings, options)))


@long_question(_cost, figures=("training-cka",), noun="runs")
def followed_states(opened: TrainingSubject, options: Options, job: Job[FollowedStates]) -> Answer[FollowedStates]:
    """CKA of every layer of every checkpoint with the first, and the mean attention entropy of every head."""
    texts = compared_texts(opened.settings, options)
    count = 2 * len(texts)
    first = _first(opened, texts, after(job, 0, count * len(opened.run.checkpoints)))

    def answer(series: Followed[_States]) -> Answer[FollowedStates]:
        followed = _followed_states(opened.run.name, len(texts), series)
        return Answer(followed, last_model(opened.run), (), followed.notices, {"followed_states": followed})

    def compute(model: OpenedModel, progress: Progress) -> _States:
        is_first = first is not None and first.key == (str(model.source.folder), model.source.revision)
        vectors = first.vectors if first is not None and is_first else _vectors(model, texts, progress)
        then = vectors if first is None else first.vectors
        similarity = layer_similarity(("first", "now"), then, vectors)
        entropy = _mean_entropy(model, texts, after(progress, len(texts), count))
        notices = (*model.loaded.notices, *(() if entropy is not None else (NO_ENTROPY,)), *similarity.notices)
        return _States(similarity.cka.diagonal().copy(), entropy, notices)

    show = (lambda series: job.show(answer(series))) if shows_answers(job) else None
    key = (__name__, texts, None if first is None else first.key)
    return answer(follow(opened, key, compute, job, count, show))


@question(figures=("training-entropy",), params=(ENTROPY_DRAWN,))
def followed_entropy(opened: TrainingSubject, options: Options) -> Answer[FollowedStates]:
    """The mean attention entropy of every head at every checkpoint."""
    drawn = options.choice(ENTROPY_DRAWN)
    answer = followed_states(opened, Options(options.texts))
    if answer.result.entropy is None:
        raise UnsupportedModelError(NO_ENTROPY)
    return answer.of(answer.result, followed_states=answer.result, entropy_drawn=drawn)


def _first(opened: TrainingSubject, texts: tuple[str, ...], progress: Progress) -> _First | None:
    """Vectors of the first checkpoint that can be run; None if there is none, which `follow` reports."""
    for each in opened.run.checkpoints:

        def vectors(each: RunCheckpoint = each) -> Vectors:
            with quietly(), short_lived_merges():
                return _vectors(checkpoint_model(opened, each), texts, progress)

        key = checkpoint_key(each)
        try:
            return _First(key, opened.get_or_compute_by_key((__name__, "vectors", texts, *key), vectors))
        except TextError:
            raise
        except (BertvizError, OSError):
            continue
    return None


def _vectors(model: OpenedModel, texts: tuple[str, ...], progress: Progress) -> Vectors:
    vectors: Vectors = layer_vectors(model.loaded, model.tokenizer, texts, "mean", progress)
    return vectors


def _mean_entropy(
    model: OpenedModel, texts: tuple[str, ...], progress: Progress
) -> Float[np.ndarray, "layers heads"] | None:
    """Mean over the texts of the entropy of each head in nats; None if the attention cannot be recorded."""
    sums: np.ndarray | None = None
    for place, text in enumerate(texts):
        try:
            entropy = head_profile(trace(model.loaded, model.tokens(text, None)))[ENTROPY].astype(np.float64)
        except UnsupportedModelError:
            return None
        sums = entropy if sums is None else sums + entropy
        progress(place + 1, len(texts))
    return None if sums is None else sums / len(texts)


def _followed_states(run: str, texts: int, series: Followed[_States]) -> FollowedStates:
    entropies = [each.entropy for each in series.values if each.entropy is not None]
    is_whole = len(entropies) == len(series.values) and len({each.shape for each in entropies}) == 1
    return FollowedStates(
        run=run,
        texts=texts,
        checkpoints=series.checkpoints,
        steps=series.steps,
        cka=np.stack([each.cka for each in series.values]),
        entropy=np.stack(entropies) if is_whole else None,
        notices=series.notices_with(each.notices for each in series.values),
        waiting=series.waiting,
    )
