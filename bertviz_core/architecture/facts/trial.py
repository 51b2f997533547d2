"""What the process does in which a stranger's config is tried: it builds the modules, and runs them without weights."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

from bertviz_core.architecture.facts.derive import model_facts
from bertviz_core.errors import BertvizError, CheckpointError
from bertviz_core.models.skeleton import build_skeleton, import_library
from bertviz_core.models.untrusted.trial import BuildRequest


def answered(request: bytes) -> bytes:
    """Word that a packed BuildRequest was built; an empty request only imports the libraries.

    Raises:
        CheckpointError: there are too many modules, or the config's values do not fit together.
        UnsupportedModelError: the family has no class for the task.
    """
    import_library()
    if not request:
        return b""
    trial = msgspec.msgpack.decode(request, type=BuildRequest)
    with _at_most(trial.max_modules):
        build_skeleton(trial.name, trial.config, trial.task)
    with suppress(BertvizError):  # a family that cannot be run without weights; its modules can be looked at
        model_facts(trial.name, trial.config, trial.task)
    return b"built"


@contextmanager
def _at_most(modules: int) -> Iterator[None]:
    """Nothing of more modules is built meanwhile."""
    from torch.nn.modules.module import register_module_module_registration_hook

    left = iter(range(modules))

    def count(*_: object) -> None:
        if next(left, None) is None:
            raise CheckpointError(f"it asks for more than {modules:,} modules (INSIDE_BERT_MAX_MODULES)")

    hook = register_module_module_registration_hook(count)
    try:
        yield
    finally:
        hook.remove()
