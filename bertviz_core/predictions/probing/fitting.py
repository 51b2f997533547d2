"""Fit linear probes on frozen vectors, and score every layer by cross-validation.

A probe is multinomial logistic regression on standardised vectors (scikit-learn's StandardScaler and
LogisticRegression), so that one regularisation strength suits layers with vectors of different lengths.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from bertviz_core.errors import Progress, UnsupportedModelError
from bertviz_core.lazy_imports import optional
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.probing.results import LabelledTexts, Probe, ProbeScores
from bertviz_core.resources.blas import BLAS_LOCK
from bertviz_core.sentences.batches import batches, tokenized
from bertviz_core.sentences.encoding import SentenceRun, plan_layer
from bertviz_core.sentences.results import Pooling, SentencePlan
from bertviz_core.text import counted
from bertviz_core.trace.tokenization import TextTokenizer

FOLDS = 5
"""Number of cross-validation folds; fewer if a class has fewer texts."""
ITERATIONS = 1_000
"""Maximum number of iterations of a fit."""


def layer_vectors(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    texts: Sequence[str],
    pooling: Pooling,
    progress: Progress | None = None,
) -> Float[np.ndarray, "layers texts hidden"]:
    """Compute pooled vectors of texts at every hidden state in one run; for the pooler at the last one only.

    Args:
        loaded: the model, in float32.
        tokenizer: tokenizer of the model.
        texts: the texts.
        pooling: pooling of the token vectors.
        progress: called as progress(texts done, texts); may raise to cancel.

    Raises:
        TextError: a text is too long or has no token.
        UnsupportedModelError: the model has no pooler, or cannot be run on a text alone.
    """
    layers = probed_layers(loaded, pooling)
    rows = [row for chunk in tokenized(tokenizer, texts, SentencePlan(pooling)) for row in chunk]
    encoder, done = SentenceRun(loaded, SentencePlan(pooling), "float32", 0), 0
    vectors = np.zeros((len(layers), len(texts), 0), dtype=np.float32)
    for batch in batches(loaded, [len(row) for row in rows]):
        batch_vectors = encoder.all_layers([rows[index] for index in batch], (pooling,), layers)[0]
        if not done:
            vectors = np.empty((len(layers), len(texts), batch_vectors.shape[2]), dtype=np.float32)
        vectors[:, batch] = batch_vectors
        done += len(batch)
        if progress is not None:
            progress(done, len(texts))
    if not np.isfinite(vectors).all():
        raise UnsupportedModelError(
            f"Some vectors of {loaded.name!r} are NaN or infinite, so nothing can be computed from them."
        )
    return vectors


def probed_layers(loaded: LoadedModel, pooling: Pooling) -> tuple[int, ...]:
    """Return the hidden states that a pooling can read: all, or only the last for the pooler."""
    last = plan_layer(loaded, SentencePlan(pooling))
    return (last,) if pooling == "pooler" else tuple(range(last + 1))


def probe_scores(
    loaded: LoadedModel,
    labelled: LabelledTexts,
    pooling: Pooling,
    vectors: Float[np.ndarray, "layers texts hidden"],
    seed: int = 0,
    progress: Progress | None = None,
    on_partial: Callable[[ProbeScores], None] | None = None,
) -> ProbeScores:
    """Score a probe on each layer by stratified cross-validation: accuracy and macro-F1, beside its control task.

    The control task gives every text the label of a randomly drawn text (Hewitt & Liang 2019): its accuracy measures
    memorisation, and accuracy minus control accuracy is the selectivity.

    Args:
        loaded: the model.
        labelled: the texts and their classes.
        pooling: the pooling of the vectors.
        vectors: output of layer_vectors.
        seed: seed of the folds and of the shuffled labels.
        progress: called as progress(fits done, fits); may raise to cancel.
        on_partial: called with the scores of the layers done so far, after each layer but the last.
    """
    places = {label: place for place, label in enumerate(labelled.classes)}
    gold = np.array([places[label] for label in labelled.labels])
    shuffled = np.random.default_rng(seed).permutation(gold)
    count, layers = fold_count(labelled), probed_layers(loaded, pooling)
    done: list[_LayerScores] = []

    def scores() -> ProbeScores:
        accuracy, macro_f1, control = (
            np.array([getattr(each, name) for each in done], dtype=np.float64) for name in _LayerScores._fields[:3]
        )
        for array in (accuracy, macro_f1, control):
            array.setflags(write=False)
        return ProbeScores(
            model=loaded.name,
            revision=loaded.revision,
            texts=labelled.name,
            classes=labelled.classes,
            counts=np.bincount(gold, minlength=len(labelled.classes)),
            pooling=pooling,
            layers=layers[: len(done)],
            seed=seed,
            accuracy=accuracy,
            macro_f1=macro_f1,
            control_accuracy=control,
            notices=(*loaded.notices, *labelled.notices, *_notices(count, sum(each.unfinished for each in done))),
        )

    for layer in vectors:
        before, total = 2 * count * len(done), 2 * count * len(vectors)
        done.append(_layer_scores(layer, gold, shuffled, count, seed, partial(_report, progress, before, total)))
        if on_partial is not None and len(done) < len(vectors):
            on_partial(scores())
    return scores()


class _LayerScores(NamedTuple):
    """Scores of a layer's probes: one of each fold."""

    accuracy: list[float]
    macro_f1: list[float]
    control: list[float]
    unfinished: int
    """Number of fits to the true labels that did not converge."""


def _layer_scores(
    vectors: np.ndarray,
    gold: np.ndarray,
    shuffled: np.ndarray,
    count: int,
    seed: int,
    report: Callable[[int], None],
) -> _LayerScores:
    """Fit and score the probes of one layer; `report` is called with the number of fits that are done."""
    with optional("probes", "scikit-learn", "A probe"):
        from sklearn.metrics import accuracy_score, f1_score

    accuracy, macro_f1, control, unfinished = [], [], [], 0
    for labels in (gold, shuffled):
        for fitted, tested in parts(labels, count, seed):
            probe, ended = _fit(vectors[fitted], labels[fitted])
            answers = probe.predict(vectors[tested])
            if labels is shuffled:
                control.append(accuracy_score(labels[tested], answers))
            else:
                accuracy.append(accuracy_score(labels[tested], answers))
                macro_f1.append(f1_score(labels[tested], answers, average="macro", zero_division=0))
                unfinished += not ended
            report(len(accuracy) + len(control))
    return _LayerScores(accuracy, macro_f1, control, unfinished)


def _report(progress: Progress | None, before: int, total: int, done: int) -> None:
    """Report the fits of a layer as fits of all layers."""
    if progress is not None:
        progress(before + done, total)


def fitted_probe(
    labelled: LabelledTexts, scores: ProbeScores, vectors: Float[np.ndarray, "layers texts hidden"], layer: int
) -> Probe:
    """Fit a probe of one layer on all texts; its reported accuracy is the cross-validated one.

    Raises:
        ValueError: the layer was not scored.
    """
    place = scores.layers.index(layer)
    places = {label: place for place, label in enumerate(scores.classes)}
    gold = np.array([places[label] for label in labelled.labels])
    (scaler, regression), _ = _fit(vectors[place], gold)
    weight = regression.coef_ / scaler.scale_
    bias = regression.intercept_ - weight @ scaler.mean_
    if len(weight) == 1:  # for two classes scikit-learn stores only the difference
        weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    weight, bias = weight.astype(np.float32), bias.astype(np.float32)
    for array in (weight, bias):
        array.setflags(write=False)
    return Probe(
        model=scores.model,
        revision=scores.revision,
        pooling=scores.pooling,
        layer=layer,
        classes=scores.classes,
        weight=weight,
        bias=bias,
        texts=labelled.name,
        count=len(labelled.texts),
        seed=scores.seed,
        accuracy=float(scores.accuracy[place].mean()),
        spread=float(scores.accuracy[place].std()),
    )


def fold_count(labelled: LabelledTexts) -> int:
    """Return the number of folds, so that each contains a text of every class."""
    counts = Counter(labelled.labels)
    return min(FOLDS, *(counts[label] for label in labelled.classes))


def parts(gold: np.ndarray, count: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return training and test indices of `count` stratified folds."""
    with optional("probes", "scikit-learn", "A probe"):
        from sklearn.model_selection import StratifiedKFold

    yield from StratifiedKFold(count, shuffle=True, random_state=seed).split(gold, gold)


def _fit(vectors: Any, gold: np.ndarray) -> tuple[Any, bool]:
    """Fit scikit-learn's StandardScaler and LogisticRegression; also return whether the fit converged."""
    with optional("probes", "scikit-learn", "A probe"):
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=ITERATIONS))
    # Such small matrices are multiplied ten times as fast by one thread as by several that wait for each other.
    with BLAS_LOCK, threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pipeline.fit(vectors.astype(np.float64), gold)
    return pipeline, bool(pipeline[-1].n_iter_.max() < ITERATIONS)


def _notices(count: int, unfinished: int) -> tuple[str, ...]:
    notices = []
    if count < FOLDS:
        notices.append(f"The rarest class has {count} texts, so the set is cut into {count} parts instead of {FOLDS}.")
    if unfinished:
        notices.append(f"{counted(unfinished, 'fit')} stopped after {ITERATIONS:,} steps before the numbers settled.")
    return tuple(notices)
