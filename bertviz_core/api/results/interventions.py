"""Which heads and which words one number of a model depends on."""

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
    """How much one number of a model changes with each head, feed-forward block and layer: changed minus clean."""

    figures = ("effects", "removal")

    @property
    def clean(self) -> float:
        """The number of the unchanged model, in `data.unit`."""
        return self.data.clean

    @property
    def heads(self) -> Float[np.ndarray, "layers heads"]:
        """Effect of each head, in `data.unit`; NaN where a layer has fewer heads than others."""
        return self.data.heads

    @property
    def feed_forward(self) -> Float[np.ndarray, " layers"] | None:
        """Effect of each feed-forward block; None where a family has no one such block in a layer."""
        return self.data.feed_forward

    @property
    def layers(self) -> Float[np.ndarray, " layers"] | None:
        """Effect of each whole layer; None where a family has no module of one."""
        return self.data.layers

    def to_pandas(self) -> pd.DataFrame:
        """A row for each head: layer, head, effect; the largest change first, whichever its sign."""
        return pd.DataFrame(self.data.ranked(), columns=["layer", "head", "effect"])

    def _json(self) -> dict[str, Any]:
        return effects_json(self.data)

    def _lines(self) -> Sequence[str]:
        return effects_lines(self.data)


class WordsResult(Result[WordAttributions]):
    """What each word of a text adds to one number of a model; what lowers it is negative."""

    figures = ("word-shares", "word-bars", "word-curves")

    @property
    def clean(self) -> float:
        """The number of the text as it is, in `data.unit`."""
        return self.data.clean

    @property
    def words(self) -> tuple[str, ...]:
        """The words or tokens in the order of the text, special ones left out."""
        return self.data.words

    @property
    def shares(self) -> Float[np.ndarray, " words"]:
        """What each of them adds, in `data.unit`."""
        return self.data.shares

    def to_pandas(self) -> pd.DataFrame:
        """A row for each word in the order of the text: word, share, positions of its tokens."""
        positions = list(self.data.positions)
        return pd.DataFrame({"word": self.data.words, "share": self.data.shares, "positions": positions})

    def _json(self) -> dict[str, Any]:
        return shares_json(self.data)

    def _lines(self) -> Sequence[str]:
        return shares_lines(self.data)
