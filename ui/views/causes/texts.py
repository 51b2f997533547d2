"""Texts of the page on heads that matter."""

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

SPREAD = (
    "For each sentence the target is run with all heads and without one, head by head; the effect is the difference. "
    "The left map is the mean of the effects over the sentences, the right one their standard deviation (n - 1). Where "
    "the mean is small beside the deviation, the head pushes some sentences up and others down."
)
ACCURACY = (
    "The model names a class for every labelled sentence, with 0, 1, 2, ... heads removed, and the share of right "
    "answers is drawn. The orders are searched on the margin of each sentence's own label (its logit minus the "
    "greatest of the others): greedy removes at each step the head that moves the mean margin furthest; gradient goes "
    "by the mean size of the estimated effects (Michel et al. 2019); random are 20 orders drawn with seed 0, as a band "
    "from the least to the greatest."
)
NO_ACCURACY = (
    "The share of right answers as heads go needs labelled sentences, and a target whose classes are these labels: "
    "train a probe on them on the page Predictions, view Train a head, and choose **probe** as the target here."
)
WRITE = "Write at least two sentences above, one a line."
