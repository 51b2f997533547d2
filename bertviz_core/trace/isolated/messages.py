"""Messages to and from the process of a tokenizer, with their types checked on arrival."""

from typing import Any

import msgspec


class TokenizerReceipt(msgspec.Struct, frozen=True):
    """Whether AutoTokenizer and tokenizer.json give the same ids."""

    texts: int
    """Number of sample texts."""
    same: int
    """Number of them with the same ids."""
    class_name: str
    """Class of transformers that AutoTokenizer chooses."""
    difference: str
    """The first difference, in words; "" if there is none."""


class Loading(msgspec.Struct, frozen=True, tag=True):
    """Load a tokenizer."""

    name: str
    """Name of the model, for error messages."""
    folder: str
    """The folder of the model."""
    scratch: str
    """A folder for copies; the parent removes it."""
    config: dict[str, Any]
    """Its config.json."""
    max_layers: int
    max_labels: int
    own: bool = False
    """Whether tokenizer.json is read as it is."""


class Encoding(msgspec.Struct, frozen=True, tag=True):
    """Tokenize texts."""

    texts: list[str]
    """The texts, or the words of a single one."""
    pair: str | None
    single: bool
    """Whether there is a single text, with its offsets; the option return_offsets_mapping asks for those of several."""
    options: dict[str, bool | int | str | None]


class Spelling(msgspec.Struct, frozen=True, tag=True):
    """Convert ids to tokens."""

    ids: list[int]


class Joining(msgspec.Struct, frozen=True, tag=True):
    """Convert tokens to a text."""

    tokens: list[str]


class ReadingByFile(msgspec.Struct, frozen=True, tag=True):
    """Tokenize a text or pair by tokenizer.json."""

    text: str
    pair: str | None


Request = Loading | Encoding | Spelling | Joining | ReadingByFile


class TokenizerFacts(msgspec.Struct, frozen=True):
    """Attributes of a tokenizer."""

    is_fast: bool
    count: int
    """Size of the vocabulary."""
    model_max_length: float
    truncation_side: str
    continuing_subword_prefix: str
    """Prefix of tokens that continue a word, such as ##; "" if there is none."""
    special_tokens_map: dict[str, str]
    all_special_ids: list[int]
    ids: dict[str, int | None]
    """Name, such as pad_token_id -> id."""
    receipt: TokenizerReceipt | None
    """Comparison of AutoTokenizer's with the tokenizer of tokenizer.json."""
    rebuilt: bool
    """Whether transformers takes only the vocabulary from tokenizer.json."""


class TokenPlaces(msgspec.Struct, frozen=True):
    """The tokens of a text or pair, with their words and offsets."""

    tokens: list[str]
    sequence_ids: list[int | None]
    word_ids: list[int | None]
    offsets: list[tuple[int, int]]


class Encoded(msgspec.Struct, frozen=True):
    """The tokens of one text, possibly in windows, or of several texts."""

    columns: dict[str, list[list[int]]]
    """Name, such as input_ids -> the integers of each text or window."""
    places: list[TokenPlaces] | None
    """One entry per window of a single text, or per text; None if unknown or not asked for."""
