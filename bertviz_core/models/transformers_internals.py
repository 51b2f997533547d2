"""Uses of transformers' private interfaces, collected here for upgrades; checked by tests/models/test_internals.py."""

import sys
from collections.abc import Mapping
from fnmatch import fnmatch
from typing import Any

from bertviz_core.lazy_imports import transformers
from bertviz_core.models.torch_internals import remove_hooks

INTERNALS = (
    *("_model_mapping", "_can_set_attn_implementation", "_supports_attention_backend", "_attn_implementation"),
    *("_keys_to_ignore_on_save", "_tied_weights_keys", "_adjust_missing_and_unexpected_keys", "_is_stateful"),
    *("_output_capturing_hooks_installed", "_name_or_path"),
)
"""Private attributes that are used nowhere else."""
CAPTURING = "transformers.utils.output_capturing"


def classes_of(auto_class: Any, config_class: type) -> tuple[type, ...]:
    """The model classes that an auto class has for a config class."""
    classes = auto_class._model_mapping.get(config_class, None)
    return classes if isinstance(classes, tuple) else () if classes is None else (classes,)


def class_for(auto_class: Any, config: Any) -> Any:
    """The class of an auto class for a config, which it knows: of several the one that the config names, or the first.

    As `auto_class.from_pretrained` chooses, which also needs a folder.
    """
    classes = classes_of(auto_class, type(config))
    by_name = {each.__name__: each for each in classes}
    return next((by_name[name] for name in config.architectures or () if name in by_name), classes[0])


def knows(auto_class: Any, config_class: Any) -> bool:
    """Whether an auto class has a model class for a config class (which may be None)."""
    return config_class in auto_class._model_mapping


def takes_attention_function(model_class: Any) -> bool:
    """Whether a class calls the exchangeable attention function, as transformers detects from its source code."""
    return bool(model_class._can_set_attn_implementation())


def declares_attention_function(model: Any) -> bool:
    """Whether a class declares that it calls the exchangeable attention function."""
    return bool(getattr(model, "_supports_attention_backend", False))


def is_stateful(model: Any) -> bool:
    """Whether a model carries a recurrent state instead of using attention."""
    return bool(getattr(model, "_is_stateful", False))


def attention_implementation(config: "transformers.PreTrainedConfig") -> Any:
    """Name of the attention implementation in use."""
    return config._attn_implementation


def set_attention(model: "transformers.PreTrainedModel", name: str) -> None:
    """Set the attention implementation of a model and of the models inside it.

    transformers 5.15 leaves out inner models whose config is a copy of the outer one's, such as the stacks of T5.
    """
    model.set_attn_implementation(name)
    implementation = attention_implementation(model.config)
    for inner in model.modules():
        is_stack = isinstance(inner, transformers.PreTrainedModel) and type(inner.config) is type(model.config)
        if is_stack and attention_implementation(inner.config) != implementation:
            inner.set_attn_implementation(name)


def has_bidirectional_masks_alone(model: "transformers.PreTrainedModel") -> bool:
    """Whether the code of a class makes masks without a causal one, so that every token sees the later ones.

    ConvBERT does so whatever its config says, and BigBird, Megatron-BERT, RemBERT and RoFormer in transformers 5.15.
    """
    code = sys.modules[type(model).__module__]
    return hasattr(code, "create_bidirectional_mask") and not hasattr(code, "create_causal_mask")


def not_saved(model_class: Any) -> list[str]:
    """Patterns of the parameters that a class does not save."""
    return list(model_class._keys_to_ignore_on_save or ())


def tied_names(model_class: Any) -> Mapping[str, str]:
    """Pattern of a tied parameter -> pattern of the parameter that it shares its values with."""
    return model_class._tied_weights_keys or {}


def leave_out_ignored(model: "transformers.PreTrainedModel", loading_info: Any) -> None:
    """Drop the missing and unexpected keys that the class declares as ignored."""
    model._adjust_missing_and_unexpected_keys(loading_info)


def capture_anew(base: "transformers.PreTrainedModel") -> None:
    """Make transformers install its output capturing hooks again, after modules were replaced."""
    for module in base.modules():
        remove_hooks(module, CAPTURING)
    setattr(base, "_output_capturing_hooks_installed", False)  # noqa: B010  # not a module or a tensor


def names_a_tokenizer(name: str) -> bool:
    """Whether transformers selects the tokenizer class by the name of the model instead of by its config.

    Versions before 5.13 never do.
    """
    patterns = getattr(transformers.models.auto.tokenization_auto, "MODEL_IDS_TO_TOKENIZERS_BACKEND", ())
    return any(fnmatch(name.lower(), pattern) for pattern in patterns)


def set_base_name(config: "transformers.PreTrainedConfig", name: str) -> None:
    """Set the name of the model that a config comes from."""
    config._name_or_path = name
