"""What is used of transformers that it does not promise to keep.

An upgrade is checked against tests/models/test_internals.py.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bertviz_core.models.torch_internals import remove_hooks

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

INTERNALS = (
    *("_model_mapping", "_can_set_attn_implementation", "_supports_attention_backend", "_attn_implementation"),
    *("_keys_to_ignore_on_save", "_tied_weights_keys", "_adjust_missing_and_unexpected_keys", "_is_stateful"),
    *("_output_capturing_hooks_installed", "_name_or_path"),
)
"""Attributes that no other file reads."""
CAPTURING = "transformers.utils.output_capturing"


def classes_of(auto_class: Any, config_class: type) -> tuple[type, ...]:
    """The model classes that an auto class has for a config's class; none where it does not know it."""
    found = auto_class._model_mapping.get(config_class, None)
    return found if isinstance(found, tuple) else () if found is None else (found,)


def knows(auto_class: Any, config_class: Any) -> bool:
    """Whether an auto class has a model class for a config's class; None for a config that there is none of."""
    return config_class in auto_class._model_mapping


def takes_attention_function(model_class: Any) -> bool:
    """Whether a class calls the exchangeable attention function, as transformers tells from its source."""
    return bool(model_class._can_set_attn_implementation())


def declares_attention_function(model: Any) -> bool:
    """Whether a class says of itself that it calls the exchangeable attention function."""
    return bool(getattr(model, "_supports_attention_backend", False))


def is_stateful(model: Any) -> bool:
    """Whether a model carries a state from token to token instead of attention."""
    return bool(getattr(model, "_is_stateful", False))


def attention_implementation(config: "PreTrainedConfig") -> Any:
    """The name of the attention function that a model was set to."""
    return config._attn_implementation


def not_saved(model_class: Any) -> list[str]:
    """Patterns of the parameters that a class does not write into its file."""
    return list(model_class._keys_to_ignore_on_save or ())


def tied_names(model_class: Any) -> Mapping[str, str]:
    """Pattern of a parameter of a class -> pattern of the one whose values it shares."""
    return model_class._tied_weights_keys or {}


def leave_out_ignored(model: "PreTrainedModel", loading_info: Any) -> None:
    """Drop from missing_keys and unexpected_keys what the class's own rules leave out."""
    model._adjust_missing_and_unexpected_keys(loading_info)


def capture_anew(base: "PreTrainedModel") -> None:
    """Have transformers listen for hidden states and attention anew, after modules were replaced."""
    for module in base.modules():
        remove_hooks(module, CAPTURING)
    setattr(base, "_output_capturing_hooks_installed", False)  # noqa: B010  # not a module or a tensor


def set_base_name(config: "PreTrainedConfig", name: str) -> None:
    """Name the model that a config was made from."""
    config._name_or_path = name
