"""Commands for corpora; modules register their commands on import."""

from bertviz_core.cli.corpus import embed, group, search

__all__ = ["embed", "group", "search"]
