"""Download a model's files from the Hub into the local cache: safetensors only, with progress.

A file enters the cache only when it is complete; a cached file is not fetched again.
"""

import errno
import os
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from bertviz_core.errors import CheckpointError, HubError, Progress
from bertviz_core.isolation.regular_files import ADAPTER_CONFIG, CONFIG_FILE
from bertviz_core.models import sources
from bertviz_core.models.local_files import TOKENIZER_FILES
from bertviz_core.models.safetensors.folder import ADAPTER_WEIGHTS, INDEX_FILE, SINGLE_FILE, other_format
from bertviz_core.models.sources import ModelSource
from bertviz_core.settings import Settings


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a repository on the Hub."""

    name: str
    """Path in the repository."""
    nbytes: int


@dataclass(frozen=True, slots=True)
class HubFiles:
    """The files that running a model needs."""

    model: str
    """Name under which the model was requested."""
    hub_id: str
    revision: str | None
    """Commit, tag or branch; None for the main branch."""
    files: tuple[HubFile, ...]
    """Config, safetensors files, tokenizer, and pooling files."""

    @property
    def nbytes(self) -> int:
        """Size of all files in bytes."""
        return sum(file.nbytes for file in self.files)


SMALL = (CONFIG_FILE, ADAPTER_CONFIG, *TOKENIZER_FILES, "special_tokens_map.json", "added_tokens.json", "modules.json")
POOLING = re.compile(
    r"(sentence_bert_config|config_sentence_transformers)\.json|\d+_[A-Za-z]+/(config\.json|.*\.safetensors)"
)
SHARD = re.compile(r"model-\d+-of-\d+\.safetensors")


def needed_files(source: ModelSource, settings: Settings) -> HubFiles:
    """List the files on the Hub that running a model needs, with their sizes; one request."""
    from huggingface_hub import HfApi

    if source.hub_id is None:
        raise CheckpointError(f"{source.name!r} does not come from the Hub, so it cannot be fetched from there.")
    if not settings.allow_hub:
        raise HubError("Fetching from the Hub is switched off here (INSIDE_BERT_ALLOW_HUB).")
    is_merged = source.adapter is not None and source.folder is not None  # its revision is of both models
    revision = source.revision if source.kind in ("hub", "cache") and not is_merged else None
    with sources.hub_errors_translated(source.hub_id):
        repository = HfApi(endpoint=settings.hub_endpoint).model_info(
            source.hub_id, revision=revision, files_metadata=True, timeout=sources.TIMEOUT_S
        )
    sizes = {sibling.rfilename: int(sibling.size or 0) for sibling in repository.siblings or ()}
    weights = _weights(source.hub_id, sizes)
    names = [name for name in sizes if name in SMALL or POOLING.fullmatch(name)] + weights
    files = HubFiles(source.name, source.hub_id, revision, tuple(HubFile(name, sizes[name]) for name in names))
    if files.nbytes > settings.max_model_bytes:
        raise CheckpointError(
            f"{source.hub_id!r} has {files.nbytes:,} bytes; this instance opens models of up to "
            f"{settings.max_model_bytes:,} (INSIDE_BERT_MAX_MODEL_BYTES)."
        )
    return files


def download(files: HubFiles, settings: Settings, progress: Progress) -> Path:
    """Download the files, and return their folder in the local cache.

    Args:
        progress: called as progress(bytes done, total bytes); may raise to cancel, which leaves complete files only.
    """
    from huggingface_hub import constants, hf_hub_download

    constants.HF_HUB_DISABLE_XET = True  # transfers by Xet cannot be cancelled from progress
    http = sources.http_library()
    done, folder = 0, Path()
    for file in files.files:
        progress(done, files.nbytes)
        with sources.hub_errors_translated(files.hub_id):
            try:
                path = hf_hub_download(
                    files.hub_id,
                    file.name,
                    revision=files.revision,
                    endpoint=settings.hub_endpoint,
                    etag_timeout=sources.TIMEOUT_S,
                    tqdm_class=cast(Any, partial(_Counting, progress, done, files.nbytes)),
                )
            except (http.RemoteProtocolError, http.ReadError, http.ReadTimeout, OSError) as error:
                raise _broken_off(file, files, error) from error
        done += file.nbytes
        folder = Path(path).parents[file.name.count("/")]
    progress(files.nbytes, files.nbytes)
    return folder


def _weights(hub_id: str, sizes: dict[str, int]) -> list[str]:
    if SINGLE_FILE in sizes:
        return [SINGLE_FILE]
    shards = [name for name in sizes if SHARD.fullmatch(name)]
    if INDEX_FILE in sizes and shards:
        return [INDEX_FILE, *shards]
    if ADAPTER_WEIGHTS in sizes:
        return [ADAPTER_WEIGHTS]
    if other := other_format(sorted(sizes)):
        raise CheckpointError(
            f"{hub_id!r} has no {SINGLE_FILE} on the Hub, and its weights only as {other.rstrip('.')}; put that folder "
            "into the models folder."
        )
    raise CheckpointError(
        f"{hub_id!r} has no {SINGLE_FILE} on the Hub (no weights at all); convert it where you trust it, "
        "with save_pretrained, and put the folder into the models folder."
    )


def _broken_off(file: HubFile, files: HubFiles, error: Exception) -> HubError:
    number = getattr(error, "errno", None)
    if number == errno.ENOSPC:
        return HubError(f"There is no room on the disk for the {files.nbytes:,} bytes of {files.hub_id!r}; free some.")
    if number in (errno.EACCES, errno.EROFS, errno.EPERM):
        return HubError(
            f"The Hub's cache cannot be written here ({os.strerror(number)}); set HF_HOME to a folder that can."
        )
    return HubError(
        f"The Hub broke off while it sent {file.name} of {files.hub_id!r}; start again; files that came whole are kept."
    )


class _Counting(AbstractContextManager["_Counting"]):
    """Progress bar for the Hub's client that reports a file's bytes as part of the whole download and draws nothing."""

    def __init__(self, progress: Progress, before: int, whole: int, /, initial: int = 0, **_look: Any) -> None:
        self._tell, self._there, self._total = progress, before + initial, whole

    def update(self, n: float = 1) -> None:
        """Count bytes; a restarted file counts back."""
        self._there += int(n)
        self._tell(min(self._there, self._total), self._total)

    def close(self) -> None:
        """Do nothing: no resource is open."""

    def __exit__(self, *error: object) -> None:
        """Do nothing: no resource is open."""
