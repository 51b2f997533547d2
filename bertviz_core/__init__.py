"""Look inside BERT-family models: open_model, open_training, open_corpus, open_attention and their results."""

from collections.abc import Callable, Sequence
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING

from bertviz_core.errors import BertvizError
from bertviz_core.version import __version__

if TYPE_CHECKING:
    from bertviz_core.api.corpus import OpenedCorpus
    from bertviz_core.api.external_maps import AttentionMaps
    from bertviz_core.api.model import Model
    from bertviz_core.api.own_model import Saveable
    from bertviz_core.api.results.base import Result
    from bertviz_core.api.training import Training

__all__ = [
    "BertvizError",
    "Model",
    "Result",
    "__version__",
    "open_attention",
    "open_corpus",
    "open_model",
    "open_training",
]

LATER = {
    "AttentionMaps": "bertviz_core.api.external_maps",
    "Model": "bertviz_core.api.model",
    "OpenedCorpus": "bertviz_core.api.corpus",
    "Result": "bertviz_core.api.results.base",
    "Saveable": "bertviz_core.api.own_model",
    "Training": "bertviz_core.api.training",
}
"""Public classes -> their modules, which are imported when first used."""


def open_model(
    name: "str | PathLike[str] | Saveable | Callable[..., object] | None" = None,
    task: "str | Saveable | None" = None,
    *,
    device: str | None = None,
    tokenizer: "Saveable | None" = None,
    model: "str | PathLike[str] | Saveable | Callable[..., object] | None" = None,
) -> "Model":
    """Open a model; its weights are loaded when they are first needed.

    A model object of transformers or sentence-transformers is copied into a temporary folder: it is never modified. A
    question after a change of its weights copies it again, so that the answer is that of its present weights.

    Args:
        name: a bundled model ("all-MiniLM-L6-v2"), the path of a folder, a name of the catalogue
            ("bert-base-uncased"), a Hub id, or a model object of transformers or sentence-transformers, also one that
            torch.compile returned, or a pipeline.
        task: the task of the class to use: "base", "masked-lm", "next-sentence", "pretraining",
            "sequence-classification", "token-classification", "question-answering" or "multiple-choice"; by default
            that of the class named by the checkpoint. The tokenizer of a model object may stand here, too.
        device: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1" or "mps"; by default that of a model object on a
            GPU, else INSIDE_BERT_DEVICE.
        tokenizer: the tokenizer of a model object of transformers, or a processor that has one.
        model: another word for `name`, as pipelines call it.

    Raises:
        BertvizError: there is no such model, task or device, or it may not be opened here.
    """
    if (name is None) == (model is None):
        raise BertvizError("Give one model: its name, its folder or an object; `model` is another word for `name`.")
    subject = model if name is None else name
    if not isinstance(subject, str | PathLike) or not isinstance(task, str | None):
        own_objects = import_module("bertviz_core.api.own_model").own_objects
        subject, task, tokenizer = own_objects(subject, task, tokenizer)
    opened: Model = import_module("bertviz_core.api.model").Model(subject, task, device, tokenizer)
    return opened


def open_corpus(folder: "str | PathLike[str]") -> "OpenedCorpus":
    """Open a corpus folder created by the command `corpus embed`.

    Raises:
        BertvizError: there is no corpus in the folder, or its model may not be opened here.
    """
    opened: OpenedCorpus = import_module("bertviz_core.api.corpus").opened_corpus(folder)
    return opened


def open_training(folder: "str | PathLike[str]") -> "Training":
    """Open a folder of checkpoints, as transformers.Trainer writes it, as one training run.

    Its subfolders are checkpoints, such as checkpoint-500, and a final model may be beside them. Only config.json,
    trainer_state.json and safetensors files are read.

    Raises:
        BertvizError: there is no checkpoint that can be read, or they are of different models.
    """
    opened: Training = import_module("bertviz_core.api.training").opened_training(folder)
    return opened


def open_attention(
    attention: object, tokens: Sequence[str], key_tokens: Sequence[str] | None = None
) -> "AttentionMaps":
    """Draw attention that another program has computed, without a model.

    Args:
        attention: the weights as transformers returns them with `output_attentions=True`: a sequence with the tensor
            of each layer, [1, heads, queries, keys]; or one tensor or array of all layers, of one layer
            [heads, queries, keys], or one map [queries, keys].
        tokens: the token of every row, and of every column.
        key_tokens: the token of every column where it is another text (cross-attention).

    Raises:
        BertvizError: shapes or numbers of tokens do not fit, or a weight is negative or not finite.
    """
    maps: AttentionMaps = import_module("bertviz_core.api.external_maps").AttentionMaps(attention, tokens, key_tokens)
    return maps


def __getattr__(name: str) -> object:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LATER[name]), name)
