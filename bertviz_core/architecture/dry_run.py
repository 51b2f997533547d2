"""Run a model without its weights, for shapes, operations and bytes.

Most families run on the meta device, in a tenth of a second and without memory. Code that reads values, such as the sum
of a mask, fails there; such a family is run on the CPU, with every weight a view of the same zeros.
"""

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bertviz_core.architecture.results import DeviceMode
from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.skeleton import build_skeleton, quietly, set_attention
from bertviz_core.text import first_line
from bertviz_core.trace.verification import ModelRow, model_inputs, reset_model_state

PROBE_TOKENS = 13
"""Tokens of a trial run; an odd number that is not a size of any model."""
MAX_WEIGHT_TOKENS = 3 * 10**11
"""Limit of weights times tokens for a run on the CPU, some seconds."""
ROUTED_MODULES = ("router", "experts")
"""Modules whose shapes depend on values, since tokens are routed to experts."""
MAX_KNOWN_MODES = 256
_known_modes: dict[str, tuple[DeviceMode, bool]] = {}
"""Cache of how classes can be run."""
CLASSIFIER = "ForSequenceClassification"
READERS = (CLASSIFIER, "ForQuestionAnswering")
"""Suffixes of encoder-decoder classes whose decoder also reads the text."""


@dataclass(frozen=True, slots=True, eq=False)
class PlainRow:
    """A text of a given number of tokens, without a tokenizer."""

    input_ids: Any
    token_type_ids: None = None
    other_inputs: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.input_ids)


class DryWay(NamedTuple):
    """How a class can be run without weights."""

    device_mode: DeviceMode
    """On the meta device, or with zero weights."""
    masked: bool
    """Whether it is called with an attention mask."""
    token: int
    """Id of a token other than padding."""
    last_token: int
    """Id of the last token of a text."""
    decoder_tokens: int
    """Tokens of the decoder input; 0 if there is none, or the decoder reads the text."""


@dataclass(slots=True, eq=False)
class DryModel:
    """A model without weights that can be run; not shared between callers."""

    name: str
    model: "transformers.PreTrainedModel"
    """The model, on the meta device or with zero weights."""
    device_mode: DeviceMode
    """Which of the two."""
    masked: bool

    def inputs(self, rows: list[ModelRow]) -> "dict[str, torch.Tensor]":
        """Inputs for texts of equal length."""
        device = "meta" if self.device_mode == "meta" else "cpu"
        reset_model_state(self.model, len(rows[0]))
        return _inputs(self.name, self.model, device, rows, self.masked)

    def run(self, inputs: "dict[str, torch.Tensor]") -> Any:
        """One forward pass."""
        tokens = sum(ids.numel() for key, ids in inputs.items() if key == "input_ids")
        if (
            self.device_mode == "zeros"
            and tokens * sum(weight.numel() for weight in self.model.parameters()) > MAX_WEIGHT_TOKENS
        ):
            raise TextError(
                f"The family of {self.name!r} can be run without weights only on the processor, and this many tokens "
                "would take too long; give a shorter text."
            )
        with quietly():
            return _forward(self.name, self.model, inputs)


def dry_model(name: str, config: Mapping[str, Any], task: str = "base") -> DryModel:
    """Build the class of a config without weights, in a way in which it can be run."""
    model, key = _eager(name, config, task), json.dumps([config, task], default=str)
    if key in _known_modes:
        return _with_device_mode(name, model, *_known_modes[key])
    refusal: Exception | None = None
    candidates: tuple[tuple[DeviceMode, bool], ...] = (("meta", False), ("meta", True), ("zeros", True))
    for device_mode, masked in candidates:
        if device_mode == "zeros" and any(word in path for path, _ in model.named_modules() for word in ROUTED_MODULES):
            break
        try:
            dry = _with_device_mode(name, model, device_mode, masked)
            _probe(dry)
        except UnsupportedModelError as error:
            refusal = error
            continue
        if len(_known_modes) >= MAX_KNOWN_MODES:
            _known_modes.clear()
        _known_modes[key] = device_mode, masked
        return dry
    raise UnsupportedModelError(
        f"{name!r} ({model.config.model_type}) cannot be run without its values: {refusal or 'its tokens are routed'}"
    ) from refusal


def dry_way(name: str, config: Mapping[str, Any], task: str = "base") -> DryWay:
    """How dry_model runs a class; raises the errors of dry_model."""
    dry = dry_model(name, config, task)
    row = plain_row(dry.model, 2)
    decoder = dry.inputs([row]).get("decoder_input_ids")
    first, last = (int(each) for each in row.input_ids)
    return DryWay(dry.device_mode, dry.masked, first, last, 0 if decoder is None else decoder.shape[-1])


def runnable_task(name: str, config: Mapping[str, Any], task: str) -> str:
    """The task, or "base" if only the base class can be run on a text; raises the errors of dry_model."""
    try:
        dry_model(name, config, task)
    except UnsupportedModelError:
        if task == "base":
            raise
        dry_model(name, config)
        return "base"
    return task


def plain_row(model: "transformers.PreTrainedModel", seq: int) -> PlainRow:
    """A text of `seq` tokens other than padding."""
    config: Any = model.config
    pad, vocab = getattr(config, "pad_token_id", None), getattr(config, "vocab_size", None) or 2
    usable = [row for row in range(min(vocab, 12)) if row != pad]
    if not usable:
        raise UnsupportedModelError("its vocabulary has no token beside the padding")
    ids = np.full(seq, usable[-1], dtype=np.int64)
    if config.is_encoder_decoder and type(model).__name__.endswith(
        CLASSIFIER
    ):  # it reads the decoder at the text's end
        ids[-1] = config.eos_token_id
    return PlainRow(ids)


def _with_device_mode(
    name: str, model: "transformers.PreTrainedModel", device_mode: DeviceMode, masked: bool
) -> DryModel:
    if device_mode == "zeros":
        _fill_with_zeros(model)
    return DryModel(name, model, device_mode, masked)


def _probe(dry: DryModel) -> None:
    with torch.no_grad():
        dry.run(dry.inputs([plain_row(dry.model, PROBE_TOKENS)]))


def _eager(name: str, config: Mapping[str, Any], task: str) -> "transformers.PreTrainedModel":
    model = build_skeleton(name, config, task).eval()
    with quietly():
        try:
            set_attention(model, "eager")
        except ValueError:  # the family has no other implementation
            return model
    return model


def _inputs(
    name: str, model: "transformers.PreTrainedModel", device: str, rows: list[ModelRow], masked: bool
) -> "dict[str, torch.Tensor]":
    config: Any = model.config
    loaded = LoadedModel(name, "", config.model_type, model, device, "float32", False, "none", ())
    inputs = model_inputs(loaded, rows)
    if not masked:
        inputs.pop("attention_mask", None)
    accepted = inspect.signature(model.forward).parameters
    writes = config.is_encoder_decoder and not type(model).__name__.endswith(READERS)
    if writes and "decoder_input_ids" in accepted:
        start = getattr(config, "decoder_start_token_id", None) or 0
        inputs["decoder_input_ids"] = torch.full((len(rows), 1), start, dtype=torch.long, device=device)
    if type(model).__name__.endswith("MultipleChoice"):
        return {key: value.unsqueeze(1) for key, value in inputs.items()}
    return inputs


def _forward(name: str, model: "transformers.PreTrainedModel", inputs: "dict[str, torch.Tensor]") -> Any:
    try:
        return model(**inputs)
    except Exception as error:  # a missing value may lead to any exception
        raise UnsupportedModelError(
            f"{name!r} ({model.config.model_type}) cannot be run on a text alone: {first_line(error)}"
        ) from error


def _fill_with_zeros(model: "transformers.PreTrainedModel") -> None:
    """Replace all parameters by contiguous views of the same zeros, and buffers by zeros."""
    weights = list(model.parameters())
    zeros = _untouched_zeros(max((weight.numel() * weight.element_size() for weight in weights), default=0))
    views: dict[int, torch.nn.Parameter] = {}
    for module in model.modules():
        for name, weight in list(module.named_parameters(recurse=False, remove_duplicate=False)):
            view = zeros[: weight.numel() * weight.element_size()].view(weight.dtype).view(weight.shape)
            setattr(module, name, views.setdefault(id(weight), torch.nn.Parameter(view, weight.requires_grad)))
        for name, buffer in list(module.named_buffers(recurse=False, remove_duplicate=False)):
            setattr(module, name, torch.zeros(buffer.shape, dtype=buffer.dtype))


def _untouched_zeros(nbytes: int) -> "torch.Tensor":
    """Zeros that take no memory until they are written (NumPy allocates them with calloc)."""
    try:
        return torch.from_numpy(np.zeros(nbytes, dtype=np.uint8))
    except MemoryError as error:
        raise UnsupportedModelError(f"its largest table would take {nbytes:,} bytes") from error
