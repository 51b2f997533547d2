"""Texts of the page Heads that matter, and the lines of Python that reproduce its numbers."""

from bertviz_core.interventions.results import EffectKind
from bertviz_core.predictions.probing.reading import EXAMPLE_SET
from bertviz_core.predictions.probing.results import LabelledTexts
from ui.widgets.reproduction import library_lines
from ui.widgets.target_controls.opened import ChosenTarget

KINDS = (
    "Taken away: the part's output is set to zero, which the model has never seen in training. At its mean: the output "
    "is the same for every text, so only what is specific to this text is lost. Estimated: a first-order estimate by "
    "the gradient, which takes one run instead of one for each head. None of the three is *the* importance."
)
EFFECTS = (
    "A head's output enters the output projection beside those of the other heads, so it can be changed alone: "
    "`out = out * g + (1 - g) * mean`, with `g = 0` for this head and `mean` either zeros (zero ablation) or its "
    "average over a reference set (mean ablation). The effect is the target of the changed run minus that of the "
    "unchanged one. The gradient estimate is `-out · d target / d out`, summed over positions (Michel et al. 2019, "
    "with its sign). The feed-forward block (FF) and the whole layer are changed in the same way; a layer that is "
    "taken away passes its input on."
)
REMOVAL = (
    "Greedy: at each step every remaining head is tried, and the one is removed that moves the target furthest from "
    "its clean value. Gradient: heads sorted by the size of their estimated effect. Random: 20 orders drawn with seed "
    "0; the band spans the least to the greatest value. The joint effect is measured in one run without all these "
    "heads; it equals the sum of the single effects only where heads do not depend on each other."
)
CURVES = (
    "A greedy search finds heads that push in one direction. Compare it with the band of 20 random choices of equally "
    "many heads."
)
PATCHES = (
    "The first text is run, and the input of each layer and the output of each head are recorded. Then the second text "
    "is run with one of these copied into it. The share is `(patched - second) / (first - second)`: 0 means no change, "
    "1 restores the first text's number (Vig et al. 2020; Meng et al. 2022). A head is copied at all positions."
)
SHARES = (
    "0: the copy changes nothing. 1: it restores the first text's number. Shares do not add up to 1, and they can be "
    "negative or greater than 1, since the copied values are combined with those of another text."
)

SPREAD = (
    "For each sentence the target is run with all heads and without one, head by head; the effect is the difference. "
    "The left map is the mean of the effects over the sentences, the right one their standard deviation (n - 1). Where "
    "the mean is small beside the deviation, the head pushes some sentences up and others down."
)
ACCURACY = (
    "The model classifies every labelled sentence with 0, 1, 2, ... heads removed, and its accuracy is drawn. The "
    "orders depend on the margin of each sentence's own label (its logit minus the greatest of the others): greedy "
    "removes at each step the head that moves the mean margin furthest; gradient sorts by the mean size of the "
    "estimated effects (Michel et al. 2019); random are 20 orders drawn with seed 0, as a band from the least to the "
    "greatest value."
)
NO_ACCURACY = (
    "The accuracy as heads are removed needs labelled sentences and a target with these labels as classes: train a "
    "probe on them on the page Predictions, view Train a head, and choose **probe** as the target here."
)
WRITE = "Write at least two sentences above, one a line."


def effects_code(name: str, chosen: ChosenTarget) -> str:
    """Lines that give the effects of every head."""
    imports = ("from bertviz_core.interventions.ablation_effects import ablation_effects", _MEANS)
    return f"""{_target(name, chosen, *imports)}
means = mean_activations(model, tokenizer)
for kind in ("zero", "mean", "gradient"):
    effects = ablation_effects(target, kind, means if kind == "mean" else None)
    print(effects.heads, effects.feed_forward, effects.layers)   # (layers, heads), (layers,), (layers,)
print(effects.clean)
"""


def removal_code(name: str, chosen: ChosenTarget, count: int, kind: EffectKind) -> str:
    """Lines that give the curves and the joint effect of the greedy heads."""
    imports = (
        "from bertviz_core.interventions.ablation_curves import joint_ablation, ablation_curves",
        "from bertviz_core.interventions.runs import InterventionRuns",
        *([_MEANS] if kind == "mean" else []),
    )
    return f"""{_target(name, chosen, *imports)}
runs = InterventionRuns(target)
means = {"mean_activations(model, tokenizer)" if kind == "mean" else "None   # zeros in a head's place"}
curves = ablation_curves(runs, {count}, means)
for curve in curves:
    print(curve.order, curve.values.mean(axis=0))
removal = joint_ablation(runs, [tuple(place) for place in curves[0].places[0].tolist()], means)
print(removal.joint, removal.total)
"""


def patch_code(name: str, chosen: ChosenTarget, other: str) -> str:
    """Lines that give the shares."""
    imports = (
        "from bertviz_core.interventions.activation_patching import patches",
        "from bertviz_core.interventions.runs import InterventionRuns",
        "from bertviz_core.trace.tokenization import tokenize",
    )
    return f"""{_target(name, chosen, *imports)}
result = patches(InterventionRuns(target), tokenize(tokenizer, {other!r}))
print(result.clean, result.corrupt)
print(result.states)   # (layers, tokens)
print(result.heads)   # (layers, heads)
"""


def spread_code(name: str, chosen: ChosenTarget, listed: LabelledTexts, kind: EffectKind) -> str:
    """Lines that give mean and standard deviation over the sentences."""
    effects, lists = (
        "from bertviz_core.interventions.ablation_effects import effect_spread, ablation_effects",
        _list_imports(listed),
    )
    means = [_MEANS] if kind == "mean" else []
    if chosen.kind == "probe":
        opened = f"probe_target(probe, model, tokenizer, text, {chosen.name.partition(':')[2]!r}, {chosen.measure!r})"
        head = _probe_lines(name, effects, *lists, *means)
    else:
        asked = f"text, {chosen.pair!r}, {chosen.name!r}, {chosen.measure!r}"
        opened = f"open_target(source, settings, {asked}, base=model)"
        head = library_lines(name, _OPEN, effects, *lists, *means)
    return f"""{head}{_list(listed)}means = {_means_words(kind)}
targets = [{opened} for text in listed.texts]
spread = effect_spread(ablation_effects(target, {kind!r}, means) for target in targets)
print(spread.mean)   # (layers, heads)
print(spread.spread)   # (layers, heads)
"""


def accuracy_code(name: str, chosen: ChosenTarget, listed: LabelledTexts, count: int, kind: EffectKind) -> str:
    """Lines that give the shares of right answers."""
    imports = (
        "from bertviz_core.interventions.ablation_curves import accuracy_curves",
        "from bertviz_core.interventions.runs import InterventionRuns",
        *_list_imports(listed),
        *([_MEANS] if kind == "mean" else []),
    )
    if chosen.kind == "probe":
        more = "from bertviz_core.predictions.probing.probe import probe_predictions"
        head = _probe_lines(name, more, *imports)
        opened = 'probe_target(probe, model, tokenizer, text, label, "margin")'
        asked = "probe_predictions(probe, model, tokenizer, listed.texts)"
    else:
        more = "from bertviz_core.predictions.classes import class_predictions"
        loading = "from bertviz_core.predictions.loading import load_head"
        reading = "from bertviz_core.trace.tokenization import tokenize"
        head = library_lines(name, _OPEN, more, loading, reading, *imports)
        head += 'head = load_head(source, settings, "sequence-classification", model)\n'
        opened = 'open_target(source, settings, text, None, f"class:{label}", "margin", base=model, head=head)'
        asked = "class_predictions(head, [tokenize(tokenizer, text) for text in listed.texts])"
    return f"""{head}{_list(listed)}means = {_means_words(kind)}
pairs = zip(listed.texts, listed.labels)
runs = [InterventionRuns({opened}) for text, label in pairs]

def answers():
    return [each.labels[each.best] for each in {asked}]

for curve in accuracy_curves(runs, {count}, answers, listed.labels, means):
    print(curve.order, curve.values.mean(axis=0))
"""


def _means_words(kind: EffectKind) -> str:
    return "mean_activations(model, tokenizer)" if kind == "mean" else "None   # zeros in a head's place"


def _list_imports(listed: LabelledTexts) -> tuple[str, ...]:
    if listed.name == EXAMPLE_SET:
        return ("from bertviz_core.predictions.probing.reading import drawn, example_set",)
    return ("from bertviz_core.predictions.probing.results import LabelledTexts",)


def _list(listed: LabelledTexts) -> str:
    """Lines that make the list."""
    if listed.name == EXAMPLE_SET:
        return f"listed = drawn(example_set(), {len(listed.texts)})\n"
    return f"listed = LabelledTexts({listed.name!r}, {listed.texts!r}, {listed.labels!r})\n"


def _probe_lines(name: str, *imports: str) -> str:
    """Lines that load the model and read a probe."""
    lines = library_lines(name, *imports, "from bertviz_core.interventions.targets.target import probe_target", *_READ)
    return f"""{lines}
data = Path("probe.zip").read_bytes()   # the file of Save this probe
probe = read_probe("probe.zip", data)
"""


_OPEN = "from bertviz_core.interventions.targets.parsing import open_target"
_MEANS = "from bertviz_core.interventions.mean_activations import mean_activations"


def _target(name: str, chosen: ChosenTarget, *imports: str) -> str:
    """Lines that load the model and open the target."""
    if chosen.kind == "probe":
        label = chosen.name.partition(":")[2]
        asked = f"{chosen.text!r}, {label!r}, {chosen.measure!r}"
        return f"{_probe_lines(name, *imports)}target = probe_target(probe, model, tokenizer, {asked})"
    lines = library_lines(name, *imports, _OPEN)
    asked = f"{chosen.text!r}, {chosen.pair!r}, {chosen.name!r}, {chosen.measure!r}"
    return f"{lines}target = open_target(source, settings, {asked}, base=model)"


_READ = ("from pathlib import Path", "from bertviz_core.predictions.probing.probe import read_probe")
