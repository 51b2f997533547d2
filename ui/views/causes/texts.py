"""Words of the page on heads that matter, and the lines of Python that give its numbers."""

from bertviz_core.causes.results import EffectKind
from ui.widgets.reproduction import library_lines
from ui.widgets.target import ChosenTarget

KINDS = (
    "Taken away: the part's output is zeros, which the model has never seen. At its mean: the part says the same for "
    "every text, so that only what it says of this one is lost. Estimated: the first term of the change by the "
    "gradient, one run instead of one for each head. None of the three is *the* importance."
)
EFFECTS = (
    "A head's output enters the output projection beside those of the other heads, so it can be changed alone: "
    "`out = out * g + (1 - g) * mean`, with `g = 0` for this head and `mean` either zeros (zero ablation) or its "
    "average over a reference set (mean ablation). The effect is the target of the changed run minus that of the "
    "unchanged one. The gradient estimate is `-out · d target / d out`, summed over positions (Michel et al. 2019, "
    "with its sign). The feed-forward block (FF) and the whole layer are changed in the same way; a layer that is "
    "taken away hands on what went in."
)
REMOVAL = (
    "Greedy: at each step every head that is left is tried, and the one goes whose removal moves the target furthest "
    "from its clean value. Gradient: the heads in the order of the size of their estimated effect. Random: 20 orders, "
    "drawn with seed 0; the band goes from the least to the greatest value. The joint effect is one run without all "
    "these heads; it is the sum of the single effects only where heads do not depend on each other."
)
CURVES = (
    "A greedy search finds heads that push into one direction. Read it against the band: what 20 random choices of as "
    "many heads do."
)
PATCHES = (
    "The first text is run, and what goes into each layer and what each head gives is noted. Then the second text is "
    "run with one of these numbers copied into it. The share is `(patched - second) / (first - second)`: 0 changes "
    "nothing, 1 gives the first text's number (Vig et al. 2020; Meng et al. 2022). A head is copied at all positions."
)
SHARES = (
    "0: the copy changes nothing. 1: it gives the first text's number. Shares do not add up to 1, and one may be "
    "negative or beyond 1: the copy meets states that were not made for it."
)


def effects_code(name: str, chosen: ChosenTarget) -> str:
    """Lines that give the effects of every head."""
    return f"""{_target(name, chosen, "from bertviz_core.causes.effects import part_effects", _MEANS)}
means = part_means(model, tokenizer)
for kind in ("zero", "mean", "gradient"):
    effects = part_effects(target, kind, means if kind == "mean" else None)
    print(effects.heads, effects.feed_forward, effects.layers)   # (layers, heads), (layers,), (layers,)
print(effects.clean)
"""


def removal_code(name: str, chosen: ChosenTarget, count: int, kind: EffectKind) -> str:
    """Lines that give the curves and the joint effect of the greedy heads."""
    imports = (
        "from bertviz_core.causes.removal import joint_removal, removal_curves",
        "from bertviz_core.causes.runs import InterventionRuns",
        *([_MEANS] if kind == "mean" else []),
    )
    return f"""{_target(name, chosen, *imports)}
runs = InterventionRuns(target)
means = {"part_means(model, tokenizer)" if kind == "mean" else "None   # zeros in a head's place"}
curves = removal_curves(runs, {count}, means)
for curve in curves:
    print(curve.order, curve.values.mean(axis=0))
removal = joint_removal(runs, [tuple(place) for place in curves[0].places[0].tolist()], means)
print(removal.joint, removal.total)
"""


def patch_code(name: str, chosen: ChosenTarget, other: str) -> str:
    """Lines that give the shares."""
    imports = (
        "from bertviz_core.causes.patches import patches",
        "from bertviz_core.causes.runs import InterventionRuns",
        "from bertviz_core.trace.tokenization import tokenize",
    )
    return f"""{_target(name, chosen, *imports)}
result = patches(InterventionRuns(target), tokenize(tokenizer, {other!r}))
print(result.clean, result.corrupt)
print(result.states)   # (layers, tokens)
print(result.heads)   # (layers, heads)
"""


_MEANS = "from bertviz_core.causes.means import part_means"


def _target(name: str, chosen: ChosenTarget, *imports: str) -> str:
    """Lines that load the model and open the target."""
    if chosen.kind == "probe":
        label = chosen.name.partition(":")[2]
        lines = library_lines(name, *imports, "from bertviz_core.causes.targets import probe_target", *_READ)
        return f"""{lines}
data = Path("probe.zip").read_bytes()   # the file of Save this probe
probe = read_probe("probe.zip", data)
target = probe_target(probe, model, tokenizer, {chosen.text!r}, {label!r}, {chosen.measure!r})"""
    lines = library_lines(name, *imports, "from bertviz_core.causes.requests import open_target")
    asked = f"{chosen.text!r}, {chosen.pair!r}, {chosen.name!r}, {chosen.measure!r}"
    return f"{lines}target = open_target(source, settings, {asked}, base=model)"


_READ = ("from pathlib import Path", "from bertviz_core.predictions.labelled.probe import read_probe")
