"""The commands of a corpus; each registers itself when it is imported."""

from bertviz_core.cli.corpus import embed, info, search

__all__ = ["embed", "info", "search"]
