"""Results of attribution: contributions of words to a target, and of pairs of words to a cosine."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

from bertviz_core.trace.results import Noticed, OfModel, Tokens

ShareMethod = Literal["leave-one-out", "integrated-gradients", "gradient-x-input"]
"""Leave-one-out, integrated gradients, or gradient x input."""
METHODS: tuple[ShareMethod, ...] = get_args(ShareMethod)
Replacement = Literal["mask", "drop"]
"""Replacement of a removed word: a mask for each of its tokens, or nothing."""
REPLACEMENTS: tuple[Replacement, ...] = get_args(Replacement)


@dataclass(frozen=True, slots=True, eq=False)
class WordAttributions(OfModel):
    """Contribution of each word, or token, of a text to a target; negative if it lowers the target."""

    target: str
    """Name of the target, such as "cosine" or "class:NAME"."""
    title: str
    """Title of the target."""
    unit: str
    """Unit of the target and of every share."""
    method: ShareMethod
    """Attribution method."""
    instead: str
    """Replacement of a removed word, one phrase."""
    tokens: Tokens
    """The text that was run."""
    words: tuple[str, ...]
    """The words or tokens, special ones left out."""
    positions: tuple[tuple[int, ...], ...]
    """Token positions of each word."""
    shares: Float[np.ndarray, " words"]
    """Share of each word; for leave-one-out the clean target minus that without the word."""
    clean: float
    """The target of the unchanged text."""
    reference: float
    """The target with all words removed at once; NaN if nothing would remain."""
    error: float
    """Completeness error `|sum of shares - (clean - reference)|`; 0 for leave-one-out, whose shares are measured
    differences and need not sum to anything."""
    share_errors: Float[np.ndarray, " words"]
    """Change of each share in the last doubling of the nodes of integrated gradients; 0 for other methods."""
    runs: int
    """Number of rows run through the model."""
    seconds: float
    """Duration of all runs in seconds."""

    def per_token(self) -> Float[np.ndarray, " seq"]:
        """Share of each token's word; NaN for special tokens."""
        shares = np.full(len(self.tokens), np.nan, dtype=np.float32)
        for share, positions in zip(self.shares, self.positions, strict=True):
            shares[list(positions)] = share
        return shares

    @property
    def uncertain(self) -> Bool[np.ndarray, " words"]:
        """Whether each share is smaller than its error, so that its sign is unknown."""
        return np.asarray(np.abs(self.shares) < self.share_errors)

    def ranked(self) -> tuple[int, ...]:
        """Indices of the words by descending share."""
        return tuple(np.argsort(-self.shares, kind="stable").tolist())


@dataclass(frozen=True, slots=True, eq=False)
class AttributionComparison(Noticed):
    """Contribution of each part of a text to the same target in two models; parts are words, or tokens, of both."""

    first: WordAttributions
    second: WordAttributions
    parts: tuple[str, ...]
    """The smallest parts of the text that are whole words, or tokens, of both models, in the order of the text."""
    first_shares: Float[np.ndarray, " parts"]
    """Share of each part in the first model, the sum over its words; NaN where the model reads none."""
    second_shares: Float[np.ndarray, " parts"]
    """Share of each part in the second model."""

    @property
    def difference(self) -> Float[np.ndarray, " parts"]:
        """Second minus first, in the unit of the target; NaN where a model reads no word."""
        return np.asarray(self.second_shares - self.first_shares, dtype=np.float32)

    @property
    def same_model(self) -> bool:
        """Whether both models have one name."""
        return self.first.model == self.second.model

    def ranked(self) -> tuple[int, ...]:
        """Indices of the parts by descending size of the difference; last those without one."""
        size = np.nan_to_num(np.abs(self.difference), nan=-1.0)
        return tuple(np.argsort(-size, kind="stable").tolist())


@dataclass(frozen=True, slots=True, eq=False)
class ClassAttributions(OfModel):
    """Contribution of each word, or token, of a text to several classes, measured by leaving it out."""

    measure: str
    """Measure of each class, and the unit of its shares: "logit", "probability" or "margin"."""
    instead: str
    """Replacement of a removed word, one phrase."""
    tokens: Tokens
    words: tuple[str, ...]
    """The words or tokens, special ones left out."""
    positions: tuple[tuple[int, ...], ...]
    """Token positions of each word."""
    labels: tuple[str, ...]
    """The classes, by descending logit."""
    classes: int
    """Number of classes of the head or probe."""
    noun: str
    """Noun for an output: "class", "tag" for one of a token, "number" for one of a regression."""
    shares: Float[np.ndarray, "words labels"]
    """Clean value of a class minus that without the word; negative for a word that counts against the class."""
    clean: Float[np.ndarray, " labels"]
    """Value of each class for the unchanged text."""
    runs: int
    """Number of rows run through the model, once for all classes."""
    seconds: float

    def strongest(self, place: int) -> tuple[int | None, int | None]:
        """Return the words with the strongest contribution for and against a class; None if there is none."""
        column = self.shares[:, place]
        most, least = int(column.argmax()), int(column.argmin())
        return most if column[most] > 0 else None, least if column[least] < 0 else None


@dataclass(frozen=True, slots=True, eq=False)
class WordCurve:
    """A target without the strongest words, and with them alone, by one method; in the target's unit."""

    method: ShareMethod
    without: Float[np.ndarray, " steps"]
    """The target without the k strongest words, for each k in WordCurves.counts."""
    alone: Float[np.ndarray, " steps"]
    """The target with only the k strongest words, all others replaced."""


@dataclass(frozen=True, slots=True, eq=False)
class WordCurves(OfModel):
    """Comprehensiveness and sufficiency of the strongest words, compared with random orders (DeYoung et al. 2020)."""

    title: str
    unit: str
    instead: str
    """Replacement of a removed word, one phrase."""
    tokens: Tokens
    words: int
    """Number of removable words or tokens."""
    counts: tuple[int, ...]
    """k at each step, from 0 to the number of words."""
    clean: float
    """The target of the unchanged text."""
    reference: float
    """The target with all words removed."""
    curves: tuple[WordCurve, ...]
    """One curve per method."""
    random: Float[np.ndarray, "orders steps"]
    """The target without the first k words of each random order."""
    random_alone: Float[np.ndarray, "orders steps"]
    """The target with only the first k words of the reverse of each random order."""
    seed: int
    runs: int
    """Number of rows run through the model."""
    seconds: float

    def area(self, values: Float[np.ndarray, "*rows steps"]) -> Float[np.ndarray, "*rows"]:
        """Return the mean drop of the target below the clean value (area over the perturbation curve)."""
        return np.asarray(self.clean - values.mean(axis=-1, dtype=np.float64), dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class PairAttributions(OfModel):
    """The cosine of two texts as a sum of shares of token pairs and reference terms.

    cosine = sum of shares + f(a)f(r_b) + f(r_a)f(b) - f(r_a)f(r_b), where f is the unit vector of a text and r its
    reference, the text with every word masked.
    """

    layer: int
    """Entry of the hidden states at which the paths start; 0 is the embedding output."""
    first: Tokens
    second: Tokens
    shares: Float[np.ndarray, "first_tokens second_tokens"]
    first_reference: float
    """Cosine of the first text with the reference of the second."""
    second_reference: float
    """Cosine of the reference of the first text with the second."""
    both_references: float
    """Cosine of the two references."""
    cosine: float
    error: float
    """|sum of shares + reference terms - cosine|."""
    share_errors: Float[np.ndarray, "first_tokens second_tokens"]
    """Change of each share in the last doubling of the nodes."""
    nodes: int
    """Number of quadrature nodes per path."""
    seconds: float

    @property
    def uncertain(self) -> Bool[np.ndarray, "first_tokens second_tokens"]:
        """Whether each share is smaller than its error, so that its sign is unknown."""
        return np.asarray(np.abs(self.shares) < self.share_errors)

    @property
    def reference_terms(self) -> float:
        """Part of the cosine due to the references and not to the words."""
        return self.first_reference + self.second_reference - self.both_references
