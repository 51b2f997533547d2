"""A model without its values: built from a config on torch's meta device, in milliseconds and without memory."""

import copy
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any

from bertviz_core.errors import CheckpointError, UnsupportedModelError
from bertviz_core.isolation.config_trials import config_trial
from bertviz_core.isolation.offline import unplugged
from bertviz_core.isolation.sanitized.config import harmless_config
from bertviz_core.isolation.sanitized.entries import check_entries
from bertviz_core.isolation.sanitized.terms import terms_of
from bertviz_core.models.transformers_internals import classes_of, knows
from bertviz_core.text import first_line, quoted

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

_LOCK = RLock()


def import_library() -> None:
    """Import torch and transformers; a second thread waits until the first is through.

    transformers puts another module in its place while it is imported, so that a thread that comes between finds a
    module without its names.
    """
    with _LOCK:
        if sys.modules.get("torch", "") is not None:  # None in a child that reads tokenizers alone
            import_module("torch")
        library = import_module("transformers")
        for name in ("CONFIG_MAPPING", "AutoModel", "AutoTokenizer"):  # each imports its module when it is asked for
            getattr(library, name)


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
"""What stands for a task where a class is the encoder of an encoder-decoder model and nothing more."""
OTHER_CLASSES: Mapping[str, str] = {
    ENCODER: "AutoModelForTextEncoding",
    "causal-lm": "AutoModelForCausalLM",
    "seq2seq-lm": "AutoModelForSeq2SeqLM",
}
"""What stands for a task where a checkpoint names a class that nobody can ask for by a task."""


def task_class(task: str) -> Any:
    """Transformers' auto class of a task; imports transformers.

    Raises:
        UnsupportedModelError: there is no such task.
    """
    name = {**TASK_CLASSES, **OTHER_CLASSES}.get(task)
    if name is None:
        raise UnsupportedModelError(f"No task {quoted(task, 40)} found; the tasks are {', '.join(TASKS)}.")
    import_library()
    import transformers

    return getattr(transformers, name)


BUILD_LOCK = Lock()
"""transformers switches global state (default dtype, initialisation) while it builds or loads a model."""


@contextmanager
def quietly() -> Iterator[None]:
    """Transformers without its progress bars and its table of keys, which the core reports in its own words."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def model_config(name: str, config: Mapping[str, Any]) -> "PreTrainedConfig":
    """Transformers' config object of a config.json, without what names a file, a repository or code.

    Raises:
        CheckpointError: its values are not what the family's config takes.
    """
    import_library()
    from transformers import CONFIG_MAPPING

    check_entries(name, config, terms_of(config))
    harmless = harmless_config(name, copy.deepcopy(dict(config)))
    try:
        with unplugged():
            configured: PreTrainedConfig = CONFIG_MAPPING[config["model_type"]].from_dict(harmless)
    except Exception as error:  # the library raises whatever a wrong value leads to
        raise CheckpointError(f"The config of {name!r} cannot be used: {first_line(error)}") from error
    configured.architectures = configured.architectures or []  # the auto class of Funnel looks through it
    return configured


def build_skeleton(name: str, config: Mapping[str, Any], task: str = "base") -> "PreTrainedModel":
    """The model of a config on the meta device, for the base model or with the head of a task.

    Raises:
        UnsupportedModelError: the family has no class for the task, or cannot be built without more than a config.
        CheckpointError: the config's values do not fit together, or ask for more than may be built.
    """
    import torch

    auto_class = task_class(task)
    configured = model_config(name, config)
    if task == ENCODER:
        configured.is_encoder_decoder = False  # T5Gemma's class of the encoder asks for it
    config_trial(name, config, task)  # raises where a process under limits could not build it
    if not knows(auto_class, type(configured)):
        raise UnsupportedModelError(
            f"{configured.model_type} models have no class for the task {task!r} in transformers."
        )
    if task == "base" and type(configured).is_encoder_decoder:
        configured.is_encoder_decoder = True  # T5EncoderModel saves False; the base class has a decoder
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


def task_of_class(name: str, config: Mapping[str, Any], architecture: str) -> str:
    """The task whose class of this family has this name, or one of OTHER_CLASSES; "base" where none has.

    Raises:
        CheckpointError: the config cannot be used.
    """
    config_class = type(model_config(name, config))
    for task in (*TASKS, *OTHER_CLASSES):
        if any(each.__name__ == architecture for each in classes_of(task_class(task), config_class)):
            return task
    return "base"
