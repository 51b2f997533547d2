"""A model without its values: built from a config on torch's meta device, in milliseconds and without memory."""

import copy
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from bertviz_core.errors import CheckpointError, UnsupportedModelError
from bertviz_core.library import import_library
from bertviz_core.tasks import task_class
from bertviz_core.unplugged import unplugged
from bertviz_core.untrusted_config import harmless_config

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

MAX_LAYERS = 10_000
"""A config that asks for more is a slip or an attack: each layer is a Python object even on the meta device."""
BUILD_LOCK = Lock()
"""transformers switches global state (default dtype, initialisation) while it builds or loads a model."""


def model_config(name: str, config: Mapping[str, Any]) -> "PreTrainedConfig":
    """Transformers' config object of a config.json, without what names a file, a repository or code.

    Raises:
        CheckpointError: its values are not what the family's config takes.
    """
    import_library()
    from transformers import CONFIG_MAPPING

    for key, value in config.items():
        if "layer" in key and isinstance(value, int) and value > MAX_LAYERS:
            raise CheckpointError(
                f"The config of {name!r} asks for {value:,} in {key}; at most {MAX_LAYERS:,} are built."
            )
    harmless = harmless_config(name, copy.deepcopy(dict(config)))
    try:
        with unplugged():
            found: PreTrainedConfig = CONFIG_MAPPING[config["model_type"]].from_dict(harmless)
    except Exception as error:  # the library raises whatever a wrong value leads to
        raise CheckpointError(f"The config of {name!r} cannot be used: {first_line(error)}") from error
    found.architectures = found.architectures or []  # the auto class of Funnel looks through it
    return found


def build_skeleton(name: str, config: Mapping[str, Any], task: str = "base") -> "PreTrainedModel":
    """The model of a config on the meta device, for the base model or with the head of a task.

    Raises:
        UnsupportedModelError: the family has no class for the task, or cannot be built without more than a config.
        CheckpointError: the config's values do not fit together.
    """
    import torch

    auto_class = task_class(task)
    configured = model_config(name, config)
    if type(configured) not in auto_class._model_mapping:
        raise UnsupportedModelError(
            f"{configured.model_type} models have no class for the task {task!r} in transformers."
        )
    try:
        with BUILD_LOCK, unplugged(), torch.device("meta"):
            model: PreTrainedModel = auto_class.from_config(configured)
    except ImportError as error:
        raise UnsupportedModelError(
            f"{name!r} ({configured.model_type}) needs a package that is not installed here: {first_line(error)}"
        ) from error
    except Exception as error:  # the library raises whatever a wrong value leads to
        raise CheckpointError(
            f"No {configured.model_type} model can be built from the config of {name!r}: {first_line(error)}"
        ) from error
    return model


def first_line(error: Exception, names: Mapping[str, str] | None = None) -> str:
    """The first line of another library's message, cut to a readable length.

    Args:
        error: what the library raised.
        names: words of it that mean nothing to a reader -> what to say instead.
    """
    words = str(error).strip()
    for word, instead in (names or {}).items():
        words = words.replace(word, instead)
    lines = words.splitlines() or [type(error).__name__]
    return lines[0][:200]
