"""Tiny random models with a task head, saved with the tiny tokenizer, and outputs of transformers' own run."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import transformers

from bertviz_core.models.families import family
from bertviz_core.models.skeleton import TASK_CLASSES
from bertviz_core.models.sources import folder_source
from bertviz_core.predictions.run import HeadModel, WordHead, load_head, row_outputs
from bertviz_core.settings import Settings
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize
from bertviz_core.trace.verification import check_batches, model_inputs
from tests.helpers.tiny_models import FAMILIES, PAIR, TEXT, saved_once, tiny_config, tiny_tokenizer

SETTINGS = Settings.from_environment()
NOT_RUN = {
    *((name, task) for name in ("canine",) for task in TASK_CLASSES),
    *((name, "sequence-classification") for name in ("funnel", "mt5", "t5", "umt5")),
    *((name, "question-answering") for name in ("longformer", "t5")),
}
"""Heads for which the tiny tokenizer or config lacks something, so that transformers' own class cannot run either.

CANINE reads characters; Funnel's classifier has a base without its decoder; T5's classes need a decoder's first token
and one <eos> in a text; Longformer's answers need three separators.
"""


@cache
def families_with(task: str) -> tuple[str, ...]:
    """The tiny families for which transformers has a class of this task."""
    mapping = getattr(transformers, TASK_CLASSES[task])._model_mapping
    return tuple(name for name in FAMILIES if type(tiny_config(name)) in mapping)


def save_tiny_head(model_type: str, task: str, folder: Path, **changes: Any) -> Path:
    """Write a folder like save_pretrained: config, weights of the class with the head, tokenizer."""

    def save(place: Path) -> None:
        torch.manual_seed(0)
        model = getattr(transformers, TASK_CLASSES[task]).from_config(tiny_config(model_type, **changes)).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.1)
        model.save_pretrained(place)
        tiny_tokenizer(FAMILIES[model_type].pad, 29).save_pretrained(place)

    return saved_once((model_type, task, changes), folder, save)


def opened_head(folder: Path, task: str | None = None) -> tuple[HeadModel, TextTokenizer]:
    """The head and tokenizer in a folder, loaded as in the application."""
    source = folder_source(folder.name, folder)
    return load_head(source, SETTINGS, task), load_tokenizer(source, SETTINGS)


@cache
def tiny_head(model_type: str, task: str, **changes: Any) -> tuple[HeadModel, TextTokenizer, Any]:
    """A family's head and tokenizer, and the same folder loaded by transformers."""
    with TemporaryDirectory() as place:
        folder = save_tiny_head(model_type, task, Path(place) / model_type, **changes)
        own = getattr(transformers, TASK_CLASSES[task]).from_pretrained(folder).eval()
        return *opened_head(folder, task), own


def own_outputs(head: HeadModel, own: Any, texts: Sequence[Tokens]) -> Any:
    """Outputs of transformers' own class for the padded texts."""
    with torch.no_grad():
        return own(**model_inputs(head.base, texts))


@cache
def head_difference(model_type: str, task: str) -> float:
    """The largest difference between a head's outputs and those of transformers' own class, over two texts.

    Texts are compared alone, and padded if padding does not affect the family; the word head is also compared in parts.
    """
    head, tokenizer, own = tiny_head(model_type, task)
    names = ("start_logits", "end_logits") if task == "question-answering" else ("logits",)
    texts = (
        [tokenize(tokenizer, TEXT, PAIR)]
        if task == "next-sentence"
        else [tokenize(tokenizer, TEXT), tokenize(tokenizer, TEXT, PAIR)]
    )
    if model_type == "bart":  # all texts of a batch need the same number of <eos>
        texts = texts[:1]
    with RUN_LOCK:
        together = check_batches(head.base) == "any length" and not family(model_type).padding_acts
    if model_type == "xlnet":  # its class reads the last position of a batch, which may be padding
        together = together and task != "sequence-classification"
    alone = [own_outputs(head, own, (text,)) for text in texts]
    padded = own_outputs(head, own, texts) if together and len(texts) > 1 else None
    found = []
    for index, arrays in row_outputs(head, texts, names):
        for array, output in zip(arrays, names, strict=True):
            expected = [alone[index][output][0]] + ([] if padded is None else [padded[output][index][: len(array)]])
            found += [np.abs(array - each.float().numpy()).max() for each in expected]
    if task == "masked-lm":
        word_head = WordHead(head)
        output = word_head.outputs(texts[:1])
        states = word_head.states(output)[0]
        parts = [word_head.logits(output, states[start : start + 3]) for start in range(0, len(states), 3)]
        found.append(np.abs(torch.cat(parts).numpy() - alone[0].logits[0].float().numpy()).max())
    return float(max(found))
