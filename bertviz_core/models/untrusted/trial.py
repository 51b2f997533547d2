"""A stranger's config is first built in a process under limits; here is built what passed.

That process also tells what it read off the modules, so that this is not read a second time among other readers.
Where no one asks for trials (require_trials), as on the command line and in a notebook, nothing is tried.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, LifoQueue
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

import msgspec
import orjson

from bertviz_core import errors
from bertviz_core.sandbox.run import ChildError, ChildTimeoutError, Limits
from bertviz_core.sandbox.worker import Worker
from bertviz_core.settings import Settings
from bertviz_core.text import quoted

TASK = "bertviz_core.architecture.facts.trial.answered"
LIBRARIES_NBYTES = 1280 * 1024**2
"""Of a process's address space, what torch and transformers take."""
FILE_NBYTES = 1024**2
"""Of a file; torch tries on its import whether it can write one."""
ANSWER_NBYTES = 1024**2
KEPT = 1024
"""Verdicts that are kept: a sentence each, or what was told."""
KEPT_NBYTES = 16 * 1024**2
"""What is told of all of them together; a model of 12 layers takes 5 kB."""
LABELS = ("id2label", "label2id", "num_labels")


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


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a trial."""

    told: bytes
    """What the process told of the model that it built, packed; empty where it built none."""
    refusal: errors.BertvizError | None
    """Why it built none."""


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
        self._max_modules, self._wait_s = settings.max_modules, limits.wall_s
        # The one used last is taken first: it has its libraries in memory.
        self._workers: LifoQueue[Worker] = LifoQueue()
        self._scratch = TemporaryDirectory(prefix="inside-bert-", ignore_cleanup_errors=True)
        for number in range(settings.max_children):
            folder = Path(self._scratch.name) / str(number)
            folder.mkdir()
            self._workers.put(Worker(TASK, msgspec.msgpack.encode(Preparation(str(folder))), limits))
        self._trusted = frozenset(_digest(config) for config in trusted)
        self._verdicts: OrderedDict[tuple[str, str, str], Verdict] = OrderedDict()
        self._lock = Lock()

    def told(self, name: str, config: Mapping[str, Any], task: str) -> bytes | None:
        """What the process told of the model of a config, packed; None for one that needs no trial.

        The verdict is kept by the content of the config, and by the name that stands in its sentence. One that the
        clock alone brought about is not: the machine may have been busy with something else.

        Raises:
            CheckpointError: it takes too much, or its values do not fit together.
            UnsupportedModelError: the family has no class for the task.
            BusyError: all processes are at work on other models for longer than a trial may take.
        """
        digest = _digest(config)
        if digest in self._trusted:
            return None
        key = digest, task, name
        with self._lock:
            verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._tried(BuildRequest(name, dict(config), task, self._max_modules))
            self._keep(key, verdict)
        if verdict.refusal is not None:
            raise type(verdict.refusal)(*verdict.refusal.args)
        return verdict.told

    def warm(self) -> None:
        """Start a process and have it import its libraries, which the first trial would wait for."""
        worker = self._taken()
        try:
            worker.prepared()
        except (ChildError, errors.BertvizError):
            return  # the first trial tells its reader
        finally:
            self._workers.put(worker)

    def _keep(self, key: tuple[str, str, str], verdict: Verdict) -> None:
        with self._lock:
            self._verdicts[key] = verdict
            while len(self._verdicts) > KEPT or sum(len(each.told) for each in self._verdicts.values()) > KEPT_NBYTES:
                self._verdicts.popitem(last=False)

    def _tried(self, trial: BuildRequest) -> Verdict:
        worker = self._taken()
        try:
            return Verdict(worker.ask(msgspec.msgpack.encode(trial)), None)
        except ChildTimeoutError as error:
            raise _refused(trial, error) from error
        except ChildError as error:
            return Verdict(b"", _refused(trial, error))
        except errors.BertvizError as error:
            return Verdict(b"", error)
        finally:
            self._workers.put(worker)

    def _taken(self) -> Worker:
        try:
            return self._workers.get(timeout=self._wait_s)
        except Empty:
            raise errors.BusyError("Other models are being tried at this moment; try again in a minute.") from None


_REQUIRED: list[Trials] = []


def require_trials(settings: Settings, trusted: Iterable[Mapping[str, Any]]) -> None:
    """From now on nothing is built in this process that was not tried, where the settings ask for that."""
    _REQUIRED[:] = [Trials(settings, trusted)] if settings.isolate_models else []


def warm_trials() -> None:
    """Have a process ready for the first trial, where trials are required."""
    for trials in _REQUIRED:
        trials.warm()


def told_by_trial(name: str, config: Mapping[str, Any], task: str) -> bytes | None:
    """What the process told that built the model of a config first; None where it need not be tried.

    Raises:
        CheckpointError: it takes too much, or its values do not fit together.
        UnsupportedModelError: the family has no class for the task.
        BusyError: all processes are at work on other models for longer than a trial may take.
    """
    return _REQUIRED[0].told(name, config, task) if _REQUIRED else None


def _refused(trial: BuildRequest, error: ChildError) -> errors.CheckpointError:
    return errors.CheckpointError(f"No model can be built from the config of {quoted(trial.name)}: {error}.")


def _digest(config: Mapping[str, Any]) -> str:
    """The same for configs that build the same modules, whatever their labels are called."""
    entries = {key: value for key, value in config.items() if key not in LABELS}
    raw = orjson.dumps(entries, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return hashlib.sha256(raw).hexdigest()
