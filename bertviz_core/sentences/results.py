"""Results for sentences: their vectors, similarities, and the list they came from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.lazy_imports import torch
from bertviz_core.trace.results import Noticed, OfModel, OfTwoModels

Pooling = Literal["mean", "cls", "max", "pooler", "weightedmean", "lasttoken", "mean_sqrt_len_tokens", "splade", "idf"]
"""Pooling of token vectors: mean, first token, maximum of each dimension, pooler; position-weighted mean, last token,
or sum over the square root of the count, for checkpoints that require them; weights of the words of the vocabulary, for
a sparse encoder, by a masked-LM head or by a table with one weight for each token."""
SPARSE_POOLINGS: tuple[Pooling, ...] = ("splade", "idf")
"""Poolings with a number for each word of the vocabulary."""
POOLINGS: tuple[Pooling, ...] = ("mean", "cls", "max", "pooler", "lasttoken")
"""Poolings available for any model; the others are used if a checkpoint requires them."""
ADDITIVE_POOLINGS: tuple[Pooling, ...] = ("mean", "max", "weightedmean", "mean_sqrt_len_tokens")
"""Poolings with a vector that is a sum of one part per token."""
SentenceDtype = Literal["float32", "bfloat16", "float16"]


@dataclass(frozen=True, slots=True, eq=False)
class DenseLayer:
    """A linear map after the pooling, from a checkpoint's sentence-transformers modules."""

    weight: Float[np.ndarray, "rows columns"]
    """Weight matrix: output = activation(weight @ vector + bias)."""
    bias: Float[np.ndarray, " rows"] | None
    """Bias; None for none."""
    activation: str
    """Name of the activation: "identity", "tanh", "relu", "gelu" or "sigmoid"."""

    @property
    def linear(self) -> bool:
        """Whether the activation is the identity."""
        return self.activation == "identity"


@dataclass(frozen=True, slots=True)
class SparsePooling:
    """How a sparse encoder makes one weight for each word of the vocabulary of the logits of its tokens."""

    strategy: Literal["max", "sum"] = "max"
    """Whether the largest weight of all tokens counts, or their sum."""
    logs: int = 1
    """How often log(1 + x) is taken of the positive part of a logit."""


@runtime_checkable
class WordLogits(Protocol):
    """A masked-LM head, as the pooling of a sparse encoder reads it."""

    @property
    def vocab_size(self) -> int:
        """Number of words."""

    @property
    def model(self) -> Any:
        """The model to run."""

    def states(self, output: Mapping[str, Any]) -> "torch.Tensor":
        """The states (batch, seq, hidden) of its output that `logits_unlocked` reads."""

    def logits_unlocked(self, output: Mapping[str, Any], states: "torch.Tensor") -> "torch.Tensor":
        """The logits (positions, vocab) of states."""

    def chunks(self, count: int) -> Iterator[slice]:
        """Slices of positions whose logits fit into memory."""


@dataclass(frozen=True, slots=True)
class EdgeTokens:
    """Special tokens that a tokenizer adds around a sentence."""

    first: str | None
    """Leading token, such as [CLS]; None for none."""
    last: str | None
    """Trailing token, such as [SEP]; None for none."""


@dataclass(frozen=True, slots=True)
class PromptPair:
    """The prompts in front of queries and of documents."""

    name: str
    """Name of the pair: of a family of models, or where it comes from."""
    query: str
    """Prompt of a query; "" for none."""
    document: str
    """Prompt of a document; "" for none."""
    source: str = ""
    """Who says so, as part of a sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class SentencePlan:
    """Recipe for the vector of a sentence."""

    pooling: Pooling
    layer: int | None = None
    """Pooled entry of hidden_states, 0 for the embedding output; None for the last, which the pooler reads."""
    normalize: bool = False
    """Whether the vector is normalised to unit length at the end."""
    prompt: str = ""
    """Prefix of every sentence; "" for none."""
    include_prompt: bool = True
    """Whether the tokens of the prompt are pooled, too."""
    max_seq_length: int | None = None
    """Maximum number of tokens per sentence, special ones included; None for the limit of the model."""
    lower_case: bool = False
    """Whether prompt and sentence are lowercased before tokenization."""
    dense: tuple[DenseLayer, ...] = ()
    """Maps applied after the pooling, in order; they apply only to the model's own pooling and last layer."""
    truncate_dim: int | None = None
    """Number of leading dimensions kept at the end; None for all. Applies only to the model's own pooling, too."""
    reason: str = ""
    """Origin of this plan, one sentence."""
    prompts: Mapping[str, str] | None = None
    """Prompts of the checkpoint by name; None if it has none."""
    notices: tuple[str, ...] = ()
    """Unsupported parts of the checkpoint's modules, one sentence each."""
    from_checkpoint: bool = False
    """Whether the checkpoint specifies this pooling."""
    convention: PromptPair | None = None
    """Prompts that the family of the model is used with, if the checkpoint names none; they are not applied."""
    sparse: SparsePooling | None = None
    """How logits become weights; None for every pooling but "splade"."""
    head: WordLogits | None = None
    """The head that makes the logits; None for a model that is not loaded."""
    measure: "Measure" = "cosine"
    """What compares two vectors, unless another is asked for."""


@dataclass(frozen=True, slots=True)
class TokenPair:
    """One token of each sentence and their contribution to the similarity."""

    first: int
    """Position of the token in the first sentence."""
    second: int
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class TokenPairShares:
    """The cosine of two sentences as a sum over pairs of tokens."""

    first_tokens: tuple[str, ...]
    """Tokens of the first sentence, one for each row."""
    second_tokens: tuple[str, ...]
    cells: Float[np.ndarray, "first second"]
    """Contribution of each pair of tokens; they sum to `total`."""
    score: float
    """Cosine of the two sentence vectors under the plan."""
    total: float
    """Sum of the cells; equals the score up to rounding if `exact`."""
    exact: bool
    """Whether the cells sum to the score; otherwise they are an approximation, and `note` explains it."""
    note: str
    """Explanation of the cells, one sentence."""
    pooling: Pooling
    """The pooling of the score."""
    layer: int
    """Entry of hidden_states of the cells."""
    first_totals: Float[np.ndarray, " first"]
    """Sums of the rows: contribution of each token of the first sentence."""
    second_totals: Float[np.ndarray, " second"]
    first_words: tuple[str, ...]
    """Words of the first sentence in order; special tokens are words of their own."""
    first_word_totals: Float[np.ndarray, " first_words"]
    """Contribution of each word of the first sentence."""
    second_words: tuple[str, ...]
    second_word_totals: Float[np.ndarray, " second_words"]
    word_cells: Float[np.ndarray, "first_words second_words"]
    """Contribution of each pair of words: sums of their tokens' cells."""
    top: tuple[TokenPair, ...]
    """Pairs of tokens by descending magnitude of their cell, without special tokens."""


Measure = Literal["cosine", "dot", "euclidean"]
MEASURES: tuple[Measure, ...] = ("cosine", "dot", "euclidean")
MapMethod = Literal["pca", "umap"]


@dataclass(frozen=True, slots=True, eq=False)
class SentenceVectors(Noticed):
    """One vector per sentence, in the order of the input."""

    sentences: tuple[str, ...]
    """The sentences."""
    vectors: Float[np.ndarray, "sentences dimensions"]
    """Vectors of the sentences; read-only."""
    token_counts: Int[np.ndarray, " sentences"]
    """Number of tokens of each sentence, special ones and the prompt included."""
    truncated: Bool[np.ndarray, " sentences"]
    """Whether tokens were cut off at its end."""
    model: str
    """Name of the model."""
    revision: str
    """Revision of its files."""
    pooling: Pooling
    """Pooling of the token vectors."""
    layer: int
    """Pooled entry of hidden_states; 0 is the embedding output."""
    normalized: bool
    """Whether all vectors are normalised to unit length."""
    prompt: str
    """Prefix of every sentence; "" for none."""
    dtype: SentenceDtype
    """Number format of the run; the vectors are always float32."""
    computed: int
    """Number of distinct sentences computed for this result."""
    from_store: int
    """Number of distinct sentences with cached vectors."""
    seconds: float
    """Total duration in seconds."""
    first_token: str | None = None
    """Leading special token of every sentence, used by "cls"; None for none."""
    measure: Measure = "cosine"
    """What compares two of the vectors, unless another is asked for."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPairs:
    """Pairs of sentences by descending similarity."""

    first: Int[np.ndarray, " found"]
    """Index of the first sentence."""
    second: Int[np.ndarray, " found"]
    """Index of the second sentence, larger than the first."""
    score: Float[np.ndarray, " found"]
    """Similarity by the measure."""
    measure: Measure
    """The measure; a Euclidean distance is small for similar sentences."""


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Sentences nearest to a query, nearest first."""

    index: Int[np.ndarray, " found"]
    """Index of the sentence."""
    score: Float[np.ndarray, " found"]
    """Similarity to the query by the measure."""
    measure: Measure
    """The measure."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusterOrder:
    """An order in which similar sentences are adjacent (average linkage of 1 - cosine)."""

    order: Int[np.ndarray, " sentences"]
    """Index of the sentence at each position."""
    linkage: Float[np.ndarray, "merges 4"]
    """Linkage matrix of scipy.cluster.hierarchy: the two merged clusters (numbers from the number of sentences on are
    earlier merges), their distance (1 - cosine), and the number of sentences."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockSummary:
    """Similarity of many sentences as a small matrix of mean cosines between blocks of sentences."""

    order: Int[np.ndarray, " sentences"]
    """Index of the sentence at each position; blocks are ranges of positions."""
    starts: Int[np.ndarray, " blocks"]
    """First position of every block."""
    sizes: Int[np.ndarray, " blocks"]
    """Number of sentences of every block."""
    similarity: Float[np.ndarray, "blocks blocks"]
    """Mean cosine of all pairs of sentences from two blocks, without a sentence and itself; 1 on the diagonal for a
    block of one sentence."""
    examples: Int[np.ndarray, " blocks"]
    """Index of the sentence nearest to the centre of each block."""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceMap:
    """Every sentence as a point in two dimensions."""

    points: Float[np.ndarray, "sentences 2"]
    explained: Float[np.ndarray, "2"] | None
    """Share of the variance along each axis, 0 to 1; None if the method has no such shares."""
    method: MapMethod
    note: str
    """Explanation of the map, one sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class PoolingComparison:
    """The same sentences under every pooling and layer."""

    sentences: tuple[str, ...]
    poolings: tuple[Pooling, ...]
    """Poolings of the rows; without the pooler for a model that lacks one."""
    layers: tuple[int, ...]
    """Compared entries of hidden_states; 0 is the embedding output."""
    mean_cosine: Float[np.ndarray, "poolings states"]
    """Mean cosine of distinct sentences (anisotropy, Ethayarajh 2019, section 3.2); NaN if undefined, such as the
    pooler below the last layer."""
    spread: Float[np.ndarray, "poolings states"]
    """Standard deviation of these cosines; NaN if undefined."""
    matrices: Float[np.ndarray, "poolings states sentences sentences"] | None
    """Cosines of all pairs of sentences, NaN if undefined; None for more than 64 sentences."""
    note: str
    """Explanation of the numbers, one sentence."""
    edges: EdgeTokens = EdgeTokens(None, None)
    cut: tuple[str, ...] = ()
    """How many sentences are cut off, one sentence; () if none is."""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceTable:
    """Sentences read from a text or a table, none of them blank."""

    name: str
    """Name of the file, or a substitute."""
    sentences: tuple[str, ...]
    """The sentences, duplicates included, in the order of the file."""
    column: str | None
    """Their column; None for plain text."""
    columns: tuple[str, ...]
    """Columns of the file with scalar values, which could contain the sentences."""
    rows: Int[np.ndarray, " sentences"]
    """Line (text) or data row (table) of each sentence, counted from 1."""
    frame: "pd.DataFrame"
    """The other columns up to a limit, one row per sentence; no columns for plain text."""
    blank: int
    """Number of blank rows left out."""
    duplicates: int
    cut: int
    """Number of truncated sentences."""
    notices: tuple[str, ...]
    """Notices about the reading of the file, one sentence each."""


@dataclass(frozen=True, slots=True)
class CosineRange:
    """Where the cosines of all pairs of different sentences lie."""

    mean: float
    low: float
    """5th percentile."""
    high: float
    """95th percentile."""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceComparison(OfTwoModels):
    """Two models on the same list of sentences."""

    sentences: tuple[str, ...]
    """The sentences, at least 3."""
    first_cosines: Float[np.ndarray, "sentences sentences"]
    """Cosines of all pairs in the first model."""
    second_cosines: Float[np.ndarray, "sentences sentences"]
    first_range: CosineRange
    """Mean and percentiles of the cosines of different sentences in the first model."""
    second_range: CosineRange
    neighbours: int
    """Number of nearest sentences that are compared."""
    shared: Float[np.ndarray, " sentences"]
    """Share of the nearest sentences of each that are the same in both models, 0 to 1."""
    first_nearest: Int[np.ndarray, " sentences"]
    """Index of the sentence nearest to each in the first model."""
    second_nearest: Int[np.ndarray, " sentences"]
    cka: float | None
    """Unbiased linear CKA of the sentence vectors of both models, at most 1; None for fewer than 4 sentences, or if a
    model gives all the same vector."""

    @property
    def difference(self) -> Float[np.ndarray, "sentences sentences"]:
        """Cosine in the second model minus that in the first."""
        return np.asarray(self.second_cosines - self.first_cosines)

    @property
    def same_nearest(self) -> int:
        """Number of sentences with the same nearest sentence in both models."""
        return int((self.first_nearest == self.second_nearest).sum())


def off_diagonal(cosines: Float[np.ndarray, "sentences sentences"]) -> Float[np.ndarray, " pairs"]:
    """The cosines of all pairs of different sentences, each pair once, row by row."""
    values: Float[np.ndarray, " pairs"] = cosines[np.triu_indices(len(cosines), 1)]
    return values


@dataclass(frozen=True, slots=True, eq=False)
class GoldCosines:
    """Cosines of pairs of sentences in one model, and their correlation with gold similarities."""

    model: str
    cosines: Float[np.ndarray, " pairs"]
    """Cosine of the two sentences of each pair, -1 to 1."""
    rank_errors: Float[np.ndarray, " pairs"]
    """Rank of the cosine minus rank of the gold similarity, over the number of pairs less one: -1 to 1, above 0 where
    the model finds a pair more alike than the gold similarities do, compared with the other pairs."""
    pearson: float
    """Pearson's correlation of cosine and gold similarity; NaN if all cosines are equal."""
    spearman: float
    """Spearman's rank correlation of the two; NaN if all cosines are equal."""


@dataclass(frozen=True, slots=True, eq=False)
class GoldPairs(Noticed):
    """Pairs of sentences with gold similarities, in one or two models."""

    first_sentences: tuple[str, ...]
    second_sentences: tuple[str, ...]
    gold: Float[np.ndarray, " pairs"]
    """Gold similarity of each pair, on any scale."""
    models: tuple[GoldCosines, ...]

    @property
    def worst(self) -> Int[np.ndarray, " pairs"]:
        """Indices of all pairs, the largest rank error of the last model first."""
        return np.argsort(-np.abs(self.models[-1].rank_errors), kind="stable")


@dataclass(frozen=True, slots=True, eq=False)
class ListedPairs(Noticed):
    """All pairs of different sentences of a list."""

    sentences: tuple[str, ...]
    """The sentences."""
    similarities: Float[np.ndarray, " pairs"]
    """Similarity of each pair, row by row of the upper triangle; NaN where a vector is not finite."""


@dataclass(frozen=True, slots=True, eq=False)
class DimensionCurve(OfModel):
    """What the cosines of a list of sentences keep when its vectors are cut to their first dimensions."""

    sentences: tuple[str, ...]
    """The sentences that are compared, at least 3."""
    dimensions: Int[np.ndarray, " counts"]
    """Numbers of dimensions, ascending."""
    neighbours: int
    """Number of nearest sentences that are compared."""
    shared: Float[np.ndarray, " counts"]
    """Mean share of the nearest sentences of each that are those of the full vectors, 0 to 1."""
    spearman: Float[np.ndarray, " counts"]
    """Spearman's rank correlation of the cosines of all pairs with those of the full vectors; NaN if all are equal."""
    nbytes: Int[np.ndarray, " counts"]
    """Bytes of a vector of float32 numbers."""
    trained: tuple[int, ...] = ()
    """Dimensions that the settings of the model name as trained; () for none."""
