"""Results of the task heads; arrays are read-only, float32 or integer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.predictions.saturation import equal_scores
from bertviz_core.text import decimals, quoted
from bertviz_core.trace.results import Noticed, OfModel, OfText, OfTwoModels


@dataclass(frozen=True, slots=True, eq=False)
class WordPrediction(OfText):
    """Predictions of a masked-LM head at all or some positions of a text."""

    masked: Bool[np.ndarray, " seq"]
    """Whether the model saw a mask at each position, in the text itself or requested."""
    typed: Bool[np.ndarray, " seq"]
    """Whether the text itself has a mask there, so that no original word is known."""
    log_probability: Float[np.ndarray, " seq"]
    """Log-probability of the original token, in nats; NaN if unknown or not computed."""
    rank: Int[np.ndarray, " seq"]
    """Rank of the original token, 1 for the best; 0 if unknown or not computed."""
    top_ids: Int[np.ndarray, "seq top"]
    """Ids of the best words, best first; -1 if not computed."""
    top_log_probability: Float[np.ndarray, "seq top"]
    """Log-probabilities of the best words, in nats."""
    top_logits: Float[np.ndarray, "seq top"]
    """Logits of the best words."""


@dataclass(frozen=True, slots=True)
class ComparedWord:
    """Score of a word at a position."""

    word: str
    """The word, as requested."""
    pieces: tuple[str, ...]
    log_probability: float
    """Sum of the log-probabilities of its pieces, all masked together, in nats."""
    rank: int | None
    """Rank among all words, 1 for the best; None for a word of several pieces."""
    note: str
    """How the word was scored, one sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class WordShift(Noticed):
    """Effect of an edit of the text on the words predicted at one masked position."""

    position: int
    """Position of the mask in the text."""
    edited_position: int
    """Position of the same token in the edited text."""
    words: tuple[str, ...]
    """Best words of both texts, by descending change of probability."""
    before: Float[np.ndarray, " words"]
    """Probability of each word in the text."""
    after: Float[np.ndarray, " words"]
    """Probability of each word in the edited text."""
    divergence: float
    """KL(p_before || p_after) over the whole vocabulary, in nats."""


@dataclass(frozen=True, slots=True, eq=False)
class PseudoLikelihood(OfText):
    """Surprise of every token of a text when only this token is masked (Salazar et al. 2020)."""

    surprise: Float[np.ndarray, " seq"]
    """-log p(token | all others) in nats; NaN for special tokens, which are not masked."""

    @property
    def mean(self) -> float:
        """Mean surprise of the tokens, in nats."""
        return float(np.nanmean(self.surprise))

    @property
    def perplexity(self) -> float:
        """PPPL = exp(mean surprise); 1 for a text without surprise."""
        return float(np.exp(self.mean))


@dataclass(frozen=True, slots=True, eq=False)
class LogitLens(OfText):
    """Predictions of the masked-LM head from the hidden states of every layer."""

    masked: Bool[np.ndarray, " seq"]
    """Whether the model saw a mask at each position."""
    top_ids: Int[np.ndarray, "states seq top"]
    """Ids of the best words of every state, best first; entry 0 is the embedding output."""
    top_log_probability: Float[np.ndarray, "states seq top"]
    """Log-probabilities of the best words, in nats."""
    log_probability: Float[np.ndarray, "states seq"]
    """Log-probability of the original token, in nats; NaN if the text itself has a mask."""
    rank: Int[np.ndarray, "states seq"]
    """Rank of the original token, 1 for the best; 0 if the text itself has a mask."""
    entropy: Float[np.ndarray, "states seq"]
    """Entropy of the distribution over all words, in nats."""
    divergence: Float[np.ndarray, "states seq"]
    """KL(p_layer || p_last) in nats; 0 in the last row."""
    final_norm: str
    """Normalisation after the last layer that was applied to the states of the other layers, too; "" if there is
    none."""


Scoring = Literal["softmax", "sigmoid", "number"]
"""One class of several (softmax), independent classes (sigmoid), or a number (regression)."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassPrediction(OfText):
    """Output of a text classifier."""

    labels: tuple[str, ...]
    """Name of every output."""
    logits: Float[np.ndarray, " labels"]
    """Outputs of the head."""
    scoring: Scoring
    """How logits become probabilities."""
    probabilities: Float[np.ndarray, " labels"] | None
    """Probabilities: sum 1 for softmax, each 0 to 1 for sigmoid; None for a regression."""

    @property
    def best(self) -> int:
        """Index of the greatest output."""
        return int(np.argmax(self.logits))


Strategy = Literal["none", "simple", "first", "average", "max"]
"""aggregation_strategy of transformers: single tokens, joined neighbours, or one tag for all pieces of a word."""
STRATEGIES: tuple[Strategy, ...] = ("none", "simple", "first", "average", "max")


@dataclass(frozen=True, slots=True)
class Entity:
    """A span of text with one tag."""

    label: str
    """The tag; without B- or I- if tokens were joined."""
    score: float
    """Probability, averaged over the tokens or words."""
    text: str
    """Characters of the span, or its tokens if the tokenizer returns no character offsets."""
    start: int | None
    """Index of its first character; None if the tokenizer returns no character offsets."""
    end: int | None
    """Index after its last character."""
    first: int
    """Position of its first token."""
    last: int
    """Position of its last token."""
    sequence: int
    """0 for the text, 1 for its pair."""


@dataclass(frozen=True, slots=True, eq=False)
class TagPrediction(OfText):
    """Output of a token classifier."""

    labels: tuple[str, ...]
    """Name of every output."""
    logits: Float[np.ndarray, "seq labels"]
    """Outputs of the head."""
    probabilities: Float[np.ndarray, "seq labels"]
    """Softmax of the logits; each row sums to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerWindow:
    """A part of the context, read with the question in one run."""

    tokens: tuple[str, ...]
    """Tokens of the question and this part of the context."""
    start: int
    """Index of the first character of the context in this window."""
    end: int
    context: Bool[np.ndarray, " seq"]
    """Whether each token belongs to the context."""
    start_logits: Float[np.ndarray, " seq"]
    end_logits: Float[np.ndarray, " seq"]


def answer_log_sums(windows: Sequence[AnswerWindow], begins_special: bool) -> tuple[float, float]:
    """Ln of the sums of exp(start logit) and exp(end logit): what the softmax of answers is over.

    Args:
        begins_special: whether the first token stands for "no answer"; it is counted once, in the window where its
            logits are least.
    """
    logits = [[each.start_logits, each.end_logits] for each in windows]
    least = min(logits, key=lambda pair: float(pair[0][0] + pair[1][0]))
    start, end = (
        np.concatenate(
            [least[side][: int(begins_special)]]
            + [pair[side][each.context] for pair, each in zip(logits, windows, strict=True)]
        ).astype(np.float64)
        for side in (0, 1)
    )
    return float(np.logaddexp.reduce(start)), float(np.logaddexp.reduce(end))


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """A span of the context."""

    text: str
    """Text of the span."""
    start: int
    """Index of its first character in the context."""
    end: int
    """Index after its last character."""
    logit: float
    """start logit + end logit."""
    score: float
    """p(start) p(end), each a softmax over the context tokens of all windows and the token of a null logit."""
    window: int
    """Index of its window."""
    first: int
    """Position of its first token in the window."""
    last: int
    """Position of its last token in the window."""


NO_ANSWER = "no answer"
"""The answer of a model whose null score beats its best span (SQuAD 2; Rajpurkar et al. 2018)."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerPrediction(OfModel):
    """Answers to a question in a context."""

    question: str
    """The question."""
    context: str
    """The context."""
    answers: tuple[AnswerSpan, ...]
    """The best spans, best first."""
    null_logit: float | None
    """Start + end logit of the first token, the "no answer" score of models trained for it (SQuAD 2); the minimum over
    all windows. None if texts do not begin with a special token."""
    windows: tuple[AnswerWindow, ...]
    """Windows of the context, in order."""

    @property
    def null_difference(self) -> float | None:
        """The null logit minus the logit of the best span."""
        return None if self.null_logit is None else self.null_logit - self.answers[0].logit

    @property
    def is_null(self) -> bool:
        """Whether the null score is above that of the best span."""
        return self.null_difference is not None and self.null_difference > 0

    @property
    def answer(self) -> str:
        """The text of the best span, or NO_ANSWER."""
        return NO_ANSWER if self.is_null else self.answers[0].text

    @property
    def null_score(self) -> float | None:
        """p(start) p(end) of the token with that logit, see AnswerSpan.score."""
        if self.null_logit is None:
            return None
        return float(np.exp(self.null_logit - sum(answer_log_sums(self.windows, True))))

    @property
    def score(self) -> float | None:
        """The score of the answer."""
        return self.null_score if self.is_null else self.answers[0].score

    def null_words(self) -> str:
        """Which of NO_ANSWER and the best span the model prefers, with both logits, in a sentence."""
        span = f"its best span, {quoted(self.answers[0].text, 60)} (logit {decimals(self.answers[0].logit, 3)})"
        if self.null_logit is None:
            return f"{self.model} reads no special token in front, so it has no score for {NO_ANSWER!r}."
        difference = decimals(self.null_logit - self.answers[0].logit, 3)
        none = f"{NO_ANSWER!r} (logit {decimals(self.null_logit, 3)}, difference {difference})"
        trained = "which counts if it was trained with questions that have no answer."
        return f"{self.model} prefers {f'{none} to {span}' if self.is_null else f'{span}, to {none}'}, {trained}"


@dataclass(frozen=True, slots=True, eq=False)
class NullCurve:
    """Scores of a list of questions by the threshold above whose null difference a question has no answer."""

    thresholds: Float[np.ndarray, " thresholds"]
    """Ascending: minus infinity, at which no question is answered, then every different null difference."""
    exact: Float[np.ndarray, " thresholds"]
    """Share of the questions with an exact match."""
    f1: Float[np.ndarray, " thresholds"]
    """Mean F1 over the questions."""
    exact_interval: Float[np.ndarray, "2 thresholds"]
    """Wilson's 95% intervals of the exact match."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerList(OfModel):
    """Answers to a list of questions, each with its context, at a threshold of the null difference."""

    rows: Int[np.ndarray, " questions"]
    """Place of each question in the list, from 1."""
    questions: tuple[str, ...]
    contexts: tuple[str, ...]
    gold: tuple[tuple[str, ...], ...] | None
    """Gold answers of each, () where the context has no answer; None without gold answers."""
    spans: tuple[AnswerSpan, ...]
    """Best span of each."""
    null_logits: Float[np.ndarray, " questions"] | None
    """Null score of each, see AnswerPrediction; None for a model without one."""
    exact: Bool[np.ndarray, " questions"] | None
    """Whether each best span equals a gold answer, as SQuAD 2 compares them; None without gold answers."""
    f1: Float[np.ndarray, " questions"] | None
    """F1 of each best span with the nearest gold answer."""
    curve: NullCurve | None
    """Scores by threshold; None without gold answers or null scores."""
    threshold: float = 0.0
    """A question with a larger null difference has no answer."""

    @property
    def difference(self) -> Float[np.ndarray, " questions"] | None:
        """Null score minus logit of the best span."""
        return None if self.null_logits is None else self.null_logits - np.array([each.logit for each in self.spans])

    @property
    def answered(self) -> Bool[np.ndarray, " questions"]:
        """Whether each question is answered by its best span."""
        difference = self.difference
        return np.ones(len(self.spans), dtype=bool) if difference is None else difference <= self.threshold

    @property
    def has_answer(self) -> Bool[np.ndarray, " questions"] | None:
        """Whether each question has a gold answer; None without gold answers."""
        return None if self.gold is None else np.array([bool(texts) for texts in self.gold])

    @property
    def answers(self) -> tuple[str, ...]:
        """Answer to each question: the text of its best span, or "" for no answer."""
        return tuple(span.text if there else "" for span, there in zip(self.spans, self.answered, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class TermWeights(OfText):
    """A text as a bag of weighted words, computed by a SPLADE head (Formal et al. 2021)."""

    ids: Int[np.ndarray, " terms"]
    """Ids of the words with a weight, heaviest first."""
    weights: Float[np.ndarray, " terms"]
    """Weight of each word: max over the tokens of log(1 + ReLU(logit)), or as the folder of a sparse encoder says."""
    positions: Int[np.ndarray, " terms"]
    """Position of the token that each weight comes from, or most of it."""


@dataclass(frozen=True, slots=True, eq=False)
class TermLedger:
    """Score of two texts as a sum over their common words."""

    score: float
    """Sum of the shares: the dot product of both texts' term weights."""
    ids: Int[np.ndarray, " terms"]
    """Ids of the words in both texts, by descending share."""
    first_positions: Int[np.ndarray, " terms"]
    """Token of the first text that the weight of each word comes from."""
    second_positions: Int[np.ndarray, " terms"]
    """Token of the second text that the weight of each word comes from."""
    shares: Float[np.ndarray, " terms"]
    """Product of the two weights of each word."""


ScoreName = Literal["sigmoid", "tanh", "ReLU", "logit", "softmax", "late interaction"]
"""How a logit becomes a score; "logit" for a score that is the logit itself, "late interaction" for one without."""
LATE_INTERACTION: ScoreName = "late interaction"


@dataclass(frozen=True, slots=True, eq=False)
class Ranking(Noticed):
    """Texts scored for a query by a head that reads both together, or by late interaction, beside cosines."""

    model: str
    """Name of the model that scores."""
    sentence_model: str
    """Name of the model of the cosines."""
    query: str
    """The query."""
    texts: tuple[str, ...]
    """The texts, in the order of the list."""
    label: str
    """The class whose score orders the texts; "" for a head with one output."""
    score_name: ScoreName
    """How the logit becomes the score."""
    logits: Float[np.ndarray, " texts"]
    """Logit of the head, or of the class, for the query with each text; the score for late interaction."""
    scores: Float[np.ndarray, " texts"]
    """Score of each text; 0 to 1 for sigmoid and softmax."""
    cosines: Float[np.ndarray, " texts"]
    """Cosine similarity of the query and each text, -1 to 1."""
    truncated: int
    """Number of texts that were cut, with the query, to the length that the model reads."""
    answers: tuple[str, ...] = ()
    """The tokens of which the logit is that of the first minus that of the second; () for any other head."""
    token_logits: Float[np.ndarray, "texts answers"] | None = None
    """Their logits, in the place of the next token."""

    @property
    def by_tokens(self) -> bool:
        """Whether late interaction scores the texts; a head otherwise."""
        return self.score_name == LATE_INTERACTION

    @property
    def equal_scores(self) -> dict[str, int] | None:
        """Number format -> number of scores that equal another one in it although their logits differ.

        The formats are float32, float16, bfloat16, and "printed", with 4 decimals; None for late interaction.
        """
        return None if self.by_tokens else equal_scores(self.scores, self.logits)

    @property
    def order(self) -> Int[np.ndarray, " texts"]:
        """Indices of the texts by descending score; equal scores by their logits, then as in the list."""
        return np.asarray(np.lexsort((-self.logits, -self.scores)))

    @property
    def rank(self) -> Int[np.ndarray, " texts"]:
        """Rank of each text by the score, 1 for the highest."""
        return _ranks(self.order)

    @property
    def cosine_rank(self) -> Int[np.ndarray, " texts"]:
        """Rank of each text by the cosine, 1 for the highest; equal cosines as in the list."""
        return _ranks(np.argsort(-self.cosines, kind="stable"))

    @property
    def rise(self) -> Int[np.ndarray, " texts"]:
        """Rank by the cosine minus rank by the score: above 0 where the score puts a text higher; the sum is 0."""
        return np.asarray(self.cosine_rank - self.rank)


def _ranks(order: Int[np.ndarray, " texts"]) -> Int[np.ndarray, " texts"]:
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks


@dataclass(frozen=True, slots=True, eq=False)
class LateInteraction(OfModel):
    """The tokens of a query compared with those of a document."""

    query: str
    """The query."""
    document: str
    """The document."""
    query_tokens: tuple[str, ...]
    """Tokens of the query that are scored, with markers and masks."""
    expanded: Bool[np.ndarray, " query_tokens"]
    """Whether a token of the query is one that fills it up to a fixed length."""
    document_tokens: tuple[str, ...]
    """Tokens of the document that are scored."""
    skipped: tuple[str, ...]
    """Tokens of the document that are not scored, such as punctuation."""
    cosines: Float[np.ndarray, "query_tokens document_tokens"]
    """Cosine of every two tokens, -1 to 1; the dot product if the vectors have other lengths than 1."""
    normalized: bool
    """Whether the vectors have length 1."""
    mean: bool
    """Whether the score is the mean over the tokens of the query; the sum otherwise."""
    dimensions: int
    """Numbers in the vector of a token."""
    trained: bool
    """Whether the checkpoint was trained for late interaction."""

    @property
    def best(self) -> Int[np.ndarray, " query_tokens"]:
        """Index of the token of the document with the largest cosine, for each token of the query."""
        return np.asarray(self.cosines.argmax(axis=1))

    @property
    def largest(self) -> Float[np.ndarray, " query_tokens"]:
        """Largest cosine of each token of the query with a token of the document."""
        return np.asarray(self.cosines.max(axis=1))

    @property
    def score(self) -> float:
        """Sum of the largest cosines, or their mean."""
        total = float(self.largest.sum(dtype=np.float64))
        return total / len(self.query_tokens) if self.mean else total


@dataclass(frozen=True, slots=True, eq=False)
class SharedTokens:
    """The tokens that a query and a text have in common."""

    tokens: tuple[str, ...]
    """The tokens, the largest product first."""
    products: Float[np.ndarray, " tokens"]
    """Product of the two weights of each; they add up to the sparse score."""


HEADS = ("dense", "sparse", "multi-vector")
"""The heads of BGE-M3, in the order of their weights."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadScores(OfModel):
    """Texts scored for a query by the three heads of BGE-M3, and the weighted mean of the scores."""

    query: str
    """The query."""
    texts: tuple[str, ...]
    """The texts, in the order of the list."""
    dense: Float[np.ndarray, " texts"]
    """Cosine of the vectors of the query and each text, -1 to 1."""
    sparse: Float[np.ndarray, " texts"]
    """Sum of the products of the weights of their common tokens, at least 0."""
    multi_vector: Float[np.ndarray, " texts"]
    """Mean, over the tokens of the query, of the largest cosine with a token of the text, -1 to 1."""
    weights: tuple[float, float, float]
    """Weights of the dense, sparse and multi-vector score."""
    shared: tuple[SharedTokens, ...]
    """The tokens that the query has in common with each text."""

    @property
    def scores(self) -> Float[np.ndarray, " texts"]:
        """Mean of the three scores of each text, weighted."""
        every = np.stack([self.dense, self.sparse, self.multi_vector]).astype(np.float64)
        return np.asarray(self.weights @ every / sum(self.weights), dtype=np.float32)

    @property
    def order(self) -> Int[np.ndarray, " texts"]:
        """Indices of the texts by descending weighted mean; equal ones as in the list."""
        return np.argsort(-self.scores, kind="stable")

    @property
    def ranks(self) -> Int[np.ndarray, "heads texts"]:
        """Rank of each text by each head alone, 1 for the highest; equal scores as in the list."""
        every = (self.dense, self.sparse, self.multi_vector)
        return np.stack([_ranks(np.argsort(-scores, kind="stable")) for scores in every])


ComparedKind = Literal["classes", "tags", "entities", "answers", "words", "surprise", "lens"]
"""What the rows are: classes, words with their tags, entities, spans, words at a mask, parts of the text, states."""


@dataclass(frozen=True, slots=True, eq=False)
class PredictionComparison(OfTwoModels):
    """Predictions of two models for one text, row by row."""

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
