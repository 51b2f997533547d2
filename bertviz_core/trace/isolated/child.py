"""The child process of a tokenizer: loads it and encodes texts, without importing torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.isolation.sanitized.tokenizer import SERIALIZED, tokenizer_files
from bertviz_core.isolation.walls import confine_files
from bertviz_core.lazy_imports import import_libraries, leave_out_torch
from bertviz_core.settings import OpenedConfig, Terms
from bertviz_core.trace.isolated.backend import ID_NAMES, continuing_prefix
from bertviz_core.trace.isolated.file_tokenizer import read_tokenizer, spelled_by_file
from bertviz_core.trace.isolated.messages import (
    Encoded,
    Encoding,
    Joining,
    Loading,
    ReadingByFile,
    Request,
    Spelling,
    TokenizerFacts,
    TokenPlaces,
)

TOKENS_PER_CHARACTER, FURTHER_TOKENS = 8, 20_000
"""Limits for the number of tokens: per character, and in addition per text."""
_BACKEND: list[Any] = []
_BY_FILE: list[Any] = []


def answered(request: bytes) -> bytes:
    """The packed answer to a packed request; the first names the tokenizer, and an empty one only imports."""
    if not request:
        _import_transformers()
        return b""
    message = msgspec.msgpack.decode(request, type=Request)
    if isinstance(message, Loading):
        return msgspec.msgpack.encode(_load(message))
    if isinstance(message, Spelling):
        return msgspec.msgpack.encode(_BACKEND[0].convert_ids_to_tokens(message.ids))
    if isinstance(message, Joining):
        return msgspec.msgpack.encode(str(_BACKEND[0].convert_tokens_to_string(message.tokens)))
    if isinstance(message, ReadingByFile):
        encoding = _BY_FILE[0].encode(message.text, message.pair)
        if len(encoding.ids) > TOKENS_PER_CHARACTER * len(message.text + (message.pair or "")) + FURTHER_TOKENS:
            raise TextError(f"its {SERIALIZED} makes {len(encoding.ids):,} tokens of it, which is too many")
        return msgspec.msgpack.encode(spelled_by_file(_BY_FILE[0], encoding.ids))
    return msgspec.msgpack.encode(_encode(_BACKEND[0], message))


def _load(message: Loading) -> TokenizerFacts:
    _import_transformers()
    folder = Path(message.folder)
    confine_files(tokenizer_files(folder), Path(message.scratch))
    config = OpenedConfig(message.config, Terms(message.max_layers, message.max_labels))
    read = read_tokenizer(message.name, folder, config, message.own)
    backend: Any = read.backend
    _BACKEND[:], _BY_FILE[:] = [backend], [read.by_file]
    try:
        _encode(backend, Encoding(["A trial."], "With a pair.", single=True, options={"verbose": False}))
    except TextError as error:
        raise CheckpointError(f"The tokenizer of {message.name!r} cannot be used: {error}.") from error
    return TokenizerFacts(
        is_fast=bool(backend.is_fast),
        count=len(backend),
        model_max_length=float(backend.model_max_length),
        truncation_side=str(getattr(backend, "truncation_side", "right")),
        continuing_subword_prefix=continuing_prefix(backend),
        special_tokens_map={str(role): str(token) for role, token in backend.special_tokens_map.items()},
        all_special_ids=[int(each) for each in backend.all_special_ids],
        ids={name: getattr(backend, name, None) for name in ID_NAMES},
        receipt=read.receipt,
        rebuilt=read.by_file is not None,
    )


def _import_transformers() -> None:
    leave_out_torch()
    import_libraries()


def _encode(backend: Any, message: Encoding) -> Encoded:
    several = not message.single or message.options.get("is_split_into_words")
    texts: Any = message.texts if several else message.texts[0]
    encoding = backend(texts, message.pair, **message.options)
    characters = sum(map(len, message.texts)) + len(message.pair or "")
    one_row = message.single and not message.options.get("return_overflowing_tokens")
    by_text = {name: [values] if one_row else values for name, values in encoding.items()}
    _check_count(by_text, characters, 1 if message.single else len(message.texts))
    columns = {
        name: rows
        for name, rows in by_text.items()
        if all(isinstance(row, list) and all(isinstance(value, int) for value in row) for row in rows)
    }
    if not backend.is_fast or not (message.single or message.options.get("return_offsets_mapping")):
        return Encoded(columns, None)
    places = [
        TokenPlaces(list(rows.tokens), list(rows.sequence_ids), list(rows.word_ids), list(rows.offsets))
        for rows in encoding.encodings
    ]
    return Encoded(columns, places)


def _check_count(columns: Mapping[str, Any], characters: int, texts: int) -> None:
    count = sum(map(len, columns["input_ids"]))
    most = TOKENS_PER_CHARACTER * characters + FURTHER_TOKENS * texts
    if count > most:
        raise TextError(f"it makes {count:,} tokens of {characters:,} characters; at most {most:,} are read")
