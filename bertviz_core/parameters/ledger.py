"""Build the ledger of a model: all its parameters, and their sums by component and layer.

It is built from a safetensors header (without torch), from a config (on the meta device) or from a module in memory.
Tied parameters are counted once, as in parameters() of torch.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from bertviz_core.errors import CheckpointError, HubError
from bertviz_core.lazy_imports import torch
from bertviz_core.models import catalog, sources
from bertviz_core.models.catalog import TypeFacts, type_tensors
from bertviz_core.models.gliner import encoder_header
from bertviz_core.models.local_files import fitted_adapter, saved_class
from bertviz_core.models.safetensors.folder import DTYPE_NBYTES, REAL_NUMBERS, read_header, same_bytes
from bertviz_core.models.safetensors.results import CheckpointHeader, StoredTensor
from bertviz_core.models.skeleton import build_skeleton, task_of_class
from bertviz_core.models.sources import AdapterPart, ModelSource
from bertviz_core.parameters.adapters.rows import adapter_note, adapter_rows, merged_header, same_merged
from bertviz_core.parameters.components import COMPONENTS, PARTS, layer_applications, layer_numbers
from bertviz_core.parameters.naming import (
    FileTies,
    NameClassifier,
    NamedTensor,
    SameValues,
    file_names,
    left_out,
    reading_order,
    tie_pairs,
    ties_of_file,
    unsaved_rows,
)
from bertviz_core.parameters.results import Buffer, ComponentCount, LayerCount, Ledger, LedgerSource, Parameter
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls, quoted, tensors_not_scaled

MAX_TERMS = 6
"""Maximum terms of a sum."""


def component_arithmetic(layers: Sequence[int], outside: Sequence[Parameter]) -> str:
    """The total of a component as sums and products, such as "12 × 7,087,872"; long sums are abbreviated."""
    runs = [(size, len(list(run))) for size, run in groupby(layers)]
    terms = [(f"{count:,} × {size:,}" if count > 1 else f"{size:,}", count * size) for size, count in runs]
    terms += module_terms(outside)
    return _joined(terms)


def module_terms(rows: Sequence[Parameter]) -> list[tuple[str, int]]:
    """(term, value) of every module; equal neighbours become a product."""
    modules: dict[str, list[Parameter]] = {}
    for row in rows:
        modules.setdefault(row.name.rpartition(".")[0], []).append(row)
    terms = []
    for shapes, run in groupby(tuple(row.shape for row in module) for module in modules.values()):
        count = len(list(run))
        product = " + ".join(" × ".join(f"{size:,}" for size in shape) or "1" for shape in shapes)
        value = sum(math.prod(shape) for shape in shapes)
        terms.append((f"{count} × ({product})" if count > 1 else product, count * value))
    return terms


def _joined(terms: list[tuple[str, int]]) -> str:
    if len(terms) > MAX_TERMS:
        rest = terms[MAX_TERMS - 1 :]
        terms = [*terms[: MAX_TERMS - 1], (f"{sum(value for _, value in rest):,} in {len(rest):,} more", 0)]
    return " + ".join(text for text, _ in terms)


NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
TIMES_PLUS = ((1, 0), (2, 0), (3, 0), (4, 0), (1, 2))
"""(factor, summand) of an axis: of two to four fused matrices, or of a position table with two spare rows."""
COUNTS = re.compile(r"layers?|groups?")
"""Entries that count layers."""
NOT_SIZES, NOT_COUNTS = re.compile(r"layers?|groups?|heads?(\b|_)"), re.compile(r"layers?|groups?")
"""Entries that are no length of an axis, and those that are none even where no other has the value."""
HEADS, HEAD_WIDTHS = re.compile(r"heads$"), re.compile(r"^(d_kv|head_dim|d_head)$")
"""Entries whose product is the length of an axis, where the width of a head is an entry of its own."""


def fits_class(architecture: str, config: Mapping[str, Any], facts: TypeFacts, ledger: Ledger) -> bool:
    """Whether a file certainly has the parameters of the class of its config, no more and no less."""
    table = type_tensors(facts.model_type)
    if not table or not (architecture == facts.base_class or architecture in table["classes"]):
        return False
    if table["tied"] != bool(config.get("tie_word_embeddings", facts.defaults.get("tie_word_embeddings", False))):
        return False
    if any(_choice(config.get(key), value) != value for key, value in table["choices"].items()):
        return False
    prefix = f"{facts.of_class(architecture).prefix}."
    own = table["classes"].get(architecture, {"has": {}, "lacks": ()})
    base = {name: row for name, row in table["base"].items() if name not in own["lacks"]}
    found: dict[str, list[Parameter]] = {}
    for row in ledger.parameters:
        if row.tied_to is None:
            name = NUMBER.sub("*", row.name)
            bare = name.removeprefix(prefix)
            found.setdefault(bare if bare in base and name not in own["has"] else name, []).append(row)
    sizes = {key: (value, _entry(config, key, value)) for key, value in table["sizes"].items()}
    labels = {"num_labels": (2, len(config.get("id2label") or (0, 1)))}
    of_head = {**{key: pair for key, pair in sizes.items() if key != "type_vocab_size"}, **labels}
    return found.keys() == base.keys() | own["has"].keys() and all(
        _fits(rows, base[name], sizes) if name in base else _fits(rows, own["has"][name], of_head)
        for name, rows in found.items()
    )


def _choice(value: Any, default: Any) -> Any:
    """The value of an entry; lists may be written as one text (pos_att_type)."""
    is_text = isinstance(value, str) and isinstance(default, list)
    return default if value is None else value.lower().split("|") if is_text else value


def _entry(config: Mapping[str, Any], key: str, default: int) -> int:
    value = config.get(key, default)
    return value if type(value) is int else default


def _fits(rows: Sequence[Parameter], packaged: Sequence[int], sizes: Mapping[str, tuple[int, int]]) -> bool:
    """Whether there are as many parameters of a name as the config has layers, each of the shape of its sizes.

    Where several entries of the packaged config have a size, their values must agree.
    """
    count, *shape = packaged
    if {len(rows)} != _counts(count, rows[0].name, sizes) or len({row.shape for row in rows}) > 1:
        return False
    axes = [_values(size, sizes) for size in shape]
    return len(axes) == len(rows[0].shape) and all(
        {size} == values for size, values in zip(rows[0].shape, axes, strict=True)
    )


def _counts(count: int, name: str, sizes: Mapping[str, tuple[int, int]]) -> set[int]:
    """How many parameters there may be of a name that the packaged config has so often."""
    if not NUMBER.search(name):
        return {count}
    for fewer in (0, 1):  # the first layer of ModernBERT has no norm before its attention
        found = {
            key: own - fewer for key, (default, own) in sizes.items() if COUNTS.search(key) and default - fewer == count
        }
        of_stack = {key: own for key, own in found.items() if ("decoder" in key) == ("decoder." in name)}
        if found:
            return set((of_stack or found).values())
    return {count}


def _values(size: int, sizes: Mapping[str, tuple[int, int]]) -> set[int]:
    """How long an axis may be that has this size in the packaged config: as an entry, as heads, or as a multiple."""
    heads, widths = ([pair for key, pair in sizes.items() if each.search(key)] for each in (HEADS, HEAD_WIDTHS))
    products = [(many * wide, own * width) for many, own in heads for wide, width in widths]
    for pattern in (NOT_SIZES, NOT_COUNTS):
        pairs = [pair for key, pair in sizes.items() if not pattern.search(key)]
        if found := {own for packaged, own in (*pairs, *products) if packaged == size}:
            return found
    for pattern in (NOT_SIZES, NOT_COUNTS):
        pairs = [*products, *(pair for key, pair in sizes.items() if not pattern.search(key))]
        if found := {
            times * own + plus
            for times, plus in TIMES_PLUS
            for packaged, own in pairs
            if times * packaged + plus == size
        }:
            return found
    return {size}


FOREIGN = (
    "The file's names begin with {}, which the class does not know: they are counted without it, and transformers "
    "would not load them so. The load report tells how to repair the file."
)


def balanced_ledger(
    name: str,
    config: Mapping[str, Any],
    architecture: str,
    source: LedgerSource,
    parameters: list[Parameter],
    buffers: list[Buffer],
    stored: tuple[int, int] | None,
) -> Ledger:
    """Compute the sums of a ledger.

    Args:
        stored: number of tensors and bytes in the file, if any.
    """
    parameters = layer_numbers(parameters)
    counted = [row for row in parameters if row.tied_to is None]
    sums: dict[tuple[str, int], dict[str, int]] = {}
    groups: dict[str, list[Parameter]] = {part: [] for part in COMPONENTS}
    for row in counted:
        component, layer = row.component, row.layer
        groups[component].append(row)
        if layer is not None:
            where = (component, layer)
            if where not in sums:
                sums[where] = dict.fromkeys(PARTS, 0)
            sums[where][row.part] += row.numel
    total = sum(row.numel for row in counted)
    layers = _layers(sums, config)
    return Ledger(
        model=name,
        model_type=str(config.get("model_type", "")),
        architecture=architecture,
        source=source,
        parameters=tuple(parameters),
        buffers=tuple(buffers),
        components=tuple(_component(part, rows, layers) for part, rows in groups.items() if rows),
        layers=layers,
        total=total,
        trainable=total - sum(row.numel for row in counted if not row.trainable),
        tensors=len(counted),
        tied=len(parameters) - len(counted),
        nbytes=int(sum(row.numel * DTYPE_NBYTES.get(row.dtype, 4) for row in counted)),
        stored_tensors=stored[0] if stored else None,
        stored_nbytes=stored[1] if stored else None,
    )


def _component(name: str, rows: list[Parameter], layers: tuple[LayerCount, ...]) -> ComponentCount:
    inside = [layer.total for layer in layers if layer.component == name]
    outside = [row for row in rows if row.layer is None] if inside else rows
    total = sum(inside) + sum(row.numel for row in outside)
    return ComponentCount(name, total, len(rows), component_arithmetic(inside, outside))


def _layers(sums: Mapping[tuple[str, int], dict[str, int]], config: Mapping[str, Any]) -> tuple[LayerCount, ...]:
    """One row per layer, in order."""
    runs = layer_applications(config)
    return tuple(
        LayerCount(component, layer, sum(parts.values()), **parts, applications=runs.get(layer, 1))
        for (component, layer), parts in sorted(sums.items(), key=itemgetter(0))
    )


PACKED_NAMES = (
    *(".qweight", ".qzeros", ".SCB", ".absmax", ".quant_map", ".weight_packed", ".weight_scale", ".weight_scale_inv"),
)
"""Suffixes of packed weights and scales of GPTQ, AWQ, bitsandbytes, compressed tensors and fine-grained FP8."""
WHOLE_NUMBERS = frozenset(("int64", "int32", "bool"))
"""Dtypes of buffers, such as a table of position ids."""
WEIGHTS = (".weight", ".bias")
"""Suffixes of parameters in any dtype."""


def source_ledger(source: ModelSource, settings: Settings, task: str | None = None) -> Ledger:
    """The ledger of a model, from its header if available, otherwise from its config.

    Args:
        task: build the class of this task from the config; None for the content of the checkpoint, which that of an
            adapter's own class is, too.
    """
    if source.adapter is not None and source.folder is not None and source.has_weights:
        own = adapter_ledger(source, source.adapter, settings)
        if task is None or config_ledger(source.name, source.config, task).architecture == own.architecture:
            return own
    if task is None and source.has_weights and source.folder is not None:
        return stored_ledger(source.name, source.config, encoder_header(source.folder), source.folder)
    if task is None and source.kind == "hub" and source.hub_id is not None:
        with suppress(HubError):  # the Hub became unreachable: use the config
            header = sources.fetch_header(source.hub_id, source.revision, settings.hub_endpoint)
            return stored_ledger(source.name, source.config, header)
    if task is None and source.folder is not None and source.kind == "local":
        _refuse_broken_weights(source.folder)
    return config_ledger(source.name, source.config, task or "base")


def adapter_ledger(source: ModelSource, part: AdapterPart, settings: Settings) -> Ledger:
    """The ledger of an adapter: the frozen parameters of its base, and beside them its own, which were trained."""
    fit, base = fitted_adapter(source, part, settings)
    same = partial(same_merged, fit, base)
    header = read_header(base)
    added = {name for name, _ in fit.saved} - {tensor.name for tensor in header.tensors}
    whole = header_ledger(source.name, source.config, merged_header(header, fit), same=same, added=added)
    rows = adapter_rows(whole.parameters, fit)
    own = [half for _, update in fit.updates for half in (update.first, update.second)]
    stored = ((whole.stored_tensors or 0) + len(own), (whole.stored_nbytes or 0) + sum(each.nbytes for each in own))
    ledger = balanced_ledger(
        source.name, source.config, whole.architecture, "header", rows, list(whole.buffers), stored
    )
    return replace(ledger, note=adapter_note(fit, part.base.name, header, ledger, whole.total))


def stored_ledger(name: str, config: Mapping[str, Any], header: CheckpointHeader, folder: Path | None = None) -> Ledger:
    """The ledger of a checkpoint from its header, or from its config if the file is quantized."""
    packing = packed_by(config, header)
    if not packing:
        return header_ledger(name, config, header, folder)
    architecture = saved_class(config)
    ledger = config_ledger(name, config, task_of_class(name, config, architecture))
    whole = "" if ledger.architecture == architecture else f", without the head of {architecture}"
    note = (
        f"The file is quantized ({packing}): it holds packed numbers, scales and offsets, not one number for each "
        f"parameter. Counted is the model before that, {ledger.architecture} built from the config{whole}."
    )
    if config.get("quantization_config"):  # which the model's receipt says
        note = f"Counted is {ledger.architecture}{whole}." if whole else ""
    return replace(
        ledger,
        stored_tensors=len(header.tensors),
        stored_nbytes=sum(tensor.nbytes for tensor in header.tensors),
        note=note,
    )


def packed_by(config: Mapping[str, Any], header: CheckpointHeader) -> str:
    """The quantization method of a file, by its config or by names of packed tensors; "" if it is not quantized."""
    quantization = config.get("quantization_config")
    if isinstance(quantization, Mapping) and quantization:
        return escape_controls(str(quantization.get("quant_method") or "method not named"))[:40]
    return "method not named" if any(tensor.name.endswith(PACKED_NAMES) for tensor in header.tensors) else ""


def header_ledger(
    name: str,
    config: Mapping[str, Any],
    header: CheckpointHeader,
    folder: Path | None = None,
    same: SameValues | None = None,
    added: Collection[str] = (),
) -> Ledger:
    """The ledger of the content of a checkpoint; torch is not imported.

    Args:
        folder: the folder with the files of the header, where tied parameters that are stored twice are compared; None
            if they are not at hand.
        same: compares them instead.
        added: names of tensors that an adapter adds, as they are in the class, such as those of its task head.
    """
    facts = catalog.type_facts(str(config.get("model_type")))
    if facts is None:
        raise CheckpointError(f"{name!r}: transformers does not know the model type {config.get('model_type')!r}.")
    architecture = saved_class(config) or facts.base_class
    base_only = architecture == facts.base_class
    named, own, foreign = file_names(header.tensors, facts, architecture)
    before, keeps = f"{own.prefix}.", base_only and facts.keeps_prefix
    wrapped = any(path.startswith(before) and tensor.name not in added for path, _, tensor in named) and not keeps
    if added and own.prefix and not wrapped and not base_only:
        named = [(path if tensor.name in added else before + path, shape, tensor) for path, shape, tensor in named]
        wrapped = True
    stored = {path: tensor for path, shape, tensor in named if shape == tensor.shape}
    pairs = tie_pairs(architecture, own.prefix if wrapped else "", config, facts)
    at_hand = folder if all(tensor.file in header.files for tensor in header.tensors) else None
    ties = ties_of_file(pairs, stored, same or partial(same_values, at_hand))
    classifier = NameClassifier(facts.model_type, own.prefix, wrapped)
    parameters, buffers = _header_rows(named, classifier, ties.tied)
    parameters += left_out(
        ties.tied, parameters, stored, classifier, with_head=architecture in facts.own_classes and not base_only
    )
    parameters += unsaved_rows(own, config, parameters, classifier)
    filled = wrapped or base_only or any(source in stored for source in own.tied.values())
    both = config.get("is_encoder_decoder") or facts.defaults.get("is_encoder_decoder")  # T5EncoderModel saves False
    encoder_alone = bool(both) and not any(row.component == "decoder" for row in parameters)
    headless = architecture.endswith("Model") and "Head" not in architecture  # FunnelBaseModel beside FunnelModel
    shown = architecture if filled or encoder_alone or headless or not facts.base_class else facts.base_class
    ledger = balanced_ledger(
        name,
        config,
        shown,
        "header",
        parameters,
        buffers,
        (len(header.tensors), sum(tensor.nbytes for tensor in header.tensors)),
    )
    notes = [FOREIGN.format(quoted(foreign))] if foreign else []
    notes += tie_notes(ties, stored)
    if bare := [row for row in parameters if row.stored_name and row.dtype not in REAL_NUMBERS]:
        notes.append(tensors_not_scaled([row.name for row in bare], bare[0].dtype))
    return replace(ledger, note=" ".join(notes), fits=not foreign and fits_class(architecture, config, facts, ledger))


def same_values(folder: Path | None, first: StoredTensor, second: StoredTensor) -> bool | None:
    """Whether two stored tensors have the same values; None if the folder with their files is not at hand."""
    return None if folder is None else same_bytes(folder, first, second)


def tie_notes(ties: FileTies, stored: Mapping[str, StoredTensor]) -> list[str]:
    """Sentences about tied parameters that the file stores nevertheless."""
    notes = []
    for alias, owner in ties.apart.items():
        notes.append(
            f"The config ties {quoted(alias)} to {quoted(owner)}, and the file holds other values for it: both are "
            "counted, as transformers then keeps both."
        )
    if ties.repeated:
        notes.append(f"The file stores the values of {_and_more(ties.repeated)} twice, tied: they are counted once.")
    if ties.unread:
        more = sum(math.prod(stored[alias].shape) for alias in ties.unread)
        notes.append(
            f"The file stores {_and_more(ties.unread)}, tied by the config, and only its header was read: they are not "
            f"counted again; with values of their own there would be {more:,} parameters more."
        )
    return notes


def _and_more(names: Sequence[str]) -> str:
    return quoted(names[0]) + (f" and {len(names) - 1:,} more" if len(names) > 1 else "")


def _header_rows(
    named: Sequence[NamedTensor], classifier: NameClassifier, ties: Mapping[str, str]
) -> tuple[list[Parameter], list[Buffer]]:
    """The parameters of a file, sorted, and its buffers."""
    rows: list[tuple[tuple[int, int, int, str], Parameter]] = []
    buffers: list[Buffer] = []
    for name, shape, stored in named:
        role, layer = classifier.classify(name)
        if role.buffer or (stored.dtype in WHOLE_NUMBERS and not name.endswith(WEIGHTS)):
            buffers.append(Buffer(name, shape, stored.dtype, stored=True))
            continue
        row = Parameter(
            name=name,
            stored_name=stored.name,
            shape=shape,
            numel=math.prod(shape),
            dtype=stored.dtype,
            trainable=not role.frozen,
            tied_to=ties.get(name),
            component=role.component,
            layer=layer,
            part=role.part,
        )
        rows.append((reading_order(name, role, layer), row))
    return [row for _, row in sorted(rows, key=itemgetter(0))], buffers


def config_ledger(name: str, config: Mapping[str, Any], task: str = "base") -> Ledger:
    """The ledger of the class of a config, built on the meta device."""
    return module_ledger(name, build_skeleton(name, config, task), source="config")


def module_ledger(name: str, module: "torch.nn.Module", source: LedgerSource = "module") -> Ledger:
    """The ledger of a transformers model in memory."""
    configured: Any = getattr(module, "config", None)
    config = configured.to_dict() if configured is not None else {}
    architecture = type(module).__name__
    facts = catalog.type_facts(str(config.get("model_type")))
    prefix = getattr(module, "base_model_prefix", "")
    wrapped = bool(prefix) and hasattr(module, prefix) and not (facts and facts.base_class == architecture)
    classifier = NameClassifier(str(config.get("model_type", "")), prefix, wrapped)
    named = list(module.named_parameters(remove_duplicate=False))
    owners = _owners(module, named)
    parameters = []
    for path, value in named:
        dtype, owner = str(value.dtype).removeprefix("torch."), owners[id(value)]
        tied_to = None if owner == path else owner
        parameters.append(classifier.named_row(path, tuple(value.shape), dtype, tied_to, value.requires_grad))
    stored_names = set(module.state_dict())
    buffers = [
        Buffer(path, tuple(value.shape), str(value.dtype).removeprefix("torch."), stored=False)
        for path, value in module.named_buffers()
        if path in stored_names
    ]
    return balanced_ledger(name, config, architecture, source, parameters, buffers, None)


def _owners(module: "torch.nn.Module", named: "list[tuple[str, torch.nn.Parameter]]") -> dict[int, str]:
    """The id of a parameter -> the name under which it is counted; the class declares which names are tied to it."""
    borrowed = set(getattr(module, "all_tied_weights_keys", None) or {})
    owners: dict[int, str] = {}
    for path, value in sorted(named, key=lambda item: item[0] in borrowed):
        owners.setdefault(id(value), path)
    return owners


def _refuse_broken_weights(folder: Path) -> None:
    """Refuse a folder with unreadable weights; a folder with only a config is permitted."""
    if any(path.name.startswith(("model", "pytorch_model", "tf_model")) for path in folder.iterdir()):
        read_header(folder)
