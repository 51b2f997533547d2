"""Probes: fitted, scored by layer, and asked."""

import io
import json
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import orjson
from jaxtyping import Float
from safetensors.numpy import load, save
from threadpoolctl import threadpool_limits

from bertviz_core.errors import CheckpointError, Progress, UnsupportedModelError, no_progress
from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import optional
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.skeleton import text_config
from bertviz_core.predictions.classes import softmax
from bertviz_core.predictions.probing.reading import MAX_CLASSES
from bertviz_core.predictions.probing.results import LabelledTexts, Probe, ProbeScores
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.resources import BLAS_LOCK
from bertviz_core.sentences.encoding import SentenceRun, batches, plan_layer, sentence_vectors, tokenized
from bertviz_core.sentences.results import POOLINGS, Pooling, SentencePlan
from bertviz_core.text import counted, escape_controls, first_line, quoted, shortened, tied
from bertviz_core.trace.tokenization import TextTokenizer, tokenize


def most_accurate(scores: ProbeScores) -> str:
    """The hidden state with the greatest mean accuracy, and how many others have the same."""
    chosen = f", chosen on the same texts from {len(scores.layers)}, so optimistic" if scores.layers[1:] else ""
    return f"{state_name(scores.layers[scores.best])}{tied(scores.accuracy.mean(axis=1))}{chosen}"


FOLDS = 5
"""Number of cross-validation folds; fewer if a class has fewer texts."""
ITERATIONS = 1_000
"""Maximum number of iterations of a fit."""


def layer_vectors(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    texts: Sequence[str],
    pooling: Pooling,
    progress: Progress = no_progress,
) -> Float[np.ndarray, "layers texts hidden"]:
    """Compute pooled vectors of texts at every hidden state in one run; for the pooler at the last one only."""
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
    progress: Progress = no_progress,
    on_partial: Callable[[ProbeScores], None] | None = None,
) -> ProbeScores:
    """Score a probe on each layer by stratified cross-validation: accuracy and macro-F1, beside its control task.

    The control task gives every text the label of a randomly drawn text (Hewitt & Liang 2019): its accuracy measures
    memorisation, and accuracy minus control accuracy is the selectivity.

    Args:
        vectors: output of layer_vectors.
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
    vectors: np.ndarray, gold: np.ndarray, shuffled: np.ndarray, count: int, seed: int, report: Callable[[int], None]
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


def _report(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)


def fitted_probe(
    labelled: LabelledTexts, scores: ProbeScores, vectors: Float[np.ndarray, "layers texts hidden"], layer: int
) -> Probe:
    """Fit a probe of one layer on all texts; its reported accuracy is the cross-validated one."""
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


def out_of_fold(
    labelled: LabelledTexts,
    vectors: Float[np.ndarray, "texts dimensions"],
    seed: int = 0,
    progress: Progress = no_progress,
) -> tuple[Float[np.ndarray, "texts classes"], tuple[str, ...]]:
    """Probabilities of each text by a probe that was fitted without it, and notices on the fits."""
    places = {label: place for place, label in enumerate(labelled.classes)}
    gold, count, unfinished = np.array([places[label] for label in labelled.labels]), fold_count(labelled), 0
    probabilities = np.zeros((len(gold), len(places)))
    for done, (fitted, tested) in enumerate(parts(gold, count, seed), start=1):
        probe, ended = _fit(vectors[fitted], gold[fitted])
        probabilities[tested] = probe.predict_proba(vectors[tested].astype(np.float64))
        unfinished += not ended
        progress(done, count)
    return probabilities, _notices(count, unfinished)


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


WEIGHTS, ABOUT = "probe.safetensors", "probe.json"
MAX_FILE_NBYTES = 8 * 1024**2
"""Maximum size of each of a probe's two files in bytes: enough for 100 classes of 16,384 dimensions."""
FORMAT = "inside-bert probe 1"
MAX_NAME = 1_000
"""Maximum length in characters of class names and other names in a probe."""
KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("model", "revision", "pooling", "texts"), str),
    **dict.fromkeys(("layer", "count", "seed"), int),
    **dict.fromkeys(("accuracy", "spread"), (int, float)),
}
"""Metadata fields of a probe besides weights and classes, and their types."""


def probe_predictions(
    probe: Probe, loaded: LoadedModel, tokenizer: TextTokenizer, texts: Sequence[str], progress: Progress = no_progress
) -> tuple[ClassPrediction, ...]:
    """Classify texts with a probe; each prediction names the data that the probe was fitted on."""
    check_model(probe, loaded)
    plan = SentencePlan(probe.pooling, probe.layer)
    vectors = sentence_vectors(loaded, tokenizer, texts, plan, progress=progress)
    logits = vectors.vectors @ probe.weight.T + probe.bias
    probabilities = softmax(logits)
    return tuple(
        ClassPrediction(
            model=f"{probe.model} + probe ({shortened(escape_controls(probe.texts), 40)})",
            tokens=tokenize(tokenizer, text),
            labels=probe.classes,
            logits=logits[row],
            scoring="softmax",
            probabilities=probabilities[row],
            notices=(introduction(probe), *vectors.notices),
        )
        for row, text in enumerate(texts)
    )


def introduction(probe: Probe) -> str:
    """Describe a probe and its accuracy in one sentence."""
    state = "the embeddings" if probe.layer == 0 else f"layer {probe.layer - 1}"
    return (
        f"A probe fitted here on {counted(probe.count, 'text')} of {quoted(probe.texts, 60)}: {probe.pooling} pooling "
        f"of {state}, seed {probe.seed}, accuracy {probe.accuracy:.1%} ± {probe.spread:.1%} on held-out texts."
    )


def check_model(probe: Probe, loaded: LoadedModel) -> None:
    """Check that a probe was fitted on this model."""
    if (probe.model, probe.revision) != (loaded.name, loaded.revision):
        same = probe.model == loaded.name
        what = f"another revision of {loaded.name!r}" if same else f"{quoted(probe.model)}, not on {loaded.name!r}"
        raise UnsupportedModelError(f"This probe was fitted on {what}; its weights mean nothing there. Fit it again.")
    width = text_config(loaded.model.config).hidden_size
    if probe.hidden_size != width or probe.layer > loaded.num_hidden_layers:
        raise UnsupportedModelError(
            f"This probe reads {probe.hidden_size:,} numbers of layer {probe.layer - 1}; {loaded.name!r} has "
            f"{width:,} numbers and {counted(loaded.num_hidden_layers, 'layer')}. Fit it again."
        )


def probe_bytes(probe: Probe) -> bytes:
    """Serialise a probe as a zip of weights (safetensors) and metadata such as layer and classes (JSON)."""
    facts = {"format": FORMAT, **{name: getattr(probe, name) for name in KINDS}, "classes": list(probe.classes)}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        tensors = {"weight": np.ascontiguousarray(probe.weight), "bias": np.ascontiguousarray(probe.bias)}
        archive.writestr(WEIGHTS, save(tensors))
        archive.writestr(ABOUT, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
    return target.getvalue()


def read_probe(name: str, data: bytes) -> Probe:
    """Read a probe from a file written by `probe_bytes`."""
    try:
        weights, about = _members(data)
        return _probe(weights, orjson.loads(about))
    except _BadProbeError as error:
        words = str(error)
    except Exception as error:  # zipfile, orjson and safetensors raise undocumented errors for damaged files
        words = first_line(error)
    raise CheckpointError(
        f"{quoted(name)} is no probe that was saved here: {words}. Give the .zip that Save the probe wrote."
    )


class _BadProbeError(Exception):
    """The file of a probe is invalid."""


def _members(data: bytes) -> tuple[bytes, bytes]:
    if len(data) > 2 * MAX_FILE_NBYTES:
        raise _BadProbeError(f"it has {len(data):,} bytes, more than {2 * MAX_FILE_NBYTES:,}")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sorted(archive.namelist()) != sorted((WEIGHTS, ABOUT)):
            raise _BadProbeError(f"it does not hold {WEIGHTS} and {ABOUT}, each once")
        parts = []
        for name in (WEIGHTS, ABOUT):
            with archive.open(name) as member:
                parts.append(member.read(MAX_FILE_NBYTES + 1))  # the size in the zip entry may be wrong
            if len(parts[-1]) > MAX_FILE_NBYTES:
                raise _BadProbeError(f"{name} has more than {MAX_FILE_NBYTES:,} bytes")
    return parts[0], parts[1]


def _probe(weights: bytes, facts: Any) -> Probe:
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise _BadProbeError(f"{ABOUT} does not say {FORMAT!r}")
    wrong = [name for name, kind in KINDS.items() if not isinstance(facts.get(name), kind)]
    wrong += [name for name, value in facts.items() if isinstance(value, str) and len(value) > MAX_NAME]
    classes = facts.get("classes")
    if not isinstance(classes, list) or not all(isinstance(each, str) and len(each) <= MAX_NAME for each in classes):
        classes = []
    if wrong or not 2 <= len(set(classes)) == len(classes) <= MAX_CLASSES:
        raise _BadProbeError(f"{ABOUT} has no usable {quoted(wrong[0]) if wrong else 'classes'}")
    if facts["pooling"] not in POOLINGS or facts["layer"] < 0:
        raise _BadProbeError(f"{ABOUT} names no pooling and layer that exist")
    if not (0 <= facts["accuracy"] <= 1 and 0 <= facts["spread"] <= 1):
        raise _BadProbeError(f"{ABOUT} names no accuracy from 0 to 1")
    tensors = load(weights)
    weight, bias = tensors.get("weight"), tensors.get("bias")
    if weight is None or bias is None or weight.ndim != 2 or not weight.shape[1]:
        raise _BadProbeError(f"{WEIGHTS} has no weight and bias")
    fits = weight.shape[0] == len(classes) and bias.shape == (len(classes),)
    if not fits or weight.dtype != np.float32 or bias.dtype != np.float32:
        raise _BadProbeError(f"{WEIGHTS} does not fit its {len(classes)} classes")
    if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
        raise _BadProbeError("its weights are NaN or infinite")
    return Probe(weight=weight, bias=bias, classes=tuple(classes), **{name: facts[name] for name in KINDS})
