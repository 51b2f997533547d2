"""Temporary folders with sanitized copies of tokenizer files; transformers never reads an untrusted folder."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import (
    VOCABULARY_NBYTES,
    check_size,
    json_object,
    own_file,
    parsed_json,
    present,
    read_file,
)
from bertviz_core.isolation.sanitized.entries import described
from bertviz_core.isolation.sanitized.tokenizer import (
    check_serialized,
    harmless_added_tokens,
    harmless_tokenizer_config,
)
from bertviz_core.text import quoted

SERIALIZED = "tokenizer.json"
SETTINGS = ("tokenizer_config.json", "special_tokens_map.json")
ADDED = "added_tokens.json"
SPECIAL_TOKENS = tuple(f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))
VOCABULARIES = (
    *("vocab.txt", "vocab.json", "merges.txt", "spiece.model", "spm.model", "sentencepiece.bpe.model"),
    *("sentencepiece.model", "tokenizer.model", "tiktoken.model", "spm_char.model", "prophetnet.tokenizer"),
    *("bpe.codes", "dict.txt", "entity_vocab.json", "emoji.json", "byte_maps.json", "normalizer.json"),
    *("source.spm", "target.spm", "target_vocab.json", "vocab-src.json", "vocab-tgt.json"),
    *("word_shape.json", "word_pronunciation.json"),
)
"""The vocabulary files of transformers' tokenizer classes."""


def check_tokenizer_files(folder: Path) -> None:
    """Check the types and sizes of the files of a tokenizer without opening them.

    Raises:
        CheckpointError: a file is not a regular file of the folder, or too large.
    """
    for path in tokenizer_files(folder):
        check_size(path.name, path.stat().st_size, VOCABULARY_NBYTES)


def tokenizer_files(folder: Path) -> list[Path]:
    """The paths of the tokenizer files of a model.

    Raises:
        CheckpointError: one is not a regular file of the folder.
    """
    names = (SERIALIZED, *SETTINGS, ADDED, *VOCABULARIES)
    return [own_file(folder, name) for name in names if present(folder, name)]


@contextmanager
def sanitized_tokenizer_folder(folder: Path, config: Mapping[str, Any]) -> Iterator[Path]:
    """A temporary folder with sanitized copies of the tokenizer files of a model.

    Args:
        folder: the folder of the model.
        config: its config.json.

    Raises:
        CheckpointError: a file is not a regular file of the folder, too large or damaged, or the disk is full.
    """
    with temporary_folder() as copies:
        for name in (SERIALIZED, *SETTINGS, ADDED, *VOCABULARIES):
            if present(folder, name):
                write_copy(copies / name, harmless_bytes(name, read_file(folder, name, VOCABULARY_NBYTES)))
        # transformers reads these to detect Mistral models with a wrong published pattern.
        model_facts = {
            key: config[key] for key in ("model_type", "transformers_version") if isinstance(config.get(key), str)
        }
        write_copy(copies / "config.json", json.dumps(model_facts).encode())
        yield copies


def harmless_bytes(name: str, raw: bytes) -> bytes:
    """The sanitized content of a tokenizer file.

    Raises:
        CheckpointError: it is damaged, or names a file in place of a vocabulary.
    """
    if name == SERIALIZED:
        serialized = json_object(name, raw)
        check_serialized(name, serialized)
        return orjson.dumps(serialized)
    if not name.endswith(".json"):
        return raw
    content = parsed_json(name, raw)
    if name in VOCABULARIES and isinstance(content, list):
        return raw
    if not isinstance(content, dict):
        raise CheckpointError(f"{name} is in another format: its JSON is not an object.")
    if name in SETTINGS:
        _check_special_tokens(name, content)
        content = harmless_tokenizer_config(content)
    if name == ADDED:
        content = harmless_added_tokens(content)
    return json.dumps(content).encode()


def _check_special_tokens(name: str, content: Mapping[str, Any]) -> None:
    for key in SPECIAL_TOKENS:
        if not isinstance(content.get(key), str | dict | None):
            raise CheckpointError(f"{name} has {described(content[key])} as {quoted(key)}; a text is needed.")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """An empty temporary folder.

    Raises:
        CheckpointError: it cannot be created.
    """
    try:
        temporary = TemporaryDirectory(prefix="inside-bert-", ignore_cleanup_errors=True)
    except OSError as error:
        raise _no_room(error) from error
    with temporary as path:
        yield Path(path)


def write_copy(path: Path, content: bytes) -> None:
    """Write a file into a temporary folder.

    Raises:
        CheckpointError: it cannot be written.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise _no_room(error) from error


def _no_room(error: OSError) -> CheckpointError:
    return CheckpointError(
        f"A model's files cannot be copied to the temporary folder ({error.strerror}); free some space there."
    )
