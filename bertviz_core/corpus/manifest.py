"""Read, check and write manifest.json, which describes a corpus folder."""

import re
from pathlib import Path

import msgspec

from bertviz_core.corpus.results import Manifest
from bertviz_core.corpus.writing import write_whole
from bertviz_core.errors import CorpusError
from bertviz_core.isolation.regular_files import open_regular
from bertviz_core.models.sources import ModelSource
from bertviz_core.sentences.plan import MAX_PROMPT, adapted, recommended
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.settings import Settings
from bertviz_core.tables.columns import MAX_COLUMNS, MAX_NAME
from bertviz_core.text import first_line, quoted

FORMAT_VERSION = 1
FILE = "manifest.json"
MAX_NBYTES = 64 * 1024**2
"""Maximum size of a manifest in bytes, enough for the names of a quarter of a million input files."""
MAX_COUNT = 10**12
"""Maximum number of rows, and of everything else that is counted."""
MAX_SHARDS, MAX_DIMENSIONS = 100_000, 100_000
SHA256 = re.compile(r"[0-9a-f]{64}")
CHANGES = {
    "code_version": "was begun by another version of Inside BERT",
    "model": "was made with another model",
    "revision": "was made with another state of the model's files",
    "weights_sha256": "was made with other weights",
    "pooling": "was made with another pooling",
    "layer": "was made from another layer",
    "prompt": "was made with another prompt",
    "normalized": "was made with another normalisation",
    "max_tokens": "was made with another limit of tokens",
    "run_dtype": "was made with another number format of the run",
    "vector_dtype": "was made with another number format of the vectors",
    "dimensions": "has vectors of another length",
    "inputs": "was made from another input, or its input has changed since",
    "input_column": "was made from another column",
    "text_column": "was made with another choice whether texts are kept",
    "columns": "was made from an input with other columns",
    "rows": "was made from an input with another count of rows",
    "rows_per_shard": "was made with another count of rows in a shard",
    "shards": "was cut into shards in another way",
}
"""Field of a manifest -> message if two manifests differ in it, most important first."""


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write or replace a folder's manifest."""
    raw = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
    write_whole(folder / FILE, lambda file: file.write(raw))


def read_manifest(folder: Path) -> Manifest:
    """Read a folder's manifest, whether the corpus is complete or not."""
    path = folder / FILE
    try:
        with open_regular(path) as file:
            raw = file.read(MAX_NBYTES + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise CorpusError(
            f"{quoted(folder.name)} is no corpus folder: it has no {FILE}. Make one with "
            "`python -m bertviz_core corpus embed MODEL INPUT -o FOLDER`."
        ) from error
    except (OSError, ValueError) as error:  # a name that no file can have raises ValueError
        why = getattr(error, "strerror", None) or "no file can have this name"
        raise CorpusError(f"{FILE} of {quoted(folder.name)} cannot be read ({why}).") from error
    if len(raw) > MAX_NBYTES:
        raise CorpusError(f"{FILE} of {quoted(folder.name)} has more than {MAX_NBYTES // 1024**2} MiB; it is damaged.")
    return parsed(folder.name, raw)


def parsed(name: str, raw: bytes) -> Manifest:
    """Parse and check a manifest's bytes."""
    try:
        version = msgspec.json.decode(raw, type=_Version).format_version
        if version != FORMAT_VERSION:
            raise CorpusError(
                f"{quoted(name)} is a corpus of format version {version}, and this version of Inside BERT reads "
                f"{FORMAT_VERSION}; embed it again, or open it with the version that made it."
            )
        manifest = msgspec.json.decode(raw, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CorpusError(
            f"{FILE} of {quoted(name)} is damaged ({first_line(error)}); embed the corpus again."
        ) from error
    if trouble := _trouble(manifest):
        raise CorpusError(f"{FILE} of {quoted(name)} is damaged: {trouble}; embed the corpus again.")
    return manifest


def difference(first: Manifest, second: Manifest) -> str:
    """Describe how two manifests differ; "" if only in completeness."""
    return next((words for field, words in CHANGES.items() if getattr(first, field) != getattr(second, field)), "")


def sentence_plan(manifest: Manifest, source: ModelSource, settings: Settings, num_hidden_layers: int) -> SentencePlan:
    """Return the plan of the corpus' vectors.

    Args:
        manifest: manifest of the corpus.
        source: its resolved model.
        num_hidden_layers: number of layers of the model.
    """
    layer = None if manifest.layer == num_hidden_layers else manifest.layer
    return adapted(recommended(source, settings), manifest.pooling, layer, manifest.prompt)


class _Version(msgspec.Struct):
    """Part of the manifest that is common to all versions."""

    format_version: int


def _trouble(manifest: Manifest) -> str:
    """Describe what is invalid in a manifest; "" if nothing is."""
    if not SHA256.fullmatch(manifest.weights_sha256):
        return "weights_sha256 is no SHA-256"
    if not 0 < manifest.dimensions <= MAX_DIMENSIONS:
        return f"vectors of {manifest.dimensions:,} numbers"
    rows, most, shards = manifest.rows, manifest.rows_per_shard, manifest.shards
    if not (0 < rows <= MAX_COUNT and 0 < most <= MAX_COUNT and -(-rows // most) <= shards <= min(rows, MAX_SHARDS)):
        return f"{rows:,} rows in {shards:,} shards of at most {most:,}"
    int8 = manifest.run_dtype == "int8"
    if manifest.text_column not in (None, "text") or manifest.layer < 0 or int8 != (manifest.int8 is not None):
        return "text_column, layer or int8"
    if len(manifest.columns) > MAX_COLUMNS:
        return f"{len(manifest.columns):,} columns; at most {MAX_COLUMNS:,} are read"
    if any(len(column.name) > MAX_NAME for column in manifest.columns):
        return f"a column's name of more than {MAX_NAME:,} characters"
    names = (manifest.model, manifest.revision, manifest.code_version, manifest.input_column)
    if any(len(name) > MAX_NAME for name in names):
        return f"a name of the model, its revision or the like of more than {MAX_NAME:,} characters"
    if len(manifest.prompt) > MAX_PROMPT:
        return f"a prompt of {len(manifest.prompt):,} characters; at most {MAX_PROMPT:,} are read"
    columns = [column.name for column in manifest.columns]
    if len(set(columns)) < len(columns) or not {"vector", "text", "tokens", "truncated"}.isdisjoint(columns):
        return "two columns of one name"
    return ""
