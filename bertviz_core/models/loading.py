"""Load a model into memory: from safetensors only, without code from the checkpoint and without random weights."""

import copy
import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from bertviz_core.errors import BertvizError, CheckpointError, UnsupportedModelError, is_out_of_memory
from bertviz_core.isolation.offline import unplugged
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.catalog import verify_bundled
from bertviz_core.models.families import family
from bertviz_core.models.local_files import adapter_notices, file_renames, weights_folder
from bertviz_core.models.recording import AttentionSource, RecordingCheck, register
from bertviz_core.models.safetensors.folder import REAL_NUMBERS, read_header
from bertviz_core.models.safetensors.results import StoredTensor
from bertviz_core.models.safetensors.values import raw_values
from bertviz_core.models.sentence_folder import STATIC_TYPE
from bertviz_core.models.skeleton import (
    BUILD_LOCK,
    ENCODER,
    build_skeleton,
    class_for,
    knows,
    model_config,
    quietly,
    set_attention,
    takes_attention_function,
    task_class,
    text_config,
)
from bertviz_core.models.sources import ModelSource
from bertviz_core.settings import Settings
from bertviz_core.text import first_line, quoted, tensors_not_finite, tensors_not_scaled

AUTO = "auto"
"""A GPU if there is one, otherwise the CPU."""
HalfFormat = Literal["bfloat16", "float16"]
"""A number format of 16 bits."""
INSTRUCTIONS: Mapping[HalfFormat, Sequence[str]] = {
    "bfloat16": ("avx512_bf16", "amx_bf16", "bf16"),
    "float16": ("avx512_fp16", "amx_fp16", "fp16"),
}
"""Format -> names that PyTorch gives to a processor's instructions for it."""


def chosen_device(requested: str, name: str = "INSIDE_BERT_DEVICE") -> str:
    """Return the torch device to run on: "cpu", "cuda", "cuda:1" or "mps".

    Args:
        requested: Settings.device; AUTO selects a GPU if torch finds one, otherwise the CPU.
        name: where the request comes from, for the error message.
    """
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if requested == AUTO:
        return "cuda" if gpus else "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, index = requested.partition(":")
    available = {"cpu": True, "cuda": int(index or 0) < gpus, "mps": torch.backends.mps.is_available()}
    if not available[kind]:
        raise BertvizError(
            f"{name} is set to {requested!r}, which is not there: {_describe_gpus(gpus)}; write auto for the best "
            "device of this machine, or cpu."
        )
    return requested


def device_kind(device: str) -> str:
    """The kind of a device without its number: "cpu", "cuda" or "mps"."""
    return device.partition(":")[0]


def device_nbytes(device: str) -> int | None:
    """Memory of a GPU in bytes; None for a device that shares the memory of the machine."""
    return torch.cuda.get_device_properties(device).total_memory if device_kind(device) == "cuda" else None


def copy_tensors(name: str, tensors: "Iterable[torch.Tensor]", device: str) -> None:
    """Copy tensors in place to a device, into memory that is aligned for its kernels (memory read from a file is not).

    Args:
        tensors: weights and buffers, each once; modules that share a tensor keep sharing it.
    """
    try:
        for tensor in tensors:
            tensor.data = tensor.data.to(device, copy=True)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise CheckpointError(
            f"The weights of {name!r} do not fit into the memory that is free on {device} ({first_line(error)}); lower "
            "INSIDE_BERT_MAX_LOADED_BYTES, so that other models make room, or choose another INSIDE_BERT_DEVICE."
        ) from error


def wait_for(device: str) -> None:
    """Wait until a device has finished its queued work: a GPU computes asynchronously."""
    if device_kind(device) != "cpu":
        torch.accelerator.synchronize(torch.device(device))


def _describe_gpus(gpus: int) -> str:
    if gpus:
        return f"torch finds {gpus} CUDA {'GPU' if gpus == 1 else 'GPUs'}, counted from cuda:0"
    return f"torch {torch.__version__} finds no GPU" + ("" if torch.version.cuda else " and was built without CUDA")


def fast_formats(device: str) -> tuple[HalfFormat, ...]:
    """Number formats of 16 bits with native instructions of the device, which should be faster than float32."""
    if device_kind(device) == "cuda":
        with torch.cuda.device(device):
            bfloat16: tuple[HalfFormat, ...] = ("bfloat16",)
            return (*(bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else ()), "float16")
    if device != "cpu":
        return ()
    capabilities = torch.cpu.get_capabilities()
    return tuple(each for each, names in INSTRUCTIONS.items() if any(capabilities.get(name) for name in names))


MAX_WIDTH = 2**18
"""Most numbers that a linear layer makes of a token, four times those of the largest known: 1 MiB in float32."""
NOT_NEEDED = ("contact_head.",)
"""Parameters of a base model that do not affect its hidden states."""
POOLER = "pooler."
LOADING = Lock()
"""Held while the weights of a model are read, which may take long; other models may be built meanwhile (BUILD_LOCK)."""
AUTHORS_SIZES = {
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_inner": "intermediate_size",
}
"""Name of a size in the code of some authors -> its name in transformers."""
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
JINA_V3 = (
    "It is Jina embeddings v3 as its author's own code reads it, with LoRA matrices for each task; transformers reads "
    "the converted copy, jinaai/jina-embeddings-v3-hf."
)
SPARE_NUMBERS = 10_000_000
"""Tolerance when the size of a config is compared with that of its files: the pooler of the largest model."""


def check_weights_complete(
    name: str,
    whole: "transformers.PreTrainedModel",
    missing: Set[str],
    unexpected: Set[str],
    model: "transformers.PreTrainedModel",
    config: Mapping[str, Any],
) -> None:
    """Check that the file has every parameter of the model but its pooler.

    Args:
        whole: the model as loaded.
        model: the part of it that is run.
        config: its config.json.
    """
    used = {id(parameter) for parameter in model.parameters()}
    used_names = {key for key, parameter in whole.named_parameters() if id(parameter) in used}
    lacking = sorted(key for key in missing & used_names if not key.startswith((POOLER, *NOT_NEEDED)))
    if lacking:
        lacks = (
            f"{len(lacking):,} of the {len(used_names):,} tensors that its config asks for "
            f"({quoted(lacking[0])}, ...); they are never replaced by random numbers."
        )
        prefix = _wrapper_prefix(lacking, unexpected)
        if prefix:
            unknown = f"have the prefix {quoted(prefix)}, which {type(whole).__name__} does not know"
            raise CheckpointError(
                f"The names in the file of {name!r} {unknown}, so the file lacks {lacks} The load report has the "
                "lines of Python that remove it."
            )
        raise CheckpointError(f"The file of {name!r} lacks {lacks} {_cause(config, whole)}")


def _cause(config: Mapping[str, Any], whole: "transformers.PreTrainedModel") -> str:
    """Why a file may lack tensors that its config asks for, and what to do."""
    title = type(whole).__name__
    if unread := unread_sizes(whole.config):
        return unread
    if "lora_adaptations" in config:
        return JINA_V3
    experts = next((key for key in EXPERTS if isinstance(config.get(key), int) and config[key] > 1), "")
    if experts and not any("expert" in key for key, _ in whole.named_parameters()):
        return (
            f"Its config has {experts} = {config[experts]}: its layers have experts, which the class {title} of "
            "transformers lacks, so it can be run only by its author's own code, and none is run here."
        )
    if config.get("auto_map"):
        return (
            f"Its config names code of its author's own (auto_map), which is never run here, and the class {title} of "
            "transformers has other tensors than that code; look for a copy of the model that is converted to "
            "transformers."
        )
    layers = whole.config.attribute_map.get("num_hidden_layers", "num_hidden_layers")  # as this family writes it
    return f"Check {layers} and model_type in config.json, and the load report."


def unread_sizes(config: "transformers.PreTrainedConfig") -> str:
    """A sentence about sizes under names that the config class does not read; "" if there are none."""
    entries = config.to_dict()
    unread = {
        name: own
        for name, own in AUTHORS_SIZES.items()
        if isinstance(entries.get(name), int) and getattr(config, own, entries[name]) != entries[name]
    }
    if not unread:
        return ""
    sizes = ", ".join(f"{name} = {entries[name]:,}" for name in unread)
    return (
        f"Its config.json has sizes under the names of its author's code ({sizes}), which {type(config).__name__} of "
        f"transformers does not read; write them as {', '.join(unread.values())}."
    )


def _wrapper_prefix(lacking: Sequence[str], unexpected: Set[str]) -> str:
    """The prefix that a wrapper put before most of the names that a model lacks; "" if there is none."""
    names = {f".{name}" for name in lacking}
    votes: Counter[str] = Counter()
    for key in unexpected:
        ends = (key[at:] for at, letter in enumerate(key) if letter == ".")
        end = next((each for each in ends if each in names), "")
        if end:
            votes[key.removesuffix(end) + "."] += 1
    prefix, count = max(votes.items(), key=itemgetter(1), default=("", 0))
    return prefix if 2 * count >= len(lacking) else ""


def drop_missing_pooler(model: "transformers.PreTrainedModel", missing: Set[str]) -> None:
    """Remove a pooler that is not in the file, as add_pooling_layer=False would, without loading again."""
    if _lacks_pooler(missing) and "add_pooling_layer" in inspect.signature(type(model).__init__).parameters:
        model.register_module("pooler", None)


def _lacks_pooler(missing: Set[str]) -> bool:
    return any(key.startswith(POOLER) for key in missing)


def encoder_only_notice(config: "transformers.PreTrainedConfig") -> tuple[str, ...]:
    """A notice that the decoder of an encoder-decoder model is not run."""
    return ("Of this encoder-decoder model only the encoder is run.",) if config.is_encoder_decoder else ()


def text_part_notice(model_type: str) -> tuple[str, ...]:
    """A notice that of a model of texts and images the part that reads texts is run."""
    part = family(model_type).text_part
    return (f"Of this model of texts and images only {quoted(part)}, which reads texts, is run.",) if part else ()


def unused_tensors_notice(model: "transformers.PreTrainedModel", unexpected: set[str]) -> tuple[str, ...]:
    """A notice if the file contains tensors of the base model that its class does not use.

    Examples are further layers, a table of relative positions, quantization scales and adapters. The tensors of a task
    head do not count.
    """
    prefix = f"{model.base_model_prefix}."
    modules = {name for name, _ in model.named_children()}
    extra = sorted(key for key in unexpected if key.removeprefix(prefix).partition(".")[0] in modules)
    if not extra:
        return ()
    return (
        f"The file holds {len(extra):,} tensors of the base model that its config does not ask for "
        f"({quoted(extra[0])}, ...) or that {type(model).__name__} has no place for; they are not used.",
    )


def seed_hashing(model: "transformers.PreTrainedModel") -> tuple[str, ...]:
    """Fix the seed of layers that hash at random (Reformer), for reproducible results; a notice if there are any."""
    hashing = [module for module in model.modules() if getattr(module, "hash_seed", 0) is None]
    for module in hashing:
        vars(module)["hash_seed"] = 0
    if not hashing:
        return ()
    return ("Its attention hashes tokens at random; here always with seed 0. Another seed gives other numbers.",)


def not_finite_notice(parameters: "Iterable[tuple[str, torch.nn.Parameter]]") -> tuple[str, ...]:
    """A notice if weights are NaN or infinite; the sum of a tensor then is, which is the fastest to find."""
    suspects = [each for each in parameters if not bool(torch.isfinite(each[1].detach().sum()))]
    bad = [name for name, weight in suspects if not bool(torch.isfinite(weight).all())]
    return (f"{tensors_not_finite(bad)}; what is computed from that may be so too.",) if bad else ()


def unscaled_notice(model: "transformers.PreTrainedModel", tensors: Iterable[StoredTensor]) -> tuple[str, ...]:
    """A notice if weights are stored in whole numbers or fewer than 16 bits, which are taken as they are."""
    bare = [tensor for tensor in tensors if tensor.dtype not in REAL_NUMBERS]
    if not bare:
        return ()
    names = {f".{name}" for name, _ in model.named_parameters()}
    weights = [each for each in bare if any(f".{each.name}".endswith(name) for name in names)]
    return (tensors_not_scaled([each.name for each in weights], weights[0].dtype),) if weights else ()


def other_dtype_notice(config: Mapping[str, Any], tensors: Iterable[StoredTensor], dtype: str) -> tuple[str, ...]:
    """A notice if transformers runs a model in 16 bits by default and it runs here in another format.

    Its default is the format that config.json names, else that of the first tensor of real numbers.
    """
    stored = next((tensor.dtype for tensor in tensors if tensor.dtype in REAL_NUMBERS), dtype)
    default = str(config.get("dtype") or config.get("torch_dtype") or stored)
    if default not in ("float16", "bfloat16") or default == dtype:
        return ()
    return (
        f"The model runs in {dtype} here; transformers runs it in {default} unless `dtype` is given, and its numbers "
        "differ from the third or fourth digit on.",
    )


Dtype = Literal["float32", "bfloat16", "float16"]
BatchOf = Literal["any length", "one length", "one text"]
DTYPE_NBYTES: Mapping[str, int] = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(slots=True, eq=False)
class LoadedModel:
    """A model in memory, ready to run."""

    name: str
    """Name under which it was requested."""
    revision: str
    """Identifier of the state of its files: a commit or a digest."""
    model_type: str
    model: "transformers.PreTrainedModel"
    """The base model; of an encoder-decoder model only the encoder."""
    device: str
    """Its device: "cpu", "cuda", "cuda:1" or "mps"."""
    dtype: Dtype
    has_pooler: bool
    """Whether it has a pooler with weights from the checkpoint."""
    attention_source: AttentionSource
    """How its attention is obtained; "recorded" becomes "eager" if the recorded attention is incomplete."""
    notices: tuple[str, ...]
    recording_check: RecordingCheck | None = None
    """Result of the comparison before its first run; None before that, and if nothing is recorded."""
    recorded_in_part: bool = False
    """Whether a run or that comparison showed that the recorded attention is incomplete."""
    batch_of: "BatchOf | None" = None
    """Which texts can share a batch without changing each other's results; None before this has been tested."""
    intervention: Callable[[], AbstractContextManager[None]] | None = None
    """A context manager around every run, which changes it; None for the model as it is."""

    @property
    def num_hidden_layers(self) -> int:
        """Layers of a forward pass; an ALBERT layer counts once for each layer of its group."""
        config = text_config(self.model.config)
        return int(getattr(config, "num_hidden_layers", 1)) * int(getattr(config, "inner_group_num", 1))


def load_model(source: ModelSource, settings: Settings, dtype: Dtype = "float32") -> LoadedModel:
    """Load the base model of a checkpoint onto the device of the settings; only one model is loaded at a time.

    The weights are converted to dtype. Every parameter comes from the file; only a pooler may be missing, and the model
    then has none.
    """
    folder = weights_folder(source, settings)
    stored = _stored_numbers(source, folder)
    _check_size(source.name, stored * DTYPE_NBYTES[dtype], dtype, settings)
    device = chosen_device(settings.device)
    base = source if source.adapter is None else source.adapter.base
    if base.kind == "bundled":
        verify_bundled(base.name)
    if source.config.get("quantization_config"):
        raise CheckpointError(f"The weights of {source.name!r} are quantized; give them in float32 or bfloat16.")
    _check_belongs(source, stored)
    config = model_config(source.name, source.config)
    renames = file_renames(source)  # may take BUILD_LOCK itself
    with LOADING:
        tensors, header = read_state_dict(folder), read_header(folder)
        with BUILD_LOCK, quietly(), unplugged():
            whole, info = with_weights(source.name, folder, tensors, config, dtype, _base_class(config), renames)
            model = _text_encoder(source, whole, config)
            seeded = seed_hashing(model)
            attention_source = _attention_source(model, source.model_type)
            if attention_source == "recorded":
                set_attention(model, register())
        missing = info["missing_keys"]
        check_weights_complete(source.name, whole, missing, info["unexpected_keys"], model, source.config)
        drop_missing_pooler(model, missing)
        if source.model_type == STATIC_TYPE:
            static: Any = model
            static.spread(source.name)
        notices = (
            *source.notices,
            *encoder_only_notice(config),
            *text_part_notice(source.model_type),
            *unused_tensors_notice(model, info["unexpected_keys"]),
            *adapter_notices(source, settings),
            *not_finite_notice(model.named_parameters()),
            *unscaled_notice(model, header.tensors),
            *other_dtype_notice(source.config, header.tensors, dtype),
            *seeded,
        )
        copy_tensors(source.name, (*model.parameters(), *model.buffers()), device)
    return LoadedModel(
        name=source.name,
        revision=source.revision if source.folder is not None else folder.name,
        model_type=source.model_type,
        model=model.eval(),
        device=device,
        dtype=dtype,
        has_pooler=family(source.model_type).makes_vectors
        or (not _lacks_pooler(missing) and getattr(model, "pooler", None) is not None),
        attention_source=attention_source,
        notices=notices,
    )


def _text_encoder(
    source: ModelSource, whole: "transformers.PreTrainedModel", config: "transformers.PreTrainedConfig"
) -> "transformers.PreTrainedModel":
    """The part that is run: the encoder of an encoder-decoder model, the text tower of CLIP, or the whole model."""
    row = family(source.model_type)
    model: Any = whole.get_encoder() if config.is_encoder_decoder else whole.get_submodule(row.text_part)
    if not isinstance(model, transformers.PreTrainedModel):
        raise UnsupportedModelError(
            f"The encoder of {source.name!r} ({source.model_type}) cannot be run by itself: transformers has no class "
            "for it. Its parameters and modules can be looked at."
        )
    inside = row.projection.rpartition(".")[2]
    if hasattr(model, inside):  # it maps the sentence vector (sentences.plan), and the layers have one width without it
        model.register_module(inside, torch.nn.Identity())
    return model


def needed_nbytes(source: ModelSource, settings: Settings) -> int:
    """Bytes that the weights of a checkpoint take in memory in float32, from its headers."""
    return _stored_numbers(source, weights_folder(source, settings)) * DTYPE_NBYTES["float32"]


def _stored_numbers(source: ModelSource, folder: Path) -> int:
    if source.model_type == STATIC_TYPE:  # tokens may share a row of the file
        return int(source.config["vocab_size"]) * int(source.config["hidden_size"])
    return sum(math.prod(tensor.shape) for tensor in read_header(folder).tensors)


def _check_size(name: str, nbytes: int, dtype: Dtype, settings: Settings) -> None:
    if nbytes > settings.max_model_bytes:
        raise CheckpointError(
            f"The weights of {name!r} need {nbytes:,} bytes in {dtype}; this instance loads at most "
            f"{settings.max_model_bytes:,} (INSIDE_BERT_MAX_MODEL_BYTES). Its parameters can be shown without loading."
        )


def _check_belongs(source: ModelSource, stored: int) -> None:
    """Refuse a config with far more parameters than the files contain, before memory is allocated for them."""
    if source.kind == "bundled":
        return
    with suppress(UnsupportedModelError):  # raised again where the class is chosen
        config = model_config(source.name, source.config)
        base_class = _base_class(config)
        task = ENCODER if base_class is transformers.AutoModelForTextEncoding else "base"
        skeleton = build_skeleton(source.name, source.config, task)
        needed = sum(each.numel() for each in skeleton.parameters())
        if needed > 2 * stored + SPARE_NUMBERS:
            raise CheckpointError(
                f"The config of {source.name!r} asks for {needed:,} numbers, its files hold {stored:,}: they do not "
                f"belong together. {unread_sizes(config) or 'Check the sizes in config.json.'}"
            )
        widths = {path: getattr(module, "out_features", 0) for path, module in skeleton.named_modules()}
        widest = max(widths, key=lambda path: widths[path])
        if widths[widest] > MAX_WIDTH:
            raise CheckpointError(
                f"The module {quoted(widest)} of {source.name!r} makes {widths[widest]:,} numbers of every token; at "
                f"most {MAX_WIDTH:,} are computed. Its parameters can be shown without loading."
            )


def _base_class(config: "transformers.PreTrainedConfig") -> Any:
    # T5 and related models have a class for the encoder alone, which also loads checkpoints without a decoder.
    encoder_class = task_class(ENCODER)
    auto_class: Any = encoder_class if knows(encoder_class, type(config)) else task_class("base")
    if not knows(auto_class, type(config)):
        raise UnsupportedModelError(f"{config.model_type} models have no base class in transformers that reads a text.")
    return auto_class


def with_weights(
    name: str,
    folder: Path,
    tensors: "dict[str, torch.Tensor]",
    config: "transformers.PreTrainedConfig",
    dtype: Dtype,
    auto_class: Any,
    renames: Mapping[str, str] | None = None,
) -> "tuple[transformers.PreTrainedModel, Mapping[str, Any]]":
    """Load a model with transformers, which reads no file itself; returns it with the missing and unexpected keys.

    Args:
        folder: the folder with the weights, which error messages do not name.
        tensors: the weights (read_state_dict); they are read before BUILD_LOCK is taken, since that may take long.
        renames: pattern of a name in the file -> its replacement in the model.
    """
    if auto_class is transformers.AutoModelForTextEncoding:
        config = copy.deepcopy(config)
        config.is_encoder_decoder = False  # required by T5Gemma's encoder class; the others set it themselves
    try:
        model_class = class_for(auto_class, config)
        if model_class.config_class is type(text_config(config)):
            config = text_config(config)
        model, info = model_class.from_pretrained(
            None,
            config=config,
            state_dict=tensors,
            dtype=getattr(torch, dtype),
            attn_implementation="eager",
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # refused below, by name
            key_mapping=renames,
        )
    except ImportError as error:
        raise CheckpointError(f"{name!r} needs a package that is not installed: {first_line(error)}") from error
    except Exception as error:  # the library raises whatever a wrong shape or a damaged file leads to
        why = first_line(error, {str(folder): name})
        raise CheckpointError(f"The weights of {name!r} do not fit its config: {why}") from error
    for tensor, stored, expected in sorted(info["mismatched_keys"]):
        shapes = f"{tuple(stored)} in the file and {tuple(expected)} by its config"
        unread = f" {sentence}" if (sentence := unread_sizes(config)) else ""
        raise CheckpointError(f"The weights of {name!r} do not fit its config: {quoted(tensor)} is {shapes}.{unread}")
    return model, info


def read_state_dict(folder: Path) -> "dict[str, torch.Tensor]":
    """Name -> tensor of all safetensors files of a folder, in the number formats in which they are stored."""
    tensors = {}
    for stored, values in raw_values(folder):
        dtype = getattr(torch, stored.dtype, None)
        if not isinstance(dtype, torch.dtype):
            raise CheckpointError(f"{quoted(stored.name)} is stored as {stored.dtype}, which torch lacks.")
        numbers = torch.from_numpy(values).view(dtype) if stored.nbytes else torch.empty(0, dtype=dtype)
        tensors[stored.name] = numbers.reshape(stored.shape)
    return tensors


def _attention_source(model: "transformers.PreTrainedModel", model_type: str) -> AttentionSource:
    """Recorded if the class calls transformers' exchangeable attention function."""
    if family(model_type).attention_maps == "none":
        return "none"
    return "recorded" if takes_attention_function(type(model)) else "eager"
