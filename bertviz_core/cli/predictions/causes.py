"""The command that prints how much each head, feed-forward block and layer matters to one number of a model."""

from typing import Annotated, Any

import numpy as np
import typer

from bertviz_core.causes.effects import part_effects
from bertviz_core.causes.means import part_means
from bertviz_core.causes.requests import FORMS, open_target
from bertviz_core.causes.results import EFFECT_KINDS, EffectKind, PartEffects
from bertviz_core.causes.targets import MEASURES
from bertviz_core.cli.options import JsonOption, ModelArgument, app
from bertviz_core.cli.output import print_json, print_lines, print_notices, table
from bertviz_core.cli.text import PairOption, TextArgument
from bertviz_core.errors import TextError
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from bertviz_core.text import decimals, escape_controls, measured
from bertviz_core.trace.tokenization import load_tokenizer

DEFAULTS = "By default the cosine of two texts, and of one text what the model itself answers."
TargetOption = Annotated[str | None, typer.Option("--target", metavar="T", help=f"{FORMS}. {DEFAULTS}")]
MeasureOption = Annotated[str, typer.Option("--measure", help=f"What of a class or a tag: {', '.join(MEASURES)}.")]
KindOption = Annotated[str, typer.Option("--kind", help=f"What stands in a head's place: {', '.join(EFFECT_KINDS)}.")]


@app.command()
def causes(
    model: ModelArgument,
    text: TextArgument,
    pair: PairOption = None,
    target: TargetOption = None,
    measure: MeasureOption = "logit",
    kind: KindOption = "zero",
    as_json: JsonOption = False,
) -> None:
    """Print how much a number of the model changes without each head, feed-forward block and layer."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    asked = known_kind(kind)
    settings = Settings.from_environment(any_folder=True)
    source = resolve(model, settings)
    number = open_target(source, settings, text, pair, target, measure)
    means = part_means(number.loaded, load_tokenizer(source, settings)) if asked == "mean" else None
    effects = part_effects(number, asked, means, None, settings.max_batch_bytes, settings.max_gradient_bytes)
    print_notices(effects.notices)
    if as_json:
        return print_json(effects_json(effects))
    return print_lines(effects_lines(effects))


def effects_json(effects: PartEffects) -> dict[str, Any]:
    """Effects as the JSON object of the `causes` command."""
    return {
        "model": effects.model,
        "target": effects.target,
        "title": effects.title,
        "unit": effects.unit,
        "kind": effects.kind,
        "clean": effects.clean,
        "effects": effects.heads,
        "feed_forward": effects.feed_forward,
        "layers": effects.layers,
        "reference": effects.reference,
        "tokens": effects.tokens.tokens,
    }


def known_kind(name: str) -> EffectKind:
    """The kind of effect of a name.

    Raises:
        TextError: there is none of this name.
    """
    known = next((each for each in EFFECT_KINDS if each == name), None)
    if known is None:
        raise TextError(f"There is no --kind {escape_controls(name[:20])!r}; choose {', '.join(EFFECT_KINDS)}.")
    return known


def effects_lines(effects: PartEffects) -> list[str]:
    """What was done, and a row for each layer: its heads, its feed-forward block, the whole of it."""
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
    return [f"{first} {done[effects.kind]}", "", *table([heading, *rows], "r" * len(heading))]


def _cell(value: float) -> str:
    return "" if np.isnan(value) else decimals(value)
