"""Format the runs of two models on one text as JSON, text tables, data frames and sentences about what changed."""

from typing import Any

import numpy as np

from bertviz_core.attention.results import AttentionComparison, AttentionMap
from bertviz_core.checkpoints.results import Behaviour
from bertviz_core.figures.checkpoints.comparison import state_names
from bertviz_core.figures.predictions.classes import signed_difference
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import aligned, number_cell, printable_token
from bertviz_core.text import counted, decimals, digits, escape_controls, quoted

MAX_ROWS = 40
"""Most rows in a terminal; those with the largest numbers."""
QUOTED = 30
"""Most characters of a token in a sentence."""


def attention_comparison_json(compared: AttentionComparison) -> dict[str, Any]:
    """The JSON object: both maps with their layers, heads, rows and columns, and the difference or null."""
    sides = zip(("first", "second"), compared.models, (compared.first, compared.second), strict=True)
    maps = {
        side: {
            "model": model,
            "layer": each.layer,
            "head": each.head,
            "queries": each.queries.labels,
            "keys": each.keys.labels,
            "weights": each.weights,
            "hidden_share": each.hidden_share,
        }
        for side, model, each in sides
    }
    return {
        **maps,
        "weights": compared.first.options.weights,
        "difference": compared.difference,
        "notices": compared.notices,
    }


def attention_comparison_frame(compared: AttentionComparison) -> "pd.DataFrame":
    """One row per query and key: its weight in both models and the difference.

    Where rows or columns are not the same, the rows of the first model come first, and the other's weight is empty.
    """
    change = compared.difference
    if change is not None:
        frame = _cells(compared.first).rename(columns={"weight": "first"})
        return frame.assign(second=compared.second.weights.ravel().astype(float), difference=change.ravel())
    sides = (("first", compared.first), ("second", compared.second))
    return pd.concat(
        [_cells(each).rename(columns={"weight": side}) for side, each in sides], ignore_index=True
    )  # fmt: skip


def _cells(attention_map: AttentionMap) -> "pd.DataFrame":
    queries, keys = (
        [f"{place} {label}" for place, label in enumerate(axis.labels)]
        for axis in (attention_map.queries, attention_map.keys)
    )
    columns = {"query": np.repeat(queries, len(keys)), "key": np.tile(keys, len(queries))}
    return pd.DataFrame({**columns, "weight": attention_map.weights.ravel().astype(float)})


def attention_comparison_lines(compared: AttentionComparison) -> list[str]:
    """What changed in a sentence, and the cells with the largest differences or weights."""
    frame = attention_comparison_frame(compared)
    size = frame["difference"].abs() if "difference" in frame else frame[["first", "second"]].max(axis=1)
    names = [name for name in ("first", "second", "difference") if name in frame]
    best = frame.loc[size.sort_values(ascending=False, kind="stable").index[:MAX_ROWS]]
    rows = [
        (printable_token(row["query"]), printable_token(row["key"]), *(_number(row[name]) for name in names))
        for row in best.to_dict("records")
    ]
    lines = [escape_controls(attention_that_changed(compared)), ""]
    lines += aligned([("query", "key", *names), *rows], "ll" + "r" * len(names))
    left = len(frame) - len(best)
    return [*lines, *([f"... and {left:,} smaller ones; --json prints all"] if left else [])]


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


def changed_heads_frame(compared: Behaviour) -> "pd.DataFrame":
    """One row per head with the divergence of its attention in nats, the largest first."""
    values = _divergences(compared)
    layers, heads = np.indices(values.shape)
    frame = pd.DataFrame({"layer": layers.ravel(), "head": heads.ravel(), "divergence": values.ravel().astype(float)})
    return frame.sort_values("divergence", ascending=False, kind="stable").reset_index(drop=True)


def changed_heads_json(compared: Behaviour) -> dict[str, Any]:
    """The JSON object: the divergence of every head, and the heads sorted by it."""
    return {
        "first": compared.first,
        "second": compared.second,
        "tokens": compared.tokens.tokens,
        "divergences": _divergences(compared),
        "sorted": changed_heads_frame(compared).to_dict("records"),
        "notices": compared.notices,
    }


def changed_heads_lines(compared: Behaviour) -> list[str]:
    """Which head changed most in a sentence, and the heads sorted by their divergence."""
    frame = changed_heads_frame(compared)
    rows = [
        (str(row["layer"]), str(row["head"]), f"{row['divergence']:.6f}")
        for row in frame.iloc[:MAX_ROWS].to_dict("records")
    ]
    lines = [heads_that_changed(compared), "", *aligned([("layer", "head", "nats"), *rows], "rrr")]
    left = len(frame) - len(rows)
    return [*lines, *([f"... and {left:,} heads that changed less; --json prints all"] if left else [])]


def heads_that_changed(compared: Behaviour) -> str:
    """The head whose attention is farthest apart, and the median of all heads, in one sentence."""
    values = _divergences(compared)
    if not values.any():
        return f"The attention of all {counted(values.size, 'head')} is the same."
    layer, head = np.unravel_index(int(values.argmax()), values.shape)
    return (
        f"Of all {counted(values.size, 'head')}, layer {layer}, head {head} changed most: "
        f"{digits(float(values[layer, head]), 3)} nats; their median is {digits(float(np.median(values)), 3)}, and the "
        "most possible is 0.693."
    )


def compared_states_json(compared: Behaviour) -> dict[str, Any]:
    """The JSON object: the cosine of every token at every hidden state."""
    return {
        "first": compared.first,
        "second": compared.second,
        "tokens": compared.tokens.tokens,
        "cosines": _cosines(compared),
        "notices": compared.notices,
    }


def compared_states_lines(compared: Behaviour) -> list[str]:
    """The last state in a sentence, and mean and smallest cosine of every state."""
    cosines = _cosines(compared)
    rows = [
        (name, number_cell(row.mean()), number_cell(row.min()))
        for name, row in zip(state_names(len(cosines)), cosines, strict=True)
    ]
    sentence = escape_controls(states_that_changed(compared))
    return [sentence, "", *aligned([("hidden state", "mean", "least"), *rows], "lrr")]


def states_that_changed(compared: Behaviour) -> str:
    """Mean and smallest cosine of the last state that both models have, in one sentence."""
    last, name = _cosines(compared)[-1], state_names(len(_cosines(compared)))[-1]
    place = int(last.argmin())
    token = quoted(escape_controls(compared.tokens.tokens[place]), QUOTED)
    return (
        f"{name[0].upper()}{name[1:]} the mean cosine of a token's two vectors is {decimals(float(last.mean()))}, the "
        f"smallest {decimals(float(last[place]))}, of {token} (token {place})."
    )


def _divergences(compared: Behaviour) -> np.ndarray:
    if compared.divergences is None:
        raise ValueError("no divergences")
    return compared.divergences


def _cosines(compared: Behaviour) -> np.ndarray:
    if compared.cosines is None:
        raise ValueError("no cosines")
    return compared.cosines


def _number(value: float) -> str:
    return "–" if np.isnan(value) else decimals(value)
