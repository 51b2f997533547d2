"""Format what rounding to fewer bits costs and saves as JSON, text tables, data frames and sentences."""

from typing import Any

from bertviz_core.checkpoints.results import NumberFormats, RoundedFormat, RoundedPart
from bertviz_core.checkpoints.tables import PARTS, least_cosine, mean_cosine
from bertviz_core.figures.checkpoints.number_formats import mebibytes
from bertviz_core.questions.tables.lines import aligned, number_cell
from bertviz_core.text import counted, decimals, digits, escape_controls


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
