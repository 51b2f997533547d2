"""Recognise and repair a foreign prefix on the keys of a checkpoint.

A file that was saved from a wrapper (a Lightning module's `net.`, DataParallel's `module.`, torch.compile's
`_orig_mod.`) contains every tensor under a name that the class does not know, so transformers fills nothing and prints
a table. There is no list of known prefixes: what precedes the longest ending that a key shares with a name of the model
is a candidate, and the candidate that fills most tensors is proposed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bertviz_core.checkpoints.load_report.matching import KeyMatch, KeyMatcher, Shape
from bertviz_core.checkpoints.load_report.results import Action, PrefixRepair
from bertviz_core.models.safetensors.folder import INDEX_FILE
from bertviz_core.parameters.components import TASK_HEAD

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

    Args:
        matcher: the model's names and shapes.
        match: match of the unchanged keys.
        stored: names and shapes in the file.
        files: names of the checkpoint's files.
    """
    lost = {key for keys in match.unused.values() for key in keys}
    if not lost or not (match.missing or match.mismatched):
        return None
    before, expected = matcher.matched(match), matcher.total
    least_gain = (min(len(lost), expected - before) + 1) // 2
    best: tuple[int, int, Change] | None = None
    for change in _candidates(matcher, lost, stored):
        renamed = _renamed_all(change, stored)
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


def _renamed_all(change: Change, stored: Mapping[str, Shape]) -> dict[str, Shape]:
    return {_renamed(change, key): shape for key, shape in stored.items()}


def _size(change: Change) -> int:
    """Return the length of a change in characters; of two equivalent changes the shorter is proposed."""
    return len(change[0]) + 2 * len(change[1])
