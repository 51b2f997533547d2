"""Results of one text's way through a model: its tokens, and everything that the model made of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from bertviz_core.models.recording import AttentionSource


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """A text, or a pair of texts, as a model reads it."""

    text: str
    """The text; characters that are no text (lone surrogates) are already replaced."""
    pair: str | None
    """The second text, if there is one."""
    tokens: tuple[str, ...]
    """Pieces as the vocabulary spells them, special tokens included."""
    input_ids: Int[np.ndarray, " seq"]
    """Row of the vocabulary of every token."""
    token_type_ids: Int[np.ndarray, " seq"] | None
    """Which text each token counts to, as the model is told; None where the tokenizer says nothing."""
    word_ids: tuple[int | None, ...] | None
    """Index of the word in its text that each token is from, None for special tokens; None for a tokenizer without."""
    offsets: tuple[tuple[int, int] | None, ...] | None
    """Span of characters in its text, end excluded, None for added tokens; None for a tokenizer without.

    Of a token that stands for a space alone it holds white space or nothing, never the letter behind it.
    """
    sequence: tuple[int | None, ...]
    """0 for a token of the text, 1 of its pair, None for one that the tokenizer added."""
    special: Bool[np.ndarray, " seq"]
    """Whether the token is a special one such as [CLS], added or written in the text."""
    unknown: Bool[np.ndarray, " seq"]
    """Whether the token stands for a piece that the vocabulary does not have."""
    other_inputs: Mapping[str, Int[np.ndarray, " seq"]]
    """Further ids per token that the tokenizer makes and the model reads (RoCBert's shapes and pronunciations)."""
    limit: int | None
    """Most tokens that the model reads at once; None where nothing limits them."""
    limit_reason: str
    """What sets the limit."""
    tokens_cut: tuple[int, int]
    """Tokens cut off at the end of the text and of its pair."""
    notices: tuple[str, ...]
    """What a reader must know about how the text was read, one sentence each."""

    def __len__(self) -> int:
        """Count of tokens."""
        return len(self.tokens)

    @property
    def second_start(self) -> int | None:
        """Position of the first token of the second text; None where no token is of one."""
        return self.sequence.index(1) if 1 in self.sequence else None


@dataclass(frozen=True, slots=True)
class Piece:
    """One token at its place in the text."""

    position: int
    """Place among all tokens, from 0."""
    text: str
    """The characters that it stands for; its spelling where it covers none. "" for one that is a mark alone."""
    mark: str
    """What its spelling has in front of that: "##" of a piece that continues a word, "▁" or "Ġ" for a space; or ""."""
    spelling: str
    """As the vocabulary writes it."""
    token_id: int
    """Its row of the vocabulary."""
    special: bool
    """Whether it is a special token such as [CLS]."""
    unknown: bool
    """Whether it stands for something that the vocabulary does not have."""


@dataclass(frozen=True, slots=True)
class PieceRun:
    """The pieces of one word, or characters between words that no token covers."""

    pieces: tuple[Piece, ...] = ()
    """Pieces in their order; none for characters without a token."""
    tone: int = 0
    """0 and 1 in turn from word to word."""
    sequence: int | None = None
    """0 for the text, 1 for its pair, None for a token that the tokenizer added."""
    gap: str = ""
    """Characters that no token covers."""
    cut: bool = False
    """Whether these are the end of the text, which does not fit the model."""


@dataclass(frozen=True, slots=True)
class TextPieces:
    """A text, or a pair, cut into its tokens: words and what is between them, in the order of the tokens."""

    runs: tuple[PieceRun, ...]
    """Words and gaps."""
    right_to_left: bool
    """Whether the text is written from right to left."""
    pair: bool
    """Whether there is a second text."""

    def __len__(self) -> int:
        """Count of tokens."""
        return sum(len(run.pieces) for run in self.runs)


@dataclass(frozen=True, slots=True)
class WordEdit:
    """Neighbouring words that an edit of a text left, put in, took out or replaced."""

    kind: Literal["same", "inserted", "deleted", "replaced"]
    """What happened to them."""
    before: tuple[int, int]
    """Their characters in the text before, end excluded; empty where they were put in."""
    after: tuple[int, int]
    """Their characters in the text after; empty where they were taken out."""


Mask = Shaped[np.ndarray, "mask_heads seq seq"]


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """One run of a model on one text; all arrays are float32 (masks may be bool) and cannot be written to."""

    model: str
    """Name of the model."""
    revision: str
    """State of its files."""
    model_type: str
    """Hugging Face's word for the family."""
    tokens: Tokens
    """What was read."""
    hidden_states: Float[np.ndarray, "states seq hidden"]
    """Output of the embedding block (entry 0) and of every layer; states = layers + 1."""
    pooler_output: Float[np.ndarray, " pooled"] | None
    """The pooler's vector; None for a model without a pooler."""
    query: tuple[Float[np.ndarray, "heads seq head_dim"], ...] | None
    """Queries of every layer as they are multiplied with the keys, rotary positions included; None unless recorded."""
    key: tuple[Float[np.ndarray, "key_heads seq head_dim"], ...] | None
    """Keys of every layer; key_heads divides heads where several query heads share a key head."""
    value: tuple[Float[np.ndarray, "key_heads seq value_dim"], ...] | None
    """Values of every layer."""
    masks: tuple[Mask | None, ...] | None
    """Per layer what is added to the scaled scores (float), or which keys may be looked at (bool); None for no mask."""
    scaling: tuple[float, ...] | None
    """Per layer what the product of query and key is multiplied with."""
    attentions: tuple[Float[np.ndarray, "heads seq seq"], ...] | None
    """The model's own attention probabilities, only where query and key were not recorded."""
    attention_source: AttentionSource
    """How attention is known."""
    attention_note: str
    """Why, one sentence."""
    device: str
    """What it ran on: "cpu", "cuda", "cuda:1" or "mps"."""
    dtype: str
    """Number format of the run; the arrays here are float32 all the same."""
    seconds: float
    """Duration of the run, its results brought to NumPy."""
    notices: tuple[str, ...]
    """What a reader must know about the numbers, one sentence each."""

    @property
    def num_hidden_layers(self) -> int:
        """Count of layers."""
        return len(self.hidden_states) - 1

    @property
    def num_attention_heads(self) -> int:
        """Heads of a layer; 0 where attention is not known."""
        maps = self.query or self.attentions
        return len(maps[0]) if maps else 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, one that several layers share counted once, and of the texts."""
        groups = (self.query, self.key, self.value, self.masks, self.attentions)
        arrays = [array for group in groups if group is not None for array in group if array is not None]
        arrays += [self.hidden_states, self.tokens.input_ids]
        if self.pooler_output is not None:
            arrays.append(self.pooler_output)
        texts = len(self.tokens.text) + len(self.tokens.pair or "")
        return sum({id(array): array.nbytes for array in arrays}.values()) + 4 * texts
