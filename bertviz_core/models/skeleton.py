"""Build models from their configs on the meta device, in milliseconds and without memory for weights."""

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import takewhile
from threading import Lock
from time import thread_time
from typing import Any

from bertviz_core.errors import CheckpointError, UnsupportedModelError
from bertviz_core.isolation.config_trials import config_trial
from bertviz_core.isolation.offline import unplugged
from bertviz_core.isolation.sanitized.config import harmless_config
from bertviz_core.isolation.sanitized.entries import check_entries, described
from bertviz_core.isolation.sanitized.terms import changed, terms_of
from bertviz_core.lazy_imports import import_libraries, torch, transformers
from bertviz_core.models.transformers_internals import classes_of, knows
from bertviz_core.text import OF_ANOTHER_KIND, first_line, quoted

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
    """The auto class of a task; imports transformers.

    Raises:
        UnsupportedModelError: the task is unknown.
    """
    name = {**TASK_CLASSES, **OTHER_CLASSES}.get(task)
    if name is None:
        raise UnsupportedModelError(f"No task {quoted(task, 40)} found; the tasks are {', '.join(TASKS)}.")
    import_libraries()

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
    """The config object for a config.json, without entries that name a file, a repository or code.

    Raises:
        CheckpointError: the installed transformers lacks the family, or its config class does not accept the values.
    """
    import_libraries()

    check_entries(name, config, terms_of(config))
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


def build_skeleton(name: str, config: Mapping[str, Any], task: str = "base") -> "transformers.PreTrainedModel":
    """Build the model of a config on the meta device, with the head of a task.

    Raises:
        UnsupportedModelError: the family has no class for the task, or a config is not enough to build it.
        CheckpointError: the values of the config are inconsistent or exceed a limit.
    """
    auto_class = task_class(task)
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
    """The sentence about a config that cannot be used: which entry is wrong, found by leaving out each, and why.

    Args:
        name: name of the model.
        config: its config.
        usable: builds what could not be built from other entries; raises if it cannot.
        error: what it raised.
    """
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
    """The task of a class name within a family, from TASKS or OTHER_CLASSES; "base" if there is none.

    Raises:
        CheckpointError: the config cannot be used.
    """
    config_class = type(model_config(name, config))
    for task in (*TASKS, *OTHER_CLASSES):
        if any(each.__name__ == architecture for each in classes_of(task_class(task), config_class)):
            return task
    return "base"
