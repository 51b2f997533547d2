"""Format ablation effects and attributions to words and pairs of words as JSON and text."""

from typing import Any

import numpy as np

from bertviz_core.attribution.results import PairAttributions, WordAttributions
from bertviz_core.interventions.results import AblationEffects
from bertviz_core.questions.tables.lines import aligned, fields, printable_token
from bertviz_core.text import decimals, measured


def effects_json(effects: AblationEffects) -> dict[str, Any]:
    """The JSON object of the `causes` command."""
    return fields(
        effects,
        "model target title unit kind clean effects=heads feed_forward layers reference tokens=tokens.tokens",
    )


def effects_lines(effects: AblationEffects) -> list[str]:
    """A description, and one row per layer: its heads, its feed-forward block, the whole layer."""
    done = {"zero": "taken away", "mean": f"at its mean over {effects.reference}", "gradient": "estimated by gradients"}
    first = f"{effects.model}: {effects.title} = {measured(effects.clean, effects.unit)}, and its change with each head"
    heads = range(effects.heads.shape[1])
    heading = ["layer", *(f"head {head}" for head in heads), "feed-forward", "whole layer"]
    rows = [
        [
            str(layer),
            *map(_cell, row),
            *(_cell(np.nan if each is None else float(each[layer])) for each in (effects.feed_forward, effects.layers)),
        ]
        for layer, row in enumerate(effects.heads.tolist())
    ]
    return [f"{first} {done[effects.kind]}", "", *aligned([heading, *rows], "r" * len(heading))]


def _cell(value: float) -> str:
    return "" if np.isnan(value) else decimals(value)


def shares_json(shares: WordAttributions) -> dict[str, Any]:
    """The JSON object of the `words` command."""
    return fields(
        shares,
        "model target title unit method instead clean reference tokens=words positions shares error share_errors runs",
    )


def shares_lines(shares: WordAttributions) -> list[str]:
    """A description, and one row per word in the order of the text."""
    first = (
        f"{shares.model}: {shares.title} = {measured(shares.clean, shares.unit)}; with {shares.instead} in the place "
        f"of all words {decimals(shares.reference)}"
    )
    if shares.method != "leave-one-out":
        first += f"; the sum of the shares misses the difference by {shares.error:.2g}"
    if shares.method == "integrated-gradients":
        first += f", and no share changed by more than {float(shares.share_errors.max()):.2g} in the last doubling"
    rows = [
        [" ".join(map(str, positions)), printable_token(word), decimals(float(share))]
        for positions, word, share in zip(shares.positions, shares.words, shares.shares, strict=True)
    ]
    return [first, "", *aligned([["tokens", "word", "share"], *rows], "llr")]


def pairs_json(ledger: PairAttributions) -> dict[str, Any]:
    """The JSON object of the `word-pairs` command."""
    references = fields(ledger, "first=first_reference second=second_reference both=both_references")
    return {
        **fields(ledger, "model layer rows=first.tokens columns=second.tokens shares reference_terms"),
        "references": references,
        **fields(ledger, "cosine error share_errors nodes"),
    }


def pairs_lines(ledger: PairAttributions) -> list[str]:
    """The sum, and one row per token of the first text."""
    total = float(ledger.shares.sum())
    first = (
        f"{ledger.model}, from layer {ledger.layer}: cosine {decimals(ledger.cosine)} = pairs {decimals(total)} + "
        f"reference terms {decimals(ledger.reference_terms)}, up to {ledger.error:.1g}; no pair changed by more than "
        f"{float(ledger.share_errors.max()):.1g} in the last doubling of the {ledger.nodes} nodes"
    )
    heading = ["", *map(printable_token, ledger.second.tokens)]
    rows = [
        [printable_token(token), *(decimals(share, 3) for share in row)]
        for token, row in zip(ledger.first.tokens, ledger.shares.tolist(), strict=True)
    ]
    return [first, "", *aligned([heading, *rows], "l" + "r" * len(ledger.second))]
