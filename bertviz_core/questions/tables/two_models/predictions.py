"""How the predictions of two models for one text are shown."""

from typing import Any

import numpy as np

from bertviz_core.figures.predictions.classes import comparison_frame, signed_difference
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.results import PredictionComparison
from bertviz_core.predictions.two_models import number_of_entities
from bertviz_core.questions.tables.lines import Faces, fields, printable_token
from bertviz_core.text import counted, decimals, escape_controls, shortened

MAX_ROWS = 40
"""Most rows in a terminal; the changed ones first where there are more."""
QUOTED = 80
FIELDS = "name", "first_answer", "second_answer", "first", "second", "difference", "changed"


def _json_rows(compared: PredictionComparison) -> list[dict[str, Any]]:
    names = "names first_answers second_answers first_numbers second_numbers difference changed"
    every = zip(*fields(compared, names).values(), strict=True)
    return [dict(zip(FIELDS, row, strict=True)) for row in every]


def _rows(compared: PredictionComparison) -> "pd.DataFrame":
    """The rows, and if they are too many those that changed most first, in their order."""
    frame = comparison_frame(compared)
    if len(frame) <= MAX_ROWS:
        return frame
    change = np.where(np.isnan(compared.difference), np.inf, np.abs(compared.difference))
    order = np.argsort(-change, kind="stable")
    return frame.iloc[[*np.sort(order[:MAX_ROWS]), *order[MAX_ROWS:]]]


def _columns(compared: PredictionComparison) -> dict[str, Any]:
    frame = comparison_frame(compared)
    return {
        **{str(name): name for name in frame if frame[name].dtype.kind != "f"},
        f"first, {compared.unit}": "first",
        "second": "second",
        "difference": ("difference", lambda value: f"{'+' if value > 0 else ''}{_cell(value)}"),
    }


def what_changed(compared: PredictionComparison) -> str:
    """What both models answer, and what changed from the first to the second, in one or two sentences."""
    names, (one, other) = (compared.first, compared.second), compared.answers
    if compared.kind == "tags":
        changed = int(compared.changed.sum())
        differ = "No word has" if not changed else f"{changed:,} of {counted(len(compared.names), 'word')} have"
        return f"{differ} another tag. {names[0]}: {one}; {names[1]}: {other}."
    if compared.kind == "entities":
        return _entities_found(compared)
    if compared.kind == "surprise":
        return f"Surprise of the characters that both models read: {one} in {names[0]}, {other} in {names[1]}."
    if compared.kind == "lens":
        same, count = int((~compared.changed).sum()), len(compared.names)
        return f"At “{compared.where}” both models have the same best word in {same} of {counted(count, 'state')}."
    where = f"At “{compared.where}” " if compared.where else ""
    if compared.unit == "value":
        return f"{names[0]} returns {_number(compared, 0, one)}, {names[1]} {_number(compared, 1, other)}."
    verb = "expect" if where else "answer"
    if one == other:
        change = signed_difference(_at(compared.difference, compared, one))
        numbers = f"{_number(compared, 0, one)} and {_number(compared, 1, one)} (difference {change})"
        start = f"{where}both models {verb}" if where else f"Both models {verb}"
        return f"{start} “{shortened(one, QUOTED)}”: {compared.unit} {numbers}."
    sides = [
        f"{name} {verb}s “{shortened(answer, QUOTED)}” ({_number(compared, side, answer)})"
        for side, (name, answer) in enumerate(zip(names, compared.answers, strict=True))
    ]
    return f"{where}{sides[0]}, {sides[1]}."


def _entities_found(compared: PredictionComparison) -> str:
    known = [~np.isnan(each) for each in (compared.first_numbers, compared.second_numbers)]
    both, first, second = (
        int(each.sum()) for each in (known[0] & known[1], known[0] & ~known[1], ~known[0] & known[1])
    )
    if not both + first + second:
        return "Neither model finds an entity."
    if not first + second:
        return f"Both models find the same {number_of_entities(both)}."
    shared = f"Both models find {number_of_entities(both)}" if both else "No entity is found by both models"
    return f"{shared}; only {compared.first} finds {first}, only {compared.second} {second}."


def _at(values: np.ndarray, compared: PredictionComparison, answer: str) -> float:
    place = next((at for at, name in enumerate(compared.names) if name == answer), None)
    return float("nan") if place is None else float(values[place])


def _number(compared: PredictionComparison, side: int, answer: str) -> str:
    value = _at((compared.first_numbers, compared.second_numbers)[side], compared, answer)
    return "–" if np.isnan(value) else decimals(value, 4 if compared.unit == "value" else 3)


def _cell(value: Any) -> str:
    return printable_token(value) if isinstance(value, str) else "–" if np.isnan(value) else decimals(value)


COMPARED_PREDICTIONS: Faces[PredictionComparison] = Faces(
    keys="first second kind unit where answers rows notices",
    made={
        "answers": lambda compared: dict(zip(("first", "second"), compared.answers, strict=True)),
        "rows": _json_rows,
    },
    frame=comparison_frame,
    above=lambda compared: [escape_controls(what_changed(compared))],
    rows=_rows,
    columns=_columns,
    cell=_cell,
    most=MAX_ROWS,
    rest="rows with smaller changes; --json prints all",
)
