"""What is said to the process of a tokenizer, and what it answers: plain values, checked by type where they arrive."""

from typing import Any

import msgspec


class Loading(msgspec.Struct, frozen=True, tag=True):
    """Which tokenizer to read."""

    name: str
    """The model's name, for messages."""
    folder: str
    """Its own folder."""
    scratch: str
    """A folder for copies, which the asking process removes."""
    config: dict[str, Any]
    """Its config.json."""
    max_layers: int
    max_labels: int


class Encoding(msgspec.Struct, frozen=True, tag=True):
    """Texts to cut into tokens."""

    texts: list[str]
    pair: str | None
    single: bool
    """Whether there is one text, and its places in the text are wanted."""
    options: dict[str, bool | int | str | None]


class Spelling(msgspec.Struct, frozen=True, tag=True):
    """Ids whose spelling is asked for."""

    ids: list[int]


class Joining(msgspec.Struct, frozen=True, tag=True):
    """Tokens whose text is asked for."""

    tokens: list[str]


Request = Loading | Encoding | Spelling | Joining


class TokenizerFacts(msgspec.Struct, frozen=True):
    """What a tokenizer says of itself."""

    is_fast: bool
    count: int
    """Entries of its vocabulary."""
    model_max_length: float
    truncation_side: str
    continuing_subword_prefix: str
    """What the vocabulary writes in front of a piece that continues a word, such as ##; "" for nothing."""
    special_tokens_map: dict[str, str]
    all_special_ids: list[int]
    ids: dict[str, int | None]
    """Name, such as pad_token_id -> the id."""


class TokenPlaces(msgspec.Struct, frozen=True):
    """The tokens of one text, or one pair, and where they come from."""

    tokens: list[str]
    sequence_ids: list[int | None]
    word_ids: list[int | None]
    offsets: list[tuple[int, int]]


class Encoded(msgspec.Struct, frozen=True):
    """The tokens of one text, in windows where these were asked for, or of each of several."""

    columns: dict[str, list[list[int]]]
    """Name, such as input_ids -> for each text, or window of one, its whole numbers."""
    places: list[TokenPlaces] | None
    """For each window of one text, one where it was not parted; None where nothing tells them."""
