"""A stranger's config is first built in a process under limits; here is built what passed.

Where no one asks for trials (require_trials), as on the command line and in a notebook, nothing is tried.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from queue import LifoQueue
from threading import Lock
from typing import Any

import msgspec
import orjson

from bertviz_core import errors
from bertviz_core.sandbox.run import ChildError, Limits
from bertviz_core.sandbox.worker import Worker
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

TASK = "bertviz_core.architecture.facts.trial.answered"
LIBRARIES_NBYTES = 1280 * 1024**2
"""Of a process's address space, what torch and transformers take."""
FILE_NBYTES = 1024**2
"""Of a file; torch tries on its import whether it can write one."""
ANSWER_NBYTES = 10_000
KEPT = 1024
"""Verdicts that are kept; each is one sentence at most."""
LABELS = ("id2label", "label2id", "num_labels")


class BuildRequest(msgspec.Struct, frozen=True):
    """What to build."""

    name: str
    """The model's name, for messages."""
    config: dict[str, Any]
    """Its config.json."""
    task: str
    """The task whose class is built."""
    max_modules: int


class Trials:
    """Processes that build models of strangers, and what came of it by the content of their configs."""

    def __init__(self, settings: Settings, trusted: Iterable[Mapping[str, Any]]) -> None:
        """No process yet; the first trial starts one.

        Args:
            settings: what a process may take.
            trusted: configs that need no trial.
        """
        limits = Limits.of(settings, ANSWER_NBYTES)
        limits = replace(limits, memory_nbytes=limits.memory_nbytes + LIBRARIES_NBYTES, file_nbytes=FILE_NBYTES)
        self._max_modules = settings.max_modules
        # The one used last is taken first: it has its libraries in memory.
        self._workers: LifoQueue[Worker] = LifoQueue()
        for _ in range(settings.max_children):
            self._workers.put(Worker(TASK, b"", limits))
        self._trusted = frozenset(_digest(config) for config in trusted)
        self._verdicts: OrderedDict[str, errors.BertvizError | None] = OrderedDict()
        self._lock = Lock()

    def check(self, name: str, config: Mapping[str, Any], task: str) -> None:
        """Refuse a config that cannot be built within the limits; the verdict is kept by its content.

        Raises:
            CheckpointError: it takes too much, or its values do not fit together.
            UnsupportedModelError: the family has no class for the task.
        """
        digest = _digest(config)
        if digest in self._trusted:
            return
        key = f"{digest} {task}"
        with self._lock:
            known = key in self._verdicts
            verdict = self._verdicts.get(key)
        if not known:
            verdict = self._tried(BuildRequest(name, dict(config), task, self._max_modules))
            with self._lock:
                self._verdicts[key] = verdict
                while len(self._verdicts) > KEPT:
                    self._verdicts.popitem(last=False)
        if verdict is not None:
            raise type(verdict)(*verdict.args)

    def _tried(self, trial: BuildRequest) -> errors.BertvizError | None:
        worker = self._workers.get()
        try:
            worker.ask(msgspec.msgpack.encode(trial))
        except ChildError as error:
            return errors.CheckpointError(f"No model can be built from the config of {quoted(trial.name)}: {error}.")
        except errors.BertvizError as error:
            return error
        finally:
            self._workers.put(worker)
        return None


_REQUIRED: list[Trials] = []


def require_trials(settings: Settings, trusted: Iterable[Mapping[str, Any]]) -> None:
    """From now on nothing is built in this process that was not tried, where the settings ask for that."""
    _REQUIRED[:] = [Trials(settings, trusted)] if settings.isolate_models else []


def check_buildable(name: str, config: Mapping[str, Any], task: str) -> None:
    """Refuse a config that cannot be built within the limits, where trials are required.

    Raises:
        CheckpointError: it takes too much, or its values do not fit together.
        UnsupportedModelError: the family has no class for the task.
    """
    for trials in _REQUIRED:
        trials.check(name, config, task)


def _digest(config: Mapping[str, Any]) -> str:
    """The same for configs that build the same modules, whatever their labels are called."""
    entries = {key: value for key, value in config.items() if key not in LABELS}
    raw = orjson.dumps(entries, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return hashlib.sha256(raw).hexdigest()
