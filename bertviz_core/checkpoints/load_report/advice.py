"""Explain a load report: usable parts, random parts, and advice."""

from collections.abc import Sequence

from bertviz_core.checkpoints.load_report.results import KeyRow, LoadReport
from bertviz_core.text import quoted

VALUES_NOTE = (
    "Only names and shapes were compared, and no value was read but those of tied tensors that are stored twice; the "
    "view Weights of the page Checkpoint finds NaN and infinity."
)
MAX_NAMED_MODULES = 4
"""Maximum number of modules named in a sentence."""


def share_text(fraction: float) -> str:
    """Format a share as a percentage; only a full share is written as 100%."""
    if fraction in (0.0, 1.0):
        return f"{fraction:.0%}"
    digits = 1
    while digits < 9 and float(f"{100 * fraction:.{digits}f}") in (0.0, 100.0):
        digits += 1
    return f"{100 * fraction:.{digits}f}%"


def suggestion(report: LoadReport) -> str:
    """Explain the report and give advice in some sentences, the last of which says what it did not look at."""
    if report.repair is not None:
        return _repair(report)
    wrong, new = _rows(report, "wrong shape"), _rows(report, "new")
    parts = [*_conversion(report), *_wrong_shapes(report, wrong), *_new(report, new)]
    if not parts:
        parts.append(_complete(report))
    return " ".join([*parts, *_unused(report), *_ignored(report), VALUES_NOTE])


def _complete(report: LoadReport) -> str:
    all_matched = report.matched == report.expected
    counts = f"all {report.expected:,}" if all_matched else f"{report.matched:,} of {report.expected:,}"
    own = f", and the class itself sets {_names(report.set_by_class)}" if report.set_by_class else ""
    end = "; nothing is random." if report.is_complete else "."
    return f"Complete: {counts} tensors of {report.architecture} come from the file{own}{end}"


def _repair(report: LoadReport) -> str:
    repair = report.repair
    if repair is None:
        return ""
    words = {
        "strip": f"have the prefix {quoted(repair.old)}",
        "add": f"lack the prefix {quoted(repair.new)}",
    }.get(repair.action, f"begin with {quoted(repair.old)} in place of {quoted(repair.new)}")
    rest = repair.expected - repair.after
    remaining = f" The other {rest:,} would still be new." if rest else ""
    return (
        f"Do not load it as it is: only {repair.before:,} of {repair.expected:,} tensors would come from the file, the "
        f"rest would be random. {repair.keys:,} keys of the file {words}; after the repair, {repair.after:,} of "
        f"{repair.expected:,} match.{remaining} {VALUES_NOTE}"
    )


def _conversion(report: LoadReport) -> list[str]:
    if not report.not_converted:
        return []
    return [
        f"The stored tensors of {_names(report.not_converted)} cannot be put together as the family does it; "
        "from_pretrained refuses the file. Check that no part of it is missing."
    ]


def _wrong_shapes(report: LoadReport, rows: Sequence[KeyRow]) -> list[str]:
    if not rows:
        return []
    first = rows[0]
    sentence = (
        f"{_count_text(rows, 'tensor')} {'has' if len(rows) == 1 else 'have'} another shape in the file "
        f"({first.name}: {first.checkpoint_shape} there, {first.model_shape} in the model), so from_pretrained refuses "
        "it; with ignore_mismatched_sizes=True random numbers take their place."
    )
    return [sentence, *_wrong_cause(report, rows)]


def _wrong_cause(report: LoadReport, rows: Sequence[KeyRow]) -> list[str]:
    """Describe the likely cause of mismatched shapes."""
    head = [row for row in rows if row.component == "task head" and row.checkpoint_shape]
    if len(head) == len(rows) and report.num_labels is not None:
        labels = head[-1].checkpoint_shape or (0,)
        return [
            f"The file's head has {labels[0]:,} labels, and {report.num_labels:,} are expected, by id2label in "
            f"config.json (without it 2) or by num_labels: name {labels[0]:,} in id2label, or give "
            f"num_labels={labels[0]}."
        ]
    first_axes = {(row.checkpoint_shape or (0,))[0] for row in rows}
    words = [row for row in rows if row.component == "embeddings" and "position" not in row.name]
    if words and len(first_axes) == 1:
        return [f"The vocabulary was probably resized: set vocab_size to {first_axes.pop():,} in config.json."]
    return ["Compare the sizes in config.json with those of the model that was saved."]


def _new(report: LoadReport, rows: Sequence[KeyRow]) -> list[str]:
    if not rows:
        return []
    head = [row for row in rows if row.component == "task head"]
    pooler = [row for row in rows if row.component == "pooler"]
    rest = [row for row in rows if row.component not in ("task head", "pooler")]
    sentences = []
    if rest:
        sentences.append(
            f"{_count_text(rest, 'tensor')} of the model itself {_are(rest)} not in the file "
            f"({_names([row.name for row in rest])}) and would be random: do not use it like this. The file may be cut "
            "short, be of another family, or have other sizes than config.json says."
        )
    if head:
        sentences.append(
            f"The head for {report.task} is new: {_names([row.name for row in head])} {_are(head)} not in the file and "
            "would be random numbers. Train it before you use it."
        )
    if pooler:
        sentences.append(
            f"The pooler is new ({_names([row.name for row in pooler])}): hidden states need none, "
            "pooler_output would be random until it is trained."
        )
    return sentences


def _unused(report: LoadReport) -> list[str]:
    rows = _rows(report, "unused")
    head = [row for row in rows if row.component == "task head"]
    rest = [row for row in rows if row.component not in ("task head", "pooler")]
    sentences = []
    if head:
        sentences.append(
            f"{_count_text(head, 'key')} of the file, from another task's head, {_are(head)} not used (harmless)."
        )
    if any(row.component == "pooler" for row in rows):
        sentences.append("The file's pooler is not used: this class has none.")
    if rest:
        sentences.append(
            f"{_count_text(rest, 'key')} of the file that belong to the model itself {_are(rest)} not used "
            f"({_names([row.name for row in rest])}): the config may ask for fewer layers than the file holds."
        )
    return sentences


def _ignored(report: LoadReport) -> list[str]:
    lacking = [row for row in report.ignored if row.model_shape is not None and not row.buffer]
    if not lacking:
        return []
    return [
        f"{_names([row.name for row in lacking])} {_are(lacking)} not in the file either; transformers does not say "
        "so, by a rule of the class."
    ]


def _rows(report: LoadReport, status: str) -> list[KeyRow]:
    return [row for row in report.rows if row.status == status]


def _names(names: Sequence[str]) -> str:
    """List names grouped by module, as in "classifier.{weight,bias}", and the number of further ones."""
    modules: dict[str, list[str]] = {}
    for name in names:
        module, _, leaf = name.rpartition(".")
        modules.setdefault(module, []).append(leaf)
    listed = [
        f"{module}.{{{','.join(leaves)}}}" if len(leaves) > 1 else f"{module}.{leaves[0]}".lstrip(".")
        for module, leaves in modules.items()
    ]
    more = sum(len(leaves) for leaves in list(modules.values())[MAX_NAMED_MODULES:])
    return ", ".join(listed[:MAX_NAMED_MODULES]) + (f" and {more:,} more" if more else "")


def _count_text(rows: Sequence[KeyRow], noun: str) -> str:
    return f"1 {noun}" if len(rows) == 1 else f"{len(rows):,} {noun}s"


def _are(rows: Sequence[KeyRow]) -> str:
    return "is" if len(rows) == 1 else "are"
