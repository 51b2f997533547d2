"""From a model's source to the model in memory: safetensors only, no code from a checkpoint, never random weights."""

import copy
import math
from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from bertviz_core.errors import CheckpointError, UnsupportedModelError
from bertviz_core.isolation.offline import unplugged
from bertviz_core.isolation.regular_files import present
from bertviz_core.models.device import chosen_device, copy_tensors
from bertviz_core.models.families import family
from bertviz_core.models.local_files import file_renames, weights_folder
from bertviz_core.models.recording import AttentionSource, RecordingCheck, register
from bertviz_core.models.safetensors.folder import ADAPTER_CONFIG, read_header
from bertviz_core.models.safetensors.linked_weights import linked_weights
from bertviz_core.models.skeleton import BUILD_LOCK, ENCODER, build_skeleton, model_config, quietly
from bertviz_core.models.sources import ModelSource, verify_bundled
from bertviz_core.models.transformers_internals import knows, takes_attention_function
from bertviz_core.settings import Settings
from bertviz_core.text import first_line, quoted

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

NOT_NEEDED = ("contact_head.",)
"""Parameters of a base model that do not affect its hidden states."""
POOLER = "pooler."
LOADING = Lock()
"""One model at a time has its weights read, which may take long; meanwhile others may be built (BUILD_LOCK)."""
SPARE_NUMBERS = 10_000_000
"""Numbers that a config may ask for beside twice those of the files: a pooler, of the largest model."""


def check_weights_complete(name: str, whole: "PreTrainedModel", missing: Set[str], model: "PreTrainedModel") -> None:
    """Refuse a model that the file does not fill; a missing pooler is no reason.

    Args:
        name: name of the model.
        whole: the model as it was loaded.
        missing: names of its parameters that the file lacks.
        model: the part of it that is run.

    Raises:
        CheckpointError: the file lacks a parameter that the part needs.
    """
    used = {id(parameter) for parameter in model.parameters()}
    wanted = {key for key, parameter in whole.named_parameters() if id(parameter) in used}
    lacking = sorted(key for key in missing & wanted if not key.startswith((POOLER, *NOT_NEEDED)))
    if lacking:
        raise CheckpointError(
            f"The file of {name!r} lacks {len(lacking):,} of the {len(wanted):,} tensors that its config asks for "
            f"({quoted(lacking[0])}, ...); they are never replaced by random numbers. "
            "Check num_hidden_layers and model_type in config.json, and the load report, which knows foreign prefixes."
        )


def drop_missing_pooler(model: "PreTrainedModel", missing: Set[str]) -> None:
    """Take out a pooler that the file lacks, as add_pooling_layer=False does, without a second load."""
    import inspect

    if _lacks_pooler(missing) and "add_pooling_layer" in inspect.signature(type(model).__init__).parameters:
        model.register_module("pooler", None)


def _lacks_pooler(missing: Set[str]) -> bool:
    return any(key.startswith(POOLER) for key in missing)


def encoder_only_notice(config: "PreTrainedConfig") -> tuple[str, ...]:
    """A notice for an encoder-decoder model, whose decoder is left out."""
    return ("Of this encoder-decoder model only the encoder is run.",) if config.is_encoder_decoder else ()


def unused_tensors_notice(model: "PreTrainedModel", unexpected: set[str]) -> tuple[str, ...]:
    """A notice where the file holds more of the base model than its class has a place for.

    Further layers, a table of relative positions, scales of a number format, adapters: what stands in a module of the
    base model, or under its prefix. A task head is no part of it.
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


def adapter_notice(folder: Path) -> tuple[str, ...]:
    """A notice where an adapter lies beside the weights."""
    if not present(folder, ADAPTER_CONFIG):
        return ()
    return (f"The folder also holds an adapter ({ADAPTER_CONFIG}); it is not applied.",)


def seed_hashing(model: "PreTrainedModel") -> tuple[str, ...]:
    """Give layers that hash at random (Reformer) a seed, so that a text has one result; a notice where that was so."""
    hashing = [module for module in model.modules() if getattr(module, "hash_seed", 0) is None]
    for module in hashing:
        vars(module)["hash_seed"] = 0
    if not hashing:
        return ()
    return ("Its attention hashes tokens at random; here always with seed 0. Another seed gives other numbers.",)


def not_finite_notice(model: "PreTrainedModel") -> tuple[str, ...]:
    """A notice where weights are NaN or infinite."""
    import torch

    bad = [name for name, weight in model.named_parameters() if not bool(torch.isfinite(weight).all())]
    if not bad:
        return ()
    return (
        f"{len(bad):,} of the weights' tensors hold NaN or infinity ({quoted(bad[0])}, ...); "
        "results computed with them are NaN as well.",
    )


Dtype = Literal["float32", "bfloat16", "float16"]
BatchOf = Literal["any length", "one length", "one text"]
DTYPE_NBYTES: Mapping[str, int] = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(slots=True, eq=False)
class LoadedModel:
    """A model in memory, ready to be run on texts."""

    name: str
    """Name under which it was requested."""
    revision: str
    """Identifier of the state of its files: a commit or a digest."""
    model_type: str
    """Hugging Face's word for the family."""
    model: "PreTrainedModel"
    """The base model; of an encoder-decoder model only the encoder."""
    device: str
    """Where it is: "cpu", "cuda", "cuda:1" or "mps"."""
    dtype: Dtype
    """Number format of its weights."""
    has_pooler: bool
    """Whether it has a pooler whose weights are the checkpoint's."""
    attention_source: AttentionSource
    """Where its attention comes from; "recorded" becomes "eager" where the recording is not the model's own."""
    notices: tuple[str, ...]
    """What a reader must know about the weights, one sentence each."""
    recording_check: RecordingCheck | None = None
    """What the comparison before its first run gave; None before it, and where nothing is recorded."""
    recorded_in_part: bool = False
    """Whether a run or that comparison showed that what is recorded is not all of its attention."""
    batch_of: "BatchOf | None" = None
    """Texts that may be run together without changing each other's numbers; None before that was tried."""

    @property
    def num_hidden_layers(self) -> int:
        """Layers of one pass by the config; an ALBERT layer counts once for each of the layers in its group."""
        config = self.model.config.get_text_config()
        return int(getattr(config, "num_hidden_layers", 1)) * int(getattr(config, "inner_group_num", 1))


def load_model(source: ModelSource, settings: Settings, dtype: Dtype = "float32") -> LoadedModel:
    """The base model of a checkpoint on the device of the settings; models load one at a time.

    The weights are converted to dtype whatever the file holds. Every parameter comes from the file: a base model that
    misses one is refused; only a pooler may be missing, and the model then has none.

    Raises:
        CheckpointError: the weights are not here, damaged, too large for this instance or for its device, or not all
            of the model's.
        UnsupportedModelError: the family has no base model that reads a text.
        BertvizError: the device is not there.
    """
    folder = weights_folder(source, settings)
    _check_size(source.name, needed_nbytes(source, settings, dtype), dtype, settings)
    device = chosen_device(settings.device)
    if source.kind == "bundled":
        verify_bundled(source.name)
    if source.config.get("quantization_config"):
        raise CheckpointError(
            f"The weights of {source.name!r} are quantized; give the checkpoint in float32 or bfloat16."
        )
    _check_belongs(source, settings)
    config = model_config(source.name, source.config)
    renames = file_renames(source)  # asks transformers of a type that is not packaged, which takes BUILD_LOCK itself
    with LOADING:
        with BUILD_LOCK, quietly(), unplugged(), linked_weights(folder) as lent:
            whole, info = read_weights(source.name, lent, config, dtype, _base_class(config), renames)
            model = _text_encoder(source, whole, config)
            seeded = seed_hashing(model)
            attention_source = _attention_source(model, source.model_type)
            if attention_source == "recorded":
                model.set_attn_implementation(register())
        missing = info["missing_keys"]
        check_weights_complete(source.name, whole, missing, model)
        drop_missing_pooler(model, missing)
        notices = (
            *encoder_only_notice(config),
            *unused_tensors_notice(model, info["unexpected_keys"]),
            *adapter_notice(folder),
            *not_finite_notice(model),
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
        has_pooler=not _lacks_pooler(missing) and getattr(model, "pooler", None) is not None,
        attention_source=attention_source,
        notices=notices,
    )


def _text_encoder(source: ModelSource, whole: "PreTrainedModel", config: "PreTrainedConfig") -> "PreTrainedModel":
    """The part that is run: the encoder of an encoder-decoder model, else the whole.

    Raises:
        UnsupportedModelError: the encoder is no model of its own.
    """
    from transformers import PreTrainedModel

    model: Any = whole.get_encoder() if config.is_encoder_decoder else whole
    if not isinstance(model, PreTrainedModel):
        raise UnsupportedModelError(
            f"The encoder of {source.name!r} ({source.model_type}) cannot be run by itself: transformers has no class "
            "for it. Its parameters and modules can be looked at."
        )
    return model


def needed_nbytes(source: ModelSource, settings: Settings, dtype: Dtype = "float32") -> int:
    """Bytes that the weights of a checkpoint take in memory in a number format; only its headers are read.

    Raises:
        CheckpointError: the weights are not here, or damaged.
    """
    tensors = read_header(weights_folder(source, settings)).tensors
    return sum(math.prod(tensor.shape) for tensor in tensors) * DTYPE_NBYTES[dtype]


def _check_size(name: str, nbytes: int, dtype: Dtype, settings: Settings) -> None:
    if nbytes > settings.max_model_bytes:
        raise CheckpointError(
            f"The weights of {name!r} need {nbytes:,} bytes in {dtype}; this instance loads at most "
            f"{settings.max_model_bytes:,} (INSIDE_BERT_MAX_MODEL_BYTES). Its parameters can be shown without loading."
        )


def _check_belongs(source: ModelSource, settings: Settings) -> None:
    """Refuse a config that asks for far more numbers than the files hold, before memory is taken for them.

    Raises:
        CheckpointError: with both counts; or the config cannot be built.
    """
    if source.kind == "bundled":
        return
    from transformers import AutoModelForTextEncoding

    with suppress(UnsupportedModelError):  # said where the class is chosen
        base_class = _base_class(model_config(source.name, source.config))
        task = ENCODER if base_class is AutoModelForTextEncoding else "base"
        asked = sum(each.numel() for each in build_skeleton(source.name, source.config, task).parameters())
        held = sum(math.prod(tensor.shape) for tensor in read_header(weights_folder(source, settings)).tensors)
        if asked > 2 * held + SPARE_NUMBERS:
            raise CheckpointError(
                f"The config of {source.name!r} asks for {asked:,} numbers, its files hold {held:,}: they do not "
                "belong together. Check the sizes in config.json."
            )


def _base_class(config: "PreTrainedConfig") -> Any:
    """The auto class of the base model.

    Raises:
        UnsupportedModelError: there is none that reads a text.
    """
    from transformers import AutoModel, AutoModelForTextEncoding

    # T5 and its kin have a class of the encoder alone, which a checkpoint without decoder loads into.
    encoder_class: Any = AutoModelForTextEncoding
    auto_class: Any = encoder_class if knows(encoder_class, type(config)) else AutoModel
    if not knows(auto_class, type(config)):
        raise UnsupportedModelError(f"{config.model_type} models have no base class in transformers that reads a text.")
    return auto_class


def read_weights(
    name: str,
    folder: Path,
    config: "PreTrainedConfig",
    dtype: Dtype,
    auto_class: Any,
    renames: Mapping[str, str] | None = None,
) -> "tuple[PreTrainedModel, Mapping[str, Any]]":
    """A model with its weights, and what transformers says of missing and unexpected keys.

    The files are read, not mapped: one that is written over while it is mapped would end the process.

    Args:
        name: name of the model, for messages.
        folder: what `linked_weights` lends.
        config: its config.
        dtype: number format of the weights.
        auto_class: one of transformers' auto classes that knows the config.
        renames: pattern of the file's names -> what stands in the place of the match in the model's.

    Raises:
        CheckpointError: the file is damaged or does not fit the config, or a package is missing.
    """
    import torch
    from transformers import AutoModelForTextEncoding

    if auto_class is AutoModelForTextEncoding:
        config = copy.deepcopy(config)
        config.is_encoder_decoder = False  # T5Gemma's class of the encoder asks for it; the others set it themselves
    try:
        model, info = auto_class.from_pretrained(
            str(folder),
            config=config,
            dtype=getattr(torch, dtype),
            attn_implementation="eager",
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
            disable_mmap=True,
            key_mapping=renames,
        )
    except ImportError as error:
        raise CheckpointError(f"{name!r} needs a package that is not installed: {first_line(error)}") from error
    except Exception as error:  # the library raises whatever a wrong shape or a damaged file leads to
        why = first_line(error, {str(folder): name})
        raise CheckpointError(f"The weights of {name!r} do not fit its config: {why}") from error
    return model, info


def _attention_source(model: "PreTrainedModel", model_type: str) -> AttentionSource:
    """Recorded where the class calls the exchangeable attention function, as transformers tells from its source."""
    if family(model_type).attention_maps == "none":
        return "none"
    return "recorded" if takes_attention_function(type(model)) else "eager"
