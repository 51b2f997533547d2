"""Results of two models, of the checkpoints of a run, and of interventions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bertviz_core.api.results.base import Result
from bertviz_core.attention.results import AttentionComparison
from bertviz_core.attribution.results import WordAttributions
from bertviz_core.checkpoints.results import Behaviour, NumberFormats
from bertviz_core.checkpoints.tables import (
    cka_frame,
    entropy_frame,
    formats_frame,
    labels_frame,
    parts_frame,
    text_frame,
)
from bertviz_core.checkpoints.training.results import FollowedLabels, FollowedStates, FollowedText
from bertviz_core.figures.hidden_states.lines import compared_states_frame
from bertviz_core.figures.predictions.classes import comparison_frame
from bertviz_core.interventions.results import AblationEffects
from bertviz_core.predictions.results import PredictionComparison
from bertviz_core.questions.tables.checkpoints import number_formats_json, number_formats_lines
from bertviz_core.questions.tables.interventions import effects_json, effects_lines, shares_json, shares_lines
from bertviz_core.questions.tables.training import (
    answers_frame,
    labels_json,
    labels_lines,
    states_json,
    states_lines,
    text_json,
    text_lines,
    text_sentences,
)
from bertviz_core.questions.tables.two_models.predictions import (
    prediction_comparison_json,
    prediction_comparison_lines,
)
from bertviz_core.questions.tables.two_models.runs import (
    attention_comparison_frame,
    attention_comparison_json,
    attention_comparison_lines,
    changed_heads_frame,
    changed_heads_json,
    changed_heads_lines,
    compared_states_json,
    compared_states_lines,
)


class PredictionComparisonResult(Result[PredictionComparison]):
    """Predictions of two models for one text: classes, tags, answers, words, surprise, or the lens."""

    figures: tuple[str, ...] = ("predictions-compared",)

    @property
    def answers(self) -> tuple[str, str]:
        """Answer of each model to the whole text: its likeliest class, span or word, or a sum in words."""
        return self.data.answers

    def to_pandas(self) -> pd.DataFrame:
        """One row per class, word, answer, part of the text or hidden state: both numbers and their difference."""
        return comparison_frame(self.data)

    def to_json(self) -> dict[str, Any]:
        """The data as a JSON object: what `compare --text --task --json` prints under "predictions"."""
        return super().to_json()

    def _json(self) -> dict[str, Any]:
        return prediction_comparison_json(self.data)

    def _lines(self) -> Sequence[str]:
        return prediction_comparison_lines(self.data)


class AttentionComparisonResult(Result[AttentionComparison]):
    """Attention of one head in each of two models, with the difference."""

    figures: tuple[str, ...] = ("attention-compared",)

    @property
    def difference(self) -> Float[np.ndarray, "queries keys"] | None:
        """Second minus first; None where the models show the text as different tokens or words."""
        return self.data.difference

    def to_pandas(self) -> pd.DataFrame:
        """One row per query and key: its weight in both models and the difference."""
        return attention_comparison_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return attention_comparison_json(self.data)

    def _lines(self) -> Sequence[str]:
        return attention_comparison_lines(self.data)


class NumberFormatsResult(Result[NumberFormats]):
    """What a model loses and saves when its weights are rounded to fewer bits."""

    figures: tuple[str, ...] = ("number-formats",)

    @property
    def formats(self) -> tuple[str, ...]:
        """Names of the formats."""
        return tuple(each.name for each in self.data.formats)

    def to_pandas(self) -> pd.DataFrame:
        """One row per format: relative and largest error, bytes before, after and saved, and what the texts keep."""
        return formats_frame(self.data)

    def parts(self) -> pd.DataFrame:
        """One row per format, component, layer and block: errors and bytes."""
        return parts_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return number_formats_json(self.data)

    def _lines(self) -> Sequence[str]:
        return number_formats_lines(self.data)


class ChangedHeadsResult(Result[Behaviour]):
    """How far the attention of every head is apart in two models."""

    figures: tuple[str, ...] = ("attention-changed",)

    @property
    def divergences(self) -> Float[np.ndarray, "layers heads"] | None:
        """Jensen-Shannon divergence of each head's attention, mean over the queries, in nats, 0 to ln 2."""
        return self.data.divergences

    def to_pandas(self) -> pd.DataFrame:
        """One row per head, the one that changed most first: layer, head, divergence."""
        return changed_heads_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return changed_heads_json(self.data)

    def _lines(self) -> Sequence[str]:
        return changed_heads_lines(self.data)


class StateComparisonResult(Result[Behaviour]):
    """Cosine of every token's hidden states in two models."""

    figures: tuple[str, ...] = ("states-compared",)

    @property
    def cosines(self) -> Float[np.ndarray, "states seq"] | None:
        """Cosine of every token's two vectors at every entry of hidden_states, -1 to 1."""
        return self.data.cosines

    def to_pandas(self) -> pd.DataFrame:
        """One row per hidden state, one column per token."""
        return compared_states_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return compared_states_json(self.data)

    def _lines(self) -> Sequence[str]:
        return compared_states_lines(self.data)


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
