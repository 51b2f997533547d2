"""Format ledgers of parameters and load reports as JSON, text and data frames."""

from typing import Any

from bertviz_core.checkpoints.load_report.advice import share_text
from bertviz_core.checkpoints.load_report.results import KeyRow, LoadReport, PrefixRepair
from bertviz_core.parameters.results import Ledger
from bertviz_core.questions.tables.lines import aligned
from bertviz_core.text import escape_controls


def ledger_json(ledger: Ledger) -> dict[str, Any]:
    """The JSON object of the `parameters` command."""
    return {
        "model": ledger.model,
        "model_type": ledger.model_type,
        "architecture": ledger.architecture,
        "way": ledger.source,
        "total": ledger.total,
        "trainable": ledger.trainable,
        "note": ledger.note,
        "tensors": ledger.tensors,
        "tied": ledger.tied,
        "bytes": ledger.nbytes,
        "stored_tensors": ledger.stored_tensors,
        "stored_bytes": ledger.stored_nbytes,
        "components": {component.name: component.total for component in ledger.components},
        "layers": [
            {
                "layer": row.layer,
                "component": row.component,
                "total": row.total,
                "attention": row.attention,
                "feed_forward": row.feed_forward,
                "layer_norm": row.layer_norm,
                "other": row.other,
                "applications": row.applications,
            }
            for row in ledger.layers
        ],
        "parameters": [
            {
                "name": row.name,
                "shape": row.shape,
                "numel": row.numel,
                "dtype": row.dtype,
                "component": row.component,
                "layer": row.layer,
                "part": row.part,
                "trainable": row.trainable,
                "tied_to": row.tied_to,
                "stored_name": row.stored_name,
            }
            for row in ledger.parameters
        ],
        "buffers": [
            {"name": row.name, "shape": row.shape, "dtype": row.dtype, "stored": row.stored} for row in ledger.buffers
        ],
    }


def ledger_text(ledger: Ledger) -> str:
    """Format a ledger as text: sums, components, layers, rows."""
    lines = [
        f"{ledger.model} ({ledger.architecture}, {ledger.model_type}): {ledger.total:,} parameters "
        f"in {ledger.tensors:,} tensors, {ledger.trainable:,} trainable, {ledger.nbytes:,} bytes",
        "",
        *aligned([(part.name, f"{part.total:,}", part.arithmetic) for part in ledger.components], "lrl"),
        "",
    ]
    rows = [
        (row.name, str(row.shape), f"{row.numel:,}", row.dtype, f"tied to {row.tied_to}" if row.tied_to else "")
        for row in ledger.parameters
    ]
    lines += aligned([("name", "shape", "count", "dtype", ""), *rows], "llrll")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def report_json(report: LoadReport) -> dict[str, Any]:
    """The JSON object of the `load-report` command."""
    return {
        "model": report.model,
        "model_type": report.model_type,
        "task": report.task,
        "architecture": report.architecture,
        "stored_architecture": report.stored_architecture,
        "num_labels": report.num_labels,
        "matched": report.matched,
        "expected": report.expected,
        "new": report.new,
        "unused": report.unused,
        "mismatched": [
            {"name": row.name, "checkpoint": row.checkpoint, "model": row.model} for row in report.mismatched
        ],
        "ignored": [{"name": row.name, "reason": row.note} for row in report.ignored],
        "not_converted": report.not_converted,
        "parameters": report.total,
        "parameters_from_file": report.from_file,
        "fraction_from_file": report.fraction_from_file,
        "components": [
            {
                "name": share.name,
                "matched": share.matched,
                "new": share.new,
                "wrong_shape": share.wrong_shape,
                "unused": share.unused,
            }
            for share in report.shares
        ],
        "repair": None if report.repair is None else repair_json(report.repair),
        "suggestion": report.suggestion,
        "notices": report.notices,
        "stored_tensors": report.stored_tensors,
        "stored_bytes": report.stored_nbytes,
        "bytes_read": report.header_nbytes,
    }


def repair_json(repair: PrefixRepair) -> dict[str, Any]:
    """The JSON object of a prefix repair."""
    return {
        "action": repair.action,
        "old": repair.old,
        "new": repair.new,
        "keys": repair.keys,
        "before": repair.before,
        "after": repair.after,
        "expected": repair.expected,
        "code": repair.code,
    }


def report_lines(report: LoadReport) -> list[str]:
    """Format a load report as text: its meaning, the counts, and the names without a counterpart."""
    names = [_name_line(row) for row in report.rows if row.status != "matched"]
    shares = [
        (share.name, f"{share.matched:,}", f"{share.new:,}", f"{share.wrong_shape:,}", f"{share.unused:,}")
        for share in report.shares
    ]
    lines = [
        f"{report.model} as {report.architecture} ({report.task}): {report.matched:,} of {report.expected:,} tensors, "
        f"{report.from_file:,} of {report.total:,} parameters ({share_text(report.fraction_from_file)}) from the file",
        "",
        report.suggestion,
        "",
        *aligned([("component", "matched", "new", "wrong shape", "unused"), *shares], "lrrrr"),
    ]
    if names:
        lines += ["", *aligned([("status", "name", "shape", ""), *names], "llll")]
    if report.repair is not None:
        repair = report.repair
        lines += [
            "",
            f"Repair: {repair.words} -> {repair.after:,} of {repair.expected:,}",
            "",
            *repair.code.splitlines(),
        ]
    return [escape_controls(line) for line in lines]


def _name_line(row: KeyRow) -> tuple[str, str, str, str]:
    shape = row.model_shape or row.checkpoint_shape
    note = f"in the file {row.checkpoint_shape}" if row.status == "wrong shape" else row.note
    return row.status, row.name, "" if shape is None else str(shape), note
