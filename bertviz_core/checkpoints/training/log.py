"""Read what a trainer logged: the numbers in trainer_state.json, which transformers.Trainer saves in each checkpoint.

The file is a stranger's: its size and number of values are limited, and only numbers are taken from it.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bertviz_core.checkpoints.training.results import LogEntry, TrainingLog
from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import parsed_json, present, read_file
from bertviz_core.text import quoted

STATE_FILE = "trainer_state.json"
STATE_NBYTES = 64 * 1024**2
"""Maximum size of a trainer_state.json."""
STATE_VALUES = 5_000_000
"""Maximum number of values in it; sufficient for half a million entries of the log."""
MOST_REFUSED = 5
"""Number of states that cannot be read after which no older one is tried."""
MAX_STEP = 10**15
MAX_METRICS, MAX_METRIC_CHARACTERS = 200, 100
NOT_METRICS = ("step", "epoch")


class TrainerState(NamedTuple):
    """What is read from one trainer_state.json."""

    step: int | None
    """global_step; None if there is none."""
    save_steps: int | None
    """Steps between two checkpoints, if they are saved by steps; None if unknown."""
    history: tuple[object, ...]
    """log_history, unchecked."""


def read_state(folder: Path) -> TrainerState:
    """Read the state that a trainer saved in a folder; NaN and infinity are permitted, as Python writes them."""
    state = parsed_json(STATE_FILE, read_file(folder, STATE_FILE, STATE_NBYTES), STATE_VALUES)
    history = state.get("log_history", []) if isinstance(state, dict) else None
    if not isinstance(history, list):
        raise CheckpointError(f"{STATE_FILE} is in another format: expected an object with a list log_history.")
    return TrainerState(_step(state.get("global_step")), _step(state.get("save_steps")), tuple(history))


def saved_step(folder: Path) -> int | None:
    """The global_step that a trainer saved in a folder; None if there is no such file, or none in it."""
    return read_state(folder).step if present(folder, STATE_FILE) else None


def newest_state(places: Sequence[tuple[str, Path]]) -> tuple[str, TrainerState | None, tuple[str, ...]]:
    """Find the state with the largest global_step.

    Args:
        places: names and folders of the checkpoints, the newest first; a folder with "" is the run's own.

    Returns:
        The name of its place, the state (None if none can be read), and a sentence for each file that is left out.
    """
    latest: tuple[str, TrainerState] | None = None
    left_out: list[str] = []
    for name, folder in places:
        if name and (latest is not None or len(left_out) >= MOST_REFUSED):
            continue
        if not present(folder, STATE_FILE):
            continue
        try:
            state = read_state(folder)
        except CheckpointError as error:
            left_out.append(f"The log in {quoted(name or 'the folder')} is left out: {error}")
            continue
        if latest is None or (state.step or 0) >= (latest[1].step or 0):
            latest = name, state
    name, newest = latest or ("", None)
    return name, newest, tuple(left_out)


def log_of(
    run: str, checkpoints: Sequence[str], steps: Sequence[int], places: Sequence[tuple[str, Path]]
) -> TrainingLog:
    """Read the log of a run from its newest trainer_state.json; empty with a notice if none can be read."""
    name, state, left_out = newest_state(places)
    at = np.array(steps, dtype=np.int64)
    if state is None:
        none = f"No {STATE_FILE} is in the folder, so there is no log; transformers.Trainer writes it."
        nothing = f"No {STATE_FILE} could be read, so the log is empty." if left_out else none
        return TrainingLog(run, tuple(checkpoints), at, "", (), (), notices=(*left_out, nothing))
    entries = sorted((entry for each in state.history if (entry := _entry(each))), key=lambda entry: entry.step)
    notices = [*left_out]
    if len(entries) < len(state.history):
        notices.append(f"Log entries without a step or a number are left out: {len(state.history) - len(entries):,}.")
    metrics = tuple(dict.fromkeys(metric for entry in entries for metric in entry.values))
    if len(metrics) > MAX_METRICS:
        notices.append(f"Of {len(metrics):,} names in the log the first {MAX_METRICS} are read.")
        metrics = metrics[:MAX_METRICS]
        entries = [_only(entry, frozenset(metrics)) for entry in entries]
    notices += _first_not_finite(entries)
    source = f"{name}/{STATE_FILE}" if name else STATE_FILE
    return TrainingLog(run, tuple(checkpoints), at, source, tuple(entries), metrics, notices=tuple(notices))


def _entry(row: object) -> LogEntry | None:
    """The numbers of an entry; None if it has no step or no number."""
    if not isinstance(row, Mapping):
        return None
    step, epoch = _step(row.get("step")), _number(row.get("epoch"))
    values = {name: value for name, each in row.items() if _is_metric(name) and (value := _number(each)) is not None}
    return None if step is None or not values else LogEntry(step, epoch, values)


def _only(entry: LogEntry, metrics: Collection[str]) -> LogEntry:
    values = {name: value for name, value in entry.values.items() if name in metrics}
    return LogEntry(entry.step, entry.epoch, values)


def _is_metric(name: object) -> bool:
    if not isinstance(name, str) or name in NOT_METRICS:
        return False
    return 0 < len(name) <= MAX_METRIC_CHARACTERS and name.isprintable()


def _number(value: Any) -> float | None:
    """A number as float; None for anything else, and for integers beyond the range of float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _step(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < MAX_STEP and value == int(value) else None


def _first_not_finite(entries: Sequence[LogEntry]) -> list[str]:
    """A sentence for the loss and each other metric that is NaN or infinite, with its first step."""
    first: dict[str, int] = {}
    for entry in entries:
        for name, value in entry.values.items():
            if not math.isfinite(value):
                first.setdefault(name, entry.step)
    words = "{name} is not a finite number at step {step:,} for the first time."
    return [words.format(name=quoted(name), step=step) for name, step in first.items()]
