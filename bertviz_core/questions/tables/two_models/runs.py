"""How the runs of two models on one text are shown."""

from typing import Any

import numpy as np

from bertviz_core.attention.results import AttentionComparison
from bertviz_core.checkpoints.results import Behaviour
from bertviz_core.figures.attention.two_models import attention_comparison_frame, changed_heads_frame, divergences_of
from bertviz_core.figures.checkpoints.comparison import state_names
from bertviz_core.figures.hidden_states.lines import compared_states_frame
from bertviz_core.figures.predictions.classes import signed_difference
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import Faces, fields, printable_token, records
from bertviz_core.text import all_of, decimals, digits, escape_controls, quoted

MAX_ROWS = 40
"""Most rows in a terminal; those with the largest numbers."""
QUOTED = 30


def _map(compared: AttentionComparison, side: int) -> dict[str, Any]:
    names = "layer head queries=queries.labels keys=keys.labels weights hidden_share"
    return {"model": compared.models[side], **fields((compared.first, compared.second)[side], names)}


def _attention_rows(compared: AttentionComparison) -> "pd.DataFrame":
    """The cells with the largest differences or weights first."""
    frame = attention_comparison_frame(compared)
    size = frame["difference"].abs() if "difference" in frame else frame[["first", "second"]].max(axis=1)
    return frame.loc[size.sort_values(ascending=False, kind="stable").index]


def attention_that_changed(compared: AttentionComparison) -> str:
    """The cell with the largest difference, or what each query looks at most in both models, in one sentence."""
    maps, change = (compared.first, compared.second), compared.difference
    if change is None or not change.size:
        places = [f"layer {each.layer}" + ("" if each.head is None else f", head {each.head}") for each in maps]
        sides = [f"{name}: {place}" for name, place in zip(compared.models, places, strict=True)]
        return f"{'; '.join(sides)}."
    if not np.nan_to_num(change).any():
        return "No weight differs."
    query, key = (int(each) for each in np.unravel_index(int(np.nanargmax(np.abs(change))), change.shape))
    labels = maps[0].queries.labels[query], maps[0].keys.labels[key]
    one, other = (quoted(escape_controls(each), QUOTED) for each in labels)
    values = " and ".join(decimals(float(each.weights[query, key]), 3) for each in maps)
    largest = signed_difference(float(change[query, key]))
    return (
        f"Of all weights drawn, that from {one} (query {query}) to {other} (key {key}) differs most: {values} "
        f"(difference {largest})."
    )


COMPARED_ATTENTION: Faces[AttentionComparison] = Faces(
    keys="first second weights=first.options.weights difference notices",
    made={"first": lambda compared: _map(compared, 0), "second": lambda compared: _map(compared, 1)},
    frame=attention_comparison_frame,
    above=lambda compared: [escape_controls(attention_that_changed(compared))],
    rows=_attention_rows,
    cell=lambda value: (
        printable_token(value) if isinstance(value, str) else "–" if np.isnan(value) else decimals(value)
    ),
    most=MAX_ROWS,
    rest="smaller ones; --json prints all",
)


def heads_that_changed(compared: Behaviour) -> str:
    """The head whose attention is farthest apart, and the median of all heads, in one sentence."""
    values = divergences_of(compared)
    if not values.any():
        return f"The attention of {all_of(values.size, 'head')} is the same."
    layer, head = np.unravel_index(int(values.argmax()), values.shape)
    largest, most = digits(float(values[layer, head]), 3), "the most possible is 0.693."
    if values.size == 1:
        return f"The attention of the only head changed by {largest} nats; {most}"
    return (
        f"Of {all_of(values.size, 'head')}, layer {layer}, head {head} changed most: {largest} nats; their median is "
        f"{digits(float(np.median(values)), 3)}, and {most}"
    )


CHANGED_HEADS: Faces[Behaviour] = Faces(
    keys="first second tokens=tokens.tokens divergences sorted notices",
    made={"sorted": lambda compared: records(changed_heads_frame(compared))},
    frame=changed_heads_frame,
    above=lambda compared: [heads_that_changed(compared)],
    columns={"layer": ("layer", str), "head": ("head", str), "nats": ("divergence", ".6f")},
    align="rrr",
    most=MAX_ROWS,
    rest="heads that changed less; --json prints all",
)


def states_that_changed(compared: Behaviour) -> str:
    """Mean and smallest cosine of the last state that both models have, in one sentence."""
    last, name = _cosines(compared)[-1], state_names(len(_cosines(compared)))[-1]
    place = int(last.argmin())
    token = quoted(escape_controls(compared.tokens.tokens[place]), QUOTED)
    return (
        f"{name[0].upper()}{name[1:]} the mean cosine of a token's two vectors is {decimals(float(last.mean()))}, the "
        f"smallest {decimals(float(last[place]))}, of {token} (token {place})."
    )


def _state_rows(compared: Behaviour) -> list[tuple[Any, ...]]:
    cosines = _cosines(compared)
    names = state_names(len(cosines))
    return [(name, row.mean(), row.min()) for name, row in zip(names, cosines, strict=True)]


COMPARED_STATES: Faces[Behaviour] = Faces(
    keys="first second tokens=tokens.tokens cosines notices",
    frame=compared_states_frame,
    above=lambda compared: [escape_controls(states_that_changed(compared))],
    rows=_state_rows,
    columns=("hidden state", "mean", "least"),
)


def _cosines(compared: Behaviour) -> np.ndarray:
    if compared.cosines is None:
        raise ValueError("no cosines")
    return compared.cosines
