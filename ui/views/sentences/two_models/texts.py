"""Texts of the views of two models."""

COMPARED = (
    "Every sentence becomes one vector in each model, by that model's own recipe unless pooling or layer are chosen. "
    "The three maps have one scale: the cosines of the first model, those of the second, and second − first. A high "
    "cosine alone says little, since models differ in the cosine of sentences that have nothing to do with each other; "
    "a pair is alike to a model if it stands out above the others. So mean, 5th and 95th percentile of all pairs are "
    "drawn below: where they lie close together, nothing stands out any more. A neighbour is kept if it is among the "
    "nearest sentences in both models, by the cosine. CKA (Kornblith et al. 2019, linear kernel, the estimate of Song "
    "et al. 2012 without bias) is 1 where one model's vectors are those of the other turned, scaled or shifted."
)
MORE = "Two models are compared on at least 3 sentences: add another under **Sentences**."
SAME = "The same model stands on both sides, so every difference is 0. Choose another under **Compare with**."
