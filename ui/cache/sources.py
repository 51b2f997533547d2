"""Where a model is now, and what results about it are kept by."""

from dataclasses import dataclass

from bertviz_core.models.catalog import type_facts
from bertviz_core.models.sources import ModelSource, resolve
from ui.session import settings


@dataclass(frozen=True, slots=True)
class SourceKey:
    """What results about a model are kept by: another key wherever the model's files have changed."""

    name: str
    """Name that the model is asked for by."""
    kind: str
    """Which of the places it comes from."""
    revision: str
    """What changes when its files change."""
    has_weights: bool
    """Whether its weights are on this machine."""


def source(name: str) -> ModelSource:
    """Where a model is; looked up each time, since files change."""
    return resolve(name, settings())


def saved_class(name: str) -> str:
    """The class that a model's config names; "" where it names none."""
    return str((source(name).config.get("architectures") or [""])[0])


def source_key(name: str) -> SourceKey:
    """The key of a model as its files are now."""
    current = source(name)
    return SourceKey(current.name, current.kind, current.revision, current.has_weights)


def tasks(name: str) -> tuple[str, ...]:
    """Tasks that a model's family has classes for."""
    facts = type_facts(source(name).model_type)
    return facts.tasks if facts else ()
