"""What a download from the Hub will fetch."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a repository on the Hub."""

    name: str
    """Path in the repository."""
    nbytes: int
    """Its size in bytes."""


@dataclass(frozen=True, slots=True)
class HubFiles:
    """The files of one model that are needed to run it."""

    model: str
    """Name that the model is asked for by."""
    hub_id: str
    """Its repository."""
    revision: str | None
    """Commit, tag or branch; None for the main branch."""
    files: tuple[HubFile, ...]
    """Config, safetensors files, tokenizer, and what says how sentences are pooled."""

    @property
    def nbytes(self) -> int:
        """Bytes in all."""
        return sum(file.nbytes for file in self.files)
