"""List what an adapter's file contains, and match it to the tensors of its base; no value is read.

Names follow peft: `base_model.model.MODULE.lora_A.weight` and `lora_B.weight`, for embedding tables
`lora_embedding_A` and `lora_embedding_B`; every other tensor replaces the one of its name.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from bertviz_core.errors import CheckpointError
from bertviz_core.models.safetensors.adapters.results import Adapter, FittedAdapter, LowRankUpdate, SavedTensor
from bertviz_core.models.safetensors.adapters.settings import MERGED, AdapterSettings, adapter_settings
from bertviz_core.models.safetensors.folder import ADAPTER_WEIGHTS
from bertviz_core.models.safetensors.header import read_file_header
from bertviz_core.models.safetensors.results import CheckpointHeader, StoredTensor
from bertviz_core.text import quoted

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


def read_adapter(name: str, folder: Path) -> Adapter:
    """List the contents of the adapter in a folder.

    Raises:
        CheckpointError: a file is missing or damaged, or the adapter is of a kind that is not read.
    """
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
    updates = tuple(_update(name, settings, *key, *pair) for key, pair in pairs.items())
    if not updates and not saved:
        raise CheckpointError(f"The adapter {quoted(name)} is empty: {ADAPTER_WEIGHTS} has no tensor.")
    _refuse_repeats(name, [*(each.parameter for each in updates), *(each.name for each in saved)])
    return Adapter(name, folder, settings, updates, tuple(saved))


def fitted(adapter: Adapter, base: str, header: CheckpointHeader, prefix: str) -> FittedAdapter:
    """Match an adapter to the files of its base.

    Args:
        adapter: the adapter.
        base: name of the base, for error messages.
        header: header of the base.
        prefix: attribute under which classes of the family contain the base model, such as "bert".

    Raises:
        CheckpointError: it was made for another base.
    """
    by_name = {tensor.name: tensor for tensor in header.tensors}
    by_bare = {_bare(tensor.name, prefix): tensor for tensor in header.tensors}
    both = f"the adapter {quoted(adapter.name)} was made for another base than {quoted(base)}"
    updates = []
    for update in adapter.updates:
        stored = by_name.get(update.parameter) or by_bare.get(_bare(update.parameter, prefix))
        if stored is None:
            raise CheckpointError(
                f"There is no matrix {quoted(update.parameter)} in {quoted(base)}: {both}, or the files of the base "
                "have other names than the class that peft trained; merge it with peft and open the result."
            )
        if stored.shape != update_shape(update, adapter.settings.fan_in_fan_out):
            raise CheckpointError(
                f"{quoted(stored.name)} has the shape {stored.shape}, its update "
                f"{update_shape(update, adapter.settings.fan_in_fan_out)}: {both}."
            )
        if "float" not in stored.dtype or stored.dtype.startswith(("float8", "float4", "float6")):
            raise CheckpointError(
                f"{quoted(stored.name)} of {quoted(base)} is stored as {stored.dtype}; an adapter is added to numbers "
                "of 16 bits or more. Give the base in float32 or bfloat16."
            )
        updates.append((stored, update))
    saved = tuple((_place(each, adapter, by_name, by_bare, prefix, both), each) for each in adapter.saved)
    return FittedAdapter(adapter, tuple(updates), saved)


def update_shape(update: LowRankUpdate, fan_in_fan_out: bool) -> tuple[int, int]:
    """The shape of an update as its matrix is stored."""
    rows, columns = update.second.shape[0], update.first.shape[1]
    return (columns, rows) if update.is_embedding or fan_in_fan_out else (rows, columns)


def _place(
    saved: SavedTensor,
    adapter: Adapter,
    by_name: Mapping[str, StoredTensor],
    by_bare: Mapping[str, StoredTensor],
    prefix: str,
    both: str,
) -> str:
    """Name in the files of the base that a saved tensor replaces; its own name if the base lacks it."""
    stored = by_name.get(saved.name) or by_bare.get(_bare(saved.name, prefix))
    listed = any(f".{module}." in f".{saved.name}" for module in adapter.settings.modules_to_save)
    if stored is None and listed:
        return saved.name
    if stored is None:
        raise CheckpointError(
            f"The adapter {quoted(adapter.name)} contains {quoted(saved.name)}, which is neither in its base nor in a "
            "module of its modules_to_save."
        )
    is_head = listed and (not prefix or not saved.name.startswith(f"{prefix}."))
    if stored.shape != saved.stored.shape and not is_head:
        raise CheckpointError(
            f"{quoted(stored.name)} has the shape {stored.shape}, in the adapter {saved.stored.shape}: {both}."
        )
    return stored.name


def _bare(name: str, prefix: str) -> str:
    return name.removeprefix(f"{prefix}.") if prefix else name


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
    rank = first.shape[0]
    if rank not in settings.ranks:
        ranks = ", ".join(map(str, sorted(settings.ranks)[:5]))
        raise CheckpointError(
            f"The update of {quoted(module)} in the adapter {quoted(name)} has the rank {rank}, its settings say "
            f"{ranks}; the two files do not belong together."
        )
    return LowRankUpdate(module, is_embedding, first, second, settings.scale_of(module, rank))


def _refuse_repeats(name: str, changed: Iterable[str]) -> None:
    names: set[str] = set()
    for each in changed:
        if each in names:
            raise CheckpointError(f"The adapter {quoted(name)} changes {quoted(each)} twice; save it again with peft.")
        names.add(each)
