"""Ablation effects of heads, and attributions to words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bertviz_core.api.results.base import Result
from bertviz_core.attribution.results import WordAttributions
from bertviz_core.interventions.results import AblationEffects
from bertviz_core.questions.tables.interventions import effects_json, effects_lines, shares_json, shares_lines


class EffectsResult(Result[AblationEffects]):
    """Change of a scalar output when each head, feed-forward block or layer is ablated: changed minus clean."""

    figures = ("effects", "removal")

    @property
    def clean(self) -> float:
        """The output of the unchanged model, in `data.unit`."""
        return self.data.clean

    @property
    def heads(self) -> Float[np.ndarray, "layers heads"]:
        """Effect of each head, in `data.unit`; NaN if a layer has fewer heads than others."""
        return self.data.heads

    @property
    def feed_forward(self) -> Float[np.ndarray, " layers"] | None:
        """Effect of each feed-forward block; None if layers do not have exactly one."""
        return self.data.feed_forward

    @property
    def layers(self) -> Float[np.ndarray, " layers"] | None:
        """Effect of each layer; None if layers are not modules."""
        return self.data.layers

    def to_pandas(self) -> pd.DataFrame:
        """One row per head: layer, head, effect; sorted by absolute effect, descending."""
        return pd.DataFrame(self.data.ranked(), columns=["layer", "head", "effect"])

    def _json(self) -> dict[str, Any]:
        return effects_json(self.data)

    def _lines(self) -> Sequence[str]:
        return effects_lines(self.data)


class WordsResult(Result[WordAttributions]):
    """Contribution of each word of a text to a scalar output of the model."""

    figures = ("word-shares", "word-bars", "word-curves")

    @property
    def clean(self) -> float:
        """The output for the unchanged text, in `data.unit`."""
        return self.data.clean

    @property
    def words(self) -> tuple[str, ...]:
        """The words or tokens in the order of the text, without special tokens."""
        return self.data.words

    @property
    def shares(self) -> Float[np.ndarray, " words"]:
        """Contribution of each word, in `data.unit`."""
        return self.data.shares

    def to_pandas(self) -> pd.DataFrame:
        """One row per word in the order of the text: word, share, positions of its tokens."""
        positions = list(self.data.positions)
        return pd.DataFrame({"word": self.data.words, "share": self.data.shares, "positions": positions})

    def _json(self) -> dict[str, Any]:
        return shares_json(self.data)

    def _lines(self) -> Sequence[str]:
        return shares_lines(self.data)
