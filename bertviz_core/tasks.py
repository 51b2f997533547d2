"""The tasks a model can be given a head for, and transformers' auto class of each."""

from collections.abc import Mapping
from typing import Any

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.library import import_library

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


def task_class(task: str) -> Any:
    """Transformers' auto class of a task; imports transformers.

    Raises:
        UnsupportedModelError: there is no such task.
    """
    if task not in TASK_CLASSES:
        raise UnsupportedModelError(f"There is no task {task!r}; the tasks are {', '.join(TASKS)}.")
    import_library()
    import transformers

    return getattr(transformers, TASK_CLASSES[task])
