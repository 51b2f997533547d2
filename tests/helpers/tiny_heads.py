"""Tiny random models with a task head, saved with the tiny tokenizer, and the numbers of transformers' own run."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers

from bertviz_core.models.skeleton import TASK_CLASSES
from bertviz_core.models.sources import folder_source
from bertviz_core.predictions.loading import HeadModel, load_head
from bertviz_core.settings import Settings
from bertviz_core.trace.inputs import model_inputs
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer
from tests.helpers.tiny_models import FAMILIES, tiny_config, tiny_tokenizer

SETTINGS = Settings.from_environment()


@cache
def families_with(task: str) -> tuple[str, ...]:
    """The tiny families that transformers has a class of a task for."""
    mapping = getattr(transformers, TASK_CLASSES[task])._model_mapping
    return tuple(name for name in FAMILIES if type(tiny_config(name)) in mapping)


def save_tiny_head(model_type: str, task: str, folder: Path, **changes: Any) -> Path:
    """A folder as save_pretrained writes it: config, weights of the class with the head, tokenizer."""
    torch.manual_seed(0)
    model = getattr(transformers, TASK_CLASSES[task]).from_config(tiny_config(model_type, **changes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    tiny_tokenizer(FAMILIES[model_type].pad, 29).save_pretrained(folder)
    return folder


def opened_head(folder: Path, task: str | None = None) -> tuple[HeadModel, TextTokenizer]:
    """A folder's head and tokenizer, by the ways of the application."""
    source = folder_source(folder.name, folder)
    return load_head(source, SETTINGS, task), load_tokenizer(source, SETTINGS)


@cache
def tiny_head(model_type: str, task: str, **changes: Any) -> tuple[HeadModel, TextTokenizer, Any]:
    """A family's head and tokenizer, and the same folder as transformers itself loads it."""
    with TemporaryDirectory() as place:
        folder = save_tiny_head(model_type, task, Path(place) / model_type, **changes)
        own = getattr(transformers, TASK_CLASSES[task]).from_pretrained(folder).eval()
        return *opened_head(folder, task), own


def own_outputs(head: HeadModel, own: Any, texts: Sequence[Tokens]) -> Any:
    """What transformers' own class gives for the padded texts."""
    with torch.no_grad():
        return own(**model_inputs(head.base, texts))
