"""The rows of a load report: every name of the model and of the file with what becomes of it, and sums by component."""

from collections.abc import Mapping, Sequence
from math import prod

from bertviz_core.key_match import KeyMatch, KeyMatcher, Shape
from bertviz_core.key_prefixes import renamed_key
from bertviz_core.parts import COMPONENTS
from bertviz_core.results import Ledger
from bertviz_core.results.load_report import ComponentShare, KeyRow, KeyStatus, PrefixRepair


def key_rows(
    matcher: KeyMatcher,
    found: KeyMatch,
    ledger: Ledger,
    stored: Mapping[str, Shape],
    repair: PrefixRepair | None = None,
) -> tuple[KeyRow, ...]:
    """Every name of the model in its order, then every key of the file without a place, by name.

    Args:
        matcher: the model's names and shapes.
        found: what became of them.
        ledger: the model's parameters, in whose components the rows stand.
        stored: names and shapes in the file.
        repair: change of names by which keys without a place are put into a component.
    """
    components = {row.name: row.component for row in ledger.parameters}
    ties = {row.name: row.tied_to for row in ledger.parameters}
    shared = _shared_status(matcher, found)
    rows = []
    for name, tensor in matcher.wanted.items():
        alias = ties.get(name)
        status, note = _status(name, found, "tied" if alias else shared[matcher.owner.get(name, name)])
        shape = found.filled.get(name)
        if name in found.mismatched:
            shape = found.mismatched[name][0]
        rows.append(
            KeyRow(
                name=name,
                status=status,
                stored_names=tuple(found.sources.get(name, ())),
                model_shape=tuple(tensor.shape),
                checkpoint_shape=shape,
                numel=prod(tensor.shape),
                component=components.get(name) or matcher.component(name),
                tied_to=alias,
                buffer=name not in components,
                note=f"shares its values with {alias}" if status == "tied" else note,
            )
        )
    return (*rows, *_unplaced(matcher, found, stored, repair))


def component_shares(rows: Sequence[KeyRow]) -> tuple[ComponentShare, ...]:
    """Per component the parameters from the file, new and of another shape, tied ones counted once, and the unused."""
    shares = []
    for component in COMPONENTS:
        inside = [row for row in rows if row.component == component]
        sums = {"matched": 0, "new": 0, "wrong shape": 0}
        for row in inside:
            if row.model_shape is not None and not row.buffer and row.tied_to is None:
                sums[row.status if row.status in sums else "new"] += row.numel
        unused = [row for row in inside if row.status == "unused"]
        if any(sums.values()) or unused:
            numel = sum(row.numel for row in unused)
            shares.append(
                ComponentShare(component, sums["matched"], sums["new"], sums["wrong shape"], numel, len(unused))
            )
    return tuple(shares)


def _status(name: str, found: KeyMatch, shared: KeyStatus) -> tuple[KeyStatus, str]:
    if name in found.filled:
        return "matched", ""
    if name in found.mismatched:
        return "wrong shape", ""
    if name in found.missing:
        return "new", "its stored tensors cannot be put together" if name in found.not_converted else ""
    if name in found.ignored_missing:
        return "ignored", f"not in the file, so not from it: {found.ignored_missing[name]}"
    return shared, "filled through the name that it shares its values with"


def _shared_status(matcher: KeyMatcher, found: KeyMatch) -> dict[str, KeyStatus]:
    """Per tensor of the model, under the first of its names: what became of any of its names."""
    shared: dict[str, KeyStatus] = {}
    for name in matcher.wanted:
        owner = matcher.owner.get(name, name)
        if name in found.filled or owner not in shared:
            shared[owner] = "wrong shape" if name in found.mismatched else "matched"
    return shared


def _unplaced(
    matcher: KeyMatcher, found: KeyMatch, stored: Mapping[str, Shape], repair: PrefixRepair | None
) -> list[KeyRow]:
    rows = []
    for name, keys in sorted(found.unused.items()):
        ignored = found.ignored_unused.get(name)
        shape = stored[keys[0]] if len(keys) == 1 else None
        rows.append(
            KeyRow(
                name=name,
                status="ignored" if ignored else "unused",
                stored_names=tuple(keys),
                model_shape=None,
                checkpoint_shape=shape,
                numel=sum(prod(stored[key]) for key in keys),
                component=matcher.component(renamed_key(repair, name) if repair else name),
                tied_to=None,
                buffer=False,
                note=f"in the file, not used: {ignored}" if ignored else "",
            )
        )
    for key, name in found.shadowed.items():
        rows.append(
            KeyRow(
                name=key,
                status="ignored",
                stored_names=(key,),
                model_shape=None,
                checkpoint_shape=stored[key],
                numel=prod(stored[key]),
                component=matcher.component(name),
                tied_to=None,
                buffer=False,
                note=f"in the file, not used: {name} is filled by {found.sources[name][0]}, which comes first",
            )
        )
    return rows
