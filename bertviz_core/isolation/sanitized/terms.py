"""On what terms a config was opened: how much it may ask for, and whether it is tried before it is built here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bertviz_core.settings import MAX_LABELS, MAX_LAYERS, Settings


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for one config; a mapping of the caller's own has the usual bounds, and is not tried."""

    max_layers: int = MAX_LAYERS
    """Layers, blocks, groups or experts that one entry may ask for."""
    max_labels: int = MAX_LABELS
    """Labels that it may name."""
    trial: Settings | None = None
    """What a process may take that builds it first; None where it is built here at once."""


class OpenedConfig(dict[str, Any]):
    """A config.json with the terms on which it was opened, wherever it is handed on to."""

    def __init__(self, entries: Mapping[str, Any], terms: Terms) -> None:
        """The entries of a config.json, and what holds for them."""
        super().__init__(entries)
        self.terms = terms


def changed(config: Mapping[str, Any], entries: Mapping[str, Any]) -> OpenedConfig:
    """Other entries in the place of a config's, on the same terms."""
    return OpenedConfig(entries, terms_of(config))


def terms_of(config: Mapping[str, Any]) -> Terms:
    """The terms on which a config was opened."""
    return config.terms if isinstance(config, OpenedConfig) else Terms()
