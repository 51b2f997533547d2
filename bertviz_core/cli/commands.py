"""The commands: the module that registers each, and its line in `--help`.

A module is imported when its command is requested, and so are the libraries that it needs. The help of the program and
a refusal need none, so they come at once.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Command(NamedTuple):
    """The module of a command, and what it does."""

    module: str
    """Its module in bertviz_core.cli, which registers it when imported."""
    line: str
    """What it does, as its own help begins."""


COMMANDS: Mapping[str, Command] = {
    "parameters": Command("checkpoints.header", "List every named parameter and how the counts add up."),
    "load-report": Command(
        "checkpoints.weights",
        "Tell which weights of a task's class the checkpoint has; only its header is read.",
    ),
    "adapter": Command(
        "checkpoints.weights",
        "List what a LoRA adapter adds to each matrix of its base: rank, norm, singular values.",
    ),
    "number-formats": Command(
        "checkpoints.weights",
        "Round the weights to fewer bits: error and bytes by part, and what vectors and answers of texts keep.",
    ),
    "compare": Command(
        "checkpoints.comparison",
        "Compare two checkpoints: their tensors, their runs on a text or what they predict for it, answers to a file.",
    ),
    "training": Command(
        "checkpoints.training",
        "Say what a trainer logged, how far each layer moved by each checkpoint, and what the checkpoints answer.",
    ),
    "tokens": Command("texts.tokens", "List the tokens of a text, or of a pair, as the model reads them."),
    "hidden": Command("texts.hidden_states", "Print the hidden states of one layer, a vector per token."),
    "attention": Command(
        "texts.attention",
        "Print the attention of one head of one layer, a row per query; every row sums to 1.",
    ),
    "heads": Command(
        "texts.heads",
        "Print a layer's query, key, value and output matrices cut into heads: norms, or every weight.",
    ),
    "similarity": Command(
        "sentences",
        "Compare sentences: the cosine of every two of them, also beside another model's or gold similarities.",
    ),
    "embed": Command(
        "sentences",
        "Write the vectors of a file's sentences, with the model, its revision, pooling and layer.",
    ),
    "predict": Command("predictions.predict", "Ask a model's task head: words at a mask, classes, tags, answers."),
    "rank": Command(
        "predictions.rank",
        "Order texts for a query by a cross-encoder, an NLI head or late interaction, beside cosines of sentences.",
    ),
    "late-interaction": Command(
        "predictions.rank",
        "Compare every token of a query with every token of a text; the score is the sum of the largest cosines.",
    ),
    "causes": Command(
        "predictions.interventions",
        "Print how much a number of the model changes without each head, feed-forward block and layer.",
    ),
    "words": Command("predictions.attributions", "Print what each word of a text adds to a number of the model."),
    "word-pairs": Command(
        "predictions.attributions",
        "Print what every pair of tokens adds to the cosine of two texts.",
    ),
    "corpus": Command("corpus", "Many texts and their vectors in a folder."),
    "figure": Command(
        "figure.command", "Write the figure of a page as PNG, SVG, PDF or HTML, as the dashboard draws it."
    ),
    "report": Command(
        "figure.report_command",
        "Write a report: figures of a model and a text in one HTML file that needs no network, or on slides, one each.",
    ),
    "serve": Command("serve", "Serve the dashboard."),
}
"""Command -> its module and line, in the order of `--help`."""
