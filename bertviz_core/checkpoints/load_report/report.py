"""The load report: what `from_pretrained` would make of a checkpoint for a task, from the file's header alone.

The class of the task is built from the config on the meta device, the names and shapes of the file come from its
header; no weight is read. The lists are those that transformers gives with output_loading_info=True and
ignore_mismatched_sizes=True.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from bertviz_core import hub
from bertviz_core.catalog import type_facts
from bertviz_core.checkpoint import read_header
from bertviz_core.errors import CheckpointError, HubError, UnsupportedModelError
from bertviz_core.key_match import KeyMatch, KeyMatcher
from bertviz_core.key_prefixes import best_repair
from bertviz_core.load_advice import suggestion
from bertviz_core.load_rows import component_shares, key_rows
from bertviz_core.model_files import quietly, weights_folder
from bertviz_core.parameters import collection_paused, module_ledger
from bertviz_core.results import CheckpointHeader
from bertviz_core.results.load_report import LoadReport, Mismatch
from bertviz_core.settings import Settings
from bertviz_core.skeleton import BUILD_LOCK, build_skeleton
from bertviz_core.sources import ModelSource, resolve
from bertviz_core.tasks import TASKS

LABELLED = ("sequence-classification", "token-classification")
"""Tasks whose head has as many outputs as there are labels."""
MAX_LABELS = 100_000


def load_report(name: str, task: str, settings: Settings, num_labels: int | None = None) -> LoadReport:
    """The load report of a model by name, for the class of a task.

    Args:
        name: a model's name (bertviz_core.sources).
        task: one of bertviz_core.tasks.TASKS.
        settings: what may be opened.
        num_labels: outputs of a classification head; None for as many as the config names.

    Raises:
        BertvizError: the model is not there, has no file that can be read, or has no class for the task.
    """
    return source_load_report(resolve(name, settings), task, settings, num_labels)


def source_load_report(source: ModelSource, task: str, settings: Settings, num_labels: int | None = None) -> LoadReport:
    """The load report of a resolved model; see load_report."""
    facts = type_facts(source.model_type)
    if task in TASKS and facts is not None and facts.tasks and task not in facts.tasks:  # before a file is asked for
        raise UnsupportedModelError(
            f"{source.model_type} models have no class for the task {task!r} in transformers; "
            f"they have {', '.join(facts.tasks)}."
        )
    if "quantization_config" in source.config:
        raise UnsupportedModelError(
            f"The weights of {source.name!r} are quantized, so that its file does not hold the shapes of its "
            "parameters; give the checkpoint in float32 or bfloat16."
        )
    header = stored_header(source, settings)
    config = with_labels(source.config, task, num_labels)
    with collection_paused():
        return report_of(source.name, config, task, header)


def stored_header(source: ModelSource, settings: Settings) -> CheckpointHeader:
    """The header of a model's file: on this machine, or at the Hub by range requests.

    Raises:
        BertvizError: there is no file, or it cannot be read.
    """
    try:
        return read_header(weights_folder(source, settings))
    except CheckpointError as error:
        if source.has_weights or source.hub_id is None:
            raise  # a file is there, or should be, and cannot be read
        if settings.allow_hub:
            revision = source.revision if source.kind == "hub" else None
            with suppress(HubError):  # unplugged
                return hub.fetch_header(source.hub_id, revision, settings.hub_endpoint)
        raise CheckpointError(
            f"{error} Without the file there is nothing to report on; what the head of a task adds needs no file."
        ) from error


def with_labels(config: Mapping[str, Any], task: str, num_labels: int | None) -> Mapping[str, Any]:
    """The config with this many labels, as from_pretrained(num_labels=...) makes it.

    Raises:
        UnsupportedModelError: the task's head has no labels, or the number makes no sense.
    """
    if num_labels is None:
        return config
    if task not in LABELLED:
        raise UnsupportedModelError(
            f"The head for {task!r} has no labels to choose; leave the number out, or ask for {' or '.join(LABELLED)}."
        )
    if not 1 <= num_labels <= MAX_LABELS:
        raise UnsupportedModelError(f"A head with {num_labels:,} labels was asked for; give 1 to {MAX_LABELS:,}.")
    names = {str(index): f"LABEL_{index}" for index in range(num_labels)}
    kept = {key: value for key, value in config.items() if key not in ("num_labels", "problem_type")}
    return {**kept, "id2label": names, "label2id": {label: int(index) for index, label in names.items()}}


def report_of(name: str, config: Mapping[str, Any], task: str, header: CheckpointHeader) -> LoadReport:
    """The load report of a header against the class of a task.

    Raises:
        BertvizError: the class cannot be built from the config.
    """
    model = build_skeleton(name, config, task)
    ledger = module_ledger(name, model, way="config")
    stored = {tensor.name: tensor.shape for tensor in header.tensors}
    with BUILD_LOCK, quietly():  # the library's own words about ties, which the report says in its own
        matcher = KeyMatcher(model)
        found = matcher.match(stored)
        repair = best_repair(matcher, found, stored, header.files)
    rows = key_rows(matcher, found, ledger, stored, repair)
    shares = component_shares(rows)
    report = LoadReport(
        model=name,
        model_type=str(config.get("model_type", "")),
        task=task,
        architecture=type(model).__name__,
        stored_architecture=(config.get("architectures") or [""])[0],
        num_labels=int(model.config.num_labels) if task in LABELLED else None,
        wanted=matcher.total,
        matched=matcher.matched(found),
        new=tuple(key for key in matcher.wanted if key in found.missing),
        unused=tuple(sorted(found.unused.keys() - found.ignored_unused.keys())),
        mismatched=_mismatched(matcher, found),
        ignored=tuple(row for row in rows if row.status == "ignored"),
        not_converted=tuple(found.not_converted),
        total=ledger.total,
        from_file=sum(share.matched for share in shares),
        rows=rows,
        shares=shares,
        repair=repair,
        suggestion="",
        stored_tensors=len(header.tensors),
        stored_nbytes=sum(tensor.nbytes for tensor in header.tensors),
        header_nbytes=header.header_nbytes,
    )
    return replace(report, suggestion=suggestion(report))


def _mismatched(matcher: KeyMatcher, found: KeyMatch) -> tuple[Mismatch, ...]:
    return tuple(Mismatch(key, *found.mismatched[key]) for key in matcher.wanted if key in found.mismatched)
