"""Resolve the name of a model to its config and files.

Searched in this order: the bundled models, the models folder, the example run, the catalogue, the local Hub cache, the
Hub. Torch is not imported, and no code of a model is run.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import huggingface_hub
import orjson

from bertviz_core.errors import BertvizError, CheckpointError, HubError, ModelNotFoundError, UnreachableHubError
from bertviz_core.isolation.offline import guard_requests
from bertviz_core.isolation.regular_files import (
    ADAPTER_CONFIG,
    CONFIG_FILE,
    CONFIG_NBYTES,
    INDEX_NBYTES,
    MODULES_FILE,
    check_size,
    local_folder,
    local_names,
    present,
    saved_checkpoints,
)
from bertviz_core.isolation.sanitized.entries import check_entries
from bertviz_core.models import catalog
from bertviz_core.models.authors_code import translated
from bertviz_core.models.catalog import (
    BUNDLED,
    EXAMPLE_TASK,
    JOIN,
    BundledModel,
    bundled_folder,
    check_config,
    check_name,
    example_folder,
    example_offers,
    find_bundled,
    is_example,
    not_found,
    split_name,
    verify_bundled,
    with_suggestion,
)
from bertviz_core.models.gliner import encoder_config, is_gliner
from bertviz_core.models.receipt import folder_notices
from bertviz_core.models.safetensors.adapters.contents import merged_config, read_adapter
from bertviz_core.models.safetensors.adapters.results import Adapter
from bertviz_core.models.safetensors.adapters.settings import AdapterSettings, checked_settings, is_adapter
from bertviz_core.models.safetensors.folder import (
    ADAPTER_WEIGHTS,
    INDEX_FILE,
    SINGLE_FILE,
    listed_tensors,
    no_model_folder,
    read_header,
    read_json,
    readable_weights,
)
from bertviz_core.models.safetensors.results import CheckpointHeader, StoredTensor
from bertviz_core.models.sentence_folder import DOCUMENT, QUERY, encoder_folder, route, routes
from bertviz_core.models.static_folder import static_class, static_config
from bertviz_core.settings import DEFAULT_MODEL, OpenedConfig, Settings, Terms, config_digest
from bertviz_core.text import quoted

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
    if not Path(constants.HF_HUB_CACHE, repo_folder_name(repo_id=hub_id, repo_type="model")).is_dir():
        return None
    paths = (huggingface_hub.try_to_load_from_cache(hub_id, file, revision=revision) for file in files)
    return next((Path(file).parent for file in paths if isinstance(file, str)), None)


def fetch_config(hub_id: str, revision: str | None, endpoint: str) -> tuple[str, dict[str, Any], str]:
    """The name and content of the config.json, or adapter_config.json, of a repository, and its commit."""
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
    """The safetensors headers of a repository, by range requests; no weights are downloaded."""
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
        (http_library().RemoteProtocolError, HubError(f"The Hub broke off its answer for {hub_id!r}; try again.")),
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


TOKENIZER_NAMES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")
OWN_TOKENIZER = f"{JOIN}tokenizer.json"
"""End of the name of a model that is read with the tokenizer of its tokenizer.json, not with that of AutoTokenizer."""


DIGESTED = (".json", ".safetensors", ".txt", ".model", ".bin", ".pt")
"""Suffixes of the files that a digest is of."""


Kind = Literal["bundled", "local", "example", "catalogue", "cache", "hub"]


@dataclass(frozen=True, slots=True, eq=False)
class ModelSource:
    """Where a model comes from."""

    name: str
    """Name under which it is requested and shown."""
    kind: Kind
    """Which of the six places it is in."""
    config: Mapping[str, Any]
    folder: Path | None
    """Folder with its files; None for the catalogue and for Hub models that are not cached."""
    hub_id: str | None
    """Its repository on the Hub, if it has one."""
    revision: str
    """Identifies the state of its files: a commit, or a digest of names, sizes and modification times."""
    has_weights: bool
    """Whether its safetensors files are on this machine."""
    adapter: "AdapterPart | None" = None
    """What makes it an adapter that changes another model; None for a whole model."""
    modules_folder: Path | None = None
    """Folder with modules.json, if the encoder is in a folder inside it."""
    way: str = ""
    """Kind of text that it reads, if its folder has a way of modules for each kind; "" for documents."""
    query_name: str = ""
    """Name of the model of queries in the same folder, if that is another; "" for the same."""
    own_tokenizer: bool = False
    """Whether its tokenizer.json is read as it is, where transformers may build another tokenizer from it."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What decides its numbers and is not followed, one sentence each, by the files as they are now."""
        if self.kind in ("bundled", "example"):
            return ()
        if self.adapter is None:
            return folder_notices(self.name, self.config, self.folder, self.modules_folder, way=self.way)
        own = folder_notices(self.name, {}, self.folder, adapter=True)
        return tuple(dict.fromkeys((*own, *self.adapter.base.notices)))

    @property
    def cited(self) -> tuple[str, str]:
        """Name and revision for a caption, which names the base that an adapter runs merged into."""
        base = f", an adapter that runs merged into {self.adapter.base.name}" if self.adapter else ""
        return self.name, self.revision + base

    @property
    def model_type(self) -> str:
        """The model_type of the family in transformers."""
        return str(self.config.get("model_type", ""))

    @property
    def last_names(self) -> tuple[str, ...]:
        """The last parts, in lower case, of its names: its own, on the Hub, of its folder, and in its config."""
        folder = self.folder
        snapshot = folder.parent.parent.name if folder is not None and folder.parent.name == "snapshots" else ""
        names = (self.name, self.hub_id, folder and folder.name, snapshot, self.config.get("_name_or_path"))
        whole = (each.partition("@")[0].rstrip("/\\").lower() for each in names if isinstance(each, str))
        return tuple(re.split(r"[/\\]|--", each)[-1] for each in whole)

    @property
    def path(self) -> str:
        """The name by its folder of a local model; "" for others, and for an adapter on another base than its own."""
        is_local = self.kind == "local" and (self.adapter is None or JOIN not in self.name)
        if not is_local or self.folder is None:
            return ""
        place = str(self.modules_folder or self.folder)
        return f"{place}{JOIN}{self.way}" if self.way else place

    @property
    def tokenizer_class(self) -> str:
        """The class of transformers whose from_pretrained reads its tokenizer as it is read here."""
        return "PreTrainedTokenizerFast" if self.own_tokenizer else "AutoTokenizer"

    @property
    def pretrained_name(self) -> str:
        """The argument for from_pretrained."""
        return self.hub_id or str(self.folder or self.name)


@dataclass(frozen=True, slots=True, eq=False)
class AdapterPart:
    """The part of a source that an adapter has and a whole model lacks."""

    settings: AdapterSettings
    base: ModelSource
    """The model that it changes."""


def resolve(name: str, settings: Settings) -> ModelSource:
    """Find the model with this name.

    An adapter is opened with the base that it names, or as ADAPTER+BASE with another one; NAME+tokenizer.json is read
    with the tokenizer of that file.
    """
    name = name.strip()
    check_name(name)
    if name.endswith(OWN_TOKENIZER):
        source = resolve(name.removesuffix(OWN_TOKENIZER), settings)
        is_checked = source.kind in ("bundled", "example")  # a test compares both tokenizers
        return source if is_checked else replace(source, name=name, own_tokenizer=True)
    whole, way = _split_way(name, settings)
    _check_allowed(whole, settings)
    if way:
        return _found(whole, settings, way=way)
    adapter, base = split_name(name, settings)
    if base is not None:
        source = _found(adapter, settings, base)
        if source.adapter is None:
            raise ModelNotFoundError(f"{quoted(adapter)} is no adapter, so it takes no base; write ADAPTER{JOIN}BASE.")
        return replace(source, name=name)
    return _found(name, settings)


def _split_way(name: str, settings: Settings) -> tuple[str, str]:
    """NAME and the kind of text in NAME+KIND, for a folder with a router; the whole name and "" for any other."""
    whole, _, way = name.rpartition(JOIN)
    hub_id, _, revision = whole.partition("@")
    with suppress(BertvizError):  # refused where the model is opened
        folder = local_folder(whole, settings) if whole else None
        if folder is None and HUB_NAME.fullmatch(whole):
            folder = cached_folder(hub_id, revision or None, (MODULES_FILE,))
        if folder is not None and (ways := routes(folder)) and way in (*ways, DOCUMENT, QUERY):
            return whole, way
    return name, ""


def _check_allowed(name: str, settings: Settings) -> None:
    if settings.allowed_models and name not in settings.allowed_models:
        raise ModelNotFoundError(
            f"{quoted(name)} may not be opened on this instance; it offers {', '.join(settings.allowed_models)}."
        )


def _found(
    name: str, settings: Settings, base: str | None = None, whole_only: bool = False, way: str = ""
) -> ModelSource:
    """The model with a name; an adapter with a base, by default the one that it names, or refused."""
    bundled = find_bundled(name)
    if bundled is not None:
        source = _bundled(bundled)
        return replace(source, config=_opened(source.config, settings, trusted=True))
    local = local_folder(name, settings) or example_folder(name, settings)
    if local is not None:
        _check_whole(name, whole_only and is_adapter(local))
        return folder_source(name, local, settings, base, way)
    entry = catalog.find(name)
    if entry is not None:
        shown_name = next((alias for alias in entry.aliases if alias.lower() == name.lower()), entry.name)
        cached = cached_folder(entry.hub_id, None, (SINGLE_FILE, INDEX_FILE))
        config = entry.config if cached is None else _with_own_labels(entry.config, cached)
        check_entries(name, config, settings)
        opened_config = _opened(config, settings, trusted=True)
        return ModelSource(shown_name, "catalogue", opened_config, None, entry.hub_id, "catalogue", cached is not None)
    if not HUB_NAME.fullmatch(name):
        raise not_found(name, settings, local_names(settings))
    return _hub_source(name, settings, base, whole_only, way)


def _check_whole(name: str, is_refused: bool) -> None:
    if is_refused:
        raise CheckpointError(f"{quoted(name)} is an adapter itself; an adapter is opened on a whole model.")


def folder_source(
    name: str, folder: Path, settings: Settings | None = None, base: str | None = None, way: str = ""
) -> ModelSource:
    """The model in a folder.

    Args:
        base: name of the model that an adapter changes; None for the one that it names.
        way: kind of text that it reads, where the folder has a way of modules for each; "" for documents.
    """
    if is_adapter(folder):
        return _adapter_source(name, folder, settings or Settings.from_environment(), base)
    inside = encoder_folder(folder, way)
    if static := static_class(folder, inside, way):
        config: Mapping[str, Any] = static_config(name, inside, static)
    elif is_gliner(inside):
        config = encoder_config(name, inside)
    elif present(inside, CONFIG_FILE):
        config = translated(
            name,
            read_json(inside, CONFIG_FILE),
            lambda: tuple(each.name for each in read_header(inside).tensors) if readable_weights(inside) else (),
        )
    else:
        error = CheckpointError(no_model_folder(folder))
        error.suggestion = next((f"{name}/{each}" for each in saved_checkpoints(folder)), "")
        raise error
    settings = settings or Settings.from_environment()
    check_config(name, config, settings)
    source = ModelSource(
        name, "local", _opened(config, settings), inside, None, _digest(inside), readable_weights(inside)
    )
    if inside == folder:
        return source
    source = replace(source, modules_folder=folder, revision=f"{_digest(folder)[:6]}{source.revision[:6]}")
    if not (ways := routes(folder)):
        return source
    is_one = not way and ways[route(folder, QUERY)] == ways[route(folder)]
    return replace(
        source,
        name=f"{name}{JOIN}{way}" if way else name,
        way=way,
        query_name="" if way or is_one else f"{name}{JOIN}{QUERY}",
    )


def _adapter_source(name: str, folder: Path, settings: Settings, base: str | None) -> ModelSource:
    digest = _digest(folder)
    adapter = _listed_adapter(name, folder, digest)
    beside = read_json(folder, CONFIG_FILE) if present(folder, CONFIG_FILE) else {}
    part, config = _part(name, adapter.settings, adapter, beside, settings, base)
    revision = hashlib.sha256(f"{digest} {part.base.name} {part.base.revision}".encode()).hexdigest()[:12]
    kind: Kind = "example" if is_example(folder) else "local"
    return ModelSource(name, kind, config, folder, None, revision, part.base.has_weights, part)


@lru_cache(maxsize=64)
def _listed_adapter(name: str, folder: Path, digest: str) -> Adapter:
    """The contents of an adapter; the digest of its files keeps the cache up to date."""
    return read_adapter(name, folder)


def _part(
    name: str,
    own: AdapterSettings,
    adapter: Adapter | None,
    beside: Mapping[str, Any],
    settings: Settings,
    base: str | None,
) -> tuple[AdapterPart, OpenedConfig]:
    """The part of an adapter, and the config of the merged model."""
    base_name = base or own.base
    if not base_name:
        raise ModelNotFoundError(f"The adapter {quoted(name)} does not name its base; give it as {name}{JOIN}BASE.")
    try:
        check_name(base_name)
        if not base:  # with the revision if it comes from the Hub
            known = find_bundled(own.base) or catalog.find(own.base) or local_folder(own.base, settings)
            base_name = own.base if known or own.revision in ("", "main") else f"{own.base}@{own.revision}"
        check_name(base_name)
        _check_allowed(base_name, settings)
        source = _found(base_name, settings, whole_only=True)
    except BertvizError as error:
        other = "" if base else f" Another base is named as {name}{JOIN}BASE."
        raise type(error)(f"The base of the adapter {quoted(name)} cannot be opened: {error}{other}") from error
    facts = catalog.type_facts(source.model_type)
    config = merged_config(source.config, facts.base_class if facts else "", own, adapter, beside)
    check_entries(name, config, settings)
    return AdapterPart(own, source), config


def _opened(config: Mapping[str, Any], settings: Settings, trusted: bool = False) -> OpenedConfig:
    """A config with the limits of the settings; where they say so, a confined process tries an untrusted one first."""
    isolated = settings.isolate_models and not trusted and config_digest(config) not in _trusted_digests()
    return OpenedConfig(config, Terms(settings.max_layers, settings.max_labels, settings if isolated else None))


@cache
def _trusted_digests() -> frozenset[str]:
    """Digests of the configs of the catalogue and of the bundled models."""
    known = tuple(entry.config for entry in catalog.entries().values())
    for row in BUNDLED.values():
        with suppress(BertvizError):  # raised again when that model is opened
            known = (*known, _bundled(row).config)
    return frozenset(map(config_digest, known))


def _bundled(row: BundledModel) -> ModelSource:
    folder = bundled_folder(row.name)
    config = _bundled_config(row.name, folder)
    return ModelSource(row.name, "bundled", config, folder, row.hub_id, row.digests[SINGLE_FILE][:12], True)


@cache
def _bundled_config(name: str, folder: Path) -> Mapping[str, Any]:
    """Cached: every page needs it a dozen times, and an installed package does not change."""
    verify_bundled(name, [CONFIG_FILE])
    return read_json(folder, CONFIG_FILE)


def _with_own_labels(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A packaged config with the label names of the config next to the weights."""
    own = read_json(folder, CONFIG_FILE) if present(folder, CONFIG_FILE) else {}
    return {**config, **{key: own[key] for key in ("id2label", "label2id") if key in own}}


def _hub_source(name: str, settings: Settings, base: str | None, whole_only: bool, way: str = "") -> ModelSource:
    hub_id, _, revision = name.partition("@")
    cached = cached_folder(hub_id, revision or None, (CONFIG_FILE, ADAPTER_WEIGHTS))
    if cached is None:  # or one that names a folder inside it as that of its encoder
        folder = cached_folder(hub_id, revision or None, (MODULES_FILE,))
        cached = folder if folder is not None and encoder_folder(folder) != folder else None
    if cached is not None:
        _check_whole(name, whole_only and is_adapter(cached))
        source = folder_source(name, cached, settings, base, way)
        kind: Kind = "cache" if source.has_weights or not settings.allow_hub else "hub"
        state = cached.name if source.adapter is None else source.revision
        return replace(source, kind=kind, hub_id=hub_id, revision=state)
    listed = cached_folder(hub_id, revision or None, (ADAPTER_CONFIG,))
    if listed is not None:
        return _remote_adapter(name, read_json(listed, ADAPTER_CONFIG), listed.name, settings, base, whole_only)
    if not settings.allow_hub:
        raise not_found(name, settings, local_names(settings))
    try:
        file, config, commit = fetch_config(hub_id, revision or None, settings.hub_endpoint)
    except (ModelNotFoundError, HubError) as error:
        raise with_suggestion(error, name, local_names(settings)) from error
    if file == ADAPTER_CONFIG:
        return _remote_adapter(name, config, commit, settings, base, whole_only)
    config = dict(translated(name, config, tuple))
    check_config(name, config, settings)
    return ModelSource(name, "hub", _opened(config, settings), None, hub_id, commit, has_weights=False)


def _remote_adapter(
    name: str, config: Mapping[str, Any], commit: str, settings: Settings, base: str | None, whole_only: bool
) -> ModelSource:
    """An adapter on the Hub, of which only the settings are on this machine."""
    _check_whole(name, whole_only)
    part, merged = _part(name, checked_settings(name, config), None, {}, settings, base)
    hub_id = name.partition("@")[0]
    return ModelSource(name, "hub", merged, None, hub_id, commit, has_weights=False, adapter=part)


def _digest(folder: Path) -> str:
    """A digest of the names, sizes and modification times of the files that decide numbers."""
    files = sorted(path for path in folder.iterdir() if path.suffix in DIGESTED)
    stamps = [f"{path.name}:{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in files if path.is_file()]
    return hashlib.sha256("\n".join(stamps).encode()).hexdigest()[:12]


Readiness = Literal["ready", "hub", "hub off", "structure"]
TASK_ORDER = ("sequence-classification", "token-classification", "question-answering", "masked-lm", "")
"""Order of the models of the catalogue, by the task of their heads."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A model in the list of models to choose from."""

    name: str
    """Name under which it is requested."""
    readiness: Readiness
    """Whether it can be run now, run after a download from the Hub, only be inspected since the Hub is switched off, or
    only be inspected since its folder has no weights."""
    parameters: int | None
    """Number of parameters without a task head; None if it is not in the catalogue."""
    task: str = ""
    """Task of its head; "" if it has none or is not in the catalogue."""


def offers(settings: Settings) -> tuple[Offer, ...]:
    """The models to choose from, those that can be run now first.

    Within each group they follow the allow-list, or else bundled models, local folders, the example run and the
    catalogue, which is ordered by the task of the heads.
    """
    known = sorted(catalog.entries().values(), key=lambda entry: TASK_ORDER.index(entry.task))
    catalogue = (entry.aliases[0] if entry.aliases else entry.name for entry in known)
    local, examples = local_names(settings), example_offers(settings)
    names = settings.allowed_models or tuple(dict.fromkeys((*BUNDLED, *local, *examples, *catalogue)))
    listed = (_offer(name, name in local, name in examples, settings) for name in names)
    return tuple(sorted(listed, key=lambda offer: offer.readiness != "ready"))


def _offer(name: str, is_local: bool, is_example: bool, settings: Settings) -> Offer:
    bundled = find_bundled(name)
    if bundled is not None:
        return Offer(name, "ready", bundled.parameters)
    if is_example and not is_local:
        return Offer(name, "ready", BUNDLED[DEFAULT_MODEL].parameters, EXAMPLE_TASK)
    entry = None if is_local else catalog.find(name)
    parameters, task = (None, "") if entry is None else (entry.parameters, entry.task)
    if is_local:
        inside = folder = settings.models_dir / name
        with suppress(BertvizError):  # said where the model is opened
            inside = encoder_folder(folder)
        ready = any(present(at, file) for at in (inside, folder) for file in (SINGLE_FILE, INDEX_FILE, ADAPTER_WEIGHTS))
        return Offer(name, "ready" if ready else "structure", None)
    hub_id, _, revision = (name if entry is None else entry.hub_id).partition("@")
    if HUB_NAME.fullmatch(hub_id) and cached_folder(hub_id, revision or None, (SINGLE_FILE, INDEX_FILE)):
        return Offer(name, "ready", parameters, task)
    return Offer(name, "hub" if settings.allow_hub else "hub off", parameters, task)
