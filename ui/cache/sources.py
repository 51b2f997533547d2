"""Look up where a model's files are, and make cache keys from their state.

A Hub that does not answer takes up to ten seconds, and each run of a page looks models up several times; so a name for
which it could not be reached is remembered for all sessions.
"""

from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple

import streamlit as st

from bertviz_core.errors import ModelNotFoundError, UnreachableHubError
from bertviz_core.models.catalog import type_facts
from bertviz_core.models.sources import ModelSource, resolve
from ui.session import settings

REMEMBERED_S = 300.0
"""Seconds after which the Hub is asked again without a click."""
MOST_UNREACHED = 100
"""Most names that are remembered."""


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


class Unreached(NamedTuple):
    """A model for which the Hub could not be reached."""

    message: str
    """The sentence about it."""
    suggestion: str
    """Name of a similar model; "" if there is none."""
    since: float
    """When it was not reached, by the monotonic clock in seconds."""


def source(name: str) -> ModelSource:
    """Return the source of a model, looked up each time, since files change.

    Raises:
        UnreachableHubError: the Hub cannot be reached, or could not for this name a short time ago.
        BertvizError: there is no such model, or it cannot be read.
    """
    known = _unreached().get(name)
    if known is not None and monotonic() - known.since < REMEMBERED_S:
        try:
            return resolve(name, replace(settings(), allow_hub=False))  # it may have been copied here since
        except ModelNotFoundError:
            error = UnreachableHubError(known.message)
            error.suggestion = known.suggestion
            raise error from None
    try:
        return resolve(name, settings())
    except UnreachableHubError as error:
        names = _unreached()
        names[name] = Unreached(str(error), error.suggestion, monotonic())
        for old in list(names)[:-MOST_UNREACHED]:
            names.pop(old, None)
        raise


def forget_unreached() -> None:
    """Ask the Hub again for every name at the next look-up."""
    _unreached().clear()


@st.cache_resource(max_entries=1, show_spinner=False)
def _unreached() -> dict[str, Unreached]:
    """Names for which the Hub could not be reached, the latest last."""
    return {}


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
