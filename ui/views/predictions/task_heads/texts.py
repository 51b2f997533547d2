"""Texts of the views of task heads, and their lines of Python that use transformers only."""

from bertviz_core.predictions.results import Scoring
from bertviz_core.questions.report.transformers_lines import head_lines
from bertviz_core.trace.results import Tokens
from ui.cache.shared_model import SharedModel

Texts = tuple[str, str | None]
HOW: dict[Scoring, str] = {
    "softmax": "The head makes one number, a logit, for each class. `p = exp(logit) / Σ exp(logit)`: the classes "
    "exclude each other, and their probabilities sum to 1.",
    "sigmoid": "The head makes one number, a logit, for each class, and every class is a question of its own: "
    "`p = 1 / (1 + exp(−logit))`. Several classes may be likely at once, or none; the dashed line is 0.5.",
    "number": "The head is a regression: its output is the answer itself, in the unit of what it was trained on, and "
    "no probability.",
}
"""How the outputs are processed."""
READ = "The head reads the state of the whole text, mostly that of its first token. "
NEXT = (
    "Pre-training included the question whether the second text followed the first in its document, or came from "
    "another one. Two logits of the pooled `[CLS]` answer it: `p = exp(logit) / Σ exp(logit)`. A topic is easier to "
    "notice than a thread, so the head mostly says whether both texts are about the same (Devlin et al. 2019; Liu et "
    "al. 2019)."
)
TAGS = (
    "The head turns the last state of every token into one logit for each tag; `p = softmax(logits)`, and the "
    "likeliest tag is the token's. Tokens become entities as transformers' `aggregation_strategy` does it: **none** "
    "lists tokens; **simple** joins neighbours of one tag, a `B-` begins anew; **first**, **average** and **max** "
    "first give all pieces of a word one tag. An entity's score is the mean over its tokens or words."
)
ANSWERS = (
    "For every token the head makes two logits: to be the first of the answer, and the last. An answer is the span of "
    "the context, within the longest length, with the greatest sum of both. `score = p(first) p(last)`, each a softmax "
    "over the tokens of the context. A context that is too long for one run is read in windows that overlap."
)
MAP = "Every cell is one span: its colour is `ln p(first) + ln p(last)`. Grey: ends before it begins, or is too long."
CHANGE = (
    "Both versions are read by the same head, and the numbers are subtracted. Words are compared by difflib's matching "
    "blocks. A change shows what this edit does, not why: other words may do the same."
)
SHIFT = (
    "The token is masked in the text and in its edited version, and the masked-LM head predicts it twice. "
    "`KL(p ‖ q) = Σ p ln(p / q)` over the whole vocabulary says how far both answers are apart, in nats."
)
LABELS = {
    "sequence-classification": "AutoModelForSequenceClassification",
    "next-sentence": "AutoModelForNextSentencePrediction",
}
"""Task -> class of transformers that loads its head."""


def classes_code(name: str, task: str, tokens: Tokens, scoring: Scoring) -> str:
    """Lines that give the classes of a text."""
    means = {"softmax": ".softmax(-1)", "sigmoid": ".sigmoid()", "number": ""}[scoring]
    return (
        f"{head_lines(SharedModel(name), LABELS[task], tokens)}"
        "with torch.no_grad():\n"
        "    logits = model(**inputs).logits[0]\n"
        f"print(logits{means})\n"
    )
