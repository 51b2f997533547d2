"""Read how a cross-encoder's logit becomes its score, as sentence-transformers 6.2 does, and its other settings.

No class that a config names is imported: a few of torch's are known by their names.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from bertviz_core.isolation.regular_files import MODULES_FILE, present
from bertviz_core.models.local_files import modules_folder, weights_folder
from bertviz_core.models.receipt import PROMPTS_FILE
from bertviz_core.models.safetensors.folder import read_json
from bertviz_core.models.sources import ModelSource
from bertviz_core.predictions.scoring.results import ScoreName
from bertviz_core.sentences.plan import SCORE_TASK, sentence_config
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

TORCH_PREFIX = "torch."
"""Prefix of the classes that sentence-transformers accepts without trust_remote_code."""
ACTIVATIONS: Mapping[str, ScoreName] = {"Sigmoid": "sigmoid", "Identity": "logit", "Tanh": "tanh", "ReLU": "ReLU"}
"""Class of torch.nn -> the score that it computes."""
NEWER_KEY, OLDER_KEY, CLASS_KEY = "sentence_transformers", "sbert_ce_default_activation_function", "activation_fn"
CROSS_ENCODER = "CrossEncoder"


class PairSettings(NamedTuple):
    """Settings of a cross-encoder with one output."""

    score_name: ScoreName
    """How its logit becomes its score."""
    max_seq_length: int | None
    """Maximum number of tokens of query and text together; None for that of model and tokenizer."""
    prompt: str
    """Text in front of every query."""
    notices: tuple[str, ...]
    """Settings that are not followed, one sentence each."""


def pair_settings(source: ModelSource, settings: Settings) -> PairSettings:
    """Return the settings of a cross-encoder: sigmoid, unless its files name another activation.

    A folder that was saved as a CrossEncoder has a file of settings, which is read first; then come the entries of
    config.json. An activation that is no class of torch is replaced by the sigmoid, as in sentence-transformers.

    Raises:
        CheckpointError: the weights are not on this machine, or a file is damaged.
    """
    folder = modules_folder(source, settings)
    saved: Mapping[str, Any] = {}
    if present(folder, MODULES_FILE) and present(folder, PROMPTS_FILE):
        saved = read_json(folder, PROMPTS_FILE)
    if saved.get("model_type") != CROSS_ENCODER:
        score_name, notices = _activation(source.config, {})
        return PairSettings(score_name, None, "", notices)
    config = sentence_config(folder, weights_folder(source, settings), SCORE_TASK)
    score_name, notices = _activation(source.config, saved)
    if config.lower_case:
        notices += ("The checkpoint lowercases its texts, which is not followed here; its scores differ.",)
    return PairSettings(score_name, config.max_seq_length, config.prompt, (*notices, *config.notices))


def activated(logits: Float[np.ndarray, " texts"], score_name: ScoreName) -> Float[np.ndarray, " texts"]:
    """Compute the scores of logits, in float32, for every score but softmax, which needs all classes."""
    if score_name == "sigmoid":
        return (0.5 + 0.5 * np.tanh(0.5 * logits.astype(np.float64))).astype(np.float32)
    if score_name == "tanh":
        return np.asarray(np.tanh(logits))
    return np.asarray(np.maximum(logits, np.float32(0))) if score_name == "ReLU" else logits


def _activation(config: Mapping[str, Any], saved: Mapping[str, Any]) -> tuple[ScoreName, tuple[str, ...]]:
    """The score that the settings name, and a notice where it is another."""
    name, notices = _named(config, saved)
    if name is None:
        return "sigmoid", notices
    score_name = ACTIVATIONS.get(name.rpartition(".")[2])
    if score_name is None:
        what = f"The activation {quoted(name, 80)} of the checkpoint is not computed here; its logit is the score."
        return "logit", (*notices, what)
    return score_name, notices


def _named(config: Mapping[str, Any], saved: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """The first class of torch that the settings name, and a notice of classes that are none; None for no class."""
    newer = config.get(NEWER_KEY)
    in_config = newer[CLASS_KEY] if isinstance(newer, Mapping) and CLASS_KEY in newer else config.get(OLDER_KEY)
    notices: tuple[str, ...] = ()
    for name in (saved.get(CLASS_KEY), in_config):
        if isinstance(name, str) and name.startswith(TORCH_PREFIX):
            return name, notices
        if name is not None:
            what = f"The checkpoint's activation {quoted(str(name), 80)} is code of its own, which is never run here."
            notices = (*notices, what)
    return None, notices
