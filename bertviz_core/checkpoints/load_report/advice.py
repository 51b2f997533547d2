"""What to do about weights that are missing: advice, prefixes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bertviz_core.checkpoints.load_report.matching import KeyMatch, KeyMatcher, Shape
from bertviz_core.checkpoints.load_report.results import Action, KeyRow, LoadReport, PrefixRepair
from bertviz_core.models.safetensors.folder import INDEX_FILE
from bertviz_core.parameters.components import TASK_HEAD
from bertviz_core.text import quoted

VALUES_NOTE = (
    "Only names and shapes were compared; values were read only where tied tensors are stored twice. The view Weights "
    "of the page Checkpoint looks for NaN and infinity."
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
    words = {"strip": f"have the prefix {quoted(repair.old)}", "add": f"lack the prefix {quoted(repair.new)}"}.get(
        repair.action, f"begin with {quoted(repair.old)} in place of {quoted(repair.new)}"
    )
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


MAX_CANDIDATES = 8
"""Maximum number of candidates tried in full, those supported by most names first."""
MAX_ENDS = 8
"""Maximum number of names of the model that share an ending; a more common ending is uninformative."""
Change = tuple[str, str]
"""Old prefix, new prefix."""


def best_repair(
    matcher: KeyMatcher, match: KeyMatch, stored: Mapping[str, Shape], files: Sequence[str]
) -> PrefixRepair | None:
    """Find the change of prefix with which the file fills most tensors; None if none clearly helps.

    It must fill parts of the base model, and as many tensors as half of the unmatched keys, or half of the missing
    tensors. A change other than stripping must fill half of the model, since the parts of different heads can share an
    ending.
    """
    lost = {key for keys in match.unused.values() for key in keys}
    if not lost or not (match.missing or match.mismatched):
        return None
    before, expected = matcher.matched(match), matcher.total
    least_gain = (min(len(lost), expected - before) + 1) // 2
    best: tuple[int, int, Change] | None = None
    for change in _candidates(matcher, lost, stored):
        renamed = {_renamed(change, key): shape for key, shape in stored.items()}
        if len(renamed) < len(stored):
            continue  # two keys would get one name
        repaired = matcher.match(renamed)
        after = matcher.matched(repaired)
        needed = max(least_gain, (expected + 1) // 2) if change[1] else least_gain
        gained = repaired.filled.keys() - match.filled.keys()
        in_base = any(matcher.component(name) != TASK_HEAD for name in gained)
        if in_base and after - before >= needed and (best is None or (after, -_size(change)) > best[:2]):
            best = (after, -_size(change), change)
    if best is None:
        return None
    after, _, change = best
    old, new = change
    action: Action = "strip" if not new else "replace" if old else "add"
    keys = sum(_renamed(change, key) != key for key in stored)
    return PrefixRepair(action, old, new, keys, before, after, expected, repair_code(change, files))


def renamed_key(repair: PrefixRepair, key: str) -> str:
    """Return the name of a key after the repair."""
    return _renamed((repair.old, repair.new), key)


def repair_code(change: Change, files: Sequence[str]) -> str:
    """Return Python code that renames the keys of a checkpoint's files."""
    old, new = change
    name = f"{new!r} + name" if not old else f"name.removeprefix({old!r})"
    if old and new:
        name = f"{new!r} + name.removeprefix({old!r}) if name.startswith({old!r}) else name"
    lines = [
        "import json, os" if len(files) > 1 else "import os",
        "from safetensors.torch import load_file, save_file",
        "",
        "def repaired(name):",
        f"    return {name}",
        "",
        f"for file in {list(files)!r}:   # in the model's folder",
        "    tensors = {repaired(name): values for name, values in load_file(file).items()}",
        '    save_file(tensors, file + ".new", metadata={"format": "pt"})',
        '    os.replace(file + ".new", file)',
    ]
    if len(files) > 1:
        lines += [
            f"index = json.load(open({INDEX_FILE!r}))",
            'index["weight_map"] = {repaired(name): file for name, file in index["weight_map"].items()}',
            f'json.dump(index, open({INDEX_FILE!r}, "w"))',
        ]
    return "\n".join(lines) + "\n"


def _candidates(matcher: KeyMatcher, lost: set[str], stored: Mapping[str, Shape]) -> list[Change]:
    """Return the changes of prefix that would match unused keys, by the number of such keys."""
    ends: dict[str, list[str]] = {}
    for name in matcher.expected:
        for end in _ends(name):
            ends.setdefault(end, []).append(name)
    votes: Counter[Change] = Counter()
    for key in lost:
        for end in _ends(key):
            names = ends.get(end, ())
            if len(names) > MAX_ENDS:
                break  # no shorter ending has fewer
            fitting = [name for name in names if tuple(matcher.expected[name].shape) == stored[key]]
            if fitting:
                votes.update(_changes(key, end, fitting))
                break
    ranked = sorted(votes.items(), key=lambda item: (-item[1], _size(item[0]), item[0]))
    return [change for change, _ in ranked[:MAX_CANDIDATES]]


def _changes(key: str, end: str, names: Sequence[str]) -> set[Change]:
    """Return the changes that turn a key into one of these names, or strip it to their common ending."""
    old = key.removesuffix(end)
    changes = {(old, name.removesuffix(end)) for name in names}
    return {*changes, (old, "")} - {("", "")} if old else changes - {("", "")}


def _ends(name: str) -> Iterator[str]:
    """Yield the name and its endings after each dot, the longest first."""
    yield name
    for position, letter in enumerate(name):
        if letter == ".":
            yield name[position + 1 :]


def _renamed(change: Change, key: str) -> str:
    old, new = change
    return new + key.removeprefix(old) if key.startswith(old) else key


def _size(change: Change) -> int:
    """Return the length of a change in characters; of two equivalent changes the shorter is proposed."""
    return len(change[0]) + 2 * len(change[1])
