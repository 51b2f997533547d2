"""Build models from their configs on the meta device, in milliseconds and without memory for weights."""

import copy
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from itertools import takewhile
from threading import Lock
from time import thread_time
from typing import Any

from bertviz_core.errors import CheckpointError, UnsupportedModelError
from bertviz_core.isolation.config_trials import config_trial
from bertviz_core.isolation.offline import unplugged
from bertviz_core.isolation.sanitized.config import harmless_config
from bertviz_core.isolation.sanitized.entries import check_entries, described
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models import static_model
from bertviz_core.models.own import own_classes, own_configs, own_tower
from bertviz_core.models.recording import attention_implementation, remove_hooks
from bertviz_core.models.sentence_folder import STATIC_TYPE
from bertviz_core.settings import changed, terms_of
from bertviz_core.text import OF_ANOTHER_KIND, first_line, quoted

INTERNALS = (
    *("_model_mapping", "_can_set_attn_implementation", "_supports_attention_backend"),
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


TASK_CLASSES: Mapping[str, str] = {
    "base": "AutoModel",
    "masked-lm": "AutoModelForMaskedLM",
    "next-sentence": "AutoModelForNextSentencePrediction",
    "pretraining": "AutoModelForPreTraining",
    "sequence-classification": "AutoModelForSequenceClassification",
    "token-classification": "AutoModelForTokenClassification",
    "question-answering": "AutoModelForQuestionAnswering",
    "multiple-choice": "AutoModelForMultipleChoice",
}
TASKS = tuple(TASK_CLASSES)
ENCODER = "encoder"
"""Pseudo-task for the encoder class of an encoder-decoder model."""
OTHER_CLASSES: Mapping[str, str] = {
    ENCODER: "AutoModelForTextEncoding",
    "causal-lm": "AutoModelForCausalLM",
    "seq2seq-lm": "AutoModelForSeq2SeqLM",
}
"""Pseudo-tasks of classes that a checkpoint may name but no user can request."""


MOST_TRIED, SEARCH_S = 30, 3.0
"""Maximum number of entries of a config that are left out in turn, to find the one that is wrong, and seconds of a
processor from which on no other is tried."""
CHECKED = re.compile(r"^(Class v|V)alidation error for [^:]*: (\w+Error: )?")


def task_class(task: str) -> Any:
    """The auto class of a task; imports transformers."""
    name = {**TASK_CLASSES, **OTHER_CLASSES}.get(task)
    if name is None:
        raise UnsupportedModelError(f"No task {quoted(task, 40)} found; the tasks are {', '.join(TASKS)}.")
    own_classes()
    return getattr(transformers, name)


BUILD_LOCK = Lock()
"""transformers changes global state (default dtype, initialisation) while it builds or loads a model."""


@contextmanager
def quietly() -> Iterator[None]:
    """Silence the progress bars and the load report of transformers inside the block."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def model_config(name: str, config: Mapping[str, Any]) -> "transformers.PreTrainedConfig":
    """The config object for a config.json, without entries that name a file, a repository or code."""
    own_configs()

    check_entries(name, config, terms_of(config))
    if config["model_type"] == STATIC_TYPE:
        static_model.register()
    if config["model_type"] not in transformers.CONFIG_MAPPING:
        raise CheckpointError(
            f"{name!r} is of the family {config['model_type']!r}, which transformers {transformers.__version__} lacks; "
            "install a newer transformers."
        )
    harmless = harmless_config(name, copy.deepcopy(dict(config)))

    def configured_by(entries: Mapping[str, Any]) -> "transformers.PreTrainedConfig":
        with unplugged():
            found: transformers.PreTrainedConfig = transformers.CONFIG_MAPPING[config["model_type"]].from_dict(
                copy.deepcopy(dict(entries))
            )
            return found

    try:
        configured = configured_by(harmless)
    except Exception as error:  # a wrong value may lead to any exception
        raise CheckpointError(_wrong_entry(name, harmless, configured_by, error)) from error
    configured.architectures = configured.architectures or []  # the auto class of Funnel iterates over it
    return configured


def text_config(config: "transformers.PreTrainedConfig") -> Any:
    """The config of the part that reads texts, or the config itself; a file may name something else so."""
    part = config.get_text_config()
    return part if isinstance(part, transformers.PreTrainedConfig) else config


def build_skeleton(name: str, config: Mapping[str, Any], task: str = "base") -> "transformers.PreTrainedModel":
    """Build the model of a config on the meta device, with the head of a task."""
    auto_class = task_class(task)
    own_tower(config["model_type"])
    configured = model_config(name, config)
    if task == ENCODER:
        configured.is_encoder_decoder = False  # required by T5Gemma's encoder class
    config_trial(name, config, task)  # raises if a confined process could not build it
    if not knows(auto_class, type(configured)):
        raise UnsupportedModelError(
            f"{configured.model_type} models have no class for the task {task!r} in transformers."
        )
    if task == "base" and type(configured).is_encoder_decoder:
        configured.is_encoder_decoder = True  # T5EncoderModel saves False; the base class has a decoder
    try:
        with BUILD_LOCK, unplugged(), torch.device("meta"):
            model: transformers.PreTrainedModel = auto_class.from_config(configured)
    except ImportError as error:
        raise UnsupportedModelError(
            f"{name!r} ({configured.model_type}) needs a package that is not installed here: {first_line(error)}"
        ) from error
    except Exception as error:  # a wrong value may lead to any exception

        def built_from(entries: Mapping[str, Any]) -> Any:
            with BUILD_LOCK, unplugged(), torch.device("meta"):
                return auto_class.from_config(model_config(name, changed(config, entries))).config

        raise CheckpointError(_wrong_entry(name, config, built_from, error)) from error
    return model


def _unusual_entries(config: Mapping[str, Any]) -> list[str]:
    """Names of the entries that may be wrong: those that differ from the family's defaults, sizes last."""
    defaults = {}
    with suppress(Exception), unplugged():  # some families have no config without entries
        defaults = transformers.CONFIG_MAPPING[config["model_type"]]().to_dict()
    names = [
        key
        for key, value in config.items()
        if key not in ("model_type", "architectures") and (key not in defaults or defaults[key] != value)
    ]
    return sorted(names, key=lambda name: name.endswith("_size"))


def _wrong_entry(
    name: str, config: Mapping[str, Any], usable: Callable[[Mapping[str, Any]], Any], error: Exception
) -> str:
    """The sentence about a config that cannot be used: which entry is wrong, found by leaving out each, and why."""
    why = CHECKED.sub("", first_line(error))
    because = "" if why == OF_ANOTHER_KIND else f": {why}"
    until = thread_time() + SEARCH_S
    for key in takewhile(lambda _: thread_time() < until, _unusual_entries(config)[:MOST_TRIED]):
        with suppress(Exception):  # a wrong value may lead to any exception
            default = getattr(usable({other: value for other, value in config.items() if other != key}), key, None)
            is_plain = isinstance(default, str | int | float)
            usual = f"; the default of {config['model_type']} is {described(default)}" if is_plain else ""
            return (
                f"The config of {name!r} has {described(config[key])} as {quoted(key)}, with which no "
                f"{config['model_type']} model can be built{because.rstrip('.')}{usual}."
            )
    if because:
        return f"No {config['model_type']} model can be built from the config of {name!r}{because}"
    return (
        f"No {config['model_type']} model can be built from the config of {name!r}: several of its entries are wrong, "
        "or contradict each other; compare it with the config of another checkpoint of the family."
    )


def task_of_class(name: str, config: Mapping[str, Any], architecture: str) -> str:
    """The task of a class name within a family, from TASKS or OTHER_CLASSES; "base" if there is none."""
    config_class = type(model_config(name, config))
    for task in (*TASKS, *OTHER_CLASSES):
        if any(each.__name__ == architecture for each in classes_of(task_class(task), config_class)):
            return task
    return "base"


def initial_deviations(name: str, config: Mapping[str, Any], architecture: str) -> Mapping[str, float]:
    """Parameter -> standard deviation, of those that a class draws from a normal distribution of mean 0 and leaves so.

    Its initialiser runs on the meta device, where nothing is drawn; what it last does to each parameter is recorded.
    """
    last: dict[int, tuple[str, float, float]] = {}
    is_meta: Any = torch.Tensor.is_meta

    class _Changes(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = {**dict(zip(("tensor", "mean", "std"), args, strict=False)), **(kwargs or {})}
            # Of reads one counts: trunc_normal_ only asks whether a tensor is meta, and then draws nothing.
            is_read = func.__name__ in ("__get__", "__getitem__") and func != is_meta.__get__
            if func.__name__.endswith("_") and not is_read:
                last[id(named.get("tensor"))] = (func.__name__, named.get("mean", 0.0), named.get("std", 1.0))
            return func(*args, **(kwargs or {}))

    with suppress(Exception):  # a class may do anything; without its initialiser nothing is known
        model = build_skeleton(name, config, task_of_class(name, config, architecture))
        with BUILD_LOCK, _Changes():
            model.initialize_weights()
        changes = ((path, last.get(id(weight))) for path, weight in model.named_parameters(remove_duplicate=False))
        drawn = {path: float(each[2]) for path, each in changes if each and each[:2] == ("normal_", 0.0)}
        return {**{path.removeprefix(f"{model.base_model_prefix}."): std for path, std in drawn.items()}, **drawn}
    return {}
