"""Models whose score of a query and a text is made of the logits of tokens, or of modules over a vector of both."""

import copy
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import DENSE_NBYTES, read_file
from bertviz_core.lazy_imports import torch
from bertviz_core.models.local_files import modules_folder
from bertviz_core.models.rerankers import SCORES, AnswerTokens, module_config
from bertviz_core.models.safetensors.folder import SINGLE_FILE
from bertviz_core.models.sentence_folder import LIBRARY_PREFIX, class_end, listed_modules
from bertviz_core.models.sources import ModelSource
from bertviz_core.sentences.plan import pooling_of
from bertviz_core.sentences.pooling import SENTENCE_OUTPUT, applied, dense_layer, pooled
from bertviz_core.settings import Settings
from bertviz_core.text import first_line, quoted

TOKEN_LOGITS = "token_logits"  # noqa: S105  # no password
"""Output with the logits of the tokens that a score is made of."""
MULTI_LABEL = "multi_label_classification"
"""The problem_type by which an output has a probability of its own, its sigmoid."""
LAST_ONLY = "logits_to_keep"
Mapped = Callable[["torch.Tensor"], "torch.Tensor"]


def token_scores(model: Any, tokens: AnswerTokens) -> "torch.nn.Module":
    """A causal model with one output: the logit of one token in the place of the next, minus that of another.

    Rows are not padded, so that the last position is that of the last token.
    """
    last_only = {LAST_ONLY: 1} if LAST_ONLY in inspect.signature(model.forward).parameters else {}
    ids = list(tokens.ids)

    class TokenScores(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scored, self.config = model, _scoring_config(model.config, tokens.names[:1])

        def forward(self, **inputs: Any) -> "dict[str, torch.Tensor]":
            logits = self.scored(**inputs, **last_only)["logits"][:, -1, ids].float()
            return {"logits": logits[:, :1] - logits[:, 1:] if len(ids) > 1 else logits, TOKEN_LOGITS: logits}

    return TokenScores()


def vector_scores(source: ModelSource, settings: Settings, base: Any) -> "torch.nn.Module":
    """A base model with the modules of its folder, which pool the states of a text and make scores of the vector."""
    folder = modules_folder(source, settings)
    modules = [each for each in (listed_modules(folder) or [])[1:] if class_end(each[0]) != "Dropout"]
    ends = [class_end(name) if name.startswith(LIBRARY_PREFIX) else name for name, _ in modules]
    if ends[:1] != ["Pooling"] or ends[-1] != "Dense":
        named = ", ".join(quoted(end, 40) for end in ends) or "none"
        raise _unfollowed(source, f"its modules after the encoder are {named}, not a Pooling first and a Dense last")
    pooling, refusal = pooling_of(module_config(folder, modules[0][1]))
    if pooling is None:
        raise _unfollowed(source, refusal)
    mode, width = pooling, module_config(folder, modules[-1][1]).get("out_features")
    outputs = width if isinstance(width, int) else 0
    if outputs < 1:
        raise _unfollowed(source, f"the out_features of {quoted(modules[-1][1])} are no number")
    steps = [
        _step(source, folder, end, place, SCORES if index == len(modules) else SENTENCE_OUTPUT)
        for index, (end, (_, place)) in enumerate(zip(ends[1:], modules[1:], strict=True), start=2)
    ]

    class VectorScores(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            names = tuple(f"LABEL_{place}" for place in range(outputs))
            self.scored, self.config = base, _scoring_config(base.config, names)

        def forward(self, **inputs: Any) -> "dict[str, torch.Tensor]":
            states, mask = self.scored(**inputs)["last_hidden_state"], inputs.get("attention_mask")
            shape, device = states.shape[:2], states.device
            read = torch.ones(shape, dtype=torch.bool, device=device) if mask is None else mask.bool()
            values = pooled(states, read, mode)
            for step in steps:
                values = step(values)
            return {"logits": values}

    return VectorScores()


def _scoring_config(config: Any, names: Sequence[str]) -> Any:
    """A copy of a config with these outputs; one alone has a probability, several exclude each other."""
    own = copy.deepcopy(config)
    own.num_labels = len(names)
    own.id2label = dict(enumerate(names))
    own.problem_type = MULTI_LABEL if len(names) == 1 else None
    return own


def _step(source: ModelSource, folder: Path, end: str, place: str, makes: str) -> Mapped:
    """What a module after the pooling does to vectors."""
    if end == "Dense":
        layer, refusal = dense_layer(folder, place, makes=makes)
        if layer is None:
            raise _unfollowed(source, refusal)
        return partial(applied, dense=(layer,))
    if end == "LayerNorm":
        return _layer_norm(source, folder, place)
    if end == "Normalize":
        return partial(torch.nn.functional.normalize, dim=-1)
    raise _unfollowed(source, f"its module {quoted(end)} is not followed")


def _layer_norm(source: ModelSource, folder: Path, place: str) -> Mapped:
    from safetensors.torch import load

    raw = read_file(folder, f"{place}/{SINGLE_FILE}", DENSE_NBYTES)
    try:
        tensors = load(raw)
        weight, bias = tensors["norm.weight"].float(), tensors["norm.bias"].float()
    except Exception as error:  # safetensors raises undocumented errors for damaged files
        raise _unfollowed(source, f"{quoted(place)} cannot be read ({first_line(error)})") from error

    def normed(values: "torch.Tensor") -> "torch.Tensor":
        device = values.device
        mapped: torch.Tensor = torch.nn.functional.layer_norm(values, weight.shape, weight.to(device), bias.to(device))
        return mapped

    return normed


def _unfollowed(source: ModelSource, why: str) -> CheckpointError:
    return CheckpointError(f"{source.name!r} cannot score texts: {why.rstrip('.')}.")
