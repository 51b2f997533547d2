"""Format ledgers of parameters and load reports as JSON, text and data frames."""

from typing import Any

from bertviz_core.checkpoints.load_report.advice import share_text
from bertviz_core.checkpoints.load_report.results import KeyRow, LoadReport, PrefixRepair
from bertviz_core.parameters.results import Ledger
from bertviz_core.parameters.tables import PARAMETERS
from bertviz_core.questions.tables.lines import aligned, fields
from bertviz_core.text import escape_controls


def ledger_json(ledger: Ledger) -> dict[str, Any]:
    """The JSON object of the `parameters` command."""
    layer = ("layer", "component", "total", "attention", "feed_forward", "layer_norm", "other", "applications")
    buffer = ("name", "shape", "dtype", "stored")
    return {
        **fields(ledger, "model", "model_type", "architecture"),
        "way": ledger.source,
        **fields(ledger, "total", "trainable", "note", "tensors", "tied"),
        "bytes": ledger.nbytes,
        "stored_tensors": ledger.stored_tensors,
        "stored_bytes": ledger.stored_nbytes,
        "components": {component.name: component.total for component in ledger.components},
        "layers": [fields(row, *layer) for row in ledger.layers],
        "parameters": [fields(row, *PARAMETERS) for row in ledger.parameters],
        "buffers": [fields(row, *buffer) for row in ledger.buffers],
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
    share = ("name", "matched", "new", "wrong_shape", "unused")
    return {
        **fields(report, "model", "model_type", "task", "architecture", "stored_architecture", "num_labels"),
        **fields(report, "matched", "expected", "new", "unused"),
        "mismatched": [fields(row, "name", "checkpoint", "model") for row in report.mismatched],
        "ignored": [{"name": row.name, "reason": row.note} for row in report.ignored],
        "not_converted": report.not_converted,
        "parameters": report.total,
        "parameters_from_file": report.from_file,
        "fraction_from_file": report.fraction_from_file,
        "components": [fields(each, *share) for each in report.shares],
        "repair": None if report.repair is None else repair_json(report.repair),
        **fields(report, "suggestion", "notices", "stored_tensors"),
        "stored_bytes": report.stored_nbytes,
        "bytes_read": report.header_nbytes,
    }


def repair_json(repair: PrefixRepair) -> dict[str, Any]:
    """The JSON object of a prefix repair."""
    return fields(repair, "action", "old", "new", "keys", "before", "after", "expected", "code")


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
