"""torch, transformers and pandas, imported when one of their names is first used, and packages that may be missing.

The first two together take seconds to import, and few commands make a table. Modules that need them write `from
bertviz_core.lazy_imports import torch` at the top, so that a checkpoint's header, the tokens of a text and the
dashboard's first page appear before that, and the process of a tokenizer runs without torch.

What one feature alone needs is an extra of pyproject.toml, listed in docs/library.md; `dashboard` includes EXTRAS.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bertviz_core.errors import BertvizError

__all__ = [
    "EXTRAS",
    "import_libraries",
    "install_line",
    "leave_out_torch",
    "optional",
    "pandas",
    "torch",
    "transformers",
]

EXTRAS = {
    "corpus": ("usearch", "scikit-learn"),
    "probes": ("scikit-learn",),
    "images": ("kaleido",),
    "slides": ("python-pptx", "kaleido"),
}
"""Extra -> the packages that it installs."""
_LOCK = RLock()


class LazyModule(ModuleType):
    """Stands for a module of the same name until that is needed."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


if TYPE_CHECKING:
    import pandas
    import torch
    import transformers
else:
    pandas = LazyModule("pandas")
    torch = LazyModule("torch")
    transformers = LazyModule("transformers")


def import_libraries() -> None:
    """Import torch and transformers now; a second thread waits until the first has finished.

    transformers replaces its module while it is being imported: a thread that comes in between finds one without names.
    """
    with _LOCK:
        if sys.modules.get("torch", "") is not None:  # None if it was left out
            import_module("torch")
        library = import_module("transformers")
        for name in ("CONFIG_MAPPING", "AutoModel", "AutoTokenizer"):  # each imports its module when it is looked up
            getattr(library, name)


def leave_out_torch() -> None:
    """Do without torch in this process from now on, unless it has been imported: no import of it succeeds any more.

    transformers then loads tokenizers as before, in a third of the time and memory, and does not say that torch is
    missing.
    """
    modules: Any = sys.modules
    modules.setdefault("torch", None)
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")


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
    """
    try:
        yield
    except ImportError as error:
        more = f" {instead}" if instead else ""
        raise BertvizError(
            f"{purpose} needs the package {package}, which cannot be imported here: {install_line(extra)}.{more}"
        ) from error
