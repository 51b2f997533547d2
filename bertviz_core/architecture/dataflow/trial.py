"""What the process does in which a stranger's config is tried: it builds the modules, and runs them without weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.architecture.structure.results import ModelFacts
from bertviz_core.errors import BertvizError, CheckpointError
from bertviz_core.isolation.config_trials import BuildRequest, Preparation
from bertviz_core.isolation.sanitized.terms import OpenedConfig, Terms
from bertviz_core.isolation.walls import confine_files
from bertviz_core.models.skeleton import build_skeleton, import_library


class BuildOutcome(msgspec.Struct, frozen=True):
    """What is told of a model that was built."""

    facts: ModelFacts | None
    """What a run of its modules tells; None where they cannot be run without weights."""
    refusal: str = ""
    """Why they cannot."""


def answered(request: bytes) -> bytes:
    """The packed BuildOutcome of a packed BuildRequest; nothing for the Preparation that comes first.

    Raises:
        CheckpointError: there are too many modules, or the config's values do not fit together.
        UnsupportedModelError: the family has no class for the task.
    """
    asked = msgspec.msgpack.decode(request, type=Preparation | BuildRequest)
    import_library()
    if isinstance(asked, Preparation):
        confine_files(scratch=Path(asked.scratch))
        return b""
    config = OpenedConfig(asked.config, Terms(asked.max_layers, asked.max_labels))
    with _at_most(asked.max_modules):
        build_skeleton(asked.name, config, asked.task)
    try:
        outcome = BuildOutcome(model_facts(asked.name, config, asked.task))
    except BertvizError as error:  # a family that cannot be run without weights; its modules can be looked at
        outcome = BuildOutcome(None, str(error))
    return msgspec.msgpack.encode(outcome)


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
