"""Attribute a target to words by leaving out each of them."""

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
    """For each word, compute the target of the text minus that of the text without the word.

    Exact by definition: each share is the difference of two runs. The shares need not sum to the joint effect of all
    words, since words can be redundant.

    Args:
        target: the target.
        tokenizer: tokenizer of the model.
        whole_words: whether to remove whole words, or single tokens.
        replacement: how a removed word is replaced.
        progress: called as progress(rows done, rows); may raise to cancel.

    Raises:
        TextError: the text has no word, nothing would remain, or the position of the target would move.
        UnsupportedModelError: the tokenizer has no mask.
        BertvizError: the target cannot be computed.
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
