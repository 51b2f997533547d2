"""List what an adapter's file contains, and hold it against its settings and the tensors of its base; no value is read.

Names follow peft: `base_model.model.MODULE.lora_A.weight` and `lora_B.weight`, for embedding tables
`lora_embedding_A` and `lora_embedding_B`; every other tensor replaces the one of its name.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

from bertviz_core.errors import CheckpointError
from bertviz_core.models.safetensors.adapters.results import (
    Adapter,
    BaseClass,
    FittedAdapter,
    LowRankUpdate,
    SavedTensor,
)
from bertviz_core.models.safetensors.adapters.settings import (
    BIASES,
    MERGED,
    PLAIN,
    AdapterSettings,
    ModuleNames,
    adapter_settings,
    endings,
    targeted,
)
from bertviz_core.models.safetensors.folder import ADAPTER_WEIGHTS, read_file_header
from bertviz_core.models.safetensors.results import CheckpointHeader, StoredTensor
from bertviz_core.settings import OpenedConfig, changed
from bertviz_core.text import quoted

HEADS: Mapping[str, str] = {
    "SEQ_CLS": "ForSequenceClassification",
    "TOKEN_CLS": "ForTokenClassification",
    "QUESTION_ANS": "ForQuestionAnswering",
}
"""Task of peft -> ending of the class that has its head."""
LABELLED = ("ForSequenceClassification", "ForTokenClassification")
OUTPUTS = (
    *("classifier.weight", "classifier.out_proj.weight", "classification_head.out_proj.weight", "score.weight"),
    *("logits_proj.weight", "out_proj.weight"),
)
"""Last matrices of heads, with one row for each label."""
TABLES = frozenset(
    ("word_embeddings", "word_embedding", "embed_tokens", "embed_in", "embeddings", "shared", "tok_embeddings", "wte")
)
"""Modules of transformers with a row for each word."""
OWN = ("id2label", "label2id", "problem_type")
"""Entries of a config.json beside an adapter that say what its labels mean."""


def merged_config(
    base: Mapping[str, Any],
    base_class: str,
    settings: AdapterSettings,
    adapter: Adapter | None,
    beside: Mapping[str, Any],
) -> OpenedConfig:
    """The config of the merged model.

    Args:
        base_class: class of the family without a head, such as "BertModel".
        adapter: the adapter; None if its tensors are not on this machine.
        beside: the config.json beside the adapter; empty if there is none.
    """
    entries = dict(base)
    current = str((base.get("architectures") or [base_class])[0])
    ending = HEADS.get(settings.task_type, "")
    if settings.base_class.isidentifier() or (ending and base_class and not current.endswith(ending)):
        entries["architectures"] = [trained_class(base_class, settings)]
    labels = _labels(adapter)
    if str((entries.get("architectures") or [""])[0]).endswith(LABELLED) and labels:
        known = entries.get("id2label")
        if not isinstance(known, Mapping) or len(known) != labels:
            entries["id2label"] = {str(label): f"LABEL_{label}" for label in range(labels)}
            entries["label2id"] = {f"LABEL_{label}": label for label in range(labels)}
            entries.pop("num_labels", None)
    if (rows := _rows(adapter)) is not None:
        entries["vocab_size"] = rows
    return changed(base, {**entries, **{key: beside[key] for key in OWN if key in beside}})


def trained_class(base_class: str, settings: AdapterSettings) -> str:
    """The class that an adapter was trained with, by its settings; "" if they do not tell."""
    if settings.base_class.isidentifier():
        return settings.base_class
    ending = HEADS.get(settings.task_type, "")
    headless = base_class if settings.task_type == "FEATURE_EXTRACTION" else ""
    return f"{base_class.removesuffix('Model')}{ending}" if ending and base_class else headless


def _labels(adapter: Adapter | None) -> int | None:
    """Number of labels of a saved head; None without one."""
    if adapter is None:
        return None
    ends = (each for each in adapter.saved if f".{each.name}".endswith(tuple(f".{name}" for name in OUTPUTS)))
    return next((each.stored.shape[0] for each in ends if len(each.stored.shape) == 2), None)


def _rows(adapter: Adapter | None) -> int | None:
    """Size of the vocabulary by a table of embeddings in the file, which peft saves if it was resized; None without."""
    if adapter is None:
        return None
    named = [(each.parameter, each.table) for each in adapter.updates if each.table is not None]
    named += [(each.name, each.stored) for each in adapter.saved]
    tables = (stored for name, stored in named if name.split(".")[-2:-1] and name.split(".")[-2] in TABLES)
    return next((stored.shape[0] for stored in tables if len(stored.shape) == 2), None)


ROOT = "base_model.model."
HALVES = {
    ".lora_A.weight": (False, 0),
    ".lora_B.weight": (False, 1),
    ".lora_embedding_A": (True, 0),
    ".lora_embedding_B": (True, 1),
}
"""Ending of a tensor's name -> whether it belongs to an embedding table, and its place in the pair."""
WRAPPERS = (".modules_to_save.default", ".modules_to_save", ".base_layer")
"""Parts of names that older versions of peft left in."""
NUMBER = re.compile(r"(?<=\.)[0-9]{1,9}(?=\.)")
"""The number of a layer in a name."""


def read_adapter(name: str, folder: Path) -> Adapter:
    """List the contents of the adapter in a folder."""
    settings = adapter_settings(name, folder)
    tensors, _ = read_file_header(folder / ADAPTER_WEIGHTS)
    names = {tensor.name for tensor in tensors}
    # With bias="all" peft writes the biases of saved modules a second time, under the names that they have inside it.
    repeats = {each for each in names if ".modules_to_save." in each and _unwrapped(each) in names}
    pairs: dict[tuple[str, bool], list[StoredTensor | None]] = {}
    saved = []
    for tensor in tensors:
        own = tensor.name.removeprefix(ROOT)
        ending = next((each for each in HALVES if own.endswith(each)), "")
        if ending:
            is_embedding, place = HALVES[ending]
            pairs.setdefault((own.removesuffix(ending), is_embedding), [None, None])[place] = tensor
        elif ".lora_" in own or ".ia3_" in own or "prompt_" in own:
            raise CheckpointError(
                f"The adapter {quoted(name)} contains {quoted(own)}, which is no part of a plain LoRA update; {MERGED}."
            )
        elif ".original_module." not in own and tensor.name not in repeats:
            saved.append(SavedTensor(_unwrapped(own), tensor))
    # Beside the update of a table of embeddings, peft may write the table itself.
    tables = {each.name: each.stored for each in saved if each.stored.name.endswith(".base_layer.weight")}
    updates = tuple(_update(name, settings, *key, first, second, tables) for key, (first, second) in pairs.items())
    used = {each.parameter for each in updates if each.table is not None}
    saved = [each for each in saved if each.name not in used]
    if not updates and not saved:
        raise CheckpointError(f"The adapter {quoted(name)} is empty: {ADAPTER_WEIGHTS} has no tensor.")
    _refuse_repeats(name, [*(each.parameter for each in updates), *(each.name for each in saved)])
    return Adapter(name, folder, settings, updates, tuple(saved))


class _Base:
    """The tensors of a base, by the names that the adapter has for them."""

    def __init__(self, adapter: Adapter, name: str, header: CheckpointHeader, base_class: BaseClass) -> None:
        self.adapter, self.name = adapter, name
        self.prefix, self.tied, self.rows = base_class.prefix, base_class.tied, base_class.vocab_size
        self.architecture, self.has_pooler = base_class.architecture, base_class.has_pooler
        self.by_name = {tensor.name: tensor for tensor in header.tensors}
        self.by_bare = {tensor.name.removeprefix(self.prefix): tensor for tensor in header.tensors}

    def find(self, name: str) -> StoredTensor | None:
        """The tensor with a name in the class that the adapter was trained with."""
        return self.by_name.get(name) or self.by_bare.get(name.removeprefix(self.prefix))

    def of_encoder(self) -> dict[str, StoredTensor]:
        """The tensors outside heads, under the names that they have in the class that the adapter was trained with."""
        names = (*(each.module for each in self.adapter.updates), *(each.name for each in self.adapter.saved))
        lead = self.prefix if any(name.startswith(self.prefix) for name in names) else ""
        has_heads = any(name.startswith(self.prefix) for name in self.by_name)
        return {
            lead + name.removeprefix(self.prefix): tensor
            for name, tensor in self.by_name.items()
            if not has_heads or name.startswith(self.prefix)
        }

    def is_resized(self, stored: StoredTensor, shape: Sequence[int]) -> bool:
        """Whether a tensor has a row for each word of another vocabulary, and is otherwise as in the base."""
        return stored.shape[:1] == (self.rows,) and stored.shape[1:] == tuple(shape[1:])

    @property
    def both(self) -> str:
        """Words for an adapter that does not fit."""
        return f"the adapter {quoted(self.adapter.name)} was made for another base than {quoted(self.name)}"


def fitted(adapter: Adapter, base: str, header: CheckpointHeader, base_class: BaseClass) -> FittedAdapter:
    """Match an adapter to the files of its base."""
    known = _Base(adapter, base, header, base_class)
    whole = ModuleNames(adapter.settings.modules_to_save)
    listed = {each.name: around for each in adapter.saved if (around := whole.around(each.name))}
    _refuse_missing_modules(known, whole, listed)
    updates = tuple((_updated(each, known), each) for each in adapter.updates)
    saved = [(_place(each, known, each.name in listed), each) for each in adapter.saved]
    missing = (*_missing_updates(known), *_missing_biases(known))
    resized = [*((stored, each.table) for stored, each in updates if each.table), *_replaced(saved, known)]
    more = next((_resized(known, stored, own) for stored, own in resized if stored.shape != own.shape), "")
    unused, foreign = _unused_patterns(adapter), _foreign_head(known)
    # Of two names of one tied tensor, the base has only one.
    modules = {place: _as_trained(each, known, listed) for place, each in saved if place}
    notices = tuple(filter(None, (*missing, more, _tied_update(updates, known), unused, foreign)))
    return FittedAdapter(adapter, updates, tuple(modules.items()), notices)


def _updated(update: LowRankUpdate, base: _Base) -> StoredTensor:
    """The tensor of the base that an update changes."""
    stored = base.find(update.parameter)
    if stored is None and update.parameter in base.tied:
        raise CheckpointError(
            f"The adapter {quoted(base.adapter.name)} updates {quoted(update.parameter)}, which in {quoted(base.name)} "
            f"is one matrix with {quoted(base.tied[update.parameter])} (tie_word_embeddings); peft changes the first "
            "alone, and both when it is merged. Train it on a base whose two tables are stored apart."
        )
    if stored is None:
        raise CheckpointError(
            f"There is no matrix {quoted(update.parameter)} in {quoted(base.name)}: {base.both}, or the files of the "
            "base have other names than the class that peft trained; merge it with peft and open the result."
        )
    shape = update_shape(update, base.adapter.settings.fan_in_fan_out)
    if update.table is not None and update.table.shape != shape:
        raise CheckpointError(
            f"{quoted(update.table.name)} has the shape {update.table.shape}, its update {shape}; fetch or save the "
            f"adapter {quoted(base.adapter.name)} again."
        )
    if stored.shape != shape and not (update.table is not None and base.is_resized(stored, shape)):
        if base.is_resized(stored, shape):
            raise CheckpointError(_not_resized(base, stored, shape))
        raise CheckpointError(f"{quoted(stored.name)} has the shape {stored.shape}, its update {shape}: {base.both}.")
    if "float" not in stored.dtype or stored.dtype.startswith(("float8", "float4", "float6")):
        raise CheckpointError(
            f"{quoted(stored.name)} of {quoted(base.name)} is stored as {stored.dtype}; an adapter is added to numbers "
            "of 16 bits or more. Give the base in float32 or bfloat16."
        )
    return stored


def _tied_update(updates: Sequence[tuple[StoredTensor, LowRankUpdate]], base: _Base) -> str:
    """A notice about an update of a table that the output layer of the trained class shares."""
    if not base.prefix or base.adapter.settings.task_type in HEADS:
        return ""
    owners = {owner: alias for alias, owner in base.tied.items() if not alias.startswith(base.prefix)}
    for stored, update in updates:
        alias = owners.get(update.parameter) if update.module.startswith(base.prefix) else None
        if alias is not None and base.find(alias) is None:
            return (
                f"The adapter {quoted(base.adapter.name)} updates {quoted(stored.name)}, which {quoted(base.name)} "
                f"shares with {quoted(alias)}: here both change, as after merge_and_unload of peft; before it, peft "
                f"leaves {quoted(alias)} as it was, and its words at a mask differ."
            )
    return ""


def update_shape(update: LowRankUpdate, fan_in_fan_out: bool) -> tuple[int, int]:
    """The shape of an update as its matrix is stored."""
    rows, columns = update.second.shape[0], update.first.shape[1]
    return (columns, rows) if update.is_embedding or fan_in_fan_out else (rows, columns)


def _place(saved: SavedTensor, base: _Base, listed: bool) -> str:
    """Name in the files of the base that a saved tensor replaces; its own if the base lacks it, "" for one not needed.

    A tensor that peft would not read, since the settings do not name it, is refused.
    """
    stored, shape, adapter = base.find(saved.name), saved.stored.shape, base.adapter
    if stored is None and listed:
        return saved.name
    if stored is None and saved.name in base.tied:  # an output layer that was saved along with its table
        tied = base.find(base.tied[saved.name])
        is_matrix = len(shape) > 1
        stored = None if tied is None or not base.is_resized(tied, shape) else tied
        if stored is not None and is_matrix:
            return ""
    if stored is None:
        raise CheckpointError(
            f"The adapter {quoted(adapter.name)} contains {quoted(saved.name)}, which is neither in its base nor in a "
            "module of its modules_to_save."
        )
    resized = base.is_resized(stored, shape)
    is_head = listed and (not base.prefix or not saved.name.startswith(base.prefix))
    if stored.shape != shape and not is_head and not resized:
        raise CheckpointError(
            f"{quoted(stored.name)} has the shape {stored.shape}, in the adapter {shape}: {base.both}."
        )
    if not listed and not resized and not (adapter.settings.bias != BIASES[0] and "bias" in saved.name):
        raise CheckpointError(
            f"The adapter {quoted(adapter.name)} contains {quoted(saved.name)}, which its settings do not name (bias, "
            "modules_to_save), so that peft would leave it out; the two files do not belong together."
        )
    return stored.name


def _replaced(saved: Sequence[tuple[str, SavedTensor]], base: _Base) -> Iterator[tuple[StoredTensor, StoredTensor]]:
    """Tensors of the base that have rows for its words, and those that replace them."""
    for place, each in saved:
        stored = base.by_name.get(place)
        if stored is not None and base.is_resized(stored, each.stored.shape):
            yield stored, each.stored


def _as_trained(saved: SavedTensor, base: _Base, listed: Mapping[str, str]) -> SavedTensor:
    """A saved tensor, of which the settings say whether it was trained."""
    bias = base.adapter.settings.bias != BIASES[0] and "bias" in saved.name
    return replace(saved, is_trained=saved.name in listed or bias)


def _resized(base: _Base, stored: StoredTensor, own: StoredTensor) -> str:
    return (
        f"The vocabulary of {quoted(base.name)} was resized from {stored.shape[0]:,} to {own.shape[0]:,} before the "
        f"adapter {quoted(base.adapter.name)} was trained; the rows are those of the adapter's file."
    )


def _not_resized(base: _Base, stored: StoredTensor, shape: Sequence[int]) -> str:
    return (
        f"{quoted(stored.name)} has {stored.shape[0]:,} rows in {quoted(base.name)}, its update {shape[0]:,}: tokens "
        f"were added to the base before the adapter {quoted(base.adapter.name)} was trained, and its file has no rows "
        "for them; save it with save_embedding_layers=True, or open it on the resized base as "
        f"{base.adapter.name}+BASE."
    )


def _refuse_missing_modules(base: _Base, whole: ModuleNames, listed: Mapping[str, str]) -> None:
    """Refuse an adapter without a tensor of a module that was saved as a whole, as peft does.

    peft lists names that a class may not have, such as "score" beside "classifier"; one that the base lacks need not be
    in the file unless it has none of them. A head of another class than the base's has tensors of other names.
    """
    in_file, in_base = dict[str, set[str]](), dict[str, set[str]]()
    for name, around in listed.items():
        in_file.setdefault(around, set()).add(name.removeprefix(base.prefix))
    for name in base.by_bare:
        if around := whole.around(name) or whole.around(base.prefix + name):
            in_base.setdefault(around, set()).add(name)
    for around in base.adapter.settings.modules_to_save:
        own, theirs = in_file.get(around, set()), in_base.get(around, set())
        forms = {NUMBER.sub("#", name) for name in own}
        lost = sorted(name for name in theirs - own if (form := NUMBER.sub("#", name)) in forms or "#" not in form)
        if (not own and (theirs or not in_file)) or (own & theirs and lost):
            what = f"no tensor of {quoted(around)}" if not own else f"no {quoted(lost[0])}"
            raise CheckpointError(
                f"The settings of the adapter {quoted(base.adapter.name)} list {quoted(around)} in modules_to_save, "
                f"and its file has {what}; the base's own would answer in its place. Fetch or save the adapter again."
            )


def _missing_updates(base: _Base) -> tuple[str, ...]:
    """A notice about matrices that have no update in the file though the settings name them."""
    adapter, updated = base.adapter, {each.module for each in base.adapter.updates}
    matrices = (name for name, tensor in base.of_encoder().items() if len(tensor.shape) == 2)
    modules = {name.removesuffix(".weight") for name in matrices if name.endswith(".weight")}
    named = targeted(adapter.settings, [*modules, *updated])
    if named is None:
        pattern = adapter.settings.target_modules
        how = f"by an expression that is not run here ({quoted(str(pattern), 40)}, target_modules)"
        named_so = f"names the matrices that it changes {how}" if pattern else "names no matrices (target_modules)"
        return (f"The adapter {quoted(adapter.name)} {named_so}, so it is not known whether its file has all.",)
    if further := sorted(updated - named):
        raise CheckpointError(
            f"The adapter {quoted(adapter.name)} has an update of {quoted(further[0])}, which its settings do not name "
            "(target_modules), so that peft would leave it out; the two files do not belong together."
        )
    lost = _lacking(named, updated, base.has_pooler or "pooler" in str(adapter.settings.target_modules))
    what = f"changes {len(updated | lost):,} matrices of {quoted(base.name)}"
    return _lost(adapter, what, lost, "update") if lost else ()


def _missing_biases(base: _Base) -> tuple[str, ...]:
    """A notice about biases that were trained by the settings and are not in the file."""
    adapter, bias = base.adapter, base.adapter.settings.bias
    saved = {each.name for each in adapter.saved if each.name.endswith(".bias")}
    every = {name for name in base.of_encoder() if name.endswith(".bias")} if bias != BIASES[0] else set()
    own = {f"{each.module}.bias" for each in adapter.updates}
    lost = _lacking(every & own if bias == "lora_only" else every, saved, base.has_pooler)
    what = f"replaces {len(saved | lost):,} biases of {quoted(base.name)}"
    return _lost(adapter, what, lost, "value") if lost else ()


def _lacking(named: Set[str], own: Set[str], poolers: bool) -> set[str]:
    """The names that a file lacks, of those that its settings name in the base.

    The class that was trained may have only some of the base's parts: no pooler, or no decoder.
    """
    forms = {NUMBER.sub("#", name) for name in own}
    stacks = {form.partition("#")[0] for form in forms}
    lost = set()
    for name in named - own:
        form = NUMBER.sub("#", name)
        in_class = form.partition("#")[0] in stacks or not own if "#" in form else poolers or "pooler" not in form
        if in_class:
            lost.add(name)
    return lost


def _lost(adapter: Adapter, what: str, lost: Set[str], part: str) -> tuple[str, ...]:
    first = min(lost, key=lambda name: ([int(each) for each in NUMBER.findall(name)], name))
    more = ", ..." if len(lost) > 1 else ""
    return (
        f"By its settings the adapter {quoted(adapter.name)} {what}; its file lacks the {part} of {len(lost):,} "
        f"({quoted(first)}{more}), so {'these stay' if more else 'this stays'} as in the base. Fetch or save it again.",
    )


def _foreign_head(base: _Base) -> str:
    """A notice about an adapter without a head whose base has that of another task."""
    adapter, ending = base.adapter, HEADS.get(base.adapter.settings.task_type, "")
    own = any(f".{each.name}".endswith(OUTPUTS) for each in adapter.saved)
    theirs = any(f".{name}".endswith(OUTPUTS) for name in base.by_name)
    if not ending or own or not theirs or base.architecture.endswith(ending):
        return ""
    return (
        f"The adapter {quoted(adapter.name)} was trained for {adapter.settings.task_type}, and its file has no head: "
        f"that of its base is used, which by its config is one of {quoted(base.architecture)}. Fetch or save it again."
    )


def _unused_patterns(adapter: Adapter) -> str:
    """A notice about a rank or alpha for modules that have no update."""
    settings = adapter.settings
    used = {ending for each in adapter.updates for ending in endings(each.module)}
    plain = [key for key in (*settings.alphas, *settings.ranks) if PLAIN.fullmatch(key)]
    unused = list(dict.fromkeys(key for key in plain if key not in used))
    if not unused:
        return ""
    return (
        f"The settings of the adapter {quoted(adapter.name)} have a rank or an alpha for {quoted(unused[0])}"
        f"{', ...' if len(unused) > 1 else ''} (rank_pattern, alpha_pattern), which none of its updates is named."
    )


def _unwrapped(name: str) -> str:
    """The name of a tensor without the parts that peft puts in."""
    for wrapper in WRAPPERS:
        name = name.replace(f"{wrapper}.", ".")
    return name


def _update(
    name: str,
    settings: AdapterSettings,
    module: str,
    is_embedding: bool,
    first: StoredTensor | None,
    second: StoredTensor | None,
    tables: Mapping[str, StoredTensor],
) -> LowRankUpdate:
    """Check a pair of matrices."""
    if first is None or second is None:
        half, other = ("B", "A") if first is None else ("A", "B")
        raise CheckpointError(
            f"The adapter {quoted(name)} has {half} and no {other} for {quoted(module)}; fetch or save it again."
        )
    if len(first.shape) != 2 or len(second.shape) != 2 or first.shape[0] != second.shape[1]:
        raise CheckpointError(
            f"The matrices of {quoted(module)} in the adapter {quoted(name)}, A {first.shape} and B {second.shape}, "
            "have no product; fetch or save it again."
        )
    rank, ranks = first.shape[0], settings.ranks_of(module)
    if rank not in ranks:
        raise CheckpointError(
            f"The update of {quoted(module)} in the adapter {quoted(name)} has the rank {rank}, its settings say "
            f"{', '.join(map(str, sorted(ranks)[:5]))}; the two files do not belong together."
        )
    table = tables.get(f"{module}.weight")
    return LowRankUpdate(module, is_embedding, first, second, settings.scale_of(module, rank), table)


def _refuse_repeats(name: str, changed: Iterable[str]) -> None:
    names: set[str] = set()
    for each in changed:
        if each in names:
            raise CheckpointError(f"The adapter {quoted(name)} changes {quoted(each)} twice; save it again with peft.")
        names.add(each)
