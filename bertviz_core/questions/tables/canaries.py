"""How a canary, and a check against one, are shown."""

from typing import Any

from bertviz_core.hidden_states.results import entry_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import Faces, every, fields, printable_token, table
from bertviz_core.sentences.analysis.canary.results import Canary, CanaryCheck, Cause, FileKind
from bertviz_core.text import counted, decimals, digits, escape_controls, quoted

MOST_ROWS, LONGEST_TEXT = 10, 40
"""Rows that are printed of each table, and characters of a text in them."""
NOTHING: dict[Cause, str] = {
    "tokens": "as they were",
    "weights": "the same files",
    "recipe": "as it was",
    "config": "the same file",
    "versions": "the same",
}


def canary_frame(canary: Canary) -> "pd.DataFrame":
    """One row per text: the text, its tokens, and the first numbers of its vector."""
    vectors = canary.vectors
    columns: dict[str, object] = {
        "text": [each.text for each in canary.texts],
        "tokens": [len(each.ids) for each in canary.texts],
        "first tokens": [" ".join(each.tokens[:8]) for each in canary.texts],
        **{f"dimension {place}": vectors[:, place] for place in range(min(3, canary.dimensions))},
    }
    return pd.DataFrame(columns)


def _canary_lines(canary: Canary) -> list[str]:
    recipe = canary.recipe
    return [
        escape_controls(f"{canary.model}: {_size(len(canary.texts), canary.dimensions)}"),
        f"{recipe.pooling} of {entry_name(recipe.layer)}, {'' if recipe.normalized else 'not '}normalised",
        "",
        *table([(each.kind, each.name, each.sha256) for each in canary.files], ("decides", "file", "SHA-256"), "lll"),
        "",
        *table(canary.versions.items(), ("", "version"), "ll"),
    ]


def _size(texts: int, dimensions: int) -> str:
    return f"{counted(texts, 'text')}, {counted(dimensions, 'dimension')}"


CANARY: Faces[Canary] = Faces(
    keys="model revision format_version code_version dimensions texts recipe files versions",
    made={
        "texts": lambda canary: [fields(each, "text ids tokens") for each in canary.texts],
        "recipe": lambda canary: {
            **fields(canary.recipe, " ".join(canary.recipe.__slots__)),
            "dense": every(canary.recipe.dense, "inputs outputs bias activation"),
        },
        "files": lambda canary: every(canary.files, "name kind sha256"),
        "versions": lambda canary: dict(canary.versions),
    },
    frame=canary_frame,
    lines=_canary_lines,
)


def check_words(check: CanaryCheck) -> str:
    """What a check found, in one sentence."""
    if not check.passed:
        effects = [f"the tokens of {_of(len(check.tokens), check)}"] if check.tokens else []
        effects += [f"the vectors of {_of(check.beyond, check)}"] if check.beyond else []
        changed = " and ".join(effects)
        return f"{changed[:1].upper()}{changed[1:]} changed; {cause_words(check)}."
    if check.changes is None or not check.changes.max():
        return f"Tokens and vectors are bit for bit as they were; {cause_words(check)}."
    largest = digits(float(check.changes.max()), 2)
    return (
        f"The vectors are as they were but for rounding (by at most {largest} of their length); {cause_words(check)}."
    )


def cause_words(check: CanaryCheck) -> str:
    """What else changed, in the order of causes."""
    words: dict[Cause, str] = {
        "tokens": "the tokenizer makes other tokens",
        "weights": f"the weights are others ({_files(check, 'weights')})",
        "recipe": f"the recipe is another ({', '.join(each.name for each in check.recipe)})",
        "config": f"the config is another ({_files(check, 'config')})",
        "versions": f"versions are others ({', '.join(each.name for each in check.versions)})",
        "files": f"files are others, with no effect on tokens and recipe ({_files(check, 'tokenizer', 'recipe')})",
    }
    if check.causes:
        return escape_controls(", ".join(words[cause] for cause in check.causes))
    if check.passed:
        return "nothing else changed"
    return "nothing else changed, so that the machine may compute in another precision"


def _of(count: int, check: CanaryCheck) -> str:
    return f"{count:,} of {counted(len(check.texts), 'text')}"


def _files(check: CanaryCheck, *kinds: FileKind) -> str:
    return ", ".join(each.name for each in check.files if each.kind in kinds)


def number_words(check: CanaryCheck) -> str:
    """How far the vectors are from those of the canary."""
    if check.changes is None or check.absolute is None or check.cosines is None:
        return (
            f"vectors of {counted(check.dimensions, 'dimension')}, and those of the canary have "
            f"{check.file_dimensions:,}: they cannot be compared number by number"
        )
    worst, least = check.worst, int(check.cosines.argmin())
    if not check.changes[worst]:
        return "every number is as it was"
    return (
        f"largest change {digits(float(check.changes[worst]), 3)} of a vector's length (text {worst + 1}; tolerance "
        f"{digits(check.tolerance, 3)}), largest change of a number {digits(float(check.absolute.max()), 3)}, least "
        f"cosine {decimals(float(check.cosines[least]), 6)} (text {least + 1})"
    )


def neighbour_words(check: CanaryCheck) -> str:
    """How many texts have another nearest text."""
    moved, beyond = len(check.moved), len(check.moved_beyond_ties)
    ties = moved - beyond
    apart = f", of which {ties:,} had or {'has' if ties == 1 else 'have'} two equally near" if ties else ""
    return f"{_of(moved, check)} have another nearest text{apart}"


def check_frame(check: CanaryCheck) -> "pd.DataFrame":
    """One row per text: its change, its cosine, its nearest texts, and its first token that differs."""
    changed = {each.text: each.position for each in check.tokens}
    nothing = [None] * len(check.texts)
    return pd.DataFrame(
        {
            "text": check.texts,
            "change": nothing if check.changes is None else check.changes,
            "largest change of a number": nothing if check.absolute is None else check.absolute,
            "cosine": nothing if check.cosines is None else check.cosines,
            "nearest before": _named(check, check.nearest_before.tolist()),
            "nearest now": _named(check, check.nearest_after.tolist()),
            "equally near": check.ties,
            "token that differs": list(map(changed.get, range(len(check.texts)))),
        }
    )


def _named(check: CanaryCheck, places: list[int]) -> list[str]:
    return [check.texts[place] if place >= 0 else "" for place in places]


def _check_lines(check: CanaryCheck) -> list[str]:
    names = check.model if check.model == check.file_model else f"{check.model} by the canary of {check.file_model}"
    facts: dict[str, str] = {
        "tokens": f"{_of(len(check.tokens), check)} have others" if check.tokens else NOTHING["tokens"],
        "weights": _files(check, "weights") or NOTHING["weights"],
        "recipe": ", ".join(each.name for each in check.recipe) or NOTHING["recipe"],
        "config": _files(check, "config") or NOTHING["config"],
        "other files": _files(check, "tokenizer", "recipe") or "the same",
        "versions": ", ".join(each.name for each in check.versions) or NOTHING["versions"],
        "numbers": number_words(check),
        "neighbours": neighbour_words(check),
    }
    return [
        escape_controls(f"{names}: {_size(len(check.texts), check.file_dimensions)}"),
        escape_controls(check_words(check)),
        "",
        *table([(name, escape_controls(fact)) for name, fact in facts.items()], ("what", "changed"), "ll", str),
        *_change_lines(check),
        *_token_lines(check),
        *_moved_lines(check),
    ]


def _change_lines(check: CanaryCheck) -> list[str]:
    rows = [*check.recipe, *check.versions]
    return ["", *table(rows, {"field": "name", "before": "before", "now": "after"}, "lll")] if rows else []


def _token_lines(check: CanaryCheck) -> list[str]:
    if not check.tokens:
        return []
    rows = [
        (_short(check.texts[each.text]), each.position, _tokens(each.before), _tokens(each.after))
        for each in check.tokens[:MOST_ROWS]
    ]
    return ["", *table(rows, ("text", "token", "before", "now"), "lrll", str), *_rest(len(check.tokens), "texts")]


def _moved_lines(check: CanaryCheck) -> list[str]:
    moved = check.moved_beyond_ties.tolist()
    if not moved:
        return []
    before, after = check.nearest_before, check.nearest_after
    rows = [tuple(_short(check.texts[place]) for place in (at, before[at], after[at])) for at in moved[:MOST_ROWS]]
    return ["", *table(rows, ("text", "nearest before", "nearest now"), "lll", str), *_rest(len(moved), "texts")]


def _rest(count: int, noun: str) -> list[str]:
    return [f"... and {count - MOST_ROWS:,} more {noun}"] if count > MOST_ROWS else []


def _short(text: str) -> str:
    return quoted(text, LONGEST_TEXT)


def _tokens(tokens: tuple[str, ...]) -> str:
    return " ".join(map(printable_token, tokens)) or "(none)"


def _rows_json(check: CanaryCheck) -> list[dict[str, Any]]:
    columns = {"change": check.changes, "largest_number": check.absolute, "cosine": check.cosines}
    return [
        {
            "text": text,
            **{name: None if values is None else float(values[place]) for name, values in columns.items()},
            "nearest_before": int(check.nearest_before[place]),
            "nearest_after": int(check.nearest_after[place]),
            "tie": bool(check.ties[place]),
        }
        for place, text in enumerate(check.texts)
    ]


CHECK: Faces[CanaryCheck] = Faces(
    keys=(
        "passed summary causes model revision file_model file_revision tolerance dimensions file_dimensions tokens "
        "files recipe versions largest_change largest_number least_cosine worst beyond moved moved_beyond_ties texts "
        "notices"
    ),
    made={
        "summary": check_words,
        "tokens": lambda check: every(check.tokens, "text position before after"),
        "files": lambda check: every(check.files, "name kind before after"),
        "recipe": lambda check: every(check.recipe, "name before after"),
        "versions": lambda check: every(check.versions, "name before after"),
        "largest_change": lambda check: None if check.changes is None else float(check.changes.max()),
        "largest_number": lambda check: None if check.absolute is None else float(check.absolute.max()),
        "least_cosine": lambda check: None if check.cosines is None else float(check.cosines.min()),
        "texts": _rows_json,
    },
    frame=check_frame,
    lines=_check_lines,
)
