"""torch and transformers, imported when they are first needed, by one thread at a time."""

from threading import RLock

_LOCK = RLock()


def import_library() -> None:
    """Import torch and transformers; a second thread waits until the first is through.

    transformers puts another module in its place while it is imported, so that a thread that comes between finds a
    module without its names.
    """
    with _LOCK:
        import torch  # noqa: F401  # the import is the work
        from transformers import CONFIG_MAPPING, AutoModel, AutoTokenizer  # noqa: F401  # the import is the work
