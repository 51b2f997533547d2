"""Questions about the answers of every checkpoint of a training run: to one text, and to texts with gold labels."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.checkpoints.training.results import FollowedLabels, FollowedText
from bertviz_core.errors import Named, Progress, TextError, UnsupportedModelError
from bertviz_core.predictions.masked_lm import mask_id
from bertviz_core.predictions.probing.results import TextPredictions
from bertviz_core.predictions.probing.scores import gold_scores
from bertviz_core.predictions.probing.table import text_predictions
from bertviz_core.predictions.run import stored_task
from bertviz_core.predictions.scoring import pseudo_likelihood
from bertviz_core.questions.models.training import TrainingSubject
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.compared_answers import WITH_GOLD, answered_columns
from bertviz_core.questions.predictions.followed_checkpoints import Followed, follow, follow_cost, model_of
from bertviz_core.questions.predictions.labelled_texts import PAIRED
from bertviz_core.questions.question import Answer, AnswerCost, AnswerJob, long_question, shows_answers
from bertviz_core.questions.texts.sentences import own_plan
from bertviz_core.resources import retained_nbytes
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.similarity import similarity_matrix
from bertviz_core.text import quoted

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
    notices: tuple[str, ...]


def _text_cost(opened: TrainingSubject, options: Options) -> AnswerCost:
    return follow_cost(opened, 1)


@long_question(_text_cost, figures=("training-text",), noun="checkpoints")
def followed_text(
    opened: TrainingSubject, options: Options, job: AnswerJob[Answer[FollowedText]]
) -> Answer[FollowedText]:
    """The answer of every checkpoint to a text or a pair: class, surprise, and the cosine of the two texts."""
    text, pair = options.text(), options.pair
    if not text.strip():
        raise TextError("The text is empty; write one.")

    def answer(series: Followed[_TextAnswer]) -> Answer[FollowedText]:
        followed = _followed_text(opened.run.name, text, pair, series)
        return Answer(followed, model_of(opened), (text, pair), followed.notices, {"followed_text": followed})

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
            "The checkpoints have no head that answers one text; give a second text (",
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


def _numbers(values: Sequence[float | None]) -> np.ndarray | None:
    """The values as an array; None if the first is None."""
    return None if values[0] is None else np.array(values, dtype=np.float64)


def _labels_cost(opened: TrainingSubject, options: Options) -> AnswerCost:
    texts = answered_columns(options, opened.run.checkpoints[-1].checkpoint.config).texts
    return follow_cost(opened, len(texts), retained_nbytes(options.texts))


@long_question(_labels_cost, figures=("training-scores",), params=(PAIRED, WITH_GOLD), noun="answers")
def followed_labels(
    opened: TrainingSubject, options: Options, job: AnswerJob[Answer[FollowedLabels]]
) -> Answer[FollowedLabels]:
    """Accuracy and macro-F1 of every checkpoint on texts with gold labels, and how many answers changed."""
    texts, pairs, gold, _ = answered_columns(options, opened.run.checkpoints[-1].checkpoint.config)
    tables = opened.run.tables
    if gold is None:
        raise TextError("Scores need gold labels; give each text with its own.")

    def answer(series: Followed[_ScoredAnswers]) -> Answer[FollowedLabels]:
        followed = _followed_labels(opened.run.name, texts, pairs, series)
        return Answer(followed, model_of(opened), (), followed.notices, {"followed_labels": followed})

    def compute(model: OpenedModel, progress: Progress) -> _ScoredAnswers:
        head = model.head(options.task)
        predictions = text_predictions(head, model.tokenizer, texts, pairs, progress=progress)
        return _scored(predictions, gold, tables)

    show = (lambda series: job.show(answer(series))) if shows_answers(job) else None
    return answer(follow(opened, (__name__, "labels", *options.key()), compute, job, len(texts), show))


def _scored(predictions: TextPredictions, gold: Sequence[str], tables: Sequence[str]) -> _ScoredAnswers:
    """Score the answers of a checkpoint; raises TextError if no gold label is a class of its head.

    Args:
        predictions: the answers.
        gold: gold label of each text.
        tables: names of the tables in the folder of the run.
    """
    scores = gold_scores(predictions, gold)
    labels = set(predictions.labels)
    if labels and not any(scores.gold[at] in labels for at in scores.compared.tolist()):
        required, pair_texts = (
            ", ".join(quoted(each, 40) for each in list(each_of)[:NAMED])
            for each_of in (predictions.labels, Counter(label for label in gold if label))
        )
        there = f" The folder of the run has {', '.join(map(quoted, tables[:NAMED]))}." if tables else ""
        raise TextError(
            f"No gold label ({pair_texts}) is a class of the head ({required}), so nothing can be scored.{there}"
        )
    notices = _once(predictions.notices, scores.notices)
    return _ScoredAnswers(predictions.answers, scores.gold, scores.accuracy, scores.macro_f1, notices)


def _followed_labels(
    run: str, texts: tuple[str, ...], pairs: tuple[str, ...] | None, series: Followed[_ScoredAnswers]
) -> FollowedLabels:
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
        notices=series.notices_with(each.notices for each in series.values),
        waiting=series.waiting,
    )


def _once(*groups: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notice for group in groups for notice in group))
