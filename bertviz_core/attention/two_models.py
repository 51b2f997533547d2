"""Compare the attention of a head in two models, whose tokens meet by their characters."""

from bertviz_core.attention.results import AttentionComparison, AttentionMap
from bertviz_core.text import escape_controls, quoted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.subwords.two_tokenizers import same_parts

QUOTED = 30
"""Most characters of a token in a sentence."""


def relative_place(place: int, count: int, other_count: int) -> int:
    """The layer, or head, of another model at the same relative place; the same number where both have as many.

    The first corresponds to the first and the last to the last: layer 5 of 6 to layer 11 of 12.

    Args:
        place: layer or head of the first model, from 0.
        count: number of its layers or heads.
        other_count: number of those of the other model.
    """
    return round(place * (other_count - 1) / (count - 1)) if count > 1 else 0


def compared_attention(
    models: tuple[str, str], tokens: tuple[Tokens, Tokens], maps: tuple[AttentionMap, AttentionMap]
) -> AttentionComparison:
    """Compare two maps that were read in the same way, each of the text as its model reads it.

    Args:
        models: names of the models.
        tokens: the text as each model reads it.
        maps: the map of each model.
    """
    notice = ""
    for first, second in ((maps[0].queries, maps[1].queries), (maps[0].keys, maps[1].keys)):
        if not notice and not same_parts(*tokens, first.positions, second.positions):
            notice = _difference(models, first.labels, second.labels, maps[0].options.words)
    return AttentionComparison(models, tokens, *maps, same_entries=not notice, notices=(notice,) if notice else ())


def _difference(models: tuple[str, str], first: tuple[str, ...], second: tuple[str, ...], words: bool) -> str:
    """Why two axes are not the same, in one sentence."""
    noun = "words" if words else "tokens"
    how = f"{len(first):,} and {len(second):,} {noun}"
    if len(first) == len(second):
        how = f"different {noun}"
        unlike = [each for each in zip(first, second, strict=True) if each[0] != each[1]]
        if unlike:
            one, other = (quoted(escape_controls(label), QUOTED) for label in unlike[0])
            how += f", such as {one} and {other}"
    return f"{models[0]} and {models[1]} show this text as {how}, so their maps have no difference."
