"""Rows of an adapter in the ledger of its base."""

import math
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from bertviz_core.models.safetensors.adapters.results import FittedAdapter, LowRankUpdate
from bertviz_core.models.safetensors.folder import same_bytes
from bertviz_core.models.safetensors.results import CheckpointHeader, StoredTensor
from bertviz_core.parameters.results import Ledger, Parameter
from bertviz_core.text import counted, quoted


def merged_header(base: CheckpointHeader, fit: FittedAdapter) -> CheckpointHeader:
    """The header of the base with the tensors that the adapter replaces or adds."""
    saved = {name: replace(stored, name=name) for name, stored in fit.replaced().items()}
    known = {tensor.name for tensor in base.tensors}
    tensors = (saved.get(tensor.name, tensor) for tensor in base.tensors)
    return CheckpointHeader(
        (*tensors, *(tensor for name, tensor in saved.items() if name not in known)), base.files, base.header_nbytes
    )


def same_merged(fit: FittedAdapter, base: Path, first: StoredTensor, second: StoredTensor) -> bool:
    """Whether two tensors of a merged header have the same values once the adapter is merged."""
    if any(stored.name in (first.name, second.name) for stored, _ in fit.updates):
        return False
    one, other = (fit.adapter.folder if each.name in fit.replaced() else base for each in (first, second))
    return same_bytes(one, first, second, other)


def adapter_rows(rows: Sequence[Parameter], fit: FittedAdapter) -> list[Parameter]:
    """The rows of the merged model, frozen but for saved tensors, and after each changed matrix its A and B."""
    updates = {stored.name: update for stored, update in fit.updates}
    saved = {name for name, each in fit.saved if each.is_trained}
    listed = []
    for row in rows:
        listed.append(replace(row, trainable=row.stored_name in saved))
        update = updates.get(row.stored_name or "") if row.tied_to is None else None
        if update is not None:
            listed += [_own_row(row, update, half) for half in (update.first, update.second)]
    return listed


def adapter_note(fit: FittedAdapter, base: str, header: CheckpointHeader, ledger: Ledger, merged: int) -> str:
    """What the adapter adds to its base, whose header this is, and how many parameters the merged model has."""
    matrices = f"{len(fit.updates):,} {'matrix' if len(fit.updates) == 1 else 'matrices'} of {quoted(base)}"
    share = 100 * ledger.trainable / max(ledger.total, 1)
    replaced = len({name for name, _ in fit.saved} & {tensor.name for tensor in header.tensors})
    counts = {"replaces": (replaced, "tensor"), "adds": (len(fit.saved) - replaced, "new tensor")}
    done = [f"changes {matrices}", *(f"{verb} {counted(*each)}" for verb, each in counts.items() if each[0])]
    return (
        f"This is an adapter (LoRA): it {' and '.join(done)}. Its own {ledger.trainable:,} parameters, "
        f"{share:.1f}% of all {ledger.total:,} listed, are the trained ones; those of the base are frozen. As it runs, "
        f"the adapter is merged into the base, and {merged:,} parameters are left, those that Checkpoint counts."
        + "".join(f" {notice}" for notice in fit.notices)
    )


def _own_row(row: Parameter, update: LowRankUpdate, half: StoredTensor) -> Parameter:
    """The row of one matrix of an update, in the place of the matrix that it changes."""
    letter = "A" if half is update.first else "B"
    ending = f"lora_embedding_{letter}" if update.is_embedding else f"lora_{letter}.weight"
    return Parameter(
        name=f"{row.name.removesuffix('.weight')}.{ending}",
        stored_name=half.name,
        shape=half.shape,
        numel=math.prod(half.shape),
        dtype=half.dtype,
        trainable=True,
        tied_to=None,
        component=row.component,
        layer=row.layer,
        part=row.part,
    )
