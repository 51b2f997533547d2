"""The models to choose from: those on this machine, and those of the catalogue."""

from dataclasses import dataclass
from typing import Literal

from bertviz_core.isolation.regular_files import local_names, present
from bertviz_core.models import catalog, hub
from bertviz_core.models.catalog.bundled import BUNDLED
from bertviz_core.models.catalog.bundled import find as find_bundled
from bertviz_core.models.catalog.example_run import EXAMPLE_TASK, example_offers
from bertviz_core.models.safetensors.folder import ADAPTER_WEIGHTS, INDEX_FILE, SINGLE_FILE
from bertviz_core.settings import DEFAULT_MODEL, Settings

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
        ready = any(present(settings.models_dir / name, file) for file in (SINGLE_FILE, INDEX_FILE, ADAPTER_WEIGHTS))
        return Offer(name, "ready" if ready else "structure", None)
    hub_id, _, revision = (name if entry is None else entry.hub_id).partition("@")
    if hub.HUB_NAME.fullmatch(hub_id) and hub.cached_folder(hub_id, revision or None, (SINGLE_FILE, INDEX_FILE)):
        return Offer(name, "ready", parameters, task)
    return Offer(name, "hub" if settings.allow_hub else "hub off", parameters, task)
