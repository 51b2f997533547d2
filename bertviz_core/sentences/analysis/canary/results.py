"""What a canary holds, and what a check finds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.sentences.results import Pooling, SentenceDtype
from bertviz_core.trace.results import Noticed

FileKind = Literal["weights", "tokenizer", "recipe", "config"]
"""What a file of a model decides."""
Cause = Literal["tokens", "weights", "recipe", "config", "versions", "files"]
"""What has changed; "files" are those of the tokenizer or the recipe, where neither tokens nor recipe changed."""
VECTOR_FORMAT = "<f4"
"""Numbers of a vector in the file: float32, the lowest byte first."""


@dataclass(frozen=True, slots=True)
class CanaryFile:
    """A file that decides the numbers of a model."""

    name: str
    """Path in the model's folder; files of the base of an adapter begin with "base/"."""
    kind: FileKind
    sha256: str
    """64 hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class CanaryDense:
    """A dense layer after the pooling, without its weights."""

    inputs: int
    outputs: int
    bias: bool
    activation: str


@dataclass(frozen=True, slots=True)
class CanaryRecipe:
    """How a text becomes a vector."""

    tokenizer: str
    """"AutoTokenizer", or "tokenizer.json" where that file is read as it is."""
    prompt: str
    """Prefix of every text; "" for none."""
    include_prompt: bool
    """Whether the tokens of the prompt are pooled, too."""
    lower_case: bool
    """Whether prompt and text are lowercased before tokenization."""
    max_tokens: int | None
    """Maximum number of tokens of a text, special ones included; None for all."""
    layer: int
    """Pooled entry of hidden_states; 0 is the embedding output."""
    pooling: Pooling
    dense: tuple[CanaryDense, ...]
    normalized: bool
    """Whether the vectors are normalised to unit length."""
    truncate_dim: int | None
    """Number of leading dimensions kept at the end; None for all."""
    run_dtype: SentenceDtype
    """Number format of the model's run."""


@dataclass(frozen=True, slots=True)
class CanaryText:
    """A text as a model reads it."""

    text: str
    ids: tuple[int, ...]
    """Token ids of the text with the prompt, special ones included, before it is cut off."""
    tokens: tuple[str, ...]
    """The spelling of each."""
    vector: bytes
    """Its vector, float32, the lowest byte first; base64 in the file."""


@dataclass(frozen=True, slots=True)
class Canary:
    """Texts with the tokens and vectors of a model, and what made them."""

    format: str
    """What the file is: FORMAT."""
    format_version: int
    code_version: str
    """Version of Inside BERT that made it."""
    model: str
    revision: str
    """Commit on the Hub, or a digest of the names, sizes and times of the files of a folder; it is not compared."""
    recipe: CanaryRecipe
    files: tuple[CanaryFile, ...]
    versions: Mapping[str, str]
    """Library, Python, platform, processor or device -> its version or name."""
    texts: tuple[CanaryText, ...]

    @property
    def vectors(self) -> Float[np.ndarray, "texts dimensions"]:
        """The vectors, one row per text."""
        return np.stack([np.frombuffer(each.vector, dtype=VECTOR_FORMAT) for each in self.texts])

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return len(self.texts[0].vector) // np.dtype(VECTOR_FORMAT).itemsize


@dataclass(frozen=True, slots=True)
class TokenChange:
    """The first token of a text that differs."""

    text: int
    """Index of the text."""
    position: int
    """Position of the token."""
    before: tuple[str, ...]
    """Tokens in the file from there on, a few; () after the last."""
    after: tuple[str, ...]
    """Tokens of the model from there on, a few."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that differs."""

    name: str
    kind: FileKind
    before: str | None
    """SHA-256 in the canary; None if the model had no such file."""
    after: str | None
    """SHA-256 now; None if it is gone."""


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A field of the recipe, or a version, that differs."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, eq=False)
class CanaryCheck(Noticed):
    """What has changed of a model since its canary was written."""

    model: str
    revision: str
    file_model: str
    """Name of the model in the canary."""
    file_revision: str
    texts: tuple[str, ...]
    causes: tuple[Cause, ...]
    """What has changed, in this order; () for nothing."""
    tokens: tuple[TokenChange, ...]
    """The texts with other tokens."""
    files: tuple[FileChange, ...]
    recipe: tuple[ValueChange, ...]
    versions: tuple[ValueChange, ...]
    tolerance: float
    """Largest permitted change of a vector, as a share of its length."""
    dimensions: int
    file_dimensions: int
    """Length of a vector in the canary."""
    changes: Float[np.ndarray, " texts"] | None
    """Length of the difference of both vectors of each text by that of the first; None if their dimensions differ."""
    absolute: Float[np.ndarray, " texts"] | None
    """Largest change of a single number of each vector."""
    cosines: Float[np.ndarray, " texts"] | None
    """Cosine of both vectors of each text."""
    nearest_before: Int[np.ndarray, " texts"]
    """Index of the nearest other text by the canary, the first of equal ones; -1 where there is no other."""
    nearest_after: Int[np.ndarray, " texts"]
    """Index of the nearest other text now."""
    ties: Bool[np.ndarray, " texts"]
    """Whether the vectors before or those after have equal cosines with both, up to rounding."""

    @property
    def passed(self) -> bool:
        """Whether no token changed, and no vector by more than the tolerance."""
        return not self.tokens and self.changes is not None and bool((self.changes <= self.tolerance).all())

    @property
    def worst(self) -> int:
        """Index of the text whose vector changed most; 0 if the dimensions differ."""
        return 0 if self.changes is None else int(self.changes.argmax())

    @property
    def beyond(self) -> int:
        """Number of vectors that changed by more than the tolerance; all if the dimensions differ."""
        return len(self.texts) if self.changes is None else int((~(self.changes <= self.tolerance)).sum())

    @property
    def moved(self) -> Int[np.ndarray, " moved"]:
        """Indices of the texts with another nearest text, ties included."""
        return np.flatnonzero(self.nearest_before != self.nearest_after)

    @property
    def moved_beyond_ties(self) -> Int[np.ndarray, " moved"]:
        """Indices of the texts with another nearest text whose cosine is not equal."""
        return np.flatnonzero((self.nearest_before != self.nearest_after) & ~self.ties)
