"""Results of attribution: shares of words in a target, and of pairs of words in a cosine."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

from bertviz_core.trace.results import Tokens

ShareMethod = Literal["leave-one-out", "integrated-gradients", "gradient-x-input"]
"""Measured with each word away; or a path integral of gradients; or the gradient at the text alone."""
METHODS: tuple[ShareMethod, ...] = get_args(ShareMethod)
Replacement = Literal["mask", "drop"]
"""What becomes of a word that is taken away: a mask at each of its tokens, or fewer tokens."""
REPLACEMENTS: tuple[Replacement, ...] = get_args(Replacement)


@dataclass(frozen=True, slots=True, eq=False)
class WordAttributions:
    """What each word, or token, of a text adds to a target; what lowers the target is negative."""

    model: str
    """Name of the model."""
    target: str
    """Name of the target, such as "cosine" or "class:NAME"."""
    title: str
    """What the target is."""
    unit: str
    """Unit of the target and of every share."""
    method: ShareMethod
    """How the shares were found."""
    instead: str
    """What stands in a word's place, one phrase."""
    tokens: Tokens
    """The text that was run."""
    words: tuple[str, ...]
    """The words or tokens, special ones left out."""
    positions: tuple[tuple[int, ...], ...]
    """Which tokens each of them is."""
    shares: Float[np.ndarray, " words"]
    """Of each of them; of leave-one-out the clean target minus that without the word."""
    clean: float
    """The target of the text as it is."""
    reference: float
    """The target with all of these words away at once; NaN where nothing would be left to run."""
    error: float
    """|sum of shares - (clean - reference)| of a method that promises 0 there; 0 for leave-one-out, which promises
    nothing of the kind and whose every share is a measured difference."""
    share_errors: Float[np.ndarray, " words"]
    """By how much each share changed when the nodes of integrated gradients were doubled last; 0 for other methods."""
    runs: int
    """Rows that went through the model."""
    seconds: float
    """Duration of all runs."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""

    def per_token(self) -> Float[np.ndarray, " seq"]:
        """For every token the share of its word; NaN for special tokens."""
        shares = np.full(len(self.tokens), np.nan, dtype=np.float32)
        for share, positions in zip(self.shares, self.positions, strict=True):
            shares[list(positions)] = share
        return shares

    @property
    def uncertain(self) -> Bool[np.ndarray, " words"]:
        """Which shares are smaller than their own error, so that their sign is unknown."""
        return np.asarray(np.abs(self.shares) < self.share_errors)

    def ranked(self) -> tuple[int, ...]:
        """Indices of the words, the largest share first."""
        return tuple(np.argsort(-self.shares, kind="stable").tolist())


@dataclass(frozen=True, slots=True, eq=False)
class ClassAttributions:
    """What each word, or token, of a text adds to each of several classes, measured by leaving it out."""

    model: str
    """Name of the model."""
    measure: str
    """What is read of each class, and the unit of its shares: "logit", "probability" or "margin"."""
    instead: str
    """What stands in a word's place, one phrase."""
    tokens: Tokens
    """The text that was run."""
    words: tuple[str, ...]
    """The words or tokens, special ones left out."""
    positions: tuple[tuple[int, ...], ...]
    """Which tokens each of them is."""
    labels: tuple[str, ...]
    """The classes, by descending logit."""
    classes: int
    """How many the head or the probe has."""
    noun: str
    """What one of them is: "class", or "tag" for one of a token."""
    shares: Float[np.ndarray, "words labels"]
    """The clean number of a class minus that without the word; a word that speaks against the class is negative."""
    clean: Float[np.ndarray, " labels"]
    """The number of each class for the text as it is."""
    runs: int
    """Rows that went through the model, once for all classes."""
    seconds: float
    """Duration of all runs."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""

    def strongest(self, place: int) -> tuple[int | None, int | None]:
        """The words that speak most for and most against a class; None where there is none."""
        column = self.shares[:, place]
        most, least = int(column.argmax()), int(column.argmin())
        return most if column[most] > 0 else None, least if column[least] < 0 else None


@dataclass(frozen=True, slots=True, eq=False)
class WordCurve:
    """A target as the strongest words go, and with them alone, by one method; both in the target's unit."""

    method: ShareMethod
    """What says which words are strongest."""
    without: Float[np.ndarray, " steps"]
    """The target without the k strongest words, k by WordCurves.counts."""
    alone: Float[np.ndarray, " steps"]
    """The target with the k strongest words alone, all others replaced."""


@dataclass(frozen=True, slots=True, eq=False)
class WordCurves:
    """Comprehensiveness and sufficiency of the strongest words, beside random orders (DeYoung et al. 2020)."""

    model: str
    """Name of the model."""
    title: str
    """What the target is."""
    unit: str
    """Its unit."""
    instead: str
    """What stands in a word's place, one phrase."""
    tokens: Tokens
    """The text that was run."""
    words: int
    """How many words, or tokens, can go."""
    counts: tuple[int, ...]
    """k at each step, from 0 to all words."""
    clean: float
    """The target of the text as it is."""
    reference: float
    """The target with all words gone."""
    curves: tuple[WordCurve, ...]
    """Of each method."""
    random: Float[np.ndarray, "orders steps"]
    """The target without the first k words of each random order."""
    random_alone: Float[np.ndarray, "orders steps"]
    """The target with the first k words of each of these orders, reversed, alone."""
    seed: int
    """Of the random orders."""
    runs: int
    """Rows that went through the model."""
    seconds: float
    """Duration of all runs."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""

    def area(self, values: Float[np.ndarray, "*rows steps"]) -> Float[np.ndarray, "*rows"]:
        """Mean drop of the target below the clean value over the steps (area over the perturbation curve)."""
        return np.asarray(self.clean - values.mean(axis=-1, dtype=np.float64), dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class PairAttributions:
    """The cosine of two texts as a sum: a share for each token of one with each of the other, and reference terms.

    cosine = sum of shares + f(a)f(r_b) + f(r_a)f(b) - f(r_a)f(r_b), where f is the vector of length 1 of a text and r
    its reference, the text with every word masked.
    """

    model: str
    """Name of the model."""
    layer: int
    """Entry of the hidden states from which the paths go to the sentence vector; 0 is the embedding output."""
    first: Tokens
    """The first text."""
    second: Tokens
    """The second text."""
    shares: Float[np.ndarray, "first_tokens second_tokens"]
    """Of every pair of tokens."""
    first_reference: float
    """Cosine of the first text with the reference of the second."""
    second_reference: float
    """Cosine of the reference of the first text with the second."""
    both_references: float
    """Cosine of the two references."""
    cosine: float
    """Of the two texts."""
    error: float
    """|sum of shares + reference terms - cosine|."""
    share_errors: Float[np.ndarray, "first_tokens second_tokens"]
    """By how much each share changed when the nodes were doubled last."""
    nodes: int
    """Points of each path at which the derivative was taken, by Gauss and Legendre."""
    seconds: float
    """Duration of all runs."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""

    @property
    def uncertain(self) -> Bool[np.ndarray, "first_tokens second_tokens"]:
        """Which shares are smaller than their own error, so that their sign is unknown."""
        return np.asarray(np.abs(self.shares) < self.share_errors)

    @property
    def reference_terms(self) -> float:
        """The part of the cosine that is due to the references and not to the words."""
        return self.first_reference + self.second_reference - self.both_references
