"""Results for sentences: their vectors, similarities, and the list they came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

Pooling = Literal["mean", "cls", "max", "pooler", "weightedmean", "lasttoken", "mean_sqrt_len_tokens"]
"""How one vector comes from many: the tokens' mean, the first token, the largest of each dimension, the pooler; a mean
weighted by place, the last token, the sum over the square root of the count, which some checkpoints ask for."""
POOLINGS: tuple[Pooling, ...] = ("mean", "cls", "max", "pooler", "lasttoken")
"""Those that can be asked for of any model; the others are followed where a checkpoint names them."""
ADDITIVE_POOLINGS: tuple[Pooling, ...] = ("mean", "max", "weightedmean", "mean_sqrt_len_tokens")
"""Those whose vector is a sum of one part per token."""
SentenceDtype = Literal["float32", "bfloat16"]


@dataclass(frozen=True, slots=True, eq=False)
class DenseLayer:
    """A linear map behind the pooling, as a checkpoint's sentence-transformers modules have it."""

    weight: Float[np.ndarray, "rows columns"]
    """Multiplied with the vector: output = activation(weight @ vector + bias)."""
    bias: Float[np.ndarray, " rows"] | None
    """Added to the product; None for none."""
    activation: str
    """Name of the function behind the sum: "identity", "tanh", "relu", "gelu" or "sigmoid"."""

    @property
    def linear(self) -> bool:
        """Whether nothing but a sum and products happens in it."""
        return self.activation == "identity"


@dataclass(frozen=True, slots=True)
class EdgeTokens:
    """The special tokens that a tokenizer puts around a sentence."""

    first: str | None
    """In front of it, such as [CLS]; None for none."""
    last: str | None
    """Behind it, such as [SEP]; None for none."""


@dataclass(frozen=True, slots=True, eq=False)
class SentencePlan:
    """How a sentence becomes one vector."""

    pooling: Pooling
    """How the tokens' vectors become one."""
    layer: int | None = None
    """Entry of hidden_states that is pooled, 0 for the embedding output; None for the last. A pooler reads the last."""
    normalize: bool = False
    """Whether the vector is normalised to unit length at the end."""
    prompt: str = ""
    """Text put in front of every sentence; "" for none."""
    include_prompt: bool = True
    """Whether the prompt's tokens are pooled with those of the sentence."""
    max_seq_length: int | None = None
    """Most tokens of a sentence, special ones included; None for what the model reads at once."""
    lower_case: bool = False
    """Whether prompt and sentence are put into lower case before they are tokenized."""
    dense: tuple[DenseLayer, ...] = ()
    """Maps applied behind the pooling, in their order; they belong to the model's own pooling and last layer."""
    truncate_dim: int | None = None
    """Leading dimensions that are kept at the very end; None for all. Belongs to the model's own pooling too."""
    reason: str = ""
    """Where this plan comes from, one sentence for the reader."""
    prompts: Mapping[str, str] | None = None
    """Prompts that the checkpoint offers, by name; None where it offers none."""
    notices: tuple[str, ...] = ()
    """What of the checkpoint's modules is not followed, one sentence each."""
    from_checkpoint: bool = False
    """Whether the checkpoint itself asks for this pooling."""


@dataclass(frozen=True, slots=True)
class TokenPair:
    """One token of each sentence and what the two add to the similarity."""

    first: int
    """Position of the token in the first sentence."""
    second: int
    """Position of the token in the second sentence."""
    share: float
    """Its cell: what it adds to the cosine."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenPairShares:
    """The cosine of two sentences as a sum over pairs of tokens."""

    first_tokens: tuple[str, ...]
    """Tokens of the first sentence, one for each row."""
    second_tokens: tuple[str, ...]
    """Tokens of the second sentence, one for each column."""
    cells: Float[np.ndarray, "first second"]
    """What each pair of tokens adds; the sum of all is `total`."""
    score: float
    """Cosine of the two sentence vectors by the plan."""
    total: float
    """Sum of the cells: the score where `exact`, up to rounding."""
    exact: bool
    """Whether the cells make up the score; where not, they are an approximation and `note` says why."""
    note: str
    """What the cells are, one sentence for the reader."""
    pooling: Pooling
    """The pooling of the score."""
    layer: int
    """Entry of hidden_states that the cells are made from."""
    first_totals: Float[np.ndarray, " first"]
    """Sums of the rows: what each token of the first sentence adds."""
    second_totals: Float[np.ndarray, " second"]
    """Sums of the columns."""
    first_words: tuple[str, ...]
    """Words of the first sentence in their order, special tokens as their own."""
    first_word_totals: Float[np.ndarray, " first_words"]
    """What each word of the first sentence adds."""
    second_words: tuple[str, ...]
    """Words of the second sentence."""
    second_word_totals: Float[np.ndarray, " second_words"]
    """What each word of the second sentence adds."""
    word_cells: Float[np.ndarray, "first_words second_words"]
    """What each pair of words adds: cells of their tokens summed."""
    top: tuple[TokenPair, ...]
    """Pairs of tokens by size of their cell, largest first, special tokens left out."""


Measure = Literal["cosine", "dot", "euclidean"]
MEASURES: tuple[Measure, ...] = ("cosine", "dot", "euclidean")
MapMethod = Literal["pca", "umap"]


@dataclass(frozen=True, slots=True, eq=False)
class SentenceVectors:
    """One vector for every sentence, in the order given."""

    sentences: tuple[str, ...]
    """The sentences as given."""
    vectors: Float[np.ndarray, "sentences dimensions"]
    """Their vectors; cannot be written to."""
    token_counts: Int[np.ndarray, " sentences"]
    """Tokens that the model read of each, special ones and the prompt included."""
    truncated: Bool[np.ndarray, " sentences"]
    """Whether tokens were cut off at its end."""
    model: str
    """Name of the model."""
    revision: str
    """Revision of its files."""
    pooling: Pooling
    """How the tokens' vectors became one."""
    layer: int
    """Entry of hidden_states that was pooled, 0 for the embedding output."""
    normalized: bool
    """Whether every vector was normalised to unit length."""
    prompt: str
    """Text put in front of every sentence; "" for none."""
    dtype: SentenceDtype
    """Number format of the run; the vectors are float32 all the same."""
    computed: int
    """Different sentences that the model was run on for this result."""
    from_store: int
    """Different sentences whose vectors were kept from before."""
    seconds: float
    """Duration of all of it."""
    notices: tuple[str, ...]
    """What a reader must know about the numbers, one sentence each."""
    first_token: str | None = None
    """The special token in front of every sentence, whose vector "cls" takes; None for none."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPairs:
    """Pairs of sentences, the most similar first."""

    first: Int[np.ndarray, " found"]
    """Index of one sentence."""
    second: Int[np.ndarray, " found"]
    """Index of the other, larger than the first."""
    score: Float[np.ndarray, " found"]
    """How alike they are, by the measure."""
    measure: Measure
    """The measure; a Euclidean distance is small where two are alike."""


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Sentences nearest to a query, the nearest first."""

    index: Int[np.ndarray, " found"]
    """Index of the sentence."""
    score: Float[np.ndarray, " found"]
    """How alike it is to the query, by the measure."""
    measure: Measure
    """The measure."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusterOrder:
    """An order in which similar sentences are adjacent (average linkage of 1 - cosine)."""

    order: Int[np.ndarray, " sentences"]
    """Index of the sentence at each place."""
    linkage: Float[np.ndarray, "merges 4"]
    """As scipy.cluster.hierarchy: the two clusters joined (numbers from the count of sentences on are earlier joins),
    the distance of the join (1 - cosine), sentences below it."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockSummary:
    """Similarity of many sentences as a small matrix: mean cosine between blocks of sentences."""

    order: Int[np.ndarray, " sentences"]
    """Index of the sentence at each place; blocks are runs of places."""
    starts: Int[np.ndarray, " blocks"]
    """First place of every block."""
    sizes: Int[np.ndarray, " blocks"]
    """Sentences of every block."""
    similarity: Float[np.ndarray, "blocks blocks"]
    """Mean cosine of all pairs of sentences from the two blocks, a sentence with itself left out; 1 for a block of one
    with itself."""
    examples: Int[np.ndarray, " blocks"]
    """Index of the sentence nearest to the middle of each block."""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceMap:
    """Every sentence as a point in two dimensions."""

    points: Float[np.ndarray, "sentences 2"]
    """Coordinates."""
    explained: Float[np.ndarray, "2"] | None
    """Share of the variance along each axis, 0 to 1; None for a method whose axes have no such meaning."""
    method: MapMethod
    """How the points were placed."""
    note: str
    """What the picture shows and what not, one sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class PoolingComparison:
    """The same sentences under every pooling and layer."""

    sentences: tuple[str, ...]
    """The sentences compared."""
    poolings: tuple[Pooling, ...]
    """Rows; a model without a pooler has none for it."""
    layers: tuple[int, ...]
    """Entries of hidden_states compared, 0 for the embedding output."""
    mean_cosine: Float[np.ndarray, "poolings states"]
    """Mean cosine of two different sentences (anisotropy, Ethayarajh 2019, section 3.2); NaN where there is no such
    vector, as for the pooler below the last layer."""
    spread: Float[np.ndarray, "poolings states"]
    """Standard deviation of these cosines; NaN likewise."""
    matrices: Float[np.ndarray, "poolings states sentences sentences"] | None
    """Cosine of every two sentences; None for more than 64 sentences. NaN likewise."""
    note: str
    """How to read the numbers, one sentence."""
    edges: EdgeTokens = EdgeTokens(None, None)
    """The special tokens around a sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceTable:
    """Sentences read from a text or a table, none of them blank."""

    name: str
    """Name of the file or what stands for it."""
    sentences: tuple[str, ...]
    """The sentences kept, duplicates included, in the order of the file."""
    column: str | None
    """Column that they are from; None for a plain text."""
    columns: tuple[str, ...]
    """The columns of the file that hold one value in a cell, so that each could be that of the sentences."""
    rows: Int[np.ndarray, " sentences"]
    """Line (text) or row of data (table) of each, counted from 1."""
    frame: pd.DataFrame
    """The other columns, as far as they fit, one row for each sentence; without columns for a plain text."""
    blank: int
    """Rows left out because nothing stands in them."""
    duplicates: int
    """Sentences that stand in the list before."""
    cut: int
    """Sentences of which only the beginning is kept."""
    notices: tuple[str, ...]
    """What a reader must know about how the file was read, one sentence each."""
