"""The limits with which a config was opened, and whether it is first built in another process."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from bertviz_core.settings import MAX_LABELS, MAX_LAYERS, Settings

LABELS = ("id2label", "label2id", "num_labels")


@dataclass(frozen=True, slots=True)
class Terms:
    """Limits of a config; the defaults apply to plain mappings."""

    max_layers: int = MAX_LAYERS
    """Maximum layers, blocks or groups of an entry."""
    max_labels: int = MAX_LABELS
    """Maximum labels."""
    trial: Settings | None = None
    """Settings of the process that builds it first; None to build it directly."""


class OpenedConfig(dict[str, Any]):
    """A config.json with its terms."""

    def __init__(self, entries: Mapping[str, Any], terms: Terms) -> None:
        """Copy the entries of a config.json."""
        super().__init__(entries)
        self.terms = terms


def changed(config: Mapping[str, Any], entries: Mapping[str, Any]) -> OpenedConfig:
    """Replace the entries of a config and keep its terms."""
    return OpenedConfig(entries, terms_of(config))


def terms_of(config: Mapping[str, Any]) -> Terms:
    """The terms of a config."""
    return config.terms if isinstance(config, OpenedConfig) else Terms()


def config_digest(config: Mapping[str, Any]) -> str:
    """A digest that is equal for configs that differ only in labels."""
    entries = {key: value for key, value in config.items() if key not in LABELS}
    raw = orjson.dumps(entries, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return hashlib.sha256(raw).hexdigest()
