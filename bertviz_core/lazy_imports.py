"""torch and transformers, imported when one of their names is first used.

Both together take seconds to import. Modules that need them write `from bertviz_core.lazy_imports import torch` at the
top, so that the command line's help, a checkpoint's header and the dashboard's first page appear before that, and the
process of a tokenizer runs without torch.
"""

import sys
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["import_libraries", "torch", "transformers"]

_LOCK = RLock()


class LazyModule(ModuleType):
    """Stands for a module of the same name until that is needed."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


if TYPE_CHECKING:
    import torch
    import transformers
else:
    torch = LazyModule("torch")
    transformers = LazyModule("transformers")


def import_libraries() -> None:
    """Import torch and transformers now; a second thread waits until the first has finished.

    transformers replaces its module while it is being imported: a thread that comes in between finds one without names.
    """
    with _LOCK:
        if sys.modules.get("torch", "") is not None:  # None in a child process that only reads tokenizers
            import_module("torch")
        library = import_module("transformers")
        for name in ("CONFIG_MAPPING", "AutoModel", "AutoTokenizer"):  # each imports its module when it is looked up
            getattr(library, name)
