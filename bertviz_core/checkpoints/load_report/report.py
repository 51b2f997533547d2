"""Predict from a file's header what `from_pretrained` would load for a task.

The class of the task is built from the config on the meta device; names and shapes of the file come from its header,
and no weight is read. The lists equal those of transformers with output_loading_info=True and
ignore_mismatched_sizes=True.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import msgspec

from bertviz_core.checkpoints.load_report.advice import VALUES_NOTE, best_repair, renamed_key, suggestion
from bertviz_core.checkpoints.load_report.matching import KeyMatch, KeyMatcher, Shape
from bertviz_core.checkpoints.load_report.results import (
    ComponentShare,
    KeyRow,
    KeyStatus,
    LoadReport,
    Mismatch,
    PrefixRepair,
)
from bertviz_core.errors import BertvizError, CheckpointError, HubError, UnsupportedModelError
from bertviz_core.models import sources
from bertviz_core.models.catalog import type_facts
from bertviz_core.models.gliner import encoder_header
from bertviz_core.models.local_files import adapter_notices, saved_class, weights_folder
from bertviz_core.models.safetensors.results import CheckpointHeader
from bertviz_core.models.skeleton import BUILD_LOCK, ENCODER, TASKS, build_skeleton, quietly, task_of_class
from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.components import COMPONENTS
from bertviz_core.parameters.ledger import balanced_ledger, module_ledger, same_values, source_ledger, tie_notes
from bertviz_core.parameters.naming import ties_of_file
from bertviz_core.parameters.results import Ledger
from bertviz_core.settings import Settings, changed
from bertviz_core.text import quoted


def key_rows(
    matcher: KeyMatcher,
    match: KeyMatch,
    ledger: Ledger,
    stored: Mapping[str, Shape],
    repair: PrefixRepair | None = None,
) -> tuple[KeyRow, ...]:
    """List every name of the model in its order, then every unmatched key of the file, by name.

    Args:
        repair: change of names that assigns unmatched keys to components.
    """
    components = {row.name: row.component for row in ledger.parameters}
    ties = {row.name: row.tied_to for row in ledger.parameters}
    shared = _shared_status(matcher, match)
    rows = []
    for name, tensor in matcher.expected.items():
        alias = ties.get(name)
        status, note = _status(name, match, "tied" if alias else shared[matcher.owner.get(name, name)])
        shape = match.filled.get(name)
        if name in match.mismatched:
            shape = match.mismatched[name][0]
        rows.append(
            KeyRow(
                name=name,
                status=status,
                stored_names=tuple(match.sources.get(name, ())),
                model_shape=tuple(tensor.shape),
                checkpoint_shape=shape,
                numel=prod(tensor.shape),
                component=components.get(name) or matcher.component(name),
                tied_to=alias,
                buffer=name not in components,
                note=f"shares its values with {alias}" if status == "tied" else note,
            )
        )
    return (*rows, *_unplaced(matcher, match, stored, repair))


def component_shares(rows: Sequence[KeyRow]) -> tuple[ComponentShare, ...]:
    """Count, per component, loaded, new and mismatched parameters, tied ones once, and unused ones."""
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


def _status(name: str, match: KeyMatch, shared: KeyStatus) -> tuple[KeyStatus, str]:
    if name in match.filled:
        return "matched", ""
    if name in match.mismatched:
        return "wrong shape", ""
    if name in match.missing:
        return "new", "its stored tensors cannot be put together" if name in match.not_converted else ""
    if name in match.ignored_missing:
        return "ignored", f"not in the file, so not from it: {match.ignored_missing[name]}"
    return shared, "filled through the name that it shares its values with"


def _shared_status(matcher: KeyMatcher, match: KeyMatch) -> dict[str, KeyStatus]:
    """Return the status of each tensor of the model, by its first name; tied names share it."""
    shared: dict[str, KeyStatus] = {}
    for name in matcher.expected:
        owner = matcher.owner.get(name, name)
        if name in match.filled or owner not in shared:
            shared[owner] = "wrong shape" if name in match.mismatched else "matched"
    return shared


def _unplaced(
    matcher: KeyMatcher, match: KeyMatch, stored: Mapping[str, Shape], repair: PrefixRepair | None
) -> list[KeyRow]:
    rows = []
    for name, keys in sorted(match.unused.items()):
        ignored = match.ignored_unused.get(name)
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
    for key, name in match.shadowed.items():
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
                note=f"in the file, not used: {name} is filled by {match.sources[name][0]}, which comes first",
            )
        )
    return rows


LABELLED = ("sequence-classification", "token-classification")
"""Tasks with one output per label."""
MAX_LABELS = 100_000


def source_load_report(source: ModelSource, task: str, settings: Settings, num_labels: int | None = None) -> LoadReport:
    """Predict the load report of a model for a task."""
    facts = type_facts(source.model_type)
    if task in TASKS and facts is not None and facts.tasks and task not in facts.tasks:  # before any file is requested
        raise UnsupportedModelError(
            f"{source.model_type} models have no class for the task {task!r} in transformers; "
            f"they have {', '.join(facts.tasks)}."
        )
    if source.config.get("quantization_config"):
        raise UnsupportedModelError(
            f"The weights of {source.name!r} are quantized, so that its file does not hold the shapes of its "
            "parameters; give the checkpoint in float32 or bfloat16."
        )
    header, folder = stored_header(source, settings)
    config = with_labels(source.config, task, num_labels)
    report = report_of(source.name, config, task, header, folder)
    return replace(report, suggestion=" ".join((report.suggestion, *report.ties, *adapter_notices(source, settings))))


def compared_ledger(source: ModelSource, settings: Settings, task: str | None) -> Ledger:
    """Return the ledger of a model, with a notice if its file holds other parameters than the class of its config."""
    ledger = source_ledger(source, settings, task)
    if ledger.fits:
        return ledger
    return replace(ledger, note=" ".join(filter(None, (ledger.note, _class_notice(source, settings, ledger)))))


def _class_notice(source: ModelSource, settings: Settings, ledger: Ledger) -> str:
    header, folder = stored_header(source, settings)
    named = saved_class(source.config)
    try:
        task = task_of_class(source.name, source.config, named)
        report = report_of(source.name, source.config, task, header, folder)
    except BertvizError as error:
        return f"The class of its config cannot be built, so its parameters are not compared with the file: {error}"
    if ledger.total == report.total and not report.new and not report.mismatched:
        return ""
    why = f", the base class, since its config names {quoted(named) if named else 'no class'},"
    loaded = f"{report.architecture}{'' if report.architecture == named else why} has {report.total:,}"
    advice = report.suggestion.removesuffix(VALUES_NOTE).rstrip()
    return f"The file holds {ledger.total:,} parameters; {loaded}. {advice}"


def stored_header(source: ModelSource, settings: Settings) -> tuple[CheckpointHeader, Path | None]:
    """Return the header of a model's file and its folder; without one if it comes from the Hub by range requests."""
    try:
        folder = weights_folder(source, settings)
        return encoder_header(folder), folder
    except CheckpointError as error:
        if source.has_weights or source.hub_id is None:
            raise  # the file exists, or should, and cannot be read
        if settings.allow_hub:
            revision = source.revision if source.kind == "hub" else None
            with suppress(HubError):  # offline
                return sources.fetch_header(source.hub_id, revision, settings.hub_endpoint), None
        raise CheckpointError(
            f"{error} Without the file there is nothing to report on; what the head of a task adds needs no file."
        ) from error


def with_labels(config: Mapping[str, Any], task: str, num_labels: int | None) -> Mapping[str, Any]:
    """Return the config with this number of labels, as from_pretrained(num_labels=...) does."""
    if num_labels is None:
        return config
    if task not in LABELLED:
        raise UnsupportedModelError(
            f"The head for {task!r} has no labels to choose; leave the number out, or ask for {' or '.join(LABELLED)}."
        )
    if not 1 <= num_labels <= MAX_LABELS:
        raise UnsupportedModelError(f"A head with {num_labels:,} labels was requested; give 1 to {MAX_LABELS:,}.")
    names = {str(index): f"LABEL_{index}" for index in range(num_labels)}
    other = {key: value for key, value in config.items() if key not in ("num_labels", "problem_type")}
    return changed(config, {**other, "id2label": names, "label2id": {label: int(i) for i, label in names.items()}})


def report_of(
    name: str, config: Mapping[str, Any], task: str, header: CheckpointHeader, folder: Path | None = None
) -> LoadReport:
    """Compare a header with the class of a task.

    Args:
        folder: the folder with that file, of which only tied tensors that are stored twice are compared; None if it is
            not at hand.
    """
    encoder_only = task == "base" and task_of_class(name, config, saved_class(config)) == ENCODER
    model = build_skeleton(name, config, ENCODER if encoder_only else task)
    ledger = module_ledger(name, model, source="config")
    stored = {tensor.name: tensor.shape for tensor in header.tensors}
    with BUILD_LOCK, quietly():  # transformers' warnings about ties, which the report contains
        matcher = KeyMatcher(model)
        match = matcher.match(stored)
        repair = best_repair(matcher, match, stored, header.files)
    tensors = {tensor.name: tensor for tensor in header.tensors}
    whole = {key: tensors[match.sources[key][0]] for key in match.filled if len(match.sources[key]) == 1}
    pairs = [(row.name, row.tied_to) for row in ledger.parameters if row.tied_to is not None]
    ties = ties_of_file(pairs, whole, partial(same_values, folder))
    if ties.apart:
        matcher.owner |= {alias: alias for alias in ties.apart}
        own = [
            msgspec.structs.replace(row, tied_to=None) if row.name in ties.apart else row for row in ledger.parameters
        ]
        ledger = balanced_ledger(name, config, ledger.architecture, "config", own, list(ledger.buffers), None)
    rows = key_rows(matcher, match, ledger, stored, repair)
    shares = component_shares(rows)
    report = LoadReport(
        model=name,
        model_type=str(config.get("model_type", "")),
        task=task,
        architecture=type(model).__name__,
        stored_architecture=(config.get("architectures") or [""])[0],
        num_labels=int(model.config.num_labels) if task in LABELLED else None,
        expected=matcher.total,
        matched=matcher.matched(match),
        new=tuple(key for key in matcher.expected if key in match.missing),
        unused=tuple(sorted(match.unused.keys() - match.ignored_unused.keys())),
        mismatched=tuple(Mismatch(key, *match.mismatched[key]) for key in matcher.expected if key in match.mismatched),
        ignored=tuple(row for row in rows if row.status == "ignored"),
        not_converted=tuple(match.not_converted),
        total=ledger.total,
        from_file=sum(share.matched for share in shares),
        rows=rows,
        shares=shares,
        repair=repair,
        suggestion="",
        stored_tensors=len(header.tensors),
        stored_nbytes=sum(tensor.nbytes for tensor in header.tensors),
        header_nbytes=header.header_nbytes,
        ties=tuple(tie_notes(ties, whole)),
    )
    return replace(report, suggestion=suggestion(report))
