"""Format what rounding to fewer bits costs and saves as JSON, text tables, data frames and sentences."""

from typing import Any

import numpy as np

from bertviz_core.checkpoints.rounding.results import NumberFormats, RoundedFormat, RoundedPart, TextAgreement
from bertviz_core.figures.checkpoints.number_formats import mebibytes
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import aligned, number_cell
from bertviz_core.text import counted, decimals, digits, escape_controls


def formats_frame(result: NumberFormats) -> "pd.DataFrame":
    """One row per format: error and bytes of all weights, and what the texts keep; NA without texts."""
    rows = []
    for each in result.formats:
        whole, agreement = each.whole, each.agreement
        row: dict[str, object] = {
            "format": each.name,
            "relative error": whole.relative_error,
            "largest error": whole.largest_error,
            "bytes before": whole.nbytes,
            "bytes after": whole.rounded_nbytes,
            "bytes saved": whole.saved_nbytes,
        }
        if agreement is not None:
            row |= {"mean cosine": _mean(agreement), "smallest cosine": _least(agreement)}
            row |= {"neighbours kept": np.nan if agreement.shared is None else float(agreement.shared.mean())}
            if agreement.changed is not None:
                row |= {"answers changed": len(agreement.changed)}
        rows.append(row)
    return pd.DataFrame(rows)


def parts_frame(result: NumberFormats) -> "pd.DataFrame":
    """One row per format, component, layer and block: errors, and bytes before and after with the scales."""
    rows = [
        {
            "format": each.name,
            "component": part.component,
            "layer": part.layer,
            "block": part.block,
            "tensors": part.tensors,
            "tensors rounded": part.rounded,
            "numbers": part.numel,
            "relative error": part.relative_error,
            "largest error": part.largest_error,
            "bytes before": part.nbytes,
            "bytes after": part.rounded_nbytes,
            "bytes saved": part.saved_nbytes,
        }
        for each in result.formats
        for part in each.parts
    ]
    return pd.DataFrame(rows).astype({"layer": "Int64"})


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
            "mean_cosine": _mean(agreement),
            "smallest_cosine": _least(agreement),
            "neighbours": agreement.neighbours,
            "shared_neighbours": agreement.shared,
            "answers_changed": agreement.changed,
        }
    parts = [
        {"component": part.component, "layer": part.layer, "block": part.block, **_numbers(part)} for part in each.parts
    ]
    return {"format": each.name, "bits": each.bits, **_numbers(each.whole), "parts": parts, "texts": texts}


def _numbers(part: RoundedPart) -> dict[str, Any]:
    return {
        "tensors": part.tensors,
        "tensors_rounded": part.rounded,
        "numel": part.numel,
        "relative_error": part.relative_error,
        "largest_error": part.largest_error,
        "bytes_before": part.nbytes,
        "bytes_after": part.rounded_nbytes,
        "bytes_saved": part.saved_nbytes,
    }


def number_formats_lines(result: NumberFormats) -> list[str]:
    """A table of the formats, then of their errors by component, and the changed answers."""
    heads = ["format", "relative error", "largest error", "bytes before", "bytes after", "saved"]
    rows = [_row(each) for each in result.formats]
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


def _row(each: RoundedFormat) -> list[str]:
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
    return [number_cell(_mean(agreement)), number_cell(_least(agreement)), shared, *answers]


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
    return f"{sentence}; the vectors of the texts keep a mean cosine of {decimals(_mean(least.agreement))}."


def _mean(agreement: TextAgreement) -> float:
    return float(agreement.cosines.mean()) if len(agreement.cosines) else float("nan")


def _least(agreement: TextAgreement) -> float:
    return float(agreement.cosines.min()) if len(agreement.cosines) else float("nan")
