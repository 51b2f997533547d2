"""Access to the Hugging Face Hub: its local cache, configs, and safetensors headers by range requests."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import huggingface_hub
import orjson

from bertviz_core.errors import BertvizError, CheckpointError, HubError, ModelNotFoundError, UnreachableHubError
from bertviz_core.isolation.offline import guard_requests
from bertviz_core.isolation.regular_files import ADAPTER_CONFIG, CONFIG_FILE, CONFIG_NBYTES, INDEX_NBYTES, check_size
from bertviz_core.models.safetensors.folder import INDEX_FILE, SINGLE_FILE, listed_tensors, read_json
from bertviz_core.models.safetensors.results import CheckpointHeader, StoredTensor

TIMEOUT_S = 10.0
HUB_PART = r"[A-Za-z0-9](?:[\w.-]{0,94}\w)?"
HUB_REVISION = r"[\w.-]{1,64}(?:/[\w.-]{1,64})*"
HUB_NAME = re.compile(
    rf"(?!.*\.\.)(?![^@]*(?:--|\.git(?:@|\Z))){HUB_PART}(?:/{HUB_PART})?(?:@{HUB_REVISION})?", re.ASCII
)
"""A repository id (huggingface_hub.utils.validate_repo_id), optionally followed by @ and a revision."""


def cached_folder(hub_id: str, revision: str | None, files: Iterable[str]) -> Path | None:
    """The cached snapshot folder of a repository that contains one of the files; None if there is none."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    # A quick test first: every page checks all models of the catalogue for whether they are cached.
    if not os.path.isdir(f"{constants.HF_HUB_CACHE}/{repo_folder_name(repo_id=hub_id, repo_type='model')}"):  # noqa: PTH112
        return None
    paths = (huggingface_hub.try_to_load_from_cache(hub_id, file, revision=revision) for file in files)
    return next((Path(file).parent for file in paths if isinstance(file, str)), None)


def fetch_config(hub_id: str, revision: str | None, endpoint: str) -> tuple[str, dict[str, Any], str]:
    """The name and content of the config.json, or adapter_config.json, of a repository, and its commit.

    Raises:
        ModelNotFoundError: the repository, revision or file does not exist or requires authentication.
        HubError: the Hub cannot be reached or returns an error.
        CheckpointError: the file is not a JSON object, or too large.
    """
    with hub_errors_translated(hub_id):
        # A single request first: a download retries five times, half a minute, before it fails without a network.
        about = huggingface_hub.HfApi(endpoint=endpoint).model_info(hub_id, revision=revision, timeout=TIMEOUT_S)
        names = {sibling.rfilename for sibling in about.siblings or ()}
        is_adapter = ADAPTER_CONFIG in names and not names & {SINGLE_FILE, INDEX_FILE}
        file = ADAPTER_CONFIG if is_adapter else CONFIG_FILE
        _check_remote(hub_id, file, revision, endpoint, CONFIG_NBYTES)
        path = huggingface_hub.hf_hub_download(
            hub_id, file, revision=revision, endpoint=endpoint, etag_timeout=TIMEOUT_S
        )
    folder = Path(path).parent
    return file, read_json(folder, file), folder.name


def _check_remote(hub_id: str, file: str, revision: str | None, endpoint: str, limit: int) -> None:
    """Refuse a file that the Hub reports as too large, before it is downloaded."""
    address = huggingface_hub.hf_hub_url(hub_id, file, revision=revision, endpoint=endpoint)
    check_size(
        file, huggingface_hub.get_hf_file_metadata(address, timeout=TIMEOUT_S, endpoint=endpoint).size or 0, limit
    )


def fetch_header(hub_id: str, revision: str | None, endpoint: str) -> CheckpointHeader:
    """The safetensors headers of a repository, by range requests; no weights are downloaded.

    Raises:
        ModelNotFoundError: the repository or revision does not exist or requires authentication.
        CheckpointError: it has no safetensors file, or a damaged one.
        HubError: the Hub cannot be reached or returns an error.
    """
    from huggingface_hub.errors import EntryNotFoundError

    with hub_errors_translated(hub_id):
        with suppress(EntryNotFoundError):  # the client reads the index completely, if there is one
            _check_remote(hub_id, INDEX_FILE, revision, endpoint, INDEX_NBYTES)
        repository = huggingface_hub.HfApi(endpoint=endpoint).get_safetensors_metadata(hub_id, revision=revision)
    tensors: list[StoredTensor] = []
    for file, metadata in sorted(repository.files_metadata.items()):
        header = {
            name: {"dtype": info.dtype, "shape": list(info.shape), "data_offsets": list(info.data_offsets)}
            for name, info in metadata.tensors.items()
        }
        tensors += listed_tensors(file, orjson.dumps(header), payload=None)
    return CheckpointHeader(tuple(tensors), tuple(sorted(repository.files_metadata)), 0)


@contextmanager
def hub_errors_translated(hub_id: str) -> Iterator[None]:
    """Translate exceptions of the Hub client into errors for users."""
    from huggingface_hub import errors

    guard_requests()
    refusals: tuple[tuple[type[Exception], BertvizError], ...] = (
        (
            errors.GatedRepoError,
            ModelNotFoundError(f"{hub_id!r} is gated: accept its terms on the Hub and set HF_TOKEN."),
        ),
        (
            errors.RepositoryNotFoundError,
            ModelNotFoundError(
                f"The Hub has no public model {hub_id!r}; check the spelling (a private one: HF_TOKEN)."
            ),
        ),
        (
            errors.RevisionNotFoundError,
            ModelNotFoundError(f"{hub_id!r} has no such revision; leave out the part after @."),
        ),
        (
            errors.NotASafetensorsRepoError,
            CheckpointError(
                f"{hub_id!r} has no safetensors file on the Hub; only these are opened, since pickle files can run "
                "code. Ask its owner to convert it, or save it with save_pretrained into the models folder."
            ),
        ),
        (errors.SafetensorsParsingError, CheckpointError(f"The safetensors header of {hub_id!r} is damaged.")),
        (errors.LocalEntryNotFoundError, _unreachable(hub_id)),
        (
            errors.EntryNotFoundError,
            ModelNotFoundError(f"{hub_id!r} has no config.json on the Hub, so it cannot be opened here."),
        ),
        (
            errors.HFValidationError,
            ModelNotFoundError(f"{hub_id!r} is not a valid Hub name; Hub names are written org/name."),
        ),
        (errors.HfHubHTTPError, HubError(f"The Hub answered with an error for {hub_id!r}; try again later.")),
        (OSError, _unreachable(hub_id)),
        (http_library().HTTPError, _unreachable(hub_id)),
    )
    try:
        yield
    except tuple(kind for kind, _ in refusals) as error:
        raise next(refusal for kind, refusal in refusals if isinstance(error, kind)) from error


def http_library() -> ModuleType:
    """The HTTP library of the Hub's client: httpx2, or httpx before version 2 of huggingface_hub."""
    from huggingface_hub.errors import HfHubHTTPError

    packages = (base.__module__.partition(".")[0] for base in HfHubHTTPError.__mro__)
    return import_module(next(name for name in packages if name.startswith("httpx")))


def _unreachable(hub_id: str) -> UnreachableHubError:
    return UnreachableHubError(
        f"The Hub could not be reached for {hub_id!r}; check the network, "
        "or use the bundled model, the catalogue or a local folder."
    )
