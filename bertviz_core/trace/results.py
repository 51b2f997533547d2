"""Results of a run: the tokens of a text, and what the model computed for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from bertviz_core.models.recording import AttentionSource


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """A tokenized text or pair of texts."""

    text: str
    """The text, with lone surrogates replaced."""
    pair: str | None
    """The second text, if there is one."""
    tokens: tuple[str, ...]
    """Tokens as the vocabulary spells them, including special tokens."""
    input_ids: Int[np.ndarray, " seq"]
    """Vocabulary ids."""
    token_type_ids: Int[np.ndarray, " seq"] | None
    """Token types, as passed to the model; None if the tokenizer has none."""
    word_ids: tuple[int | None, ...] | None
    """Index of the word of each token, None for special tokens; None if the tokenizer does not provide words."""
    offsets: tuple[tuple[int, int] | None, ...] | None
    """Character span of each token, end exclusive, None for added tokens; None if the tokenizer does not provide spans.

    The span of a token for a space is white space or empty; it never includes the next letter.
    """
    sequence: tuple[int | None, ...]
    """0 for tokens of the text, 1 for those of its pair, None for tokens that the tokenizer added."""
    special: Bool[np.ndarray, " seq"]
    """Whether the token is special, such as [CLS], whether it was added or is part of the text."""
    unknown: Bool[np.ndarray, " seq"]
    """Whether it is the unknown token."""
    other_inputs: Mapping[str, Int[np.ndarray, " seq"]]
    """Further ids per token that the model reads (RoCBert's shapes and pronunciations)."""
    limit: int | None
    """Maximum number of tokens; None without a limit."""
    limit_reason: str
    """Reason for the limit."""
    tokens_cut: tuple[int, int]
    """Number of tokens truncated at the end of the text and of its pair."""
    notices: tuple[str, ...]
    """Remarks about the tokenization, one sentence each."""
    filled: str | None = None
    """The template with both texts, which is tokenized without further tokens; None where there is no template."""

    @property
    def read_texts(self) -> tuple[str, ...]:
        """The texts that the tokenizer is given: a filled template, or the text, and its pair if there is one."""
        if self.filled is not None:
            return (self.filled,)
        return (self.text,) if self.pair is None else (self.text, self.pair)

    def __len__(self) -> int:
        """Count of tokens."""
        return len(self.tokens)

    @property
    def identity(self) -> tuple[str, str | None, bytes]:
        """Key that no other input of the same model has, not even the same text with a masked token."""
        return self.text, self.pair, self.input_ids.tobytes()

    @property
    def second_start(self) -> int | None:
        """Position of the first token of the second text; None if there is none."""
        return self.sequence.index(1) if 1 in self.sequence else None


@dataclass(frozen=True, slots=True, eq=False)
class Noticed:
    """A result with remarks; its arrays are read-only."""

    notices: tuple[str, ...] = field(default=(), kw_only=True)
    """Remarks, one sentence each."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


@dataclass(frozen=True, slots=True, eq=False)
class OfModel(Noticed):
    """A result about a model."""

    model: str
    """Name of the model."""


@dataclass(frozen=True, slots=True, eq=False)
class OfText(OfModel):
    """A result about a text that a model reads."""

    tokens: Tokens
    """The text or pair, before any masking."""


@dataclass(frozen=True, slots=True, eq=False)
class OfTwoModels(Noticed):
    """A comparison of two models."""

    first: str
    """Name of the first model."""
    second: str
    """Name of the second model."""


@dataclass(frozen=True, slots=True, eq=False)
class OfRun(Noticed):
    """A result about the checkpoints of a training run."""

    run: str
    """Name of the folder."""
    checkpoints: tuple[str, ...]
    """Names of the checkpoints."""
    steps: Int[np.ndarray, " checkpoints"]
    """Step of each checkpoint, ascending."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A token in its text."""

    position: int
    """Position among all tokens, zero-based."""
    text: str
    """The characters that it covers, or its spelling if it covers none; "" for a token that is only a mark."""
    mark: str
    """Prefix of its spelling: "##" if it continues a word, "▁" or "Ġ" for a space, or ""."""
    spelling: str
    """Its spelling in the vocabulary."""
    token_id: int
    special: bool
    """Whether it is a special token, such as [CLS]."""
    unknown: bool


@dataclass(frozen=True, slots=True)
class PieceRun:
    """The pieces of a word, or characters that no token covers."""

    pieces: tuple[Piece, ...] = ()
    """Pieces in order; empty for characters without a token."""
    tone: int = 0
    """0 and 1, alternating from word to word."""
    sequence: int | None = None
    """0 for the text, 1 for its pair, None for a token that the tokenizer added."""
    gap: str = ""
    """Characters that no token covers."""
    cut: bool = False
    """Whether they are the truncated end of the text."""


@dataclass(frozen=True, slots=True)
class TextPieces:
    """A text or pair as words of pieces and the characters between them, in the order of the tokens."""

    runs: tuple[PieceRun, ...]
    """Words and gaps."""
    right_to_left: bool
    """Whether the text is in a right-to-left script."""
    pair: bool
    """Whether there is a second text."""

    def __len__(self) -> int:
        """Count of tokens."""
        return sum(len(run.pieces) for run in self.runs)


@dataclass(frozen=True, slots=True)
class WordEdit:
    """A run of words that an edit kept, inserted, deleted or replaced."""

    kind: Literal["same", "inserted", "deleted", "replaced"]
    """Kind of edit."""
    before: tuple[int, int]
    """Their character span in the old text, end exclusive; empty for an insertion."""
    after: tuple[int, int]
    """Their character span in the new text; empty for a deletion."""


Mask = Shaped[np.ndarray, "mask_heads seq seq"]


@dataclass(frozen=True, slots=True, eq=False)
class Trace(OfModel):
    """One run of a model on a text; all arrays are read-only float32 (masks may be bool)."""

    revision: str
    """State of its files: a commit or a digest."""
    model_type: str
    """The model_type of the family in transformers."""
    tokens: Tokens
    """The tokenized text."""
    hidden_states: Float[np.ndarray, "states seq hidden"]
    """Output of the embedding block (entry 0) and of every layer; states = layers + 1."""
    pooler_output: Float[np.ndarray, " pooled"] | None
    """Output of the pooler; None for a model without one."""
    query: tuple[Float[np.ndarray, "heads seq head_dim"], ...] | None
    """Queries of every layer, including rotary positions; None unless recorded."""
    key: tuple[Float[np.ndarray, "key_heads seq head_dim"], ...] | None
    """Keys of every layer; key_heads divides heads if query heads share key heads."""
    value: tuple[Float[np.ndarray, "key_heads seq value_dim"], ...] | None
    """Values of every layer."""
    masks: tuple[Mask | None, ...] | None
    """Mask of each layer: added to the scaled scores (float), or True for visible keys (bool); None for no mask."""
    scaling: tuple[float, ...] | None
    """Factor of the product of query and key, for each layer."""
    attentions: tuple[Float[np.ndarray, "heads seq seq"], ...] | None
    """The model's own attention probabilities, if query and key were not recorded."""
    attention_source: AttentionSource
    """Source of the attention."""
    attention_note: str
    """A sentence about that source."""
    device: str
    """Device of the run: "cpu", "cuda", "cuda:1" or "mps"."""
    dtype: str
    """Number format of the run; the arrays are always float32."""
    seconds: float
    """Duration of the run, including the conversion to NumPy."""
    sinks: tuple[Float[np.ndarray, " heads"] | None, ...] | None = None
    """The attention sink of every layer that has one: a learned score of each head that stands in the softmax beside
    those of the keys, has no value, and so takes a share of every row; None for a model without sinks."""

    @property
    def num_hidden_layers(self) -> int:
        """Number of layers."""
        return len(self.hidden_states) - 1

    @property
    def num_attention_heads(self) -> int:
        """Number of heads per layer; 0 if the attention is not available."""
        maps = self.query or self.attentions
        return len(maps[0]) if maps else 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, shared ones counted once, and of the texts."""
        groups = (self.query, self.key, self.value, self.masks, self.attentions, self.sinks)
        arrays = [array for group in groups if group is not None for array in group if array is not None]
        arrays += [self.hidden_states, self.tokens.input_ids]
        if self.pooler_output is not None:
            arrays.append(self.pooler_output)
        texts = len(self.tokens.text) + len(self.tokens.pair or "")
        return sum({id(array): array.nbytes for array in arrays}.values()) + 4 * texts


SIGNS, UNKNOWN = "punctuation, symbols", "unknown"
"""Kind of rows and words without a letter or digit; kind of the unknown token, which no other special one is with."""


class ScriptUse(NamedTuple):
    """Rows of a vocabulary, and words of texts, of one script."""

    kind: str
    """Script of the letters; without any what else it is, such as "digits", "bytes" or "special"."""
    rows: int
    used: int
    """Number of these rows that the texts touch."""
    tokens: int
    """Tokens of the texts that are these rows."""
    words: int
    """Words of the texts in this script; 0 where the tokenizer names no words."""
    pieces: int
    """Tokens of these words."""
    unknown: int
    """Pieces of these words that are not in the vocabulary."""
    bytes: int
    """Pieces of these words that are no whole characters."""


class VocabularyTable(NamedTuple):
    """A table of a model with one row per token."""

    name: str
    """Name of the parameter."""
    role: Literal["input", "output"]
    shape: tuple[int, ...]
    dtype: str
    """Number format in the file."""
    nbytes: int
    """Bytes of the table in this format."""
    share: float
    """Its numbers as a share of all parameters of the model."""


@dataclass(frozen=True, slots=True, eq=False)
class VocabularyUse:
    """What texts use of a vocabulary."""

    model: str
    texts: int
    """Number of texts."""
    special_tokens: int
    """Number of special tokens in the texts, those included that the tokenizer adds."""
    ids: Int[np.ndarray, " used"]
    """Rows that the texts touch without special ones, the most frequent first."""
    counts: Int[np.ndarray, " used"]
    """Number of tokens of each of these rows."""
    spelled: tuple[str, ...]
    """Their spellings."""
    by_script: tuple[ScriptUse, ...]
    """All rows and words by script, those with the most rows first, and behind the scripts what has none."""
    split_words: tuple[tuple[str, tuple[str, ...]], ...]
    """Words with the most pieces, and these as the vocabulary spells them."""
    unknown_texts: tuple[tuple[int, int, str], ...]
    """Texts with the most unknown pieces: the number of these, the index of the text, and the text."""
    tables: tuple[VocabularyTable, ...]
    """The input table, and the output table where it is not the same; () if neither is known."""
    notices: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Rows of the table, or tokens of a tokenizer whose model has none with one row per token."""
        return sum(each.rows for each in self.by_script)

    @property
    def untouched(self) -> int:
        """Rows that no text touches; those of special tokens count as touched where they occur."""
        return self.rows - sum(each.used for each in self.by_script)

    @property
    def tokens(self) -> int:
        """Number of tokens of the texts without special ones."""
        return int(self.counts.sum())

    def untouched_nbytes(self, table: VocabularyTable) -> int:
        """Bytes of the rows of a table that no text touches."""
        return table.nbytes // self.rows * self.untouched

    def covering(self, percent: int) -> int:
        """How many rows, the most frequent first, are at least this part of the tokens."""
        return int(np.argmax(100 * self.counts.cumsum() >= percent * self.tokens)) + 1
