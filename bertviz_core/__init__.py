"""What is in a BERT-family model, and what it does with a text: open_model, open_corpus and their results."""

from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING

from bertviz_core.errors import BertvizError
from bertviz_core.version import __version__

if TYPE_CHECKING:
    from bertviz_core.api.corpus import OpenedCorpus
    from bertviz_core.api.model import Model
    from bertviz_core.api.own_model import Saveable
    from bertviz_core.api.results.base import Result

__all__ = ["BertvizError", "Model", "Result", "__version__", "open_corpus", "open_model"]

LATER = {
    "Model": "bertviz_core.api.model",
    "Result": "bertviz_core.api.results.base",
    "Saveable": "bertviz_core.api.own_model",
}
"""Public classes that need torch or pandas -> their module, imported when they are first used."""


def open_model(
    name: "str | PathLike[str] | Saveable",
    task: str | None = None,
    *,
    device: str | None = None,
    tokenizer: "Saveable | None" = None,
) -> "Model":
    """A model, ready to be asked; its weights are loaded by the first question that needs them.

    A model object of your own is copied into a temporary folder as it is now: it is not changed by any question, and
    what is changed in it later is seen when it is opened again.

    Args:
        name: a bundled model ("all-MiniLM-L6-v2"), a folder as a text or a path, a catalogue name
            ("bert-base-uncased"), a Hub id, or a model object of transformers.
        task: the class that is counted and asked: "base", "masked-lm", "next-sentence", "pretraining",
            "sequence-classification", "token-classification", "question-answering" or "multiple-choice"; by default
            the one that the checkpoint names.
        device: where it runs: "auto" (a GPU where there is one), "cpu", "cuda", "cuda:1" or "mps"; by default what
            INSIDE_BERT_DEVICE says.
        tokenizer: of a model object, its tokenizer.

    Raises:
        BertvizError: there is no such model, task or device, or it may not be opened here.
    """
    opened: Model = import_module("bertviz_core.api.model").Model(name, task, device, tokenizer)
    return opened


def open_corpus(folder: "str | PathLike[str]") -> "OpenedCorpus":
    """A corpus folder, as the command `corpus embed` makes it: its facts, its vectors [rows, dimensions], a search.

    Raises:
        BertvizError: there is no corpus in the folder, or its model may not be opened here.
    """
    opened: OpenedCorpus = import_module("bertviz_core.api.corpus").opened_corpus(folder)
    return opened


def __getattr__(name: str) -> object:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LATER[name]), name)
