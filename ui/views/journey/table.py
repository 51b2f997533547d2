"""The numbers of one token on its way through the layers, as a table."""

import numpy as np
import pandas as pd

from bertviz_core.figures.journey.payload import MEASURES, DrawnChange
from bertviz_core.journey.results import Journey
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.journey import strongest_keys

HEAD, KEY = "strongest head", "strongest key"


def numbers_table(
    opened: Opened, changed: Opened, journey: Journey, token: int, change: DrawnChange | None
) -> pd.DataFrame:
    """One token's numbers, a row per layer; under a change before and after it.

    Args:
        opened: the model.
        changed: the model as it runs with the change.
        journey: the journey that is drawn.
        token: position of the token.
        change: the change of the run.
    """
    both = None if change is None else change.both
    table = pd.DataFrame({"layer": np.arange(journey.layers)})
    for name in MEASURES:
        values, after = getattr(journey, name), None if both is None else getattr(both.after, name)
        if values is None:
            continue
        table[name] = values[:, token]
        if after is not None:
            table[f"{name} after"] = after[:, token]
            table[f"{name} difference"] = after[:, token] - values[:, token]
    if not journey.heads:
        return table
    if change is None or both is None:
        return _with_strongest(table, opened, journey, token, "")
    if both.origin is None:  # of an edited text, the text that is drawn is that after the edit
        table = _with_strongest(table, opened, journey, token, " before")
    table = _with_strongest(table, changed, journey, token, " after")
    kind, _, layer = change.name.partition("-")
    if kind == "layer":  # what its attention gives is not used
        table.loc[int(layer), [f"{HEAD} after", f"{KEY} after"]] = [pd.NA, None]
    return table


def _with_strongest(table: pd.DataFrame, opened: Opened, journey: Journey, token: int, when: str) -> pd.DataFrame:
    """Add the head and the key of the token's largest weight in each layer, in columns whose names end so."""
    if journey.tokens is None:
        return table
    options = Options((journey.tokens.text,), journey.tokens.pair, values={"query": str(token)})
    heads, keys = strongest_keys(opened, options).result
    labels = [f"{key} {journey.labels[key]}" for key in keys.tolist()]
    return table.assign(**{f"{HEAD}{when}": pd.Series(heads, dtype="Int64"), f"{KEY}{when}": pd.Series(labels)})
