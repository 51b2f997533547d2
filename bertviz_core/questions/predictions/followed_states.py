"""The question how hidden states and attention change over the checkpoints of a training run."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.atlas import PROFILE_MEASURES, head_profile
from bertviz_core.checkpoints.layer_similarity import layer_similarity
from bertviz_core.checkpoints.training.folder import RunCheckpoint
from bertviz_core.checkpoints.training.results import FollowedStates
from bertviz_core.errors import BertvizError, Progress, TextError, UnsupportedModelError
from bertviz_core.figures.checkpoints.followed.states import ENTROPIES
from bertviz_core.models.safetensors.adapters.merging import short_lived_merges
from bertviz_core.models.skeleton import quietly
from bertviz_core.predictions.probing.scores import layer_vectors
from bertviz_core.questions.models.layer_similarity import compared_texts
from bertviz_core.questions.models.training import TrainingSubject
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options, choice
from bertviz_core.questions.predictions.followed_checkpoints import (
    Followed,
    checkpoint_key,
    checkpoint_model,
    follow,
    follow_cost,
    model_of,
)
from bertviz_core.questions.question import Answer, AnswerCost, AnswerJob, after, long_question, question, shows_answers
from bertviz_core.trace.run import trace

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
def followed_states(
    opened: TrainingSubject, options: Options, job: AnswerJob[Answer[FollowedStates]]
) -> Answer[FollowedStates]:
    """CKA of every layer of every checkpoint with the first, and the mean attention entropy of every head."""
    texts = compared_texts(opened.settings, options)
    count = 2 * len(texts)
    first = _first(opened, texts, after(job, 0, count * len(opened.run.checkpoints)))

    def answer(series: Followed[_States]) -> Answer[FollowedStates]:
        followed = _followed_states(opened.run.name, len(texts), series)
        return Answer(followed, model_of(opened), (), followed.notices, {"followed_states": followed})

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
    """The mean attention entropy of every head at every checkpoint.

    Raises:
        UnsupportedModelError: the attention of the model cannot be recorded.
    """
    drawn = options.choice(ENTROPY_DRAWN)
    answer = followed_states(opened, Options(options.texts))
    if answer.result.entropy is None:
        raise UnsupportedModelError(NO_ENTROPY)
    return answer.of(answer.result, followed_states=answer.result, entropy_drawn=drawn)


def _first(opened: TrainingSubject, texts: tuple[str, ...], progress: Progress) -> _First | None:
    """Vectors of the first checkpoint that can be run; None if there is none, which `follow` reports.

    Raises:
        TextError: the texts are invalid.
    """
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
