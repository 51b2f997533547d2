"""Texts of the page on words that matter."""

from typing import NamedTuple

from bertviz_core.attribution.results import Replacement, ShareMethod
from bertviz_core.models.catalog.example_run import OFFERED
from bertviz_core.settings import DEFAULT_MODEL

SHARES: dict[ShareMethod, str] = {
    "leave-one-out": (
        "The text is run once for each word, with that word taken away and all other token ids as they are. The share "
        "is the target of the whole text minus that of the text without the word: a difference of two runs, exact by "
        "definition. Shares need not add up, since one word can stand in for another."
    ),
    "integrated-gradients": (
        "`share = (x - r) · ∫ dF/dx(r + α (x - r)) dα` over α from 0 to 1, summed over the dimensions of the word "
        "embedding: `x` of the text, `r` of the text with every word masked (Sundararajan et al. 2017). The shares add "
        "up to the target of the text minus that of the masked text. The integral is a Clenshaw-Curtis "
        "quadrature, refined until the error is below 0.1%; the remaining completeness error is in the title."
    ),
    "gradient-x-input": (
        "`share = (x - r) · dF/dx` at the text itself, `r` the text with every word masked: one run. Where the target "
        "is not linear, which it never is, the shares do not add up exactly; the error is shown."
    ),
}
READ = {
    "leave-one-out": (
        "Orange: the word raises the target; without it the number is lower. Blue: it lowers it. The model reads the "
        "masks, too: a word of five pieces becomes five masks."
    ),
    "integrated-gradients": (
        "Orange: the word raises the target, compared with a text of masks. Blue: it lowers it. The shares add up."
    ),
    "gradient-x-input": (
        "Orange: a small step towards this word raises the target. Blue: it lowers it. Compare it with leave-one-out "
        "before you rely on it."
    ),
}
CURVES = (
    "The words are ranked by their share, the one that raises the target most first. Left: the first k are replaced by "
    "the mask (comprehensiveness). Right: only they are kept (sufficiency). The number below is the mean over all "
    "steps of how far the target has fallen below that of the whole text (DeYoung et al. 2020). The band spans the "
    "least to the greatest value of 20 random orders, drawn with seed 0."
)
CURVES_READ = (
    "Strong words make the left curve fall fast and the right one rise fast. A curve in the middle of the grey band is "
    "no better than words chosen at random; in a text of few words some of the 20 random orders are the best one by "
    "chance."
)
PAIRS = (
    "With `f` the sentence vector of length 1, `a`, `b` the states of the two texts after the chosen layer, `r` those "
    "of the texts with every word masked: `f(a)·f(b) = Σ A_ij + f(a)·f(r_b) + f(r_a)·f(b) - f(r_a)·f(r_b)`. `A_ij` is "
    "the product of how token i moves its vector and how token j moves the other, by derivatives along the straight "
    "path from reference to text (Moeller et al. 2023). The error is the difference of the sum from the cosine."
)
PAIRS_READ = (
    "The cosine is the sum of all cells and the reference terms, never of the cells alone: the similarity of two texts "
    "of masks is in the reference terms."
)


CLASSES = (
    "The text is run once for each word, with that word taken away; every run gives the logits of all classes. The "
    "share of a word in a class is the number of that class for the whole text minus that for the text without the "
    "word. A probability is taken by the softmax over all classes, also those that are not shown: then the shares of "
    "a word in all classes add up to 0. Where each class has its own sigmoid they need not."
)
CLASSES_READ = (
    "Orange: the word speaks for the class; without it the number is lower. Blue: it speaks against it. The number "
    "beside a class is that of the whole text. Logits of all classes can rise at once; under a softmax, probability "
    "that one class gains is lost by the others."
)
COMPARED = (
    "Both models are compared for the same target: a class by its name, a place of the text by its "
    "characters. Words meet by their characters, too: a bar is for the smallest part of the text that both models cut "
    "into whole words, with the sum of the shares of its words. The difference is the second minus the first."
)


class Lack(NamedTuple):
    """What a model lacks for a view."""

    words: str
    """Why, after the name of the model, as the rest of a sentence."""
    bundled: str
    """A bundled model that has it."""


NO_MASK = Lack(
    "has a tokenizer without a mask token, and **Remove word by word** and **Pairs** start from a text of masks.",
    DEFAULT_MODEL,
)
NO_MASK_PLACED = (
    "This target belongs to a position of the text, which changes when words are dropped, and the tokenizer of this "
    "model has no mask token to replace them: choose another target, such as the cosine to a second text."
)
ONLY_LEFT_OUT = (
    "Method: leave-one-out, which drops the word. The other methods start from a text of masks, and this model's "
    "tokenizer has no mask token."
)
METHOD_WORDS: dict[ShareMethod, str] = {
    "leave-one-out": "leave-one-out",
    "integrated-gradients": "integrated gradients",
    "gradient-x-input": "gradient x input",
}
IN_PLACE: dict[Replacement, str] = {"mask": "the mask in its place", "drop": "nothing in its place"}
NO_CLASSES = Lack(
    "has no head for classes or tags, which **Classes** compares. A probe has classes, too: page Predictions, view "
    "Train a probe.",
    OFFERED[0],
)
