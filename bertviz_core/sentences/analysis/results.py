"""Results of the questions about sentence vectors."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.sentences.results import CosineRange, Measure, Pooling, PromptPair, SentenceDtype
from bertviz_core.trace.results import Noticed, OfModel

TokenizerName = Literal["AutoTokenizer", "tokenizer.json"]
Padding = Literal["none", "right", "left"]
Lengths = Literal["as pooled", "unit", "unit, then cut", "scaled", "other"]
"""Lengths of vectors: those of the pooling, 1, 1 before the cut to fewer dimensions, those of the pooling times one
factor, or none of these."""
BackgroundOf = Literal["unrelated texts", "this list"]
BACKGROUNDS: tuple[BackgroundOf, ...] = ("unrelated texts", "this list")
VectorFormat = Literal["float32", "float16", "int8", "uint8", "binary"]


@dataclass(frozen=True, slots=True)
class VectorRecipe:
    """What a program decides between a text and its vector."""

    tokenizer: TokenizerName
    """How transformers or the file reads the text."""
    prompt: str
    """Text in front of every text; "" for none."""
    lower_case: bool
    """Whether texts are lowercased first."""
    max_length: int | None
    """Most tokens of a text; None for no limit."""
    padding: Padding
    """Side on which texts of a batch are padded where that shows in the vectors."""
    layer: int
    """Entry of hidden_states; 0 is the embedding output."""
    pooling: Pooling
    """Pooling of the token vectors."""
    include_prompt: bool
    """Whether the tokens of the prompt are pooled, too."""
    include_padding: bool
    """Whether the padding is pooled, too, which is a mistake."""
    dense: int
    """Number of the checkpoint's dense layers that are applied, from the first."""
    lengths: Lengths
    """Normalisation, as the lengths of the vectors show it."""
    dimensions: int
    """Number of leading dimensions kept."""
    dtype: SentenceDtype
    """Number format of the run."""


@dataclass(frozen=True, slots=True)
class RecipeMatch:
    """How near the vectors of a recipe are to the vectors from outside."""

    recipe: VectorRecipe
    """The recipe."""
    mean_cosine: float
    """Mean over the texts of the cosine of both vectors."""
    worst_cosine: float
    """Least of these cosines."""
    worst_text: int
    """Index of the text with the least cosine."""
    differences: tuple[str, ...]
    """Fields in which the recipe differs from that of the model's folder."""


@dataclass(frozen=True, slots=True)
class VectorExplanation:
    """The recipe that makes given vectors of given texts, or the nearest one."""

    model: str
    """Name of the model."""
    revision: str
    """Revision of its files."""
    texts: int
    """Number of texts compared."""
    dimensions: int
    """Length of a vector."""
    reproduced: bool
    """Whether the first match makes these vectors, up to rounding; otherwise it is the nearest of those tried."""
    matches: tuple[RecipeMatch, ...]
    """The nearest recipes, nearest first; of equally near ones those nearest to the model's folder."""
    equal: tuple[RecipeMatch, ...]
    """Further recipes that make the same vectors of these texts."""
    own: RecipeMatch | None
    """How near the recipe of the model's folder is; None if its vectors have fewer dimensions."""
    from_checkpoint: bool
    """Whether the folder has a recipe; otherwise its own is the mean of all tokens."""
    recipes: int
    """Number of recipes tried."""
    runs: int
    """Number of tokenizations and paddings that the model was run on."""
    notices: tuple[str, ...] = ()
    """Notices, one sentence each."""


@dataclass(frozen=True, slots=True, eq=False)
class Background(OfModel):
    """The similarities of many pairs of texts in a model, with which the similarity of one pair is compared."""

    revision: str
    """Revision of its files."""
    pooling: Pooling
    """Pooling of the token vectors."""
    layer: int
    """Pooled entry of hidden_states; 0 is the embedding output."""
    prompt: str
    """Prefix of every text; "" for none."""
    query_prompt: str
    """Prefix of one text of every pair: another one for similarities of a query, which may have its own prompt."""
    measure: Measure
    """The measure; a Euclidean distance is small for similar texts."""
    of: BackgroundOf
    """Which texts the pairs are of."""
    texts: tuple[str, ...]
    """The texts."""
    similarities: Float[np.ndarray, " pairs"]
    """Similarities of all pairs of different texts, ascending; with two prompts, of both orders of each pair."""

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return len(self.similarities)

    @property
    def mean(self) -> float:
        """Mean of the similarities."""
        return float(self.similarities.mean(dtype=np.float64))

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the similarities."""
        return float(self.similarities.std(dtype=np.float64))

    @property
    def marked(self) -> tuple[int, int, int]:
        """Percentiles that are named: one of the least alike pairs, then two of the most alike."""
        return (95, 5, 1) if self.measure == "euclidean" else (5, 95, 99)

    def percentile(self, percent: float) -> float:
        """The similarity below which this share of the pairs lies, 0 to 100."""
        return float(np.percentile(self.similarities.astype(np.float64), percent))

    def percentile_rank(self, similarity: float) -> float:
        """The share of the pairs that are less alike than this similarity, 0 to 100; of equal ones half is counted."""
        return float(self.percentile_ranks(np.array([similarity], dtype=np.float64))[0])

    def percentile_ranks(self, similarities: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """The percentile ranks of several similarities; NaN for NaN."""
        below = np.searchsorted(self.similarities, similarities, side="left")
        until = np.searchsorted(self.similarities, similarities, side="right")
        ranks = 50 * (below + until) / self.pairs
        ranks = 100 - ranks if self.measure == "euclidean" else ranks
        return np.where(np.isnan(similarities), np.nan, ranks)


@dataclass(frozen=True, slots=True, eq=False)
class ListedPairs(Noticed):
    """All pairs of different sentences of a list."""

    sentences: tuple[str, ...]
    """The sentences."""
    similarities: Float[np.ndarray, " pairs"]
    """Similarity of each pair, row by row of the upper triangle; NaN where a vector is not finite."""


@dataclass(frozen=True, slots=True)
class SmallerVectors:
    """What vectors of one number format and number of dimensions keep of the full float32 vectors."""

    format: VectorFormat
    """Format of each number."""
    rescored: bool
    """Whether the nearest by these numbers are compared again, as restored numbers with the float32 query."""
    dimensions: int
    """Number of leading dimensions."""
    nbytes: int
    """Bytes of a vector."""
    recall: float
    """Mean share of the nearest texts by the full vectors that are among the nearest, 0 to 1."""
    spearman: float
    """Spearman's rank correlation of the scores of all pairs with the full cosines; NaN if all of one are equal."""
    changed: int
    """Number of queries with another nearest text."""


@dataclass(frozen=True, slots=True)
class WidestDimension:
    """The dimension of normalised vectors whose numbers have the largest range."""

    dimension: int
    """Its index."""
    range: float
    """Its greatest number minus its least."""
    median_range: float
    """Median of the ranges of all dimensions."""
    share: float
    """Its share of the squared length of all vectors, 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class BitsComparison(OfModel):
    """What the order of texts keeps when their vectors have fewer bits or dimensions."""

    sentences: tuple[str, ...]
    """The texts that are compared, at least 3."""
    queries: tuple[str, ...]
    """The queries; () where each text is one for all others."""
    dimensions: int
    """Dimensions of the full vectors."""
    neighbours: int
    """Number of nearest texts that are compared: the k of recall@k."""
    oversampling: int
    """How many times as many texts are compared again as are looked for, where there is rescoring."""
    calibration: int
    """Number of texts whose vectors set the range of each dimension for int8 and uint8."""
    formats: tuple[SmallerVectors, ...]
    """Formats, each with all numbers of dimensions, descending."""
    widest: WidestDimension
    """The dimension with the largest range."""
    constant_signs: int
    """Number of the full dimensions whose sign is the same in all texts."""
    trained: tuple[int, ...] = ()
    """Dimensions that the settings of the model name as trained; () for none."""


@dataclass(frozen=True, slots=True, eq=False)
class PromptedCosines(Noticed):
    """Cosines of a list of sentences with some prompts in front of them."""

    name: str
    """What is in front of the sentences."""
    query_prompt: str
    """Prompt of the sentence that is compared, a row."""
    document_prompt: str
    """Prompt of the sentences that it is compared with, the columns."""
    cosines: Float[np.ndarray, "sentences sentences"]
    """Cosine of each sentence with every one."""
    range: CosineRange
    """Mean and percentiles over all different sentences."""
    spread: float
    """Standard deviation of these cosines, of ordered pairs."""
    spearman: float
    """Rank correlation of these cosines with those without a prompt; NaN if one side is constant."""
    same_nearest: int
    """Number of sentences that keep the nearest other one that they have without a prompt."""


@dataclass(frozen=True, slots=True, eq=False)
class PromptComparison(OfModel):
    """The cosines of a list of sentences without a prompt, with prompts, and with swapped ones."""

    pair: PromptPair
    """The prompts of queries and documents."""
    sentences: tuple[str, ...]
    """The sentences that are compared, at least 2."""
    prompted: tuple[PromptedCosines, ...]
    """Without a prompt first, then with the pair, then with other arrangements."""


@dataclass(frozen=True, slots=True, eq=False)
class PromptedRanks(Noticed):
    """How documents are ranked for queries with some prompts in front of them."""

    name: str
    """What is in front of the texts."""
    query_prompt: str
    """Prompt of the queries."""
    document_prompt: str
    """Prompt of the documents."""
    ranks: Int[np.ndarray, " relevant"]
    """Rank of each relevant document among all for its query, from 1."""
    reciprocal: Float[np.ndarray, " queries"]
    """1 / rank of the first relevant document, for each query."""
    ndcg: float
    """nDCG of the first 10, mean over the queries."""
    recall: float
    """Share of the relevant documents among the first 10, mean over the queries."""

    @property
    def mrr(self) -> float:
        """Mean over the queries of 1 / rank of the first relevant document."""
        return float(self.reciprocal.mean())

    @property
    def first(self) -> float:
        """Share of the queries with a relevant document in the first place."""
        return float((self.reciprocal == 1).mean())

    @property
    def mean_rank(self) -> float:
        """Mean rank of all relevant documents."""
        return float(self.ranks.mean())


@dataclass(frozen=True, slots=True, eq=False)
class PromptRanking(OfModel):
    """Ranks of the relevant documents of queries without a prompt, with prompts, and with swapped ones."""

    pair: PromptPair
    """The prompts of queries and documents."""
    queries: tuple[str, ...]
    """Different queries with a relevant document."""
    documents: tuple[str, ...]
    """Different documents; each is ranked for every query."""
    query: Int[np.ndarray, " relevant"]
    """Index of the query of each relevant document."""
    document: Int[np.ndarray, " relevant"]
    """Index of each relevant document."""
    relevance: Float[np.ndarray, " relevant"]
    """How relevant it is, above 0."""
    prompted: tuple[PromptedRanks, ...]
    """Without a prompt first, then with the pair, then with other arrangements."""


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdCurve:
    """What every threshold of a score makes of labelled pairs: a pair counts as positive at the threshold or above."""

    thresholds: Float[np.ndarray, " thresholds"]
    """The different scores, ascending."""
    true_positives: Int[np.ndarray, " thresholds"]
    """Positive pairs at the threshold or above."""
    false_positives: Int[np.ndarray, " thresholds"]
    """Negative pairs there."""
    precision: Float[np.ndarray, " thresholds"]
    """Share of the pairs at the threshold or above that are positive."""
    recall: Float[np.ndarray, " thresholds"]
    """Share of the positive pairs that are at the threshold or above."""
    f1: Float[np.ndarray, " thresholds"]
    """Harmonic mean of precision and recall."""
    precision_interval: Float[np.ndarray, "2 thresholds"]
    """Wilson's 95% interval of the precision: lower and upper ends."""
    recall_interval: Float[np.ndarray, "2 thresholds"]
    """Wilson's 95% interval of the recall: lower and upper ends."""
    average_precision: float
    """Mean of the precisions, weighted by the rise of the recall from one threshold to the next."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """One threshold of a score, and what it makes of labelled pairs."""

    threshold: float
    """The lowest score that counts as positive."""
    above: float | None
    """The next lower score of a pair; all thresholds above it, up to this one, divide the pairs in the same way. None
    if there is none."""
    precision: float
    """Share of the pairs at the threshold or above that are positive."""
    precision_interval: tuple[float, float]
    """Wilson's 95% interval of it."""
    recall: float
    """Share of the positive pairs that are at the threshold or above."""
    recall_interval: tuple[float, float]
    """Wilson's 95% interval of it."""
    f1: float
    """Harmonic mean of precision and recall."""
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int


@dataclass(frozen=True, slots=True, eq=False)
class PairThresholds(OfModel):
    """Scores of labelled pairs, and what every threshold makes of them."""

    first_texts: tuple[str, ...]
    second_texts: tuple[str, ...]
    gold: Float[np.ndarray, " pairs"]
    """Label or gold similarity of each pair."""
    cut: float
    """Least gold similarity of a positive pair."""
    labels: Bool[np.ndarray, " pairs"]
    """Whether each pair is positive."""
    score_name: str
    """What the score is: "cosine", "late interaction", "logit", or what is made of a logit, such as "sigmoid"."""
    label: str
    """The class whose score it is; "" for none."""
    scores: Float[np.ndarray, " pairs"]
    """Score of each pair."""
    logits: Float[np.ndarray, " pairs"] | None
    """Logit of each pair; None without a head."""
    curve: ThresholdCurve
    """All thresholds."""
    best: Threshold
    """The threshold with the largest F1; the highest of several."""
    resampled: tuple[float, float]
    """Interval of that threshold for 95% of bootstrap samples of the pairs."""
    resamples: int
    """Number of bootstrap samples that have both labels."""
    seed: int
    """Seed of the bootstrap samples."""
    target: float
    """Precision that is to be reached, 0 to 1."""
    reaching: Threshold | None
    """The lowest threshold whose precision is at least that; None if there is none."""

    @property
    def positives(self) -> int:
        """Number of positive pairs."""
        return int(self.labels.sum())

    @property
    def negatives(self) -> int:
        """Number of negative pairs."""
        return len(self.labels) - self.positives

    @property
    def worst(self) -> Int[np.ndarray, " pairs"]:
        """Indices of all pairs: first those on the wrong side of the best threshold, the farthest from it first."""
        distance = np.where(self.labels, self.best.threshold - self.scores, self.scores - self.best.threshold)
        wrong = self.labels == (self.scores < self.best.threshold)
        return np.lexsort((-distance, ~wrong))


@dataclass(frozen=True, slots=True, eq=False)
class PositionShares(OfModel):
    """The vector of a text as a sum over its tokens, each with its share of the whole."""

    tokens: tuple[str, ...]
    """Tokens that the model reads, special ones and the prompt included."""
    special: Bool[np.ndarray, " tokens"]
    """Whether each is a special token, such as [CLS]."""
    shares: Float[np.ndarray, " tokens"]
    """Dot product of the token's part and the vector, over the vector's squared length; they add up to 1."""
    uniform: Float[np.ndarray, " tokens"]
    """Share of every token if all pooled ones had the same; 0 for a token that is not pooled."""
    pooling: Pooling
    """Pooling of the sum."""
    layer: int
    """Pooled entry of hidden_states; 0 is the embedding output."""
    exact: bool
    """Whether the sum is the model's own vector; otherwise `note` says what it is."""
    note: str
    """Explanation of the shares, one sentence."""
    cut: int
    """Number of tokens of the text that are cut off at the model's limit, and have no share."""
    cut_side: str
    """Where they are cut off: "end" or "beginning"."""


@dataclass(frozen=True, slots=True, eq=False)
class ChunkVectors(OfModel):
    """A text in chunks, each embedded alone, and each pooled from a run over the whole text."""

    text: str
    """The text, without spaces around it."""
    size: int
    """Most tokens of a chunk, without special ones and the prompt."""
    overlap: int
    """Most tokens at the beginning of a chunk that repeat the end of the one before."""
    texts: tuple[str, ...]
    """Text of every chunk."""
    starts: Int[np.ndarray, " chunks"]
    """First token of every chunk, among those of the text."""
    ends: Int[np.ndarray, " chunks"]
    """One after the last token of every chunk."""
    pooled: Int[np.ndarray, " chunks"]
    """Number of tokens that make up its late vector: special ones and the prompt are with the first and last chunk."""
    alone: Float[np.ndarray, "chunks dimensions"]
    """Vectors of the chunks that are embedded alone."""
    late: Float[np.ndarray, "chunks dimensions"]
    """Vectors of the chunks that are pooled from the run over the whole text."""
    pooling: Pooling
    """Pooling of the tokens of a chunk, in both ways."""
    windows: int
    """Number of runs over the text; 1 if the model reads it whole."""


@dataclass(frozen=True, slots=True, eq=False)
class LateChunks(OfModel):
    """The chunks of a text in both ways, and how near each is to a query."""

    chunks: ChunkVectors
    query: str
    """The query."""
    cosines: Float[np.ndarray, " chunks"]
    """Cosine of both vectors of each chunk."""
    alone_scores: Float[np.ndarray, " chunks"]
    """Cosine of the query and the chunk embedded alone."""
    late_scores: Float[np.ndarray, " chunks"]
    """Cosine of the query and the chunk pooled from the run over the whole text."""
    alone_ranks: Int[np.ndarray, " chunks"]
    """Rank by these cosines, 1 for the largest."""
    late_ranks: Int[np.ndarray, " chunks"]
    """Rank by the late ones, 1 for the largest."""
    shares: PositionShares

    @property
    def moved(self) -> int:
        """Index of the chunk whose two vectors have the least cosine."""
        return int(self.cosines.argmin())
