"""Compare the journeys of a text and of its edited version, token by token."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from bertviz_core.hidden_states.geometry import cosine
from bertviz_core.journey.results import ChangedJourney, Journey
from bertviz_core.text import counted, shortened
from bertviz_core.trace.results import Trace
from bertviz_core.trace.subwords.text_edits import unchanged_positions, word_edits

MOST_EDITS, LONGEST = 3, 40
"""Maximum number of edits named in a sentence, and of characters of each text in it."""


def compare_wordings(before: Journey, after: Journey, runs: tuple[Trace, Trace]) -> ChangedJourney:
    """Compare two journeys through one model at the tokens of the second.

    Args:
        before: journey of the text.
        after: journey of its edited version.
        runs: the run of each.
    """
    first, second = runs
    kept = unchanged_positions(first.tokens, second.tokens)
    origin = np.full(len(second.tokens), -1)
    origin[list(kept.values())] = list(kept)

    def placed(values: Float[np.ndarray, "layers old"] | None) -> Float[np.ndarray, "layers new"] | None:
        return None if values is None else np.where(origin < 0, np.float32(np.nan), values[..., origin])

    gone, place = [], 0
    for position, label in enumerate(before.labels):
        if position in kept:
            place = kept[position] + 1
        else:
            gone.append((place, label))
    new = int((origin < 0).sum())
    edits = list(_edits(first.tokens.text, second.tokens.text))
    if len(edits) > MOST_EDITS:
        edits[MOST_EDITS:] = [counted(len(edits) - MOST_EDITS, "more edit")]
    same = cosine(first.hidden_states[-1][origin], second.hidden_states[-1])
    words = ", ".join(edits) or "white space alone"
    sentence = f"The text is edited: {words} ({counted(new, 'new token')}, {len(gone)} gone)."
    return ChangedJourney(
        " ".join([sentence, *(each for each in second.tokens.notices if each not in first.tokens.notices)]),
        replace(after, turn=placed(before.turn), length=placed(before.length), entropy=placed(before.entropy)),
        after,
        np.where(origin < 0, np.float32(np.nan), same),
        tuple(origin.tolist()),
        tuple(gone),
    )


def _edits(before: str, after: str) -> Iterator[str]:
    for edit in word_edits(before, after):
        old, new = (
            f"“{shortened(' '.join(text[slice(*span)].split()), LONGEST)}”"
            for text, span in ((before, edit.before), (after, edit.after))
        )
        if edit.kind != "same":
            yield {"inserted": f"{new} inserted", "deleted": f"{old} deleted"}.get(edit.kind, f"{old} → {new}")
