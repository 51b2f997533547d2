"""A folder for transformers, made for one load and removed behind it: it is never given a stranger's folder itself.

In it stands what was looked at before, under the names that the library's own classes use, and nothing more.
"""

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
from bertviz_core.isolation.sanitized.tokenizer import (
    check_serialized,
    harmless_added_tokens,
    harmless_tokenizer_config,
)

SERIALIZED = "tokenizer.json"
SETTINGS = ("tokenizer_config.json", "special_tokens_map.json")
ADDED = "added_tokens.json"
VOCABULARIES = (
    *("vocab.txt", "vocab.json", "merges.txt", "spiece.model", "spm.model", "sentencepiece.bpe.model"),
    *("sentencepiece.model", "tokenizer.model", "tiktoken.model", "spm_char.model", "prophetnet.tokenizer"),
    *("bpe.codes", "dict.txt", "entity_vocab.json", "emoji.json", "byte_maps.json", "normalizer.json"),
    *("source.spm", "target.spm", "target_vocab.json", "vocab-src.json", "vocab-tgt.json"),
    *("word_shape.json", "word_pronunciation.json"),
)
"""The vocabulary files of transformers' tokenizer classes."""


def check_tokenizer_files(folder: Path) -> None:
    """Refuse a tokenizer by the kinds and sizes of its files; none is opened.

    Raises:
        CheckpointError: as tokenizer_files; or a file is larger than a tokenizer's ever is.
    """
    for path in tokenizer_files(folder):
        check_size(path.name, path.stat().st_size, VOCABULARY_NBYTES)


def tokenizer_files(folder: Path) -> list[Path]:
    """Where the files of a tokenizer are that a model's folder has.

    Raises:
        CheckpointError: one is not the folder's own, or no regular file.
    """
    names = (SERIALIZED, *SETTINGS, ADDED, *VOCABULARIES)
    return [own_file(folder, name) for name in names if present(folder, name)]


@contextmanager
def sanitized_tokenizer_folder(folder: Path, config: Mapping[str, Any]) -> Iterator[Path]:
    """A folder with cleaned copies of a model's tokenizer files, while it is read.

    Args:
        folder: the model's own folder.
        config: its config.json.

    Raises:
        CheckpointError: a file is not the folder's own, too large or damaged, or there is no room for the copies.
    """
    with temporary_folder() as lent:
        for name in (SERIALIZED, *SETTINGS, ADDED, *VOCABULARIES):
            if present(folder, name):
                lend(lent / name, harmless_bytes(name, read_file(folder, name, VOCABULARY_NBYTES)))
        # Read beside a large vocabulary, to know the Mistral models whose pattern of words was published wrong.
        model_facts = {
            key: config[key] for key in ("model_type", "transformers_version") if isinstance(config.get(key), str)
        }
        lend(lent / "config.json", json.dumps(model_facts).encode())
        yield lent


def harmless_bytes(name: str, raw: bytes) -> bytes:
    """What a file of a tokenizer may say.

    Raises:
        CheckpointError: it is damaged, or names a file where words belong.
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
        content = harmless_tokenizer_config(content)
    if name == ADDED:
        content = harmless_added_tokens(content)
    return json.dumps(content).encode()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """An empty folder, removed with all that was lent in it.

    Raises:
        CheckpointError: there is no room for it.
    """
    try:
        temporary = TemporaryDirectory(prefix="inside-bert-", ignore_cleanup_errors=True)
    except OSError as error:
        raise _no_room(error) from error
    with temporary as path:
        yield Path(path)


def lend(path: Path, content: bytes) -> None:
    """Write what a library may read.

    Raises:
        CheckpointError: there is no room for it.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise _no_room(error) from error


def _no_room(error: OSError) -> CheckpointError:
    return CheckpointError(
        f"A model's files cannot be copied to the temporary folder ({error.strerror}); free some space there."
    )
