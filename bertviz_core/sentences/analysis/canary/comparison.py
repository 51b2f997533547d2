"""Compare a model with its canary: what changed, in the order of causes, and by how much."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.errors import TextError
from bertviz_core.sentences.analysis.canary.results import (
    Canary,
    CanaryCheck,
    CanaryText,
    Cause,
    FileChange,
    TokenChange,
    ValueChange,
)
from bertviz_core.sentences.two_models import EQUAL

TOLERANCE = 1e-4
"""Permitted change of a vector, as a share of its length: a hundred times what other instructions of a processor make
of float32 (1e-6), a tenth of what float16 does. It moves a cosine with any other vector by at most 1e-4."""
SHOWN_TOKENS = 4
"""Number of tokens of a difference that are kept."""
BLOCK_ROWS = 512
"""Rows of cosines at a time."""


def check_tolerance(tolerance: float) -> None:
    """Check a tolerance before a model is run."""
    if not 0 <= tolerance < np.inf:
        raise TextError(f"The tolerance is {tolerance:g}; give a number from 0, such as {TOLERANCE:g}.")


def canary_check(
    stored: Canary, current: Canary, tolerance: float = TOLERANCE, notices: Sequence[str] = ()
) -> CanaryCheck:
    """Compare the canary of a file with one that was made now of the same texts.

    Args:
        stored: the canary of the file.
        current: the canary of the model as it is, whose tokens were read by the recipe of the file.
        tolerance: permitted change of a vector, as a share of its length.
        notices: remarks on the result.
    """
    check_tolerance(tolerance)
    before, after = stored.vectors.astype(np.float64), current.vectors.astype(np.float64)
    tokens, files = tuple(_token_changes(stored.texts, current.texts)), _file_changes(stored, current)
    recipe = _value_changes(_recipe_words(stored), _recipe_words(current))
    versions = _value_changes(stored.versions, current.versions)
    numbers = _numbers(before, after) if before.shape == after.shape else (None, None, None)
    nearest = _nearest(before), _nearest(after)
    return CanaryCheck(
        model=current.model,
        revision=current.revision,
        file_model=stored.model,
        file_revision=stored.revision,
        texts=tuple(each.text for each in stored.texts),
        causes=tuple(_causes(tokens, files, recipe, versions)),
        tokens=tokens,
        files=files,
        recipe=recipe,
        versions=versions,
        tolerance=tolerance,
        dimensions=current.dimensions,
        file_dimensions=stored.dimensions,
        changes=numbers[0],
        absolute=numbers[1],
        cosines=numbers[2],
        nearest_before=nearest[0],
        nearest_after=nearest[1],
        ties=_tied(before, nearest) | _tied(after, nearest),
        notices=tuple(notices),
    )


def _causes(
    tokens: Sequence[TokenChange],
    files: Sequence[FileChange],
    recipe: Sequence[ValueChange],
    versions: Sequence[ValueChange],
) -> Iterator[Cause]:
    """What changed, in order; a file of the tokenizer or the recipe only where neither tokens nor recipe changed."""
    kinds = {each.kind for each in files}
    if tokens:
        yield "tokens"
    if "weights" in kinds:
        yield "weights"
    if recipe:
        yield "recipe"
    if "config" in kinds:
        yield "config"
    if versions:
        yield "versions"
    if not (tokens or recipe) and not kinds.isdisjoint(("tokenizer", "recipe")):
        yield "files"


def _token_changes(before: Sequence[CanaryText], after: Sequence[CanaryText]) -> Iterator[TokenChange]:
    for place, (one, other) in enumerate(zip(before, after, strict=True)):
        pairs = (list(zip(each.ids, each.tokens, strict=True)) for each in (one, other))
        first, second = pairs
        if first == second:
            continue
        same = next((at for at, both in enumerate(zip(first, second, strict=False)) if both[0] != both[1]), None)
        at = min(len(first), len(second)) if same is None else same
        yield TokenChange(place, at, one.tokens[at : at + SHOWN_TOKENS], other.tokens[at : at + SHOWN_TOKENS])


def _file_changes(stored: Canary, current: Canary) -> tuple[FileChange, ...]:
    before, after = ({each.name: each for each in canary.files} for canary in (stored, current))
    changes = []
    for name in sorted({*before, *after}):
        one, other = before.get(name), after.get(name)
        digests = one.sha256 if one else None, other.sha256 if other else None
        known = other or one
        if known is not None and digests[0] != digests[1]:
            changes.append(FileChange(name, known.kind, *digests))
    return tuple(changes)


def _recipe_words(canary: Canary) -> Mapping[str, str]:
    """Field of a recipe -> its value in words."""
    values = asdict(canary.recipe)
    values["dense"] = [
        f"{each.inputs} to {each.outputs}, {each.activation}{'' if each.bias else ', no bias'}"
        for each in canary.recipe.dense
    ]
    return {name: _word(value) for name, value in values.items()}


def _word(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "; ".join(value) or "none"
    return "none" if value is None else str(value)


def _value_changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[ValueChange, ...]:
    names = dict.fromkeys((*after, *before))
    pairs = ((name, before.get(name, "none"), after.get(name, "none")) for name in names)
    return tuple(ValueChange(*each) for each in pairs if each[1] != each[2])


def _numbers(
    before: Float[np.ndarray, "texts dimensions"], after: Float[np.ndarray, "texts dimensions"]
) -> tuple[Float[np.ndarray, " texts"], Float[np.ndarray, " texts"], Float[np.ndarray, " texts"]]:
    """Relative and largest absolute change of each vector, and the cosine; NaN now is an infinite change."""
    finite = np.isfinite(after).all(axis=1)
    now = np.where(finite[:, None], after, 0)
    lengths, apart = np.linalg.norm(before, axis=1), np.linalg.norm(now - before, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(apart == 0, 0, apart / lengths)
    relative = np.where(finite, relative, np.inf)
    absolute = np.where(finite, np.abs(now - before).max(axis=1), np.inf)
    cosines = np.clip(np.einsum("td,td->t", _units(before), _units(now)), -1, 1)
    return relative, absolute, cosines


def _units(vectors: Float[np.ndarray, "texts dimensions"]) -> Float[np.ndarray, "texts dimensions"]:
    """Vectors of unit length; those of zeros, or with NaN, are zeros."""
    finite = np.where(np.isfinite(vectors).all(axis=1, keepdims=True), vectors, 0)
    lengths = np.linalg.norm(finite, axis=1, keepdims=True)
    return np.asarray(finite / np.where(lengths > 0, lengths, 1))


def _nearest(vectors: Float[np.ndarray, "texts dimensions"]) -> Int[np.ndarray, " texts"]:
    """Index of the vector with the largest cosine to each, itself left out; the first of equal ones, -1 for none."""
    units, nearest = _units(vectors), np.full(len(vectors), -1, dtype=np.int64)
    for start in range(0, len(units) if len(units) > 1 else 0, BLOCK_ROWS):
        # Rounded, so that equal vectors have equal cosines whatever order their products are added in.
        cosines = np.round(units[start : start + BLOCK_ROWS] @ units.T, 12)
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -np.inf
        nearest[start : start + BLOCK_ROWS] = cosines.argmax(axis=1)
    return nearest


def _tied(
    vectors: Float[np.ndarray, "texts dimensions"], nearest: tuple[Int[np.ndarray, " texts"], Int[np.ndarray, " texts"]]
) -> Bool[np.ndarray, " texts"]:
    """Whether each vector is as near to one as to the other, up to the rounding of float32."""
    units = _units(vectors)
    one, other = (np.einsum("td,td->t", units, units[each]) for each in nearest)
    return np.asarray(np.abs(one - other) <= EQUAL)
