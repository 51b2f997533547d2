"""Tied parameters of a file: one name's values are another's, so the file may leave the first name out."""

from collections.abc import Mapping
from typing import Any

from bertviz_core import catalog
from bertviz_core.places import Places
from bertviz_core.results import Parameter


def tie_pairs(architecture: str, facts: catalog.TypeFacts) -> dict[str, str]:
    """Names that the class can tie, and the base model in it, each with the name that it is tied to."""
    inner = catalog.ties_of(facts.base_class).items()
    return {
        **{f"{facts.prefix}.{alias}": f"{facts.prefix}.{to}" for alias, to in inner},
        **catalog.ties_of(architecture),
    }


def ties_that_hold(
    pairs: Mapping[str, str], config: Mapping[str, Any], facts: catalog.TypeFacts, names: set[str]
) -> dict[str, str]:
    """The pairs that hold for this config and whose source is stored."""
    if not config.get("tie_word_embeddings", facts.defaults.get("tie_word_embeddings", False)):
        return {}
    return {alias: to for alias, to in pairs.items() if to in names}


def left_out(ties: dict[str, str], rows: list[Parameter], names: set[str], places: Places) -> list[Parameter]:
    """Rows of the tied parameters that the file leaves out, since another has their values."""
    owners = {row.name: row for row in rows if row.name in ties.values()}
    return [
        places.named_row(alias, owners[to].shape, owners[to].dtype, to, owners[to].trainable)
        for alias, to in ties.items()
        if alias not in names
    ]
