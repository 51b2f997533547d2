"""Attribute a target to words by leaving each of them out."""

from time import perf_counter

import numpy as np

from bertviz_core.attribution.results import Replacement, WordAttributions
from bertviz_core.attribution.text_units import INSTEAD, Remover, row_values, text_units, unit_names
from bertviz_core.errors import Progress
from bertviz_core.interventions.targets.target import Target
from bertviz_core.trace.tokenization import TextTokenizer


def leave_one_out(
    target: Target,
    tokenizer: TextTokenizer,
    whole_words: bool = True,
    replacement: Replacement = "mask",
    progress: Progress | None = None,
) -> WordAttributions:
    """For each word, the target of the text minus that of the text without the word.

    Exact by definition: each share is the difference of two runs. The shares need not add up to what all words
    together do, since one word can stand in for another.

    Args:
        target: the number.
        tokenizer: the model's.
        whole_words: whether a word goes with all its tokens, or each token alone.
        replacement: what becomes of a word.
        progress: called as progress(rows done, rows); may raise to stop the work.

    Raises:
        TextError: the text has no word, nothing would be left, or the target is read at a place that would move.
        UnsupportedModelError: the tokenizer has no mask.
        BertvizError: as the target.
    """
    started, remover = perf_counter(), Remover(target, tokenizer, replacement)
    units = text_units(target.tokens, whole_words)
    nothing = remover.without(place for unit in units for place in unit.positions)
    rows = [target.tokens, *(remover.without(unit.positions) for unit in units), *([nothing] if len(nothing) else [])]
    values = row_values(target, rows, progress)
    shares = (values[0] - values[1 : len(units) + 1]).astype(np.float32)
    errors = np.zeros_like(shares)
    for array in (shares, errors):
        array.setflags(write=False)
    return WordAttributions(
        model=target.loaded.name,
        target=target.name,
        title=target.title,
        unit=target.unit,
        method="leave-one-out",
        instead=INSTEAD[replacement],
        tokens=target.tokens,
        words=unit_names(target.tokens, units),
        positions=tuple(unit.positions for unit in units),
        shares=shares,
        clean=float(values[0]),
        reference=float(values[-1]) if len(nothing) else float("nan"),
        error=0.0,
        share_errors=errors,
        runs=len(rows),
        seconds=perf_counter() - started,
        notices=target.notices,
    )
