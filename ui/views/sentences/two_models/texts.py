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
SAME = "The same model is chosen on both sides, so every difference is 0. Choose another under **Compare with**."
GOLD = (
    "Both sentences of a pair become vectors, and their cosine is compared with the gold similarity that people gave. "
    "Pearson's correlation asks whether the points lie on a line, Spearman's whether both put the pairs in the same "
    "order (it is Pearson's of the ranks; equal values share their mean rank). A rank error is the rank of the cosine "
    "minus that of the gold similarity, as a share of all ranks: above 0 where the model finds a pair more alike than "
    "people do, compared with the other pairs. The mean height of the cosines has no part in any of these numbers."
)
NO_PAIRS = (
    "Under **Pairs**, write pairs of sentences with their similarity, or choose a file such as the STS benchmark's: "
    "columns sentence1, sentence2 and score."
)
