"""Results about what the checkpoints of a training run compute: for a text, for labelled texts, for a list of texts."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bertviz_core.api.results.base import Result
from bertviz_core.checkpoints.tables import cka_frame, entropy_frame, labels_frame, text_frame
from bertviz_core.checkpoints.training.results import FollowedLabels, FollowedStates, FollowedText
from bertviz_core.questions.tables.training.followed import (
    answers_frame,
    labels_json,
    labels_lines,
    states_json,
    states_lines,
    text_json,
    text_lines,
    text_sentences,
)


class FollowedTextResult(Result[FollowedText]):
    """What every checkpoint computes for a text or a pair."""

    figures = ("training-text",)

    @property
    def sentences(self) -> tuple[str, ...]:
        """When the answer changes, and from what to what the surprise and the cosine go."""
        return tuple(text_sentences(self.data))

    def to_pandas(self) -> pd.DataFrame:
        """One row per checkpoint: name, step, answer, its probability, those of all classes, surprise, cosine."""
        return text_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return text_json(self.data)

    def _lines(self) -> Sequence[str]:
        return text_lines(self.data)


class FollowedLabelsResult(Result[FollowedLabels]):
    """Accuracy and macro-F1 of every checkpoint on texts with gold labels."""

    figures = ("training-scores",)

    def to_pandas(self) -> pd.DataFrame:
        """One row per checkpoint: name, step, accuracy, macro-F1, and the number of texts whose answer changed."""
        return labels_frame(self.data)

    def answers(self) -> pd.DataFrame:
        """One row per text: text, second text, gold label, and the answer of each checkpoint."""
        return answers_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return labels_json(self.data)

    def _lines(self) -> Sequence[str]:
        return labels_lines(self.data)


class FollowedStatesResult(Result[FollowedStates]):
    """CKA of every layer of every checkpoint with the first one, and the attention entropy of every head."""

    figures = ("training-cka", "training-entropy")

    def to_pandas(self) -> pd.DataFrame:
        """One row per checkpoint: name, step, and the CKA of every hidden state with that of the first checkpoint."""
        return cka_frame(self.data)

    def entropy(self) -> pd.DataFrame:
        """One row per checkpoint, layer and head: name, step, layer, head and mean attention entropy in nats."""
        return entropy_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return states_json(self.data)

    def _lines(self) -> Sequence[str]:
        return states_lines(self.data)
