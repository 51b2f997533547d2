"""Results about the files of a table."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file with a fingerprint of its content."""

    path: str
    """Absolute path or address."""
    nbytes: int
    """Size in bytes."""
    fingerprint: str
    """"sha256:" and the digest of a local file, or "ukey:" and the key that its file system provides."""
