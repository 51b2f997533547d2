"""Find the files of an input, on this machine or at an address that fsspec supports."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec

from bertviz_core.errors import CorpusError
from bertviz_core.tables.results import InputFile
from bertviz_core.text import LFS_NBYTES, first_line, pointer_message, quoted

ENDINGS = (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson")
PATTERN_SIGNS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class InputPlace:
    """A file system and a path in it."""

    system: fsspec.AbstractFileSystem
    """The file system."""
    path: str
    """The path in it."""

    @property
    def local(self) -> bool:
        """Whether it is a local file system."""
        return "file" in ((self.system.protocol,) if isinstance(self.system.protocol, str) else self.system.protocol)

    def opened(self) -> Any:
        """Open the file for reading in binary mode."""
        try:
            return self.system.open(self.path, "rb")
        except Exception as error:  # each file system raises its own
            raise CorpusError(f"{quoted(self.path)} cannot be read ({first_line(error)}).") from error


def place(address: str) -> InputPlace:
    """The file system and path of a path or an address, such as s3://bucket/texts.parquet."""
    try:
        system, path = fsspec.url_to_fs(address if "://" in address else str(Path(address).absolute()))
    except ImportError as error:
        raise CorpusError(
            f"{quoted(address)} needs a package that is not installed ({first_line(error)}); install it with pip."
        ) from error
    except Exception as error:  # each file system raises its own
        raise CorpusError(f"{quoted(address)} is no address that is known here ({first_line(error)}).") from error
    return InputPlace(system, path)


def input_files(address: str) -> tuple[InputFile, ...]:
    """The files of an input sorted by name: a single file, the files of a folder, or the matches of a pattern."""
    start = place(address)
    try:
        paths = _paths(start)
        files = [_described(InputPlace(start.system, path)) for path in paths]
    except CorpusError:
        raise
    except Exception as error:  # each file system raises its own
        raise CorpusError(f"{quoted(address)} cannot be read ({first_line(error)}).") from error
    if not files:
        raise CorpusError(
            f"There is no input at {quoted(address)}; give a file, a folder or a pattern of {', '.join(ENDINGS)}."
        )
    return tuple(files)


def ending(files: tuple[InputFile, ...]) -> str:
    """The common suffix of all files."""
    endings = sorted({Path(file.path).suffix.lower() for file in files})
    if len(endings) > 1:
        raise CorpusError(f"The input mixes files of {' and '.join(map(quoted, endings))}; give those of one kind.")
    if endings[0] not in ENDINGS:
        raise CorpusError(
            f"{quoted(Path(files[0].path).name)} has the ending {quoted(endings[0])}; read are {', '.join(ENDINGS)}."
        )
    return endings[0]


def _paths(start: InputPlace) -> list[str]:
    system, path = start.system, start.path
    if system.isfile(path):
        return [path]
    if PATTERN_SIGNS.intersection(path):
        return sorted(each for each in system.glob(path) if system.isfile(each))
    if not system.isdir(path):
        return []
    below = (each for each in system.find(path) if each.lower().endswith(ENDINGS))
    hidden = (".", "_")  # Spark and others mark files without data in this way
    return sorted(each for each in below if not Path(each).name.startswith(hidden))


def _described(file: InputPlace) -> InputFile:
    nbytes = int(file.system.info(file.path)["size"])
    if nbytes <= LFS_NBYTES:
        with file.opened() as handle:
            if message := pointer_message(file.path, handle.read(LFS_NBYTES)):
                raise CorpusError(message)
    if not file.local:
        return InputFile(str(file.system.unstrip_protocol(file.path)), nbytes, f"ukey:{file.system.ukey(file.path)}")
    with file.opened() as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    return InputFile(file.path, nbytes, f"sha256:{digest}")
