"""Classify texts with a fitted probe, and save it as a zip of weights (safetensors) and metadata (JSON)."""

import io
import json
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from safetensors.numpy import load, save

from bertviz_core.errors import CheckpointError, Progress, UnsupportedModelError
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.classes import softmax
from bertviz_core.predictions.probing.reading import MAX_CLASSES
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.results import POOLINGS, SentencePlan
from bertviz_core.text import counted, escape_controls, first_line, quoted, shortened
from bertviz_core.trace.tokenization import TextTokenizer, tokenize

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
    probe: Probe, loaded: LoadedModel, tokenizer: TextTokenizer, texts: Sequence[str], progress: Progress | None = None
) -> tuple[ClassPrediction, ...]:
    """Classify texts with a probe; each prediction names the data that the probe was fitted on.

    Args:
        probe: the probe.
        loaded: the model of its vectors.
        tokenizer: the model's tokenizer.
        texts: the texts.
        progress: called as progress(texts done, texts); may raise to cancel.

    Raises:
        UnsupportedModelError: the probe was fitted on another model.
        TextError: there is no text, or one is too long.
    """
    check_model(probe, loaded)
    plan = SentencePlan(probe.pooling, probe.layer)
    vectors = sentence_vectors(loaded, tokenizer, texts, plan, progress=progress)
    logits = vectors.vectors @ probe.weight.T + probe.bias
    probabilities = softmax(logits)
    for array in (logits, probabilities):
        array.setflags(write=False)
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
    """Check that a probe was fitted on this model.

    Raises:
        UnsupportedModelError: name, revision or width of the vectors differ, or the model has no such layer.
    """
    if (probe.model, probe.revision) != (loaded.name, loaded.revision):
        same = probe.model == loaded.name
        what = f"another revision of {loaded.name!r}" if same else f"{quoted(probe.model)}, not on {loaded.name!r}"
        raise UnsupportedModelError(f"This probe was fitted on {what}; its weights mean nothing there. Fit it again.")
    width = loaded.model.config.get_text_config().hidden_size
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
    """Read a probe from a file written by `probe_bytes`.

    Args:
        name: file name.
        data: content of the file.

    Raises:
        CheckpointError: the file is no probe, is too large, or its parts are inconsistent.
    """
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
