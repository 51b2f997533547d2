"""Format ledgers, load reports, checkpoints and number formats as JSON and text."""

from math import isnan
from typing import Any

from bertviz_core.checkpoints.load_report.advice import share_text
from bertviz_core.checkpoints.load_report.results import KeyRow, LoadReport, PrefixRepair
from bertviz_core.checkpoints.results import (
    Behaviour,
    CheckpointComparison,
    NumberFormats,
    RoundedFormat,
    RoundedPart,
    TensorChange,
)
from bertviz_core.checkpoints.tables import CHANGES, PARTS, UPDATES, least_cosine, mean_cosine, values_text
from bertviz_core.figures.checkpoints.weights import mebibytes
from bertviz_core.parameters.adapters.results import AdapterUpdates
from bertviz_core.questions.tables.lines import aligned, fields, number_cell
from bertviz_core.text import counted, decimals, digits, escape_controls, shortened

MAX_ROWS = 30
MAX_NAME_CHARACTERS = 90


def compare_json(comparison: CheckpointComparison, behaviours: Behaviour | None) -> dict[str, Any]:
    """The JSON object of the `compare` command; changes that are not finite are null."""
    value: dict[str, Any] = {
        "first": comparison.first,
        "second": comparison.second,
        "prefixes": comparison.prefixes,
        "added": [tensor.name for tensor in comparison.added],
        "removed": [tensor.name for tensor in comparison.removed],
        "resized": [
            {"name": tensor.name, "first": tensor.first, "second": tensor.second} for tensor in comparison.resized
        ],
        "relative_change": comparison.relative_change,
        "tensors": [_row(tensor) for tensor in comparison.tensors],
        "unread": comparison.unread,
    }
    if behaviours is not None:
        value["behaviour"] = {
            "tokens": behaviours.tokens.tokens,
            "cosines": behaviours.cosines,
            "divergences": behaviours.divergences,
            "notices": behaviours.notices,
        }
    return value


def compare_lines(comparison: CheckpointComparison, behaviours: Behaviour | None) -> list[str]:
    """Tables of the comparison, sorted by change, descending; what has no change that can be measured comes first."""
    ordered = sorted(
        comparison.tensors, key=lambda tensor: (not isnan(tensor.relative_change), -tensor.relative_change)
    )
    rows = [
        (_name(tensor.name), str(tensor.shape), f"{tensor.relative_change:.3e}", f"{tensor.largest_difference:.3e}")
        for tensor in ordered[:MAX_ROWS]
    ]
    lines = [
        f"{comparison.first} -> {comparison.second}: {len(comparison.tensors):,} tensors in both, "
        f"{len(comparison.added):,} added, {len(comparison.removed):,} removed, {len(comparison.resized):,} resized",
        f"relative change of all parameters that both hold: {comparison.relative_change:.3e}",
        "",
        *(f"added    {_name(tensor.name)} {tensor.shape}" for tensor in comparison.added),
        *(f"removed  {_name(tensor.name)} {tensor.shape}" for tensor in comparison.removed),
        *(f"resized  {_name(tensor.name)} {tensor.first} -> {tensor.second}" for tensor in comparison.resized),
        "",
        *aligned([("tensor", "shape", "relative change", "largest difference"), *rows], "llrr"),
    ]
    if len(ordered) > MAX_ROWS:
        lines.append(f"... and {len(ordered) - MAX_ROWS:,} that changed less; --json prints all")
    return [*lines, *(_behaviour_lines(behaviours) if behaviours else ())]


def _behaviour_lines(behaviours: Behaviour) -> list[str]:
    lines = []
    if behaviours.cosines is not None:
        cosines = [
            (str(layer), number_cell(row.mean()), number_cell(row.min()))
            for layer, row in enumerate(behaviours.cosines)
        ]
        lines += [
            "",
            "Cosine of hidden states, over the tokens",
            *aligned([("layer", "mean", "least"), *cosines], "rrr"),
        ]
    if behaviours.divergences is not None:
        rows = [
            (str(layer), *(f"{value:.4f}" for value in row))
            for layer, row in enumerate(behaviours.divergences.tolist())
        ]
        heads = [str(head) for head in range(behaviours.divergences.shape[1])]
        lines += ["", "Jensen-Shannon divergence of attention in nats, layer by head"]
        lines += aligned([("layer", *heads), *rows], "r" * (len(heads) + 1))
    return lines


def _name(name: str) -> str:
    """An untrusted name, escaped for a terminal."""
    return shortened(escape_controls(name), MAX_NAME_CHARACTERS)


def _row(change: TensorChange) -> dict[str, Any]:
    about = {"name": change.name, "second_name": change.second_name, "shape": change.shape}
    place = {"component": change.location.component, "layer": change.location.layer}
    return {**about, **place, **{field: getattr(change, field) for field in CHANGES.values()}}


def adapter_json(updates: AdapterUpdates) -> dict[str, Any]:
    """The JSON object of the `adapter` command."""
    names = ("name", "shape", *UPDATES.values(), "singular_values")
    rows = [{name: getattr(each, name) for name in names} for each in updates.updates]
    return {"adapter": updates.adapter, "base": updates.base, "updates": rows, "saved": updates.saved}


def adapter_lines(updates: AdapterUpdates) -> list[str]:
    """A table of the updates of an adapter, in the order of its file."""
    rows = [
        (
            _name(each.name),
            str(each.shape),
            str(each.rank),
            f"{each.scale:.4g}",
            f"{each.relative_norm:.3e}",
            f"{each.stable_rank:.2f}",
            values_text(each),
        )
        for each in updates.updates
    ]
    head = ("matrix", "shape", "rank", "scale", "norm / base", "stable rank", "singular values")
    return [
        f"{updates.adapter} changes {len(updates.updates):,} matrices of {updates.base} and replaces "
        f"{len(updates.saved):,} tensors as a whole",
        "",
        *aligned([head, *rows], "llrrrrl"),
        *(f"replaced  {_name(name)}" for name in updates.saved),
    ]


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


def number_formats_json(result: NumberFormats) -> dict[str, Any]:
    """The JSON object of the `number-formats` command; numbers that are not finite are null."""
    return {
        "model": result.model,
        "formats": [_format_json(each) for each in result.formats],
        "texts": result.texts,
        "pooling": result.pooling or None,
        "copy_bytes": result.copy_nbytes,
        "unread": result.unread,
        "notices": result.notices,
    }


def _format_json(each: RoundedFormat) -> dict[str, Any]:
    agreement = each.agreement
    texts = None
    if agreement is not None:
        texts = {
            "cosines": agreement.cosines,
            "mean_cosine": mean_cosine(agreement),
            "smallest_cosine": least_cosine(agreement),
            "neighbours": agreement.neighbours,
            "shared_neighbours": agreement.shared,
            "answers_changed": agreement.changed,
        }
    parts = [
        {"component": part.component, "layer": part.layer, "block": part.block, **_numbers(part)} for part in each.parts
    ]
    return {"format": each.name, "bits": each.bits, **_numbers(each.whole), "parts": parts, "texts": texts}


def _numbers(part: RoundedPart) -> dict[str, Any]:
    numbers = {column.replace(" ", "_"): getattr(part, field) for column, field in PARTS.items()}
    return {"numel" if name == "numbers" else name: value for name, value in numbers.items()}


def number_formats_lines(result: NumberFormats) -> list[str]:
    """A table of the formats, then of their errors by component, and the changed answers."""
    heads = ["format", "relative error", "largest error", "bytes before", "bytes after", "saved"]
    rows = [_number_formats_row(each) for each in result.formats]
    if result.texts:
        heads += ["mean cosine", "smallest", "neighbours kept"]
        rows = [[*row, *_texts_row(each)] for row, each in zip(rows, result.formats, strict=True)]
    has_answers = any(each.agreement is not None and each.agreement.changed is not None for each in result.formats)
    if has_answers:
        heads.append("answers changed")
    lines = [escape_controls(f"{result.model}: {counted(len(result.formats), 'number format')}"), ""]
    lines += aligned([heads, *rows], "l" + "r" * (len(heads) - 1))
    parts = [[part.name for part in result.formats[0].by_component()]]
    parts += [[digits(part.relative_error, 3) for part in each.by_component()] for each in result.formats]
    names = ["relative error of", *(each.name for each in result.formats)]
    table = [names, *(list(column) for column in zip(*parts, strict=True))]
    lines += ["", *aligned(table, "l" + "r" * len(result.formats))]
    return [*lines, "", texts_sentence(result)] if result.texts else lines


def _number_formats_row(each: RoundedFormat) -> list[str]:
    whole = each.whole
    saved = f"{whole.saved_nbytes / whole.nbytes:.1%}".replace("-", "−") if whole.nbytes else "0"
    sizes = [f"{whole.nbytes:,}", f"{whole.rounded_nbytes:,}", saved]
    return [each.name, digits(whole.relative_error, 3), digits(whole.largest_error, 3), *sizes]


def _texts_row(each: RoundedFormat) -> list[str]:
    agreement = each.agreement
    if agreement is None:
        return ["", "", ""]
    shared = "" if agreement.shared is None else f"{agreement.shared.mean():.1%}"
    answers = [] if agreement.changed is None else [f"{len(agreement.changed):,}"]
    return [number_cell(mean_cosine(agreement)), number_cell(least_cosine(agreement)), shared, *answers]


def texts_sentence(result: NumberFormats) -> str:
    """What the texts were run for and with what memory, in plain sentences."""
    agreement = next((each.agreement for each in result.formats if each.agreement is not None), None)
    count = agreement.neighbours if agreement is not None else None
    nearest = "" if not count else "nearest text" if count == 1 else f"{count} nearest texts"
    near = f"; neighbours kept are those among the {nearest} of each" if nearest else ""
    answers = "; answers are those of the head" if agreement is not None and agreement.changed is not None else ""
    return (
        f"Cosine of the vector ({result.pooling}) of each of {counted(len(result.texts), 'text')} before and after "
        f"rounding{near}{answers}. The model itself stays as it is: each format was run in a copy of "
        f"{mebibytes(result.copy_nbytes)} in memory, one after another."
    )


def formats_sentence(result: NumberFormats) -> str:
    """The format with the smallest weights, of equals that with the smallest error, in one sentence."""
    least = min(result.formats, key=lambda each: (each.whole.rounded_nbytes, each.whole.relative_error))
    whole = least.whole
    sentence = f"**{least.name}** needs the fewest bytes: {mebibytes(whole.rounded_nbytes)} instead of "
    sentence += f"{mebibytes(whole.nbytes)}, at a relative error of {digits(whole.relative_error, 2)}"
    if least.agreement is None:
        return f"{sentence}."
    return f"{sentence}; the vectors of the texts keep a mean cosine of {decimals(mean_cosine(least.agreement))}."
