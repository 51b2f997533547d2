"""Convert parameter names from file to module, classify them, and find tied parameters."""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

import msgspec

from bertviz_core.models import catalog
from bertviz_core.models.catalog import ClassFacts
from bertviz_core.models.safetensors.results import StoredTensor
from bertviz_core.parameters.components import (
    BLOCK,
    COMPONENTS,
    component_of,
    count_in,
    inside_layer,
    is_stack_or_embedding,
    part_of,
    reading_rank,
)
from bertviz_core.parameters.results import Parameter

LEGACY = (
    {"from": ["LayerNorm.gamma"], "to": ["LayerNorm.weight"]},
    {"from": ["LayerNorm.beta"], "to": ["LayerNorm.bias"]},
)
MOST_DIGITS = 9
"""Maximum digits of an index in a list of modules."""
OLD_NAMES = (".gamma", ".beta")
NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
"""A layer or group index; names in the catalogue have * instead."""
OTHER_SENSES = re.compile(r"(^|\.)((vision|image|audio|speech)_(model|tower|encoder|backbone)|visual)\.")
"""Names of other modalities, whose layers are not those of the text model."""
BUFFER = re.compile(
    r"(^|\.)(position_ids|token_type_ids|num_batches_tracked|running_mean|running_var|inv_freq|masked_bias"
    r"|final_logits_bias|dft_mat_hidden|dft_mat_seq"
    r"|h\.\d+\.attn\.bias)$"
)

NamedTensor = tuple[str, tuple[int, ...], StoredTensor]
"""Name in the module, shape, and the stored tensor that contains it, entirely or as one of equal slices."""


def module_tensors(tensors: Sequence[StoredTensor], facts: ClassFacts, base_only: bool) -> list[NamedTensor]:
    """The stored tensors with their names in the module.

    Args:
        base_only: whether it is a base class, so that a common prefix is removed.
    """
    if facts.renames or any(tensor.name.endswith(OLD_NAMES) for tensor in tensors):
        steps = (*facts.renames, *LEGACY)
        named = [cut for tensor in tensors for cut in _renamed(tensor, steps)]
    else:
        named = [(tensor.name, tensor.shape, tensor) for tensor in tensors]
    prefix = f"{facts.prefix}."
    if base_only and facts.prefix and all(name.startswith(prefix) for name, _, _ in named):
        return [(name.removeprefix(prefix), shape, tensor) for name, shape, tensor in named]
    return named


def file_names(
    tensors: Sequence[StoredTensor], facts: catalog.TypeFacts, architecture: str
) -> tuple[list[NamedTensor], ClassFacts, str]:
    """The stored tensors with their names in the module, the facts about its class, and the prefix of a wrapper."""
    own, base_only = facts.of_class(architecture), architecture == facts.base_class and not facts.keeps_prefix
    named = module_tensors(tensors, own, base_only)
    foreign = foreign_prefix([path for path, _, _ in named], own.prefix)
    if foreign:
        bare = [msgspec.structs.replace(tensor, name=tensor.name.removeprefix(foreign)) for tensor in tensors]
        whole = {each.name: tensor for each, tensor in zip(bare, tensors, strict=True)}
        renamed = module_tensors(bare, own, base_only)
        named = [(path, shape, whole[tensor.name]) for path, shape, tensor in renamed]
    prefix = own_prefix((path for path, _, _ in named), own, facts)
    return named, replace(own, prefix=prefix or own.prefix), foreign


def foreign_prefix(names: Sequence[str], prefix: str) -> str:
    """Prefix of a wrapper on nearly all names ("module.", "net.", "_orig_mod.", "model.bert."); "" if there is none.

    Prefixes of transformers' own classes do not count; "model." counts only if the prefix of the class follows.
    """
    common, rest = "", list(names)
    while rest:
        heads = Counter(name.partition(".")[0] for name in rest)
        head, count = heads.most_common(1)[0]
        own = head == prefix or is_stack_or_embedding(head)
        wraps_own = head != prefix and any(name.startswith(f"{head}.{prefix}.") for name in rest)
        if count < MOSTLY * len(names) or (own and not wraps_own) or head in rest:
            leads_on = any(each == prefix or is_stack_or_embedding(each) for each in heads)
            return common if leads_on else ""
        common += f"{head}."
        rest = [name.removeprefix(common) for name in names if name.startswith(common)]
    return ""


def _renamed(tensor: StoredTensor, steps: Sequence[Mapping[str, Any]]) -> list[NamedTensor]:
    name = tensor.name
    for step in steps:
        match = _pattern(tuple(step["from"])).search(name)
        if match is None:
            continue
        targets = [_filled(target, match) for target in step["to"]]
        renamed = [name.replace(match.group(0), target, 1) for target in targets]
        if "chunk" not in step:
            name = renamed[0]
        elif tensor.shape and tensor.shape[step["chunk"]] % len(targets) == 0:
            axis = step["chunk"]
            shape = (*tensor.shape[:axis], tensor.shape[axis] // len(targets), *tensor.shape[axis + 1 :])
            return [(new_name, shape, tensor) for new_name in renamed]
    return [(name, tensor.shape, tensor)]


@cache
def _pattern(sources: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern for several sources, the longest first, each ending at the boundary of a name."""
    branches = []
    for source in sorted(sources, key=len, reverse=True):
        pattern = source.replace("*.", r".*\.")
        branches.append(f"(?:{pattern})" + (r"(?!\w)" if re.search(r"[a-zA-Z0-9]$", pattern) else ""))
    return re.compile("|".join(branches))


def _filled(target: str, match: re.Match[str]) -> str:
    groups = [group for group in match.groups() if group is not None]
    return target.replace(r"\1", groups[0]) if groups and r"\1" in target else target


MOSTLY = 0.9
"""Minimum share of names with the prefix of a wrapper, whose own tensors (a loss) may lack it."""
MAX_FORMS = 10_000
"""Size of the caches of names and patterns of names."""


class ParameterRole(NamedTuple):
    """Properties shared by all names that differ only in their numbers."""

    component: str
    part: str
    """Part of the layer; "other" outside the layers."""
    counters: tuple[int, ...]
    """Indices of the dotted parts with its layer number (or block and index); () outside the layers."""
    stage: int
    """Rank of its group: for each component what precedes, forms and follows the layers."""
    rank: int
    """Rank within its layer or stage."""
    frozen: bool
    """Whether it is never trained."""
    buffer: bool


@dataclass(frozen=True, slots=True)
class NameClassifier:
    """Classifies the parameter names of a model."""

    model_type: str
    prefix: str
    """The family's base_model_prefix."""
    wrapped: bool
    """Whether names of the base model have that prefix."""

    def classify(self, name: str) -> tuple[ParameterRole, int | None]:
        """Role of a parameter and the index of its layer, None outside the layers."""
        return _classify(name, self.model_type, self.prefix, self.wrapped)

    def named_row(
        self, name: str, shape: tuple[int, ...], dtype: str, tied_to: str | None, trainable: bool
    ) -> Parameter:
        """The row of a parameter that is not in a file."""
        role, layer = self.classify(name)
        count = math.prod(shape)
        return Parameter(name, None, shape, count, dtype, trainable, tied_to, role.component, layer, role.part)


def reading_order(name: str, role: ParameterRole, layer: int | None) -> tuple[int, int, int, str]:
    """Sort key of parameters; a bias follows its weight."""
    sort_name = f"{name.removesuffix('bias')}~" if name.endswith(".bias") else name  # "~" sorts after all letters
    return role.stage, layer or 0, role.rank, sort_name


@lru_cache(maxsize=MAX_FORMS)
def _classify(name: str, model_type: str, prefix: str, wrapped: bool) -> tuple[ParameterRole, int | None]:
    """NameClassifier.classify, cached, since checkpoints of a family share their names."""
    *modules, leaf = name.split(".")
    role = _role_of_form(".".join([*map(_form_of, modules), leaf]), model_type, prefix, wrapped)
    if not role.counters:
        return role, None
    layer, *inner = [int(modules[position]) for position in role.counters]
    return role, layer * BLOCK + inner[0] if inner else layer


@lru_cache(maxsize=MAX_FORMS)
def _form_of(module: str) -> str:
    """The name of a module, or 0 for an index."""
    if not module.isdecimal():
        return module
    return "0" if len(module) <= MOST_DIGITS else "digits"


@lru_cache(maxsize=MAX_FORMS)
def _role_of_form(form: str, model_type: str, prefix: str, wrapped: bool) -> ParameterRole:
    """The role of all names of a form, which has 0 in place of every number."""
    component = component_of(form, prefix, wrapped)
    of_text = component in ("encoder", "decoder") and not OTHER_SENSES.search(form)
    location = inside_layer(form, model_type) if of_text else None
    spans, inside = location or ((), "")
    counters = tuple(form.count(".", 0, span.start) for span in spans)
    part = part_of(inside, form, model_type) if location else ""
    behind, rank = reading_rank(form, component, part)
    stage = 3 * COMPONENTS.index(component) + (1 if counters else 2 * behind)
    pattern = NUMBER.sub("*", form).removeprefix(f"{prefix}.")
    facts = catalog.type_facts(model_type)
    frozen = facts is not None and pattern in facts.frozen
    buffer = BUFFER.search(form) is not None or (facts is not None and pattern in facts.buffers)
    return ParameterRole(component, part or "other", counters, stage, rank, frozen, buffer)


Ties = Sequence[tuple[str, str]]
"""Pairs of an alias and the parameter whose values it shares."""
SameValues = Callable[[StoredTensor, StoredTensor], bool | None]
"""Whether two stored tensors hold the same values; None if the values are not at hand."""


def own_prefix(names: Iterable[str], own: ClassFacts, facts: catalog.TypeFacts) -> str:
    """The prefix of the base model in a file: that of the class if names have it, or that of another class of the type.

    A config may name no class, the base class, or another one, whatever the file holds.
    """
    others = (facts.of_class(each).prefix for each in facts.own_classes)
    heads = {name.partition(".")[0] for name in names if "." in name}
    return next((each for each in (own.prefix, facts.prefix, *others) if each in heads), "")


def tie_pairs(architecture: str, prefix: str, config: Mapping[str, Any], facts: catalog.TypeFacts) -> Ties:
    """All tied parameters of the class and its base model; of all classes of the type for one without a head.

    Args:
        prefix: prefix of the base model in the file; "" if there is none.
    """
    if not config.get("tie_word_embeddings", facts.defaults.get("tie_word_embeddings", False)):
        return ()
    own = facts.of_class(architecture)
    named = architecture != facts.base_class and architecture in facts.own_classes
    pairs = [
        each for name in ((architecture,) if named else facts.own_classes) for each in facts.of_class(name).tied.items()
    ]
    both = bool(config.get("is_encoder_decoder", facts.defaults.get("is_encoder_decoder")))
    if not (named and both and architecture.endswith("ForCausalLM")):  # a decoder alone
        stem = f"{prefix or own.prefix}."
        pairs += [(stem + alias, stem + to) for alias, to in facts.of_class(facts.base_class).tied.items()]
    if facts.model_type == "marian" and config.get("share_encoder_decoder_embeddings", True):
        pairs = _marian_pairs(prefix) + pairs  # tied by its constructor, unlike those of all other families
    return tuple(dict.fromkeys(pairs))


def _marian_pairs(prefix: str) -> list[tuple[str, str]]:
    stem = f"{prefix}." if prefix else ""
    inside = [(f"{stem}{stack}.embed_tokens.weight", f"{stem}shared.weight") for stack in ("encoder", "decoder")]
    return [*inside, ("lm_head.weight", f"{stem}shared.weight")] if prefix else inside


@dataclass(frozen=True, slots=True)
class FileTies:
    """Which tied parameters of a class share their values in a file, as transformers decides it when it loads them."""

    tied: Mapping[str, str]
    """Alias -> the parameter that it shares its values with, whose values are in the file."""
    repeated: tuple[str, ...]
    """Those of them that the file stores again, with the same values."""
    apart: Mapping[str, str]
    """Alias -> parameter, for those that the file stores with values of their own: they are not tied."""
    unread: tuple[str, ...]
    """Aliases that the file stores, with values that are not at hand; they count as tied."""


def ties_of_file(pairs: Ties, stored: Mapping[str, StoredTensor], same: SameValues) -> FileTies:
    """Compare tied parameters that are both stored; tie the others to one that is."""
    owners = {to: to for _, to in pairs if to in stored}
    for alias, to in pairs:
        if alias in stored:
            owners.setdefault(to, alias)  # transformers then ties the other way round
    tied: dict[str, str] = {}
    apart: dict[str, str] = {}
    repeated: list[str] = []
    unread: list[str] = []
    for alias, owner in ((alias, owners[to]) for alias, to in pairs if to in owners and owners[to] != alias):
        if alias in tied or alias in apart:
            continue
        equal = same(stored[owner], stored[alias]) if alias in stored else True
        if equal is False:
            apart[alias] = owner
            continue
        tied[alias] = owner
        if alias in stored:
            (unread if equal is None else repeated).append(alias)
    return FileTies(tied, tuple(repeated), apart, tuple(unread))


def unsaved_rows(
    own: ClassFacts, config: Mapping[str, Any], rows: Sequence[Parameter], classifier: NameClassifier
) -> list[Parameter]:
    """Rows of position tables that the class computes and never saves."""
    stored, dtype = {row.name for row in rows}, rows[0].dtype if rows else "float32"
    shape = count_in(config, "max_position_embeddings", 1024), count_in(config, "d_model", 1024)
    absent = [name for name in own.unsaved if name not in stored]
    return [classifier.named_row(name, shape, dtype, None, trainable=False) for name in absent]


def left_out(
    ties: Mapping[str, str], rows: list[Parameter], stored: Collection[str], classifier: NameClassifier, with_head: bool
) -> list[Parameter]:
    """Rows of tied parameters that are not in the file; only for modules with other stored parameters.

    Args:
        ties: alias -> the parameter that it shares its values with.
        with_head: whether the class has a head that may be a single tied matrix.
    """
    absent = {alias: to for alias, to in ties.items() if alias not in stored}
    if not absent:
        return []
    sources = set(absent.values())
    owners = {row.name: row for row in rows if row.name in sources}
    needed = {_part(alias) for alias in absent}
    parts = {part for part in needed if not part or any(row.name.startswith(f"{part}.") for row in rows)}
    return [
        classifier.named_row(alias, owners[to].shape, owners[to].dtype, to, owners[to].trainable)
        for alias, to in absent.items()
        if _part(alias) in parts and (with_head or _part(alias))
    ]


def _part(name: str) -> str:
    """Path of the parent of the module of a parameter."""
    return ".".join(name.split(".")[:-2])
