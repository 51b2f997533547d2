"""Tiny models for interventions, and the same models with modified weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from bertviz_core.heads.projections import LayerProjections, layer_projections
from bertviz_core.interventions.runs import InterventionRuns
from bertviz_core.interventions.targets import Target, cosine_target
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.sources import folder_source
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer
from tests.helpers.tiny_heads import SETTINGS
from tests.helpers.tiny_models import FAMILIES, PAIR, TEXT, save_tiny

WITHOUT_PLACES = ("canine", "fnet", "funnel", "mra", "xlnet", "yoso")
"""Families whose heads cannot be changed: no attention, no row per token, or no module after the heads (XLNet)."""
ATTENDING = tuple(name for name in FAMILIES if name not in WITHOUT_PLACES)


@cache
def opened(family: str) -> tuple[LoadedModel, TextTokenizer]:
    """A family's base model and tokenizer, loaded as in the application."""
    with TemporaryDirectory() as place:
        source = folder_source(family, save_tiny(family, Path(place) / family))
        return load_model(source, SETTINGS), load_tokenizer(source, SETTINGS)


def tiny_target(family: str, text: str = TEXT) -> Target:
    """The cosine of two texts."""
    return cosine_target(*opened(family), text, PAIR, SentencePlan("mean"))


@cache
def tiny_runs(family: str) -> InterventionRuns:
    """Intervention runs for the cosine of two texts."""
    return InterventionRuns(tiny_target(family))


def plain_value(target: Target) -> float:
    """The target of the unmodified model, from a run without interventions."""
    with RUN_LOCK, torch.inference_mode():
        return float(target.values(target.inputs((target.tokens,)), [len(target.tokens)])[0])


@contextmanager
def cut_head(loaded: LoadedModel, layer: int, head: int, mean: np.ndarray | None = None) -> Iterator[LayerProjections]:
    """Set a head's columns of the output projection to 0 inside the block, and add its mean to the bias."""
    row = layer_projections(loaded, layer)
    weight, bias = row.output.module.weight, row.output.module.bias
    width = len(row.value.weight) // row.key_heads
    columns = slice(head * width, (head + 1) * width)
    saved, kept_bias = weight.detach().clone(), None if bias is None else bias.detach().clone()
    transposed = type(row.output.module).__name__ == "Conv1D"
    with torch.no_grad():
        if mean is not None:
            block = weight[columns].T if transposed else weight[:, columns].flatten(1)
            moved = block @ torch.tensor(mean)
            if bias is None:
                row.output.module.bias = torch.nn.Parameter(moved)
            else:
                bias += moved
        if transposed:
            weight[columns] = 0
        else:
            weight[:, columns] = 0
    try:
        yield row
    finally:
        with torch.no_grad():
            weight.copy_(saved)
            if bias is None:
                row.output.module.bias = None
            else:
                bias.copy_(kept_bias)
