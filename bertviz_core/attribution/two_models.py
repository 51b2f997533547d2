"""Compare the attributions of two models for one text, whose words meet by their characters."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from bertviz_core.attribution.results import AttributionComparison, WordAttributions
from bertviz_core.errors import TextError
from bertviz_core.predictions.two_models.comparison import comparison_notices, unread_parts
from bertviz_core.text import counted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.subwords.two_tokenizers import shared_spans, shared_words


def compared_attributions(
    first: WordAttributions, second: WordAttributions, whole_words: bool = True
) -> AttributionComparison:
    """Shares of the smallest parts of a text that are whole words of both models, or whole tokens.

    The share of a part is the sum of the shares of its words. Words of a model are in exactly one part, so the shares
    of all parts add up to those of all words.

    Args:
        first: attributions of the first model.
        second: attributions of the second model to the same target for the same text.
        whole_words: whether words have shares, rather than tokens.

    Raises:
        TextError: the models read different texts, or a tokenizer does not tell which characters its tokens cover.
    """
    tokens = _same_text(first, second)
    read = (shared_words if whole_words else shared_spans)(*tokens)
    places = [[part.first for part in read], [part.second for part in read]]
    units = [_units(each, positions) for each, positions in zip((first, second), places, strict=True)]
    joined = sum(max(len(one), len(other)) > 1 for one, other in zip(*units, strict=True))
    about = unread_parts(first.model, second.model, read)
    if joined:
        noun = "word" if whole_words else "token"
        verb = "is" if joined == 1 else "are"
        about.append(
            f"{counted(joined, 'part')} of the text {verb} several {noun}s of a model; the share is the sum of theirs."
        )
    return AttributionComparison(
        first,
        second,
        tuple(part.text for part in read),
        _sums(first, units[0]),
        _sums(second, units[1]),
        comparison_notices(first.model, second.model, [*about, *first.notices, *second.notices]),
    )


def _same_text(first: WordAttributions, second: WordAttributions) -> tuple[Tokens, Tokens]:
    """The tokens of both models as parts of one text, which a model may read in lower case."""
    one, other = first.tokens, second.tokens
    texts = [(each.text, each.pair or "") for each in (one, other)]
    same = all(a.lower() == b.lower() and len(a) == len(b) for a, b in zip(*texts, strict=True))
    if not same:
        raise TextError(
            f"{first.model!r} and {second.model!r} read the text with different prompts before it, so their words are "
            "not compared."
        )
    return one, replace(other, text=one.text, pair=one.pair)


def _units(result: WordAttributions, parts: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Indices of the words of a model in each part, given by its token positions."""
    word_at = {place: index for index, places in enumerate(result.positions) for place in places}
    return [sorted({word_at[place] for place in positions if place in word_at}) for positions in parts]


def _sums(result: WordAttributions, units: Sequence[list[int]]) -> Float[np.ndarray, " parts"]:
    """Sum of the shares of each group of words; NaN for none. A single share stays as it is."""
    sums = [float(result.shares[each].astype(np.float64).sum()) if each else np.nan for each in units]
    values = np.array(sums, dtype=np.float32)
    values.setflags(write=False)
    return values
