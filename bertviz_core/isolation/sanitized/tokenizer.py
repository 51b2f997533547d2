"""Remove entries of untrusted tokenizer files that are not known to be harmless.

Numbers, flags, words and tokens stay, file names do not. A token may look like a path ("/", ".."), since the entries of
tokens are never opened.
"""

import json
import re
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
from bertviz_core.isolation.sanitized.config import looks_like_place
from bertviz_core.isolation.sanitized.entries import described
from bertviz_core.text import quoted

TOKEN = re.compile(r"(?!use_auth|hf_|auth_|access_)\w+_token(_sent)?")
"""Names of entries with a special token."""
TOKEN_LISTS = frozenset(
    {"additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens", "never_split"}
    | {"chat_control_tokens"}
)
WORDS = frozenset(
    {"tokenizer_class", "processor_class", "backend", "padding_side", "truncation_side", "truncation_strategy"}
    | {"errors", "padding", "src_lang", "tgt_lang", "source_lang", "target_lang", "target_language", "language", "lang"}
    | {"task", "language_codes", "wordpieces_prefix", "replace_word_delimiter_char", "word_delimiter"}
    | {"word_tokenizer_type", "subword_tokenizer_type", "mecab_dic", "sudachi_split_mode", "token_type_ids_pattern"}
    | {"phonemizer_lang", "phonemizer_backend", "tokenizer_type", "prepend_scheme", "split", "unk_piece"}
)
"""Names of entries with one of a few words."""
WORD_LISTS = frozenset({"model_input_names", "langs", "languages", "lang_codes", "supported_language_codes"})
WORD_MAPS = frozenset({"lang2id", "id2lang"})
SETTINGS = frozenset({"sp_model_kwargs", "mecab_kwargs", "sudachi_kwargs", "jumanpp_kwargs"})
"""Names of entries with settings of another library; only numbers and flags stay, since it opens files by name."""
LOADING = frozenset(
    {"trust_remote_code", "local_files_only", "force_download", "resume_download", "token", "use_auth_token"}
    | {"is_local", "_is_local", "_from_auto", "_from_pipeline", "mistral_format", "from_slow", "use_fast", "vocab"}
    | {"merges", "tokenizer_object", "tokenizer_padding", "tokenizer_truncation", "post_processor", "proxies"}
)
"""Arguments for loading, which may not be set by a file at all."""
FILE = re.compile(r".*(file|files|spm|path|dir|folder|url)")
"""Names of arguments that are opened; a number would be a file descriptor of the server."""
PIECE = {"content": str, "single_word": bool, "lstrip": bool, "rstrip": bool, "normalized": bool, "special": bool}
CODE = {"AutoTokenizer": ["own.Own", None]}
"""Placeholder for custom code; transformers takes another path then, but never runs it."""


def harmless_tokenizer_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The harmless entries of a tokenizer_config.json or special_tokens_map.json."""
    harmless = {
        key: cleaned
        for key, value in config.items()
        if (cleaned := _harmless_value(key, value)) is not None or value is None
    }
    code = config.get("auto_map")
    if isinstance(code, list) or (isinstance(code, Mapping) and code.get("AutoTokenizer")):
        harmless["auto_map"] = CODE
    return harmless


def harmless_added_tokens(tokens: Mapping[str, Any]) -> dict[str, int]:
    """The harmless entries of an added_tokens.json: tokens and their ids."""
    return {token: index for token, index in tokens.items() if isinstance(index, int)}


def check_serialized(name: str, whole: Mapping[str, Any]) -> None:
    """Check that the vocabulary of a tokenizer.json is not the name of a file."""
    model = whole.get("model")
    if not isinstance(model, Mapping):
        raise CheckpointError(
            f"{name} does not describe a tokenizer; use the file that tokenizer.save_pretrained writes."
        )
    for part in ("vocab", "merges"):
        if not isinstance(model.get(part, []), Mapping | list):
            raise CheckpointError(
                f"The {part} in {name} is not a list of tokens; use the file that save_pretrained writes."
            )


def _harmless_value(key: str, value: Any) -> Any:
    """The harmless part of a value; None if there is none."""
    if key in LOADING or (FILE.fullmatch(key) and not TOKEN.fullmatch(key)):
        return None
    if isinstance(value, bool | int | float):
        return value
    if key in TOKEN_LISTS:
        return _pieces(value)
    if TOKEN.fullmatch(key):
        return _piece(value)
    if key in WORDS:
        return _word(value)
    return _harmless_group(key, value)


def _harmless_group(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        if key == "added_tokens_decoder":
            return {index: piece for index, entry in value.items() if (piece := _piece(entry)) is not None}
        if key in WORD_MAPS:
            return {name: entry for name, entry in value.items() if isinstance(entry, int) or _word(entry) is not None}
        if key in SETTINGS:
            settings = {name: _harmless_value(name, entry) for name, entry in value.items()}
            return {name: entry for name, entry in settings.items() if entry is not None}
    if isinstance(value, list):
        numbers = all(isinstance(entry, int | float) for entry in value)
        words = key in WORD_LISTS and all(_word(entry) is not None for entry in value)
        return value if numbers or words else None
    return None


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and len(value) <= 100 and not looks_like_place(value) else None


def _piece(value: Any) -> Any:
    """A token: its text, or an AddedToken object."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping) or not isinstance(value.get("content"), str):
        return None
    fields = {name: value[name] for name, kind in PIECE.items() if isinstance(value.get(name), kind)}
    return fields | ({"__type": "AddedToken"} if value.get("__type") == "AddedToken" else {})


def _pieces(value: Any) -> Any:
    if isinstance(value, list):
        return [piece for entry in value if (piece := _piece(entry)) is not None]
    if isinstance(value, Mapping):
        return {name: piece for name, entry in value.items() if (piece := _piece(entry)) is not None}
    return None


SERIALIZED = "tokenizer.json"
TOKENIZER_FILES_SETTINGS = ("tokenizer_config.json", "special_tokens_map.json")
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
    """Check the types and sizes of the files of a tokenizer without opening them."""
    for path in tokenizer_files(folder):
        check_size(path.name, path.stat().st_size, VOCABULARY_NBYTES)


def tokenizer_files(folder: Path) -> list[Path]:
    """The paths of the tokenizer files of a model."""
    names = (SERIALIZED, *TOKENIZER_FILES_SETTINGS, ADDED, *VOCABULARIES)
    return [own_file(folder, name) for name in names if present(folder, name)]


@contextmanager
def sanitized_tokenizer_folder(folder: Path, config: Mapping[str, Any]) -> Iterator[Path]:
    """A temporary folder with sanitized copies of the tokenizer files of a model."""
    with temporary_folder() as copies:
        for name in (SERIALIZED, *TOKENIZER_FILES_SETTINGS, ADDED, *VOCABULARIES):
            if present(folder, name):
                write_copy(copies / name, harmless_bytes(name, read_file(folder, name, VOCABULARY_NBYTES)))
        # transformers reads these to detect Mistral models with a wrong published pattern.
        model_facts = {
            key: config[key] for key in ("model_type", "transformers_version") if isinstance(config.get(key), str)
        }
        write_copy(copies / "config.json", json.dumps(model_facts).encode())
        yield copies


def harmless_bytes(name: str, raw: bytes) -> bytes:
    """The sanitized content of a tokenizer file."""
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
    if name in TOKENIZER_FILES_SETTINGS:
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
    """An empty temporary folder."""
    try:
        temporary = TemporaryDirectory(prefix="inside-bert-", ignore_cleanup_errors=True)
    except OSError as error:
        raise _no_room(error) from error
    with temporary as path:
        yield Path(path)


def write_copy(path: Path, content: bytes) -> None:
    """Write a file into a temporary folder."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise _no_room(error) from error


def _no_room(error: OSError) -> CheckpointError:
    return CheckpointError(
        f"A model's files cannot be copied to the temporary folder ({error.strerror}); free some space there."
    )
