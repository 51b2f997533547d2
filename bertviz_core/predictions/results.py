"""Results of the task heads; arrays are read-only, float32 or integers."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.trace.results import Tokens


@dataclass(frozen=True, slots=True, eq=False)
class WordPrediction:
    """Predictions of a masked-LM head at all or some positions of a text."""

    model: str
    """Name of the model."""
    tokens: Tokens
    """The text, before anything was masked here."""
    masked: Bool[np.ndarray, " seq"]
    """Positions that the model saw as a mask, typed or asked for."""
    typed: Bool[np.ndarray, " seq"]
    """Those at which the text itself has a mask, so that no original word is known."""
    log_probability: Float[np.ndarray, " seq"]
    """Of the original token, in nats; NaN where it is not known or was not asked."""
    rank: Int[np.ndarray, " seq"]
    """Of the original token, 1 for the best; 0 where it is not known or was not asked."""
    top_ids: Int[np.ndarray, "seq top"]
    """The best words, best first; -1 where they were not asked."""
    top_log_probability: Float[np.ndarray, "seq top"]
    """Their log-probability, in nats."""
    top_logits: Float[np.ndarray, "seq top"]
    """Their logits."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""


@dataclass(frozen=True, slots=True)
class ComparedWord:
    """The score of a given word at a position."""

    word: str
    """As requested."""
    pieces: tuple[str, ...]
    """Its tokens."""
    log_probability: float
    """Sum over its pieces, in nats."""
    piece_log_probability: tuple[float, ...]
    """Of each piece, all of them masked together."""
    rank: int | None
    """Among all words, 1 for the best; None for a word of several pieces."""
    note: str
    """How it was scored, one sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class WordShift:
    """How an edit of the text changes the words predicted at one masked position."""

    position: int
    """Place of the mask in the text."""
    edited_position: int
    """Place of the same token in the edited text."""
    words: tuple[str, ...]
    """The best words of either, largest change of probability first."""
    before: Float[np.ndarray, " words"]
    """Their probability in the text."""
    after: Float[np.ndarray, " words"]
    """Their probability in the edited text."""
    divergence: float
    """KL(p_before || p_after) over the whole vocabulary, in nats."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""


@dataclass(frozen=True, slots=True, eq=False)
class PseudoLikelihood:
    """Surprise of every token of a text when it alone is masked (Salazar et al. 2020)."""

    model: str
    """Name of the model."""
    tokens: Tokens
    """The text."""
    surprise: Float[np.ndarray, " seq"]
    """-log p(token | all others) in nats; NaN for special tokens, which are not masked."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""

    @property
    def mean(self) -> float:
        """Mean surprise of the tokens, in nats."""
        return float(np.nanmean(self.surprise))

    @property
    def perplexity(self) -> float:
        """PPPL = exp(mean surprise): 1 for a text without surprise."""
        return float(np.exp(self.mean))


@dataclass(frozen=True, slots=True, eq=False)
class LogitLens:
    """Predictions of the masked-LM head from the hidden states of every layer."""

    model: str
    """Name of the model."""
    tokens: Tokens
    """The text, before anything was masked here."""
    masked: Bool[np.ndarray, " seq"]
    """Positions that the model saw as a mask."""
    top_ids: Int[np.ndarray, "states seq top"]
    """The best words of every state, best first; entry 0 is the embedding output."""
    top_log_probability: Float[np.ndarray, "states seq top"]
    """Their log-probability, in nats."""
    log_probability: Float[np.ndarray, "states seq"]
    """Of the original token, in nats; NaN where the text itself has a mask."""
    rank: Int[np.ndarray, "states seq"]
    """Of the original token, 1 for the best; 0 where the text itself has a mask."""
    entropy: Float[np.ndarray, "states seq"]
    """Of the distribution over all words, in nats."""
    divergence: Float[np.ndarray, "states seq"]
    """KL(p_layer || p_last) in nats; 0 in the last row."""
    final_norm: str
    """Normalisation behind the last layer that the states of the other layers were given, too; "" where none is."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""


Scoring = Literal["softmax", "sigmoid", "number"]
"""One class of several, each class for itself, or a number that is no probability (regression)."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassPrediction:
    """Output of a text classifier."""

    model: str
    """Name of the model."""
    tokens: Tokens
    """The text, or the pair."""
    labels: tuple[str, ...]
    """Name of every output."""
    logits: Float[np.ndarray, " labels"]
    """The head's outputs."""
    scoring: Scoring
    """How logits become probabilities."""
    probabilities: Float[np.ndarray, " labels"] | None
    """Sum 1 for softmax, each 0 to 1 for sigmoid; None for a number."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""

    @property
    def best(self) -> int:
        """Index of the greatest output."""
        return int(np.argmax(self.logits))


Strategy = Literal["none", "simple", "first", "average", "max"]
"""transformers' aggregation_strategy: tokens alone, neighbours joined, or the pieces of a word made to agree first."""
STRATEGIES: tuple[Strategy, ...] = ("none", "simple", "first", "average", "max")


@dataclass(frozen=True, slots=True)
class Entity:
    """A stretch of text with one tag."""

    label: str
    """Its tag; without B- or I- where tokens were joined."""
    score: float
    """Probability, the mean over its tokens or words."""
    text: str
    """The characters that it covers; its tokens' spelling where the tokenizer knows no places."""
    start: int | None
    """First character in its text; None where the tokenizer knows no places."""
    end: int | None
    """Behind the last."""
    first: int
    """Position of its first token."""
    last: int
    """Position of its last token."""
    sequence: int
    """0 for the text, 1 for its pair."""


@dataclass(frozen=True, slots=True, eq=False)
class TagPrediction:
    """Output of a token classifier."""

    model: str
    """Name of the model."""
    tokens: Tokens
    """The text."""
    labels: tuple[str, ...]
    """Name of every output."""
    logits: Float[np.ndarray, "seq labels"]
    """The head's outputs."""
    probabilities: Float[np.ndarray, "seq labels"]
    """Their softmax; each row sums to 1."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerWindow:
    """A part of the context that was read with the question in one run."""

    tokens: tuple[str, ...]
    """Question and part of the context as the model reads them."""
    start: int
    """First character of the context in it."""
    end: int
    """Behind its last."""
    context: Bool[np.ndarray, " seq"]
    """Whether a token is of the context."""
    start_logits: Float[np.ndarray, " seq"]
    """Logit of every token to be the answer's first."""
    end_logits: Float[np.ndarray, " seq"]
    """Logit of every token to be the answer's last."""


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """A span of the context."""

    text: str
    """Its characters."""
    start: int
    """First character in the context."""
    end: int
    """Behind the last."""
    logit: float
    """start logit + end logit."""
    score: float
    """p(start) p(end), each a softmax over the context's tokens of all windows."""
    window: int
    """Window that it was found in."""
    first: int
    """Position of its first token there."""
    last: int
    """Position of its last token there."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerPrediction:
    """Answers to a question in a context."""

    model: str
    """Name of the model."""
    question: str
    """The question."""
    context: str
    """What was searched."""
    answers: tuple[AnswerSpan, ...]
    """The best spans, best first."""
    null_logit: float | None
    """Start + end logit of the first token, the answer "none" of models that were trained with it (SQuAD 2); the least
    over all windows. None where a text does not begin with a special token."""
    windows: tuple[AnswerWindow, ...]
    """The parts that were read, in order."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""


@dataclass(frozen=True, slots=True, eq=False)
class TermWeights:
    """A text as a bag of weighted words under a SPLADE head (Formal et al. 2021)."""

    model: str
    """Name of the model."""
    tokens: Tokens
    """The text."""
    ids: Int[np.ndarray, " terms"]
    """Words with a weight above 0, heaviest first."""
    weights: Float[np.ndarray, " terms"]
    """max over the tokens of log(1 + ReLU(logit))."""
    positions: Int[np.ndarray, " terms"]
    """The token that each weight comes from."""
    notices: tuple[str, ...]
    """What a reader must know, one sentence each."""


@dataclass(frozen=True, slots=True, eq=False)
class TermLedger:
    """The score of two texts as a sum over the words that both have."""

    score: float
    """Sum of the shares: the dot product of both texts' term weights."""
    ids: Int[np.ndarray, " terms"]
    """Words of both texts, greatest share first."""
    first_positions: Int[np.ndarray, " terms"]
    """Token of the first text that the word's weight comes from."""
    second_positions: Int[np.ndarray, " terms"]
    """Token of the second text."""
    shares: Float[np.ndarray, " terms"]
    """Product of the word's two weights."""
