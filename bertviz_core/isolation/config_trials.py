"""A stranger's config is first built in a process under limits; here is built what passed.

That process also tells what it read off the modules, so that this is not read a second time among other readers.
Whether a config is tried, the terms say on which it was opened (bertviz_core.isolation.sanitized.terms).
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec

from bertviz_core import errors
from bertviz_core.isolation.pool import VERDICTS, Pool
from bertviz_core.isolation.run import ChildError, Limits
from bertviz_core.isolation.sanitized.terms import config_digest, terms_of
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

TASK = "bertviz_core.architecture.dataflow.trial.answered"
LIBRARIES_NBYTES = 1280 * 1024**2
"""Of a process's address space, what torch and transformers take."""
FILE_NBYTES = 1024**2
"""Of a file; torch tries on its import whether it can write one."""
ANSWER_NBYTES = 1024**2


class Preparation(msgspec.Struct, frozen=True, tag=True):
    """What a process is given first: it imports its libraries, and writes to one folder alone from then on."""

    scratch: str


class BuildRequest(msgspec.Struct, frozen=True, tag=True):
    """What to build."""

    name: str
    """The model's name, for messages."""
    config: dict[str, Any]
    """Its config.json."""
    task: str
    """The task whose class is built."""
    max_modules: int
    max_layers: int
    max_labels: int


def config_trial(name: str, config: Mapping[str, Any], task: str) -> bytes | None:
    """What the process told that built the model of a config first, packed; None where it need not be tried.

    The verdict is kept by the content of the config, and by the name that stands in its sentence.

    Raises:
        CheckpointError: it takes too much, or its values do not fit together.
        UnsupportedModelError: the family has no class for the task.
        BusyError: all processes are at work on other models for longer than a trial may take.
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
        lambda error: _refused(name, error),
    )


def warm_trials(settings: Settings) -> None:
    """Have a process ready for the first trial, where the settings ask for trials."""
    if settings.isolate_models:
        trials_of(_limits(settings)).warm()


@lru_cache(maxsize=4)
def trials_of(limits: Limits) -> Pool:
    """The processes that build models of strangers under these limits."""
    busy = "Other models are being tried at this moment; try again in a minute."
    return Pool(TASK, limits, lambda folder: msgspec.msgpack.encode(Preparation(str(folder))), busy)


def _limits(settings: Settings) -> Limits:
    """What a process may take that builds a model."""
    limits = Limits.of(settings, ANSWER_NBYTES)
    return replace(limits, memory_nbytes=limits.memory_nbytes + LIBRARIES_NBYTES, file_nbytes=FILE_NBYTES)


def _refused(name: str, error: ChildError) -> errors.CheckpointError:
    return errors.CheckpointError(f"No model can be built from the config of {quoted(name)}: {error}.")
