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
    """Compare the journeys of a text and of its edited version, and their runs, at the tokens of the second."""
    first, second = runs
    unchanged = unchanged_positions(first.tokens, second.tokens)
    sources = {new: old for old, new in unchanged.items()}
    origin = tuple(sources.get(at, -1) for at in range(len(second.tokens)))
    known = np.array(origin) >= 0

    def placed(values: Float[np.ndarray, "layers old"] | None) -> Float[np.ndarray, "layers new"] | None:
        return None if values is None else np.where(known, values[:, origin], np.float32(np.nan))

    gone = tuple(
        (max((new + 1 for old, new in unchanged.items() if old < at), default=0), before.labels[at])
        for at in range(len(first.tokens))
        if at not in unchanged
    )
    edits = list(_edits(first.tokens.text, second.tokens.text))
    if len(edits) > MOST_EDITS:
        edits[MOST_EDITS:] = [counted(len(edits) - MOST_EDITS, "more edit")]
    same = cosine(first.hidden_states[-1][list(origin)], second.hidden_states[-1])
    words = ", ".join(edits) or "white space alone"
    sentence = f"The text is edited: {words} ({counted(origin.count(-1), 'new token')}, {len(gone)} gone)."
    return ChangedJourney(
        " ".join([sentence, *(each for each in second.tokens.notices if each not in first.tokens.notices)]),
        replace(after, turn=placed(before.turn), length=placed(before.length), entropy=placed(before.entropy)),
        after,
        np.where(known, same, np.float32(np.nan)),
        origin,
        gone,
    )


def _edits(before: str, after: str) -> Iterator[str]:
    for edit in word_edits(before, after):
        old, new = (
            f"“{shortened(' '.join(text[slice(*span)].split()), LONGEST)}”"
            for text, span in ((before, edit.before), (after, edit.after))
        )
        if edit.kind != "same":
            yield {"inserted": f"{new} inserted", "deleted": f"{old} deleted"}.get(edit.kind, f"{old} → {new}")
