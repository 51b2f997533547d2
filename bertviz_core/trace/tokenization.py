"""From a text, or a pair, to the tokens that a model reads; nothing is cut off or replaced in silence."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_core.errors import TextError
from bertviz_core.results.trace import Tokens
from bertviz_core.token_limits import TokenLimit
from bertviz_core.visible import counted

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PYTHON_MAX_CHARACTERS = 20_000
"""A tokenizer written in Python may need time that grows with the square of a word's length."""
KNOWN_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "special_tokens_mask", "offset_mapping", "length")
BOUNDARY_TOKENS = ("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id", "pad_token_id", "mask_token_id")


@dataclass(slots=True, eq=False)
class TextTokenizer:
    """A model's tokenizer, with the count of tokens that the model reads at once."""

    name: str
    """Name of the model."""
    tokenizer: "PreTrainedTokenizerBase"
    """transformers' tokenizer."""
    limit: TokenLimit
    """Most tokens of one text or pair, and what sets that."""
    max_characters: int
    """Characters that a text may have."""
    lock: Lock = field(default_factory=Lock)
    """A fast tokenizer keeps the truncation that it was last asked for, so it serves one text at a time."""

    def spelled(self, ids: Iterable[int]) -> tuple[str, ...]:
        """The vocabulary's spelling of some ids."""
        return tuple(str(piece) for piece in self.tokenizer.convert_ids_to_tokens([int(each) for each in ids]))


def tokenize(tokenizer: TextTokenizer, text: str, pair: str | None = None) -> Tokens:
    """The tokens of a text, or of a text and its pair, as the model gets them.

    What does not fit the model is cut off at the end of the longer text, and counted: tokens + tokens_cut is what the
    whole text has.

    Raises:
        TextError: the text is longer than may be tokenized, or yields no token at all.
    """
    notices: list[str] = []
    text, pair = _replaced(text, notices), None if pair is None else _replaced(pair, notices)
    _check_length(tokenizer, len(text) + len(pair or ""))
    with tokenizer.lock:
        whole = _encode(tokenizer, text, pair, None)
        limit = tokenizer.limit.tokens
        cut = limit is not None and len(whole["input_ids"]) > limit
        encoded = _encode(tokenizer, text, pair, limit) if cut else whole
    if not encoded["input_ids"]:
        raise TextError(
            f"The tokenizer of {tokenizer.name!r} makes no token of this text, so there is nothing to run; "
            "write at least one word."
        )
    sequence = encoded["sequence"]
    tokens_cut = (whole["sequence"].count(0) - sequence.count(0), whole["sequence"].count(1) - sequence.count(1))
    special, unknown = _flags(tokenizer.tokenizer, encoded)
    notices += _notices(tokenizer.limit, encoded, tokens_cut, special, unknown)
    return Tokens(
        text=text,
        pair=pair,
        tokens=tokenizer.spelled(encoded["input_ids"]),
        input_ids=_fixed(encoded["input_ids"]),
        token_type_ids=_fixed(encoded["token_type_ids"]) if "token_type_ids" in encoded else None,
        word_ids=encoded["word_ids"],
        offsets=encoded["offsets"],
        sequence=tuple(sequence),
        special=_fixed(special, bool),
        unknown=_fixed(unknown, bool),
        other_inputs=encoded["other"],
        limit=limit,
        limit_reason=tokenizer.limit.reason,
        tokens_cut=tokens_cut,
        notices=tuple(notices),
    )


def _replaced(text: str, notices: list[str]) -> str:
    """The text as Unicode: halves of a pair joined, lone surrogates, which no encoding knows, as U+FFFD."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    lone = sum("\ud800" <= character <= "\udfff" for character in joined)
    if lone:
        notices.append(f"{counted(lone, 'half character')} in the text (lone surrogates) became \ufffd each.")
    return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in joined)


def _check_length(tokenizer: TextTokenizer, characters: int) -> None:
    fast = tokenizer.tokenizer.is_fast
    most = tokenizer.max_characters if fast else min(tokenizer.max_characters, PYTHON_MAX_CHARACTERS)
    if characters > most:
        why = "" if fast or most < PYTHON_MAX_CHARACTERS else " by this tokenizer, which is written in Python"
        raise TextError(
            f"The text has {characters:,} characters; at most {most:,} are read{why}. "
            "Give a part of it (or raise INSIDE_BERT_MAX_CHARACTERS)."
        )


def _encode(tokenizer: TextTokenizer, text: str, pair: str | None, limit: int | None) -> dict[str, Any]:
    """Ids, and for each its place in the text, of one encoding without or with truncation."""
    backend = tokenizer.tokenizer
    try:
        encoding = backend(
            text,
            pair,
            truncation=limit is not None,
            max_length=limit,
            return_special_tokens_mask=True,
            return_attention_mask=False,
            verbose=False,
        )
    except Exception as error:  # tokenizers raise whatever a text or a limit leads to
        raise TextError(f"The tokenizer of {tokenizer.name!r} cannot read this text: {error}") from error
    ids = list(encoding["input_ids"])
    found: dict[str, Any] = {"input_ids": ids, "added": list(encoding["special_tokens_mask"])}
    found["other"] = _other_inputs(encoding, len(ids))
    if "token_type_ids" in encoding:
        found["token_type_ids"] = encoding["token_type_ids"]
    if backend.is_fast:
        rows = encoding.encodings[0]
        found["sequence"] = list(rows.sequence_ids)
        found["word_ids"] = tuple(rows.word_ids)
        spans = zip(rows.offsets, rows.sequence_ids, strict=True)
        found["offsets"] = tuple(span if place is not None else None for span, place in spans)
    else:
        found["sequence"] = _sequence(found["added"], pair is not None)
        found["word_ids"] = found["offsets"] = None
    return found


def _other_inputs(encoding: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Further whole numbers per token, such as the shape and pronunciation ids of RoCBert."""
    rows = {key: value for key, value in encoding.items() if key not in KNOWN_INPUTS and isinstance(value, list)}
    return {
        key: _fixed(value)
        for key, value in rows.items()
        if len(value) == count and all(isinstance(each, int) for each in value)
    }


def _sequence(added: list[int], has_pair: bool) -> list[int | None]:
    """Which text each token is from, told from the added tokens alone: the pair begins behind those after the text."""
    sequence: list[int | None] = []
    current = 0
    for position, flag in enumerate(added):
        if flag and has_pair and 0 in sequence:
            current = 1
        sequence.append(None if added[position] else current)
    return sequence


def _fixed(values: Any, dtype: type = np.int64) -> Any:
    """The values as an array that cannot be written to: tokens are shared by all who look at them."""
    array: Any = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def _flags(backend: "PreTrainedTokenizerBase", encoded: Mapping[str, Any]) -> tuple[Any, Any]:
    """Special and unknown, per token; a token is never both."""
    ids, added = np.asarray(encoded["input_ids"]), np.asarray(encoded["added"], dtype=bool)
    boundary = {None, *(getattr(backend, name, None) for name in BOUNDARY_TOKENS)}
    unknown_id = -1 if backend.unk_token_id in boundary else backend.unk_token_id
    special_ids = [each for each in backend.all_special_ids if each != unknown_id]
    special = added | np.isin(ids, special_ids)
    return special, (ids == unknown_id) & ~special


def _notices(
    limit: TokenLimit, encoded: Mapping[str, Any], tokens_cut: tuple[int, int], special: Any, unknown: Any
) -> list[str]:
    notices = []
    for count, what in zip(tokens_cut, ("the text", "the second text"), strict=True):
        if count:
            notices.append(f"{counted(count, 'token')} cut off at the end of {what}: {limit.reason}.")
    content = int((~special).sum())
    if not content:
        notices.append("The text has no token of its own: the model reads only what the tokenizer adds.")
    elif unknown.sum() == content:
        notices.append(
            f"{counted(content, 'piece')} in the text, none known to the vocabulary: the model cannot tell them apart."
        )
    return notices
