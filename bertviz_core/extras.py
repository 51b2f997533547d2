"""Packages that one feature alone needs, which `pip install` adds by the name of an extra.

The extras stand in pyproject.toml and in docs/library.md; the extra `dashboard` includes all that are named here.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from bertviz_core.errors import BertvizError

EXTRAS = {"corpus": ("usearch", "scikit-learn"), "probes": ("scikit-learn",), "images": ("kaleido",)}
"""Extra -> the packages that it installs."""


def install_line(extra: str) -> str:
    """The command that installs an extra, for error messages."""
    return f"pip install 'inside-bert[{extra}]', or '.[{extra}]' in the source folder"


@contextmanager
def optional(extra: str, package: str, purpose: str, instead: str = "") -> Iterator[None]:
    """Import an optional package inside the block.

    Args:
        extra: the extra that installs it.
        package: its name.
        purpose: what needs it, as the subject of the message.
        instead: what works without it, as a further sentence.

    Raises:
        BertvizError: it cannot be imported; the message names the extra.
    """
    try:
        yield
    except ImportError as error:
        more = f" {instead}" if instead else ""
        raise BertvizError(
            f"{purpose} needs the package {package}, which cannot be imported here: {install_line(extra)}.{more}"
        ) from error
