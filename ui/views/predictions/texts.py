"""Texts of the page on predictions, and its lines of Python that use transformers only."""

from bertviz_core.predictions.logit_lens import TRAINED
from bertviz_core.questions.report.transformers_lines import head_lines
from bertviz_core.text import escape_markdown
from bertviz_core.trace.results import Tokens
from ui.cache.shared_model import SharedModel

WORD_CLASS = "AutoModelForMaskedLM"
MARKS = (
    "Click a token to mask it, again to take the mask away; its words are listed below. The first click replaces the "
    "mask that is there at the start, further ones add masks. [MASK] can be typed, too. Filled boxes are masked. Below "
    "each token: the probability of the original one."
)
WORDS = (
    "The last layer's state `h` of the position goes through the masked-LM head: a linear layer, its activation and a "
    "layer norm, then a product with the table of word embeddings and a bias. This gives one logit for every word of "
    "the vocabulary; `p = softmax(logits)`. At a masked position the model does not know the original token; at an "
    "unmasked one it sees it, and mostly repeats it. Several masks are predicted each for itself, from the same run. "
    "A word of your own of several pieces gets as many masks, and the log-probabilities of its pieces are added up."
)
SURPRISE = (
    "Every token that is not special is masked in turn, alone, and the model predicts it: its surprise is "
    "`-log p(token | all others)` in nats. The sum of these log-probabilities is the text's pseudo-log-likelihood, "
    "and `PPPL = exp(mean surprise)` its pseudo-perplexity (Salazar et al. 2020). It compares texts under one model; "
    "two models cut a text into different tokens, so their numbers cannot be compared."
)
LENS = (
    "The whole masked-LM head is applied to the state of every layer: `p_l = softmax(head(h_l))`; the last row is the "
    "model's own answer. Beside the best words: rank and log-probability of the original token, the entropy of `p_l` "
    "and `KL(p_l ‖ p_last)`, both in nats."
)
TERMS = (
    "The weight of a word `v` is `max_i log(1 + ReLU(logit_iv))` over the tokens `i` of the text (Formal et al. 2021), "
    "so that every weight comes from exactly one token. A SPLADE head is trained to give 0 to almost all words."
)
SCORE = (
    "The score of two texts is `Σ_v w_v(a) w_v(b)`, a sum over the words that both have: each word's product comes "
    "from exactly one token of either text, so the shares add up to the score."
)
ENTITIES_COMPARED = (
    "The tags of each model are joined to entities as in its own answer, by the same choice under **Joined**. Two "
    "entities are the same if they cover the same characters of the text, without white space around them, and have "
    "the same label, regardless of case. An entity that one model begins a word earlier, or labels otherwise, is one "
    "that only this model finds. The score is the mean probability of the tag over the entity's tokens or words."
)
COMPARED = (
    "Both models read the same text, each with its own tokenizer and head. Classes and tags are matched by name, "
    "answers by their characters in the context, and words at a mask by their spelling there. A word has the tag of "
    "its first token. Surprise is added up over the smallest parts of the text that both models cut into whole tokens. "
    "The difference is `second − first`; there is none where one model has no number, or where the two numbers are of "
    "different answers."
)
NOT_SPLADE = (
    "So many words have a weight that this head is no SPLADE one, which is trained to give 0 to almost all: these "
    "weights show what the head has in mind, and are no search index."
)


def trained(final_norm: str) -> str:
    """Notices about the lens."""
    norm = f" The other layers' states were normalised by {final_norm}, as the last is." if final_norm else ""
    return escape_markdown(f"Click a cell to list its words. {TRAINED}{norm}")


def words_code(name: str, tokens: Tokens, masked: tuple[int, ...], position: int) -> str:
    """Lines that give the best words at a position."""
    return f"""{head_lines(SharedModel(name), WORD_CLASS, tokens)}
ids = inputs["input_ids"][0].clone()
inputs["input_ids"][0, {list(masked)}] = tokenizer.mask_token_id
with torch.no_grad():
    logits = model(**inputs).logits[0]   # (tokens, vocab)
log_p = logits[{position}].log_softmax(dim=-1)
best = log_p.topk(10)
print(tokenizer.convert_ids_to_tokens(best.indices.tolist()), best.values.exp())
own = ids[{position}]
print(log_p[own], (log_p > log_p[own]).sum() + 1)   # of the original: log-probability, rank
"""


def surprise_code(name: str, tokens: Tokens) -> str:
    """Lines that mask every token in turn."""
    positions = [place for place, special in enumerate(tokens.special.tolist()) if not special]
    return f"""{head_lines(SharedModel(name), WORD_CLASS, tokens)}
ids = inputs["input_ids"][0].clone()
positions = {_listed(positions)}   # all but the special tokens
surprise = []
for position in positions:
    inputs["input_ids"][0] = ids
    inputs["input_ids"][0, position] = tokenizer.mask_token_id
    with torch.no_grad():
        log_p = model(**inputs).logits[0, position].log_softmax(dim=-1)
    surprise.append(-log_p[ids[position]])
surprise = torch.stack(surprise)
print(surprise, surprise.mean(), surprise.mean().exp())
"""


def _listed(positions: list[int]) -> str:
    """The positions as Python code, as a range if they are consecutive."""
    first, last = positions[0], positions[-1]
    return f"range({first}, {last + 1})" if positions == list(range(first, last + 1)) else str(positions)


def terms_code(name: str, tokens: Tokens, count: int) -> str:
    """Lines that give the heaviest terms."""
    return f"""{head_lines(SharedModel(name), WORD_CLASS, tokens)}
with torch.no_grad():
    logits = model(**inputs).logits[0]   # (tokens, vocab)
weights, positions = logits.relu().log1p().max(dim=0)
best = weights.topk({count})
print(tokenizer.convert_ids_to_tokens(best.indices.tolist()), best.values, positions[best.indices])
"""


def score_code(name: str, first: Tokens, second: Tokens, count: int) -> str:
    """Lines that give the score and its largest shares."""
    return f"""{head_lines(SharedModel(name), WORD_CLASS, first)}
second = tokenizer({second.text!r}, return_tensors="pt")
with torch.no_grad():
    one, other = (model(**each).logits[0].relu().log1p().amax(dim=0) for each in (inputs, second))
best = (one * other).topk({count})
print(one @ other)
print(tokenizer.convert_ids_to_tokens(best.indices.tolist()), best.values)
"""
