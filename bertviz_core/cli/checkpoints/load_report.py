"""The command that tells what of a model its checkpoint would fill, before anything is loaded."""

from typing import Annotated, Any

import typer

from bertviz_core.checkpoints.load_report.advice import share_text
from bertviz_core.checkpoints.load_report.report import load_report
from bertviz_core.checkpoints.load_report.results import KeyRow, LoadReport, PrefixRepair
from bertviz_core.cli.options import JsonOption, ModelArgument, app
from bertviz_core.cli.output import print_json, print_lines, table
from bertviz_core.models.skeleton import TASKS
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls

TaskToLoad = Annotated[str, typer.Option("--task", help=f"Class that would be loaded: {', '.join(TASKS)}.")]
LabelsOption = Annotated[
    int | None, typer.Option("--labels", metavar="N", help="Labels of a classification head; the config's by default.")
]


@app.command("load-report")
def load_report_command(
    model: ModelArgument, task: TaskToLoad = "base", labels: LabelsOption = None, as_json: JsonOption = False
) -> None:
    """Tell which weights of a task's class the checkpoint has; only its header is read."""
    report = load_report(model, task, Settings.from_environment(any_folder=True), labels)
    if as_json:
        print_json(report_json(report))
    else:
        print_lines(report_lines(report))


def report_json(report: LoadReport) -> dict[str, Any]:
    """A load report as the JSON object of the command."""
    return {
        "model": report.model,
        "model_type": report.model_type,
        "task": report.task,
        "architecture": report.architecture,
        "stored_architecture": report.stored_architecture,
        "num_labels": report.num_labels,
        "matched": report.matched,
        "wanted": report.wanted,
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
        "stored_tensors": report.stored_tensors,
        "stored_bytes": report.stored_nbytes,
        "bytes_read": report.header_nbytes,
    }


def repair_json(repair: PrefixRepair) -> dict[str, Any]:
    """A repair of the names as it stands in the report's JSON."""
    return {
        "action": repair.action,
        "old": repair.old,
        "new": repair.new,
        "keys": repair.keys,
        "before": repair.before,
        "after": repair.after,
        "wanted": repair.wanted,
        "code": repair.code,
    }


def report_lines(report: LoadReport) -> list[str]:
    """A load report as text: what it means, the counts, the names that have no counterpart."""
    names = [_name_line(row) for row in report.rows if row.status != "matched"]
    shares = [
        (share.name, f"{share.matched:,}", f"{share.new:,}", f"{share.wrong_shape:,}", f"{share.unused:,}")
        for share in report.shares
    ]
    lines = [
        f"{report.model} as {report.architecture} ({report.task}): {report.matched:,} of {report.wanted:,} tensors, "
        f"{report.from_file:,} of {report.total:,} parameters ({share_text(report.fraction_from_file)}) from the file",
        "",
        report.suggestion,
        "",
        *table([("component", "matched", "new", "wrong shape", "unused"), *shares], "lrrrr"),
    ]
    if names:
        lines += ["", *table([("status", "name", "shape", ""), *names], "llll")]
    if report.repair is not None:
        repair = report.repair
        lines += ["", f"Repair: {repair.words} -> {repair.after:,} of {repair.wanted:,}", "", *repair.code.splitlines()]
    return [escape_controls(line) for line in lines]


def _name_line(row: KeyRow) -> tuple[str, str, str, str]:
    shape = row.model_shape or row.checkpoint_shape
    note = f"in the file {row.checkpoint_shape}" if row.status == "wrong shape" else row.note
    return row.status, row.name, "" if shape is None else str(shape), note
