"""Results of two models, of the checkpoints of a run, of interventions, and of exchanged words."""

import numpy as np
import pandas as pd
from jaxtyping import Float

from bertviz_core.api.results.base import Result
from bertviz_core.attention.results import AttentionComparison
from bertviz_core.attribution.results import WordAttributions
from bertviz_core.checkpoints.results import Behaviour, NumberFormats
from bertviz_core.checkpoints.tables import entropy_frame, parts_frame
from bertviz_core.checkpoints.training.results import FollowedLabels, FollowedStates, FollowedText
from bertviz_core.interventions.results import AblationEffects
from bertviz_core.predictions.probing.results import WordSwaps
from bertviz_core.predictions.results import PredictionComparison
from bertviz_core.questions.tables.checkpoints import NUMBER_FORMATS
from bertviz_core.questions.tables.interventions import EFFECTS, WORDS
from bertviz_core.questions.tables.labelled.swaps import WORD_SWAPS
from bertviz_core.questions.tables.training import (
    FOLLOWED_LABELS,
    FOLLOWED_STATES,
    FOLLOWED_TEXT,
    answers_frame,
    text_sentences,
)
from bertviz_core.questions.tables.two_models.predictions import COMPARED_PREDICTIONS
from bertviz_core.questions.tables.two_models.runs import CHANGED_HEADS, COMPARED_ATTENTION, COMPARED_STATES


class PredictionComparisonResult(Result[PredictionComparison]):
    """Predictions of two models for one text: classes, tags, answers, words, surprise, or the lens.

    Table: one row per class, word, answer, part of the text or hidden state: both numbers and their difference.
    """

    figures: tuple[str, ...] = ("predictions-compared",)
    _faces = COMPARED_PREDICTIONS

    @property
    def answers(self) -> tuple[str, str]:
        """Answer of each model to the whole text: its likeliest class, span or word, or a sum in words."""
        return self.data.answers


class AttentionComparisonResult(Result[AttentionComparison]):
    """Attention of one head in each of two models, with the difference.

    Table: one row per query and key: its weight in both models and the difference.
    """

    figures: tuple[str, ...] = ("attention-compared",)
    _faces = COMPARED_ATTENTION

    @property
    def difference(self) -> Float[np.ndarray, "queries keys"] | None:
        """Second minus first; None where the models show the text as different tokens or words."""
        return self.data.difference


class NumberFormatsResult(Result[NumberFormats]):
    """What a model loses and saves when its weights are rounded to fewer bits.

    Table: one row per format: relative and largest error, bytes before, after and saved, and what the texts keep.
    """

    figures: tuple[str, ...] = ("number-formats",)
    _faces = NUMBER_FORMATS

    @property
    def formats(self) -> tuple[str, ...]:
        """Names of the formats."""
        return tuple(each.name for each in self.data.formats)

    def parts(self) -> pd.DataFrame:
        """One row per format, component, layer and block: errors and bytes."""
        return parts_frame(self.data)


class ChangedHeadsResult(Result[Behaviour]):
    """How far the attention of every head is apart in two models.

    Table: one row per head, the one that changed most first: layer, head, divergence.
    """

    figures: tuple[str, ...] = ("attention-changed",)
    _faces = CHANGED_HEADS

    @property
    def divergences(self) -> Float[np.ndarray, "layers heads"] | None:
        """Jensen-Shannon divergence of each head's attention, mean over the queries, in nats, 0 to ln 2."""
        return self.data.divergences


class StateComparisonResult(Result[Behaviour]):
    """Cosine of every token's hidden states in two models.

    Table: one row per hidden state, one column per token.
    """

    figures: tuple[str, ...] = ("states-compared",)
    _faces = COMPARED_STATES

    @property
    def cosines(self) -> Float[np.ndarray, "states seq"] | None:
        """Cosine of every token's two vectors at every entry of hidden_states, -1 to 1."""
        return self.data.cosines


class FollowedTextResult(Result[FollowedText]):
    """What every checkpoint computes for a text or a pair.

    Table: one row per checkpoint: name, step, answer, its probability, those of all classes, surprise, cosine.
    """

    figures = ("training-text",)
    _faces = FOLLOWED_TEXT

    @property
    def sentences(self) -> tuple[str, ...]:
        """When the answer changes, and from what to what the surprise and the cosine go."""
        return tuple(text_sentences(self.data))


class FollowedLabelsResult(Result[FollowedLabels]):
    """Scores of every checkpoint on texts with gold labels: of its answers, and of their probabilities.

    Table: one row per checkpoint: name, step, accuracy, macro-F1, ECE, Brier score and log loss of classes with
    probabilities, and the number of texts whose answer changed.
    """

    figures = ("training-scores",)
    _faces = FOLLOWED_LABELS

    def answers(self) -> pd.DataFrame:
        """One row per text: text, second text, gold label, and the answer of each checkpoint."""
        return answers_frame(self.data)


class FollowedStatesResult(Result[FollowedStates]):
    """CKA of every layer of every checkpoint with the first one, and the attention entropy of every head.

    Table: one row per checkpoint: name, step, and the CKA of every hidden state with that of the first checkpoint.
    """

    figures = ("training-cka", "training-entropy")
    _faces = FOLLOWED_STATES

    def entropy(self) -> pd.DataFrame:
        """One row per checkpoint, layer and head: name, step, layer, head and mean attention entropy in nats."""
        return entropy_frame(self.data)


class EffectsResult(Result[AblationEffects]):
    """Change of a scalar output when each head, feed-forward block or layer is ablated: changed minus clean.

    Table: one row per head: layer, head, effect; sorted by absolute effect, descending.
    """

    figures = ("effects", "removal")
    _faces = EFFECTS

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


class WordsResult(Result[WordAttributions]):
    """Contribution of each word of a text to a scalar output of the model.

    Table: one row per word in the order of the text: word, share, positions of its tokens.
    """

    figures = ("word-shares", "word-bars", "word-curves")
    _faces = WORDS

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


class WordSwapsResult(Result[WordSwaps]):
    """What a model answers to templates with the one and the other word of pairs, and the difference.

    Table: one row per pair and number, and of several pairs for all: mean of both words, difference, 95% t interval.
    """

    figures = ("word-swaps",)
    _faces = WORD_SWAPS

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the numbers: classes, kinds of surprise, or the cosine."""
        return self.data.outputs

    @property
    def values(self) -> Float[np.ndarray, "pairs templates words outputs"]:
        """Numbers of the texts with the first and the second word; a cosine is one number of both."""
        return self.data.values

    @property
    def mean(self) -> Float[np.ndarray, "rows outputs"]:
        """Mean over the templates of second minus first, or of the cosine: a row for each pair, and one of all."""
        return self.data.mean

    @property
    def interval(self) -> Float[np.ndarray, "2 rows outputs"]:
        """Ends of the 95% t interval of the mean over the templates; NaN for a single template."""
        return self.data.interval
