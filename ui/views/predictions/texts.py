"""Words of the predictions page, and the lines of Python that give its numbers."""

from bertviz_core.trace.results import Tokens
from ui.widgets.reproduction import library_lines

MARKS = (
    "Click a token to mask it, again to take the mask away; its words are listed below. [MASK] can be typed, too. "
    "Filled: masked. Below each token: the probability of the original one."
)
WORDS = (
    "The last layer's state `h` of the position goes through the masked-LM head: a linear layer, its activation and a "
    "layer norm, then a product with the table of word embeddings and a bias. This gives one logit for every word of "
    "the vocabulary; `p = softmax(logits)`. At a masked position the model does not know the original token; at an "
    "unmasked one it sees it, and mostly repeats it. Several masks are predicted each for itself, from the same run. "
    "A word of your own of several pieces gets as many masks, and the log-probabilities of its pieces are added up."
)


def words_code(name: str, tokens: Tokens, masked: tuple[int, ...], position: int) -> str:
    """Lines that give the best words at a position."""
    lines = library_lines(
        name,
        "from bertviz_core.predictions.loading import load_head",
        "from bertviz_core.predictions.words import predicted_words",
        "from bertviz_core.trace.tokenization import tokenize",
    )
    return (
        f"{lines}head = load_head(source, settings, 'masked-lm', model)\n"
        f"{reading(tokens)}"
        f"words = predicted_words(head, tokenizer, tokens, masked={list(masked)})\n"
        f"print(tokenizer.spelled(words.top_ids[{position}]))\n"
        f"print(words.top_log_probability[{position}], words.log_probability[{position}], words.rank[{position}])\n"
    )


def reading(tokens: Tokens) -> str:
    """The line that reads the text as `tokens`."""
    given = [each for each in (tokens.text, tokens.pair) if each is not None]
    return f"tokens = tokenize(tokenizer, {', '.join(map(repr, given))})\n"
