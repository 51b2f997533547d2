"""The result of two models' predictions for one text; arrays are read-only float32."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

ComparedKind = Literal["classes", "tags", "entities", "answers", "words", "surprise", "lens"]
"""What the rows are: classes, words with their tags, entities, spans, words at a mask, parts of the text, states."""


@dataclass(frozen=True, slots=True, eq=False)
class PredictionComparison:
    """Predictions of two models for one text, row by row."""

    first: str
    """Name of the first model."""
    second: str
    """Name of the second model."""
    kind: ComparedKind
    """What the rows are."""
    unit: str
    """Unit of the numbers: "probability", "value" (a regression), "score" or "nats"."""
    where: str
    """The place in the text that all rows are about, such as "python"; "" for the whole text."""
    names: tuple[str, ...]
    """Name of each row: a class, a word, an answer, a part of the text, or a hidden state."""
    first_answers: tuple[str, ...]
    """Answer of the first model in each row: a tag or the best word; "" where the row's name is the answer."""
    second_answers: tuple[str, ...]
    """Answer of the second model."""
    first_numbers: Float[np.ndarray, " rows"]
    """Number of the first model in each row; NaN where it has none."""
    second_numbers: Float[np.ndarray, " rows"]
    """Number of the second model."""
    answers: tuple[str, str]
    """Answer of each model to the whole text: its likeliest class, span or word, or a sum in words."""
    notices: tuple[str, ...]
    """Notices, one sentence each."""

    @property
    def difference(self) -> Float[np.ndarray, " rows"]:
        """Second minus first; NaN where a model has no number, or where the two numbers are of different answers."""
        different = np.array([one != other for one, other in zip(self.first_answers, self.second_answers, strict=True)])
        values: np.ndarray = np.where(different, np.nan, self.second_numbers - self.first_numbers).astype(np.float32)
        return values

    @property
    def changed(self) -> Bool[np.ndarray, " rows"]:
        """Whether the models answer differently in a row, or only one of them has a number."""
        different = [one != other for one, other in zip(self.first_answers, self.second_answers, strict=True)]
        values: np.ndarray = np.array(different, dtype=bool) | (
            np.isnan(self.first_numbers) != np.isnan(self.second_numbers)
        )
        return values

    @property
    def same_model(self) -> bool:
        """Whether both models have one name."""
        return self.first == self.second
