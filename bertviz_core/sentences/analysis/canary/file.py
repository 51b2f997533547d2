"""Read and write the file of a canary: JSON, whose keys docs/canary.md explains."""

import re
from pathlib import Path

import msgspec
import numpy as np

from bertviz_core.errors import BertvizError, CheckpointError
from bertviz_core.isolation.regular_files import check_values, open_regular
from bertviz_core.sentences.analysis.canary.contents import FORMAT, FORMAT_VERSION, MAX_DIMENSIONS, MAX_TEXTS
from bertviz_core.sentences.analysis.canary.results import VECTOR_FORMAT, Canary
from bertviz_core.sentences.plan import MAX_PROMPT
from bertviz_core.tables.atomic_files import write_whole
from bertviz_core.text import first_line, quoted
from bertviz_core.trace.tokenization import MAX_ID

MAX_NBYTES, MAX_VALUES = 256 * 1024**2, 20_000_000
"""Maximum size of a file, and number of values in it, which is checked before it is parsed."""
MAX_FILES, MAX_VERSIONS, MAX_NAME, MAX_DENSE = 10_000, 100, 1_000, 100
SHA256 = re.compile(r"[0-9a-f]{64}")
AGAIN = "write it again with `python -m bertviz_core canary write MODEL FILE`"


def write_canary(path: Path, canary: Canary) -> None:
    """Write or replace the file of a canary atomically: a key on each line, and a line for each text."""
    raw = canary_bytes(canary)
    if len(raw) > MAX_NBYTES:
        raise CheckpointError(
            f"The canary of {quoted(canary.model)} would have {len(raw) // 1024**2:,} MiB; at most "
            f"{MAX_NBYTES // 1024**2} are read. Give fewer or shorter texts."
        )
    try:
        write_whole(path, lambda file: file.write(raw))
    except (OSError, ValueError) as error:  # a name that no file can have raises ValueError
        why = getattr(error, "strerror", None) or "no file can have this name"
        raise BertvizError(f"{quoted(path.name)} cannot be written ({why}).") from error


def canary_bytes(canary: Canary) -> bytes:
    """The file of a canary."""
    values: dict[str, msgspec.Raw] = msgspec.json.decode(msgspec.json.encode(canary), type=dict[str, msgspec.Raw])
    del values["texts"]
    lines = [f'  "{name}": {bytes(value).decode()},' for name, value in values.items()]
    texts = ",\n".join(f"    {msgspec.json.encode(each).decode()}" for each in canary.texts)
    return "\n".join(("{", *lines, '  "texts": [', texts, "  ]", "}", "")).encode()


def read_canary(path: Path) -> Canary:
    """Read the file of a canary."""
    try:
        with open_regular(path) as file:
            raw = file.read(MAX_NBYTES + 1)
    except FileNotFoundError as error:
        raise CheckpointError(f"There is no file {quoted(str(path))}; {AGAIN}.") from error
    except (OSError, ValueError) as error:  # a name that no file can have raises ValueError
        why = getattr(error, "strerror", None) or "no file can have this name"
        raise CheckpointError(f"{quoted(path.name)} cannot be read ({why}); give a file of `canary write`.") from error
    if len(raw) > MAX_NBYTES:
        raise CheckpointError(
            f"{quoted(path.name)} has more than {MAX_NBYTES // 1024**2} MiB, more than a canary has; give a file of "
            "`canary write`."
        )
    check_values(path.name, raw, MAX_VALUES)
    return parsed_canary(path.name, raw)


class _Version(msgspec.Struct):
    """What is common to all versions of the file."""

    format: str = ""
    format_version: int = 0


def parsed_canary(name: str, raw: bytes) -> Canary:
    """Parse and check the bytes of a file."""
    try:
        first = msgspec.json.decode(raw, type=_Version)
        if first.format == FORMAT and first.format_version != FORMAT_VERSION:
            raise CheckpointError(
                f"{quoted(name)} is a canary of format version {first.format_version:,}, and this version of Inside "
                f"BERT reads {FORMAT_VERSION}; {AGAIN}, or check it with the version that wrote it."
            )
        canary = msgspec.json.decode(raw, type=Canary) if first.format == FORMAT else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CheckpointError(f"{quoted(name)} is damaged ({first_line(error)}); {AGAIN}.") from error
    if canary is None:
        raise CheckpointError(f"{quoted(name)} is no canary; {AGAIN}.")
    if trouble := _trouble(canary):
        raise CheckpointError(f"{quoted(name)} is damaged: {trouble}; {AGAIN}.")
    return canary


def _trouble(canary: Canary) -> str:
    """What is invalid in a canary; "" if nothing is."""
    if not 1 <= len(canary.texts) <= MAX_TEXTS:
        return f"{len(canary.texts):,} texts, where 1 to {MAX_TEXTS:,} are read"
    if len({each.text for each in canary.texts}) < len(canary.texts):
        return "a text is there twice"
    size = np.dtype(VECTOR_FORMAT).itemsize
    lengths = {len(each.vector) for each in canary.texts}
    if len(lengths) > 1 or not 0 < max(lengths) <= size * MAX_DIMENSIONS or max(lengths) % size:
        return "the vectors are not of one length"
    if not np.isfinite(canary.vectors).all():
        return "a vector holds NaN or infinity"
    rows = ((each.ids, each.tokens) for each in canary.texts)
    if any(len(ids) != len(tokens) or not all(0 <= each <= MAX_ID for each in ids) for ids, tokens in rows):
        return "the tokens of a text and their ids do not match"
    return _trouble_of_names(canary)


def _trouble_of_names(canary: Canary) -> str:
    names = (
        *(canary.model, canary.revision, canary.code_version, canary.recipe.tokenizer),
        *(each.name for each in canary.files),
        *(word for pair in canary.versions.items() for word in pair),
    )
    if any(len(name) > MAX_NAME for name in names) or len(canary.recipe.prompt) > MAX_PROMPT:
        return f"a name has more than {MAX_NAME:,} characters, or the prompt more than {MAX_PROMPT:,}"
    counts = len(canary.files) > MAX_FILES, len(canary.versions) > MAX_VERSIONS, len(canary.recipe.dense) > MAX_DENSE
    if any(counts) or len({each.name for each in canary.files}) < len(canary.files):
        return "too many files, versions or dense layers, or a file that is there twice"
    if not all(SHA256.fullmatch(each.sha256) for each in canary.files):
        return "a sha256 is no SHA-256"
    return ""
