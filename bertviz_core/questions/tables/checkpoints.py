"""How load reports, checkpoints, adapters and number formats are shown."""

from math import isfinite, isnan
from statistics import median
from typing import Any

from bertviz_core.checkpoints.load_report.advice import share_text
from bertviz_core.checkpoints.load_report.results import KeyRow, LoadReport
from bertviz_core.checkpoints.results import Behaviour, CheckpointComparison, NumberFormats, RoundedFormat
from bertviz_core.checkpoints.tables import (
    CHANGES,
    PARTS,
    UPDATES,
    adapter_frame,
    formats_frame,
    keys_frame,
    least_cosine,
    mean_cosine,
    values_text,
)
from bertviz_core.figures.checkpoints.weights import mebibytes
from bertviz_core.hidden_states.results import state_name
from bertviz_core.parameters.adapters.results import AdapterUpdates
from bertviz_core.questions.tables.lines import Columns, Faces, every, fields, grid, printable_name, table
from bertviz_core.text import counted, decimals, digits, escape_controls

MAX_ROWS = 30


TENSOR = "name second_name shape component=location.component layer=location.layer"


def _comparison_lines(comparison: CheckpointComparison) -> list[str]:
    """Tables sorted by change, descending; what has no change that can be measured comes first."""
    ordered = sorted(
        comparison.tensors, key=lambda tensor: (not isnan(tensor.relative_change), -tensor.relative_change)
    )
    columns: Columns = {
        "tensor": ("name", printable_name),
        "shape": "shape",
        "relative change": ("relative_change", ".3e"),
        "largest difference": ("largest_difference", ".3e"),
    }
    lines = [
        f"{comparison.first} -> {comparison.second}: {len(comparison.tensors):,} tensors in both, "
        f"{len(comparison.added):,} added, {len(comparison.removed):,} removed, {len(comparison.resized):,} resized",
        f"relative change of all parameters that both hold: {comparison.relative_change:.3e}",
        most_moved(comparison),
        "",
        *(f"added    {printable_name(tensor.name)} {tensor.shape}" for tensor in comparison.added),
        *(f"removed  {printable_name(tensor.name)} {tensor.shape}" for tensor in comparison.removed),
        *(f"resized  {printable_name(each.name)} {each.first} -> {each.second}" for each in comparison.resized),
        "",
        *table(ordered[:MAX_ROWS], columns),
    ]
    more = len(ordered) - MAX_ROWS
    return [*lines, *([f"... and {more:,} that changed less; --json prints all"] if more > 0 else [])]


def most_moved(comparison: CheckpointComparison) -> str:
    """The tensor that changed most relative to its norm, and the median of all, buffers left out."""
    moved = [each for each in comparison.tensors if isfinite(each.relative_change) and not each.location.is_buffer]
    if not moved:
        return "No change relative to a norm can be measured."
    most = max(moved, key=lambda each: each.relative_change)
    if most.relative_change == 0:
        return f"No tensor changed: all {counted(len(moved), 'tensor')} are equal in both."
    middle = digits(median(each.relative_change for each in moved))
    return (
        f"Of {counted(len(moved), 'tensor')} of parameters, {printable_name(most.name)} changed most: by "
        f"{digits(most.relative_change)} of its norm; the median is {middle}."
    )


CHECKPOINTS: Faces[CheckpointComparison] = Faces(
    keys="first second prefixes added removed resized relative_change tensors unread",
    made={
        "added": lambda comparison: [tensor.name for tensor in comparison.added],
        "removed": lambda comparison: [tensor.name for tensor in comparison.removed],
        "resized": lambda comparison: every(comparison.resized, "name first second"),
        "tensors": lambda comparison: every(comparison.tensors, TENSOR, *CHANGES.values()),
    },
    lines=_comparison_lines,
)


def _behaviour_lines(behaviours: Behaviour) -> list[str]:
    lines = []
    if behaviours.cosines is not None:
        cosines = [(state_name(entry), row.mean(), row.min()) for entry, row in enumerate(behaviours.cosines)]
        lines += ["Cosine of hidden states, over the tokens", *table(cosines, ("state", "mean", "least"), "lrr"), ""]
    if behaviours.divergences is not None:
        layers, heads = map(range, behaviours.divergences.shape)
        lines += ["Jensen-Shannon divergence of attention in nats, layer by head"]
        lines += [*grid("layer", heads, map(str, layers), behaviours.divergences.tolist(), "{:.4f}".format, "r"), ""]
    return lines[:-1]


BEHAVIOUR: Faces[Behaviour] = Faces(keys="tokens=tokens.tokens cosines divergences notices", lines=_behaviour_lines)
ADAPTER: Faces[AdapterUpdates] = Faces(
    keys="adapter base updates saved",
    made={"updates": lambda updates: every(updates.updates, "name shape", *UPDATES.values(), "singular_values")},
    frame=adapter_frame,
    above=lambda updates: [
        f"{updates.adapter} changes {len(updates.updates):,} matrices of {updates.base} and brings "
        f"{len(updates.saved):,} whole tensors"
    ],
    rows=lambda updates: updates.updates,
    columns={
        "matrix": ("name", printable_name),
        "shape": "shape",
        "rank": ("rank", str),
        "scale": ("scale", ".4g"),
        "norm / base": ("relative_norm", ".3e"),
        "stable rank": ("stable_rank", ".2f"),
        "singular values": values_text,
    },
    below=lambda updates: [f"replaced  {printable_name(name)}" for name in updates.saved],
)


REPAIR = "action old new keys before after expected code wanted=expected"


def _report_lines(report: LoadReport) -> list[str]:
    """Its meaning, the counts, and the names without a counterpart."""
    names = [row for row in report.rows if row.status != "matched"]
    shares: Columns = {
        "component": ("name", str),
        "matched": "matched",
        "new": "new",
        "wrong shape": "wrong_shape",
        "unused": "unused",
    }
    lines = [
        f"{report.model} as {report.architecture} ({report.task}): {report.matched:,} of {report.expected:,} tensors, "
        f"{report.from_file:,} of {report.total:,} parameters ({share_text(report.fraction_from_file)}) from the file",
        "",
        report.suggestion,
        "",
        *table(report.shares, shares),
    ]
    if names:
        columns: Columns = {"status": ("status", str), "name": ("name", str), "shape": _shape, "": _note}
        lines += ["", *table(names, columns)]
    if report.repair is not None:
        repair = report.repair
        lines += ["", f"Repair: {repair.words} -> {repair.after:,} of {repair.expected:,}", ""]
        lines += repair.code.splitlines()
    return [escape_controls(line) for line in lines]


def _shape(row: KeyRow) -> str:
    shape = row.model_shape or row.checkpoint_shape
    return "" if shape is None else str(shape)


def _note(row: KeyRow) -> str:
    return f"in the file {row.checkpoint_shape}" if row.status == "wrong shape" else row.note


LOAD_REPORT: Faces[LoadReport] = Faces(
    keys="model model_type task architecture stored_architecture num_labels matched expected new unused mismatched "
    "ignored not_converted parameters=total parameters_from_file=from_file fraction_from_file components repair "
    "suggestion notices stored_tensors stored_bytes=stored_nbytes bytes_read=header_nbytes wanted=expected",
    made={
        "mismatched": lambda report: every(report.mismatched, "name checkpoint model"),
        "ignored": lambda report: every(report.ignored, "name reason=note"),
        "components": lambda report: every(report.shares, "name matched new wrong_shape unused"),
        "repair": lambda report: None if report.repair is None else fields(report.repair, REPAIR),
    },
    frame=lambda report: keys_frame(report.rows),
    lines=_report_lines,
)


def _format_keys(each: RoundedFormat) -> dict[str, Any]:
    agreement, texts = each.agreement, None
    if agreement is not None:
        means = {"mean_cosine": mean_cosine(agreement), "smallest_cosine": least_cosine(agreement)}
        rest = fields(agreement, "neighbours shared_neighbours=shared answers_changed=changed")
        texts = {"cosines": agreement.cosines, **means, **rest}
    names = {"numbers": "numel", **{column: column.replace(" ", "_") for column in PARTS if column != "numbers"}}
    numbers = " ".join(f"{names[column]}={field}" for column, field in PARTS.items())
    parts = every(each.parts, "component layer block", numbers)
    return {"format": each.name, "bits": each.bits, **fields(each.whole, numbers), "parts": parts, "texts": texts}


def _formats_lines(result: NumberFormats) -> list[str]:
    """The formats, then their errors by component, and the changed answers."""
    frame = formats_frame(result)
    saved = {"saved": lambda row: _percent(row["bytes saved"] / row["bytes before"]) if row["bytes before"] else "0"}
    texts = {
        "mean cosine": "mean cosine",
        "smallest": "smallest cosine",
        "neighbours kept": ("neighbours kept", _percent),
    }
    columns: dict[str, Any] = {
        "format": ("format", str),
        **{name: (name, lambda value: digits(value, 3)) for name in ("relative error", "largest error")},
        **{name: name for name in ("bytes before", "bytes after")},
        **saved,
        **(texts if result.texts else {}),
        **({"answers changed": "answers changed"} if "answers changed" in frame else {}),
    }
    components = [part.name for part in result.formats[0].by_component()]
    errors = [[part.relative_error for part in each.by_component()] for each in result.formats]
    return [
        escape_controls(f"{result.model}: {counted(len(result.formats), 'number format')}"),
        "",
        *table(frame, columns, "l" + "r" * (len(columns) - 1)),
        "",
        *grid(
            "relative error of",
            [each.name for each in result.formats],
            components,
            zip(*errors, strict=True),
            lambda value: digits(value, 3),
        ),
        *(["", texts_sentence(result)] if result.texts else []),
    ]


def _percent(share: float) -> str:
    return "" if isnan(share) else f"{share:.1%}".replace("-", "−")


NUMBER_FORMATS: Faces[NumberFormats] = Faces(
    keys="model formats texts pooling copy_bytes=copy_nbytes unread notices",
    made={
        "formats": lambda result: [_format_keys(each) for each in result.formats],
        "pooling": lambda result: result.pooling or None,
    },
    frame=formats_frame,
    lines=_formats_lines,
)


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
    """The format with the smallest weights, of equals that with the smallest error first, in one sentence."""
    ranked = sorted(result.formats, key=lambda each: (each.whole.rounded_nbytes, each.whole.relative_error))
    least, *others = [each for each in ranked if each.whole.rounded_nbytes == ranked[0].whole.rounded_nbytes]
    whole = least.whole
    names = " and ".join(f"**{each.name}**" for each in (least, *others))
    sentence = f"{names} need{'' if others else 's'} the fewest bytes: {mebibytes(whole.rounded_nbytes)} instead of "
    sentence += mebibytes(whole.nbytes)
    if others:
        errors = ", ".join(f"{each.name} {digits(each.whole.relative_error, 2)}" for each in others)
        sentence += (
            f"; of these, {least.name} has the smallest relative error, {digits(whole.relative_error, 2)} ({errors})"
        )
    else:
        sentence += f", at a relative error of {digits(whole.relative_error, 2)}"
    if least.agreement is None:
        return f"{sentence}."
    cosine = decimals(mean_cosine(least.agreement))
    return f"{sentence}; with {least.name} the vectors of the texts keep a mean cosine of {cosine}."
