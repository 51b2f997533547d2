"""How ablation effects and attributions to words and pairs of words are shown."""

import numpy as np

from bertviz_core.attribution.results import PairAttributions, WordAttributions
from bertviz_core.figures.interventions.effects import KIND_WORDS
from bertviz_core.interventions.results import AblationEffects
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import Faces, aligned, fields, grid
from bertviz_core.text import decimals, measured, tied


def largest_effects(effects: AblationEffects) -> str:
    """The part of each kind that changes the target most by what is done to it, and whether a head does by half."""
    ranked = effects.ranked()
    layer, head, most = ranked[0]
    clean, others = effects.clean, tied(round(abs(effect), 3) for _, _, effect in ranked)
    changes = f"layer {layer}, head {head}{others}, moves it from {decimals(clean, 3)} to {decimals(clean + most, 3)}"
    words = f"of single heads {changes}{'' if others else ', more than any other head'}."
    if abs(most) < abs(clean) / 2:
        words = f"no single head carries the {effects.title}, since none changes it by half: the largest, {changes}."
    words = f"Each part {KIND_WORDS[effects.kind]}: {words}"
    for name, values in (("feed-forward blocks", effects.feed_forward), ("whole layers", effects.layers)):
        if values is not None and not np.isnan(values).all():
            at, shown = int(np.nanargmax(np.abs(values))), [decimals(value, 3) for value in values.tolist()]
            which = f"that of layer {at}{tied(np.abs(values).round(3).tolist())} changes it most"
            which = "each changes it alike" if len(values) > 1 and len(set(shown)) == 1 else which
            words += f" Of {name}, {which}: {shown[at]}."
    return words


def _effects_lines(effects: AblationEffects) -> list[str]:
    """A description, and one row per layer: its heads, its feed-forward block, the whole layer."""
    done = {"zero": "taken away", "mean": f"at its mean over {effects.reference}", "gradient": "estimated by gradients"}
    first = f"{effects.model}: {effects.title} = {measured(effects.clean, effects.unit)}, and its change with each head"
    heading = ["layer", *(f"head {head}" for head in range(effects.heads.shape[1])), "feed-forward", "whole layer"]
    none = np.full(len(effects.heads), np.nan)
    wholes = (none if each is None else each for each in (effects.feed_forward, effects.layers))
    rows = [
        [str(layer), *("" if np.isnan(value) else decimals(value) for value in row)]
        for layer, row in enumerate(np.column_stack([effects.heads, *wholes]).tolist())
    ]
    table = aligned([heading, *rows], "r" * len(heading))
    return [f"{first} {done[effects.kind]}", "", *table, "", largest_effects(effects)]


EFFECTS: Faces[AblationEffects] = Faces(
    keys="model target title unit kind clean effects=heads feed_forward layers reference tokens=tokens.tokens",
    frame=lambda effects: pd.DataFrame(effects.ranked(), columns=["layer", "head", "effect"]),
    lines=_effects_lines,
)


def remainder(shares: WordAttributions) -> str:
    """What the sum of the shares leaves of clean minus reference, in two sentences; "" without a reference."""
    whole, total = shares.clean - shares.reference, float(shares.shares.sum())
    if np.isnan(whole):
        return ""
    rest = f"The shares add up to {decimals(total)}; all words together make a difference of {decimals(whole)}."
    return f"{rest} The rest, {decimals(whole - total)}, is no single word's: it is what words do together."


def _words_above(shares: WordAttributions) -> list[str]:
    first = (
        f"{shares.model}: {shares.title} = {measured(shares.clean, shares.unit)}; with {shares.instead} in the place "
        f"of all words {decimals(shares.reference)}"
    )
    if shares.method == "leave-one-out":
        return [first, *filter(None, [remainder(shares)])]
    first += f"; the sum of the shares misses the difference by {shares.error:.2g}"
    if shares.method == "integrated-gradients":
        first += f", and no share changed by more than {float(shares.share_errors.max()):.2g} in the last doubling"
    return [first]


WORDS: Faces[WordAttributions] = Faces(
    keys="model target title unit method instead clean reference tokens=words positions shares error share_errors runs",
    frame="word=words share=shares positions",
    above=_words_above,
    columns={
        "tokens": ("positions", lambda places: " ".join(map(str, places))),
        "word": "word",
        "share": ("share", decimals),
    },
)


def _pairs_lines(ledger: PairAttributions) -> list[str]:
    """The sum, and one row per token of the first text."""
    total = float(ledger.shares.sum())
    first = (
        f"{ledger.model}, from layer {ledger.layer}: cosine {decimals(ledger.cosine)} = pairs {decimals(total)} + "
        f"reference terms {decimals(ledger.reference_terms)}, up to {ledger.error:.1g}; no pair changed by more than "
        f"{float(ledger.share_errors.max()):.1g} in the last doubling of the {ledger.nodes} nodes"
    )
    tokens = ledger.second.tokens, ledger.first.tokens
    return [first, "", *grid("", *tokens, ledger.shares.tolist(), lambda share: decimals(share, 3))]


REFERENCES = "first=first_reference second=second_reference both=both_references"
WORD_PAIRS: Faces[PairAttributions] = Faces(
    keys="model layer rows=first.tokens columns=second.tokens shares reference_terms references cosine error "
    "share_errors nodes",
    made={"references": lambda ledger: fields(ledger, REFERENCES)},
    lines=_pairs_lines,
)
