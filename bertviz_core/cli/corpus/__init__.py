"""The commands of a corpus; each registers itself when it is imported."""

from bertviz_core.cli.corpus import embed, group, search

__all__ = ["embed", "group", "search"]
