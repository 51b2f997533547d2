"""Format the log of a training run and the movement of its weights as tables, JSON and text."""

from typing import Any

from bertviz_core.checkpoints.tables import first_column
from bertviz_core.checkpoints.training.results import TrainingLog, TrainingMovement
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import aligned, fields
from bertviz_core.text import counted, digits, escape_controls, shortened

MAX_ROWS, MAX_NAME_CHARACTERS = 30, 90
BROKEN_COLUMNS = {"tensor": str, "place": str, "what": str, "step": int, "checkpoint": str, "values": int}
"""Columns of the table of broken tensors."""


def tensors_frame(movement: TrainingMovement) -> "pd.DataFrame":
    """One row per tensor: name, place, shape, whether it is frozen, and its movement at the last checkpoint."""
    frozen = frozenset(movement.frozen)
    names = [each.name for each in movement.tensors]
    columns = {
        "tensor": names,
        "place": movement.tensor_places,
        "shape": [str(shape) for shape in movement.shapes],
        "frozen": [name in frozen for name in names],
        first_column(movement): movement.tensor_from_first[-1],
        "from the previous checkpoint": movement.tensor_from_previous[-1],
    }
    return pd.DataFrame(columns)


def frozen_frame(movement: TrainingMovement) -> "pd.DataFrame":
    """One row per tensor that never moved: name, place, shape."""
    whole = tensors_frame(movement)
    return whole[whole["frozen"]][["tensor", "place", "shape"]].reset_index(drop=True)


def broken_frame(movement: TrainingMovement) -> "pd.DataFrame":
    """One row per broken tensor and what is wrong (NaN, infinity, blew up), with the first such checkpoint."""
    rows = [(each.name, each.place, each.what, each.step, each.checkpoint, each.numel) for each in movement.broken]
    return pd.DataFrame(rows, columns=list(BROKEN_COLUMNS)).astype(BROKEN_COLUMNS)


def log_json(log: TrainingLog) -> dict[str, Any]:
    """The part of the JSON object of the `training` command about the log; null where not finite."""
    return {
        "source": log.source,
        "log": [{"step": entry.step, "epoch": entry.epoch, **entry.values} for entry in log.entries],
    }


def movement_json(movement: TrainingMovement) -> dict[str, Any]:
    """The part of the JSON object of the `training` command about the weights; null where not finite."""
    return {
        **({"base": movement.base} if movement.base else {}),
        **fields(movement, "places", "parts"),
        "movement": fields(movement, "from_first", "from_previous", "whole_from_first", "whole_from_previous"),
        "tensors": [
            {
                "name": each.name,
                "place": place,
                "shape": shape,
                "from_first": movement.tensor_from_first[:, at],
                "from_previous": movement.tensor_from_previous[:, at],
            }
            for at, (each, place, shape) in enumerate(
                zip(movement.tensors, movement.tensor_places, movement.shapes, strict=True)
            )
        ],
        "frozen": movement.frozen,
        "broken": broken_frame(movement).to_dict("records"),
        "unread": movement.unread,
    }


def training_json(log: TrainingLog, movement: TrainingMovement | None) -> dict[str, Any]:
    """The JSON object of the `training` command; without movement where there is a single checkpoint."""
    about = {"run": log.run, "checkpoints": log.checkpoints, "steps": log.steps, **log_json(log)}
    return about if movement is None else {**about, **movement_json(movement)}


def log_lines(log: TrainingLog) -> list[str]:
    """The checkpoints, and the last number of each kind that was logged."""
    last = {name: (entry.step, value) for entry in log.entries for name, value in entry.values.items()}
    rows = [(_name(name), f"{step:,}", digits(value, 5)) for name, (step, value) in last.items()]
    first = f"{_name(log.run)}: {counted(len(log.checkpoints), 'checkpoint')}"
    steps = ", ".join(f"{step:,}" for step in log.steps[:MAX_ROWS].tolist())
    table = ["", *aligned([("logged", "last step", "value"), *rows], "lrr")] if rows else []
    return [f"{first}, of the steps {steps}{', ...' if len(log.steps) > MAX_ROWS else ''}", *table]


def movement_lines(movement: TrainingMovement) -> list[str]:
    """The movement of layers and components by checkpoint, and the tensors that never moved or broke."""
    header = ("checkpoint", "step", "all", *movement.places)
    lines = [f"{_name(movement.run)}: relative change of all parameters and of each layer and component"]
    for title, whole, values in (
        (first_column(movement), movement.whole_from_first, movement.from_first),
        ("from the previous checkpoint", movement.whole_from_previous, movement.from_previous),
    ):
        rows = [
            (_name(name), f"{step:,}", *(f"{value:.2e}" for value in (whole[at], *values[at, :, 0])))
            for at, (name, step) in enumerate(zip(movement.checkpoints, movement.steps.tolist(), strict=True))
        ]
        lines += ["", title, *aligned([header, *rows], "l" + "r" * (len(header) - 1))]
    lines += ["", f"never moved: {counted(len(movement.frozen), 'tensor')}"]
    lines += [f"  {_name(name)}" for name in movement.frozen[:MAX_ROWS]]
    lines += [f"  ... and {len(movement.frozen) - MAX_ROWS:,} more"] if len(movement.frozen) > MAX_ROWS else []
    return [*lines, *_broken_lines(movement)]


def _broken_lines(movement: TrainingMovement) -> list[str]:
    """One line per broken tensor, with the first step at which each was so."""
    broken: dict[str, list[str]] = {}
    for each in movement.broken:
        broken.setdefault(each.name, []).append(f"{each.what} first at step {each.step:,}")
    lines = ["", f"broken: {counted(len(broken), 'tensor')}"]
    lines += [f"  {_name(name)}: {', '.join(found)}" for name, found in list(broken.items())[:MAX_ROWS]]
    return [*lines, f"  ... and {len(broken) - MAX_ROWS:,} more"] if len(broken) > MAX_ROWS else lines


def _name(name: str) -> str:
    """An untrusted name, escaped for a terminal."""
    return shortened(escape_controls(name), MAX_NAME_CHARACTERS)
