"""Try an untrusted config in a process under limits before its model is built here.

The process also returns the dataflow that it derived, so that this is not repeated here. Whether a config is tried
depends on the terms with which it was opened (bertviz_core.settings).
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec

from bertviz_core import errors
from bertviz_core.isolation.pool import VERDICTS, Pool
from bertviz_core.isolation.run import Limits
from bertviz_core.settings import Settings, config_digest, terms_of
from bertviz_core.text import quoted

TASK = "bertviz_core.architecture.dataflow.derive.answered"
FAMILY_NBYTES = 640 * 1024**2
"""Address space of what transformers imports for one family, beside what is built."""
FILE_NBYTES = 1024**2
"""Maximum size of a written file; torch writes one on import."""
ANSWER_NBYTES = 1024**2


class Preparation(msgspec.Struct, frozen=True, tag=True):
    """The first request: restrict writes to one folder."""

    scratch: str


class BuildRequest(msgspec.Struct, frozen=True, tag=True):
    """Build a model."""

    name: str
    """Name of the model, for error messages."""
    config: dict[str, Any]
    """Its config.json."""
    task: str
    """Task of the class."""
    max_modules: int
    max_layers: int
    max_labels: int


def config_trial(name: str, config: Mapping[str, Any], task: str) -> bytes | None:
    """Build the model of a config in another process and return its packed answer; None if no trial is needed.

    Answers and failures are cached by the content of the config and the name of the model.
    """
    terms = terms_of(config)
    settings = terms.trial
    if settings is None:
        return None
    trials = trials_of(_limits(settings))
    request = BuildRequest(name, dict(config), task, settings.max_modules, terms.max_layers, terms.max_labels)
    return VERDICTS.of(
        (TASK, terms, config_digest(config), task, name),
        lambda: trials.ask(msgspec.msgpack.encode(request)),
        lambda error: errors.CheckpointError(f"No model can be built from the config of {quoted(name)}: {error}."),
    )


def warm_trials(settings: Settings) -> None:
    """Start a process for the first trial, if models are isolated."""
    if settings.isolate_models:
        trials_of(_limits(settings)).warm()


@lru_cache(maxsize=4)
def trials_of(limits: Limits) -> Pool:
    """The processes for trials under these limits."""
    busy = "Other models are being tried at this moment; try again in a minute."
    return Pool(TASK, limits, lambda folder: msgspec.msgpack.encode(Preparation(str(folder))), busy)


def _limits(settings: Settings) -> Limits:
    """Limits of a process that builds a model."""
    limits = Limits.of(settings, ANSWER_NBYTES)
    return replace(limits, memory_nbytes=limits.memory_nbytes + FAMILY_NBYTES, file_nbytes=FILE_NBYTES)
