"""The child process for untrusted configs: builds the modules, and runs them without weights."""

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
from bertviz_core.lazy_imports import torch
from bertviz_core.models.skeleton import build_skeleton


class BuildOutcome(msgspec.Struct, frozen=True):
    """Facts about a model that was built."""

    facts: ModelFacts | None
    """Derived facts; None if it cannot be run without weights."""
    refusal: str = ""
    """Why it cannot be run."""


def answered(request: bytes) -> bytes:
    """The packed BuildOutcome for a packed BuildRequest; empty for the Preparation, which is the first request.

    Raises:
        CheckpointError: there are too many modules, or the values of the config are inconsistent.
        UnsupportedModelError: the family has no class for the task.
    """
    message = msgspec.msgpack.decode(request, type=Preparation | BuildRequest)
    if isinstance(message, Preparation):
        confine_files(scratch=Path(message.scratch))
        return b""
    config = OpenedConfig(message.config, Terms(message.max_layers, message.max_labels))
    with _at_most(message.max_modules):
        build_skeleton(message.name, config, message.task)
    try:
        outcome = BuildOutcome(model_facts(message.name, config, message.task))
    except BertvizError as error:  # the family cannot be run without weights
        outcome = BuildOutcome(None, str(error))
    return msgspec.msgpack.encode(outcome)


@contextmanager
def _at_most(modules: int) -> Iterator[None]:
    """Limit the number of modules that are built inside the block."""
    left = iter(range(modules))

    def count(*_: object) -> None:
        if next(left, None) is None:
            raise CheckpointError(f"it asks for more than {modules:,} modules (INSIDE_BERT_MAX_MODULES)")

    hook = torch.nn.modules.module.register_module_module_registration_hook(count)
    try:
        yield
    finally:
        hook.remove()
