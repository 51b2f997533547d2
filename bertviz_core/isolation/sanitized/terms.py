"""On what terms a config was opened: how much it may ask for, and whether it is tried before it is built here."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from bertviz_core.settings import MAX_LABELS, MAX_LAYERS, Settings

LABELS = ("id2label", "label2id", "num_labels")


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


def config_digest(config: Mapping[str, Any]) -> str:
    """The same for configs that build the same modules, whatever their labels are called."""
    entries = {key: value for key, value in config.items() if key not in LABELS}
    raw = orjson.dumps(entries, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return hashlib.sha256(raw).hexdigest()
