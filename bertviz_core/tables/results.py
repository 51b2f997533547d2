"""What is known of a table's files before they are read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that the rows came from, and what tells whether it has changed."""

    path: str
    """Absolute path or address."""
    nbytes: int
    """Its size."""
    fingerprint: str
    """The word "sha256:" and the digest of a file on this machine; "ukey:" and what its file system says of others."""
