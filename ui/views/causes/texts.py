"""Texts of the page on heads that matter."""

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
    "the mean is small beside the deviation, the head pushes some sentences up and others down. An effect above 0: "
    "without the head the target is larger; below 0: smaller."
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
    "probe on them on the page Predictions, view Train a probe, and choose **probe** as the target here."
)
WRITE = "Write at least two sentences above, one a line."
COMPARED = (
    "Each head is taken away in turn, in both models, and the same target is measured: a class by its name, a place of "
    "the text by its characters. All maps have one colour scale. A head of one model is compared with the head of the "
    "same layer and number in the other: for two models that were trained apart that is a mere coincidence of numbers."
)
