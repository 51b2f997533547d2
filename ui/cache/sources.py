"""Look up where a model's files are, and make cache keys from their state."""

from dataclasses import dataclass

from bertviz_core.models.catalog import type_facts
from bertviz_core.models.sources import ModelSource, resolve
from ui.session import settings


@dataclass(frozen=True, slots=True)
class SourceKey:
    """Cache key of a model; it changes with the model's files."""

    name: str
    """Name of the model."""
    kind: str
    """Kind of the model's source."""
    revision: str
    """Changes when the model's files change."""
    has_weights: bool
    """Whether its weights are on this machine."""


def source(name: str) -> ModelSource:
    """Return the source of a model, looked up each time, since files change."""
    return resolve(name, settings())


def saved_class(name: str) -> str:
    """The class named by a model's config; "" for none."""
    return str((source(name).config.get("architectures") or [""])[0])


def source_key(name: str) -> SourceKey:
    """Return the cache key of a model for its current files."""
    current = source(name)
    return SourceKey(current.name, current.kind, current.revision, current.has_weights)


def tasks(name: str) -> tuple[str, ...]:
    """Tasks for which the model's family has a class."""
    facts = type_facts(source(name).model_type)
    return facts.tasks if facts else ()
