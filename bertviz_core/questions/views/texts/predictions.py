"""Texts of the page Predictions, and its lines of Python that use transformers only."""

import math
from collections.abc import Mapping

from bertviz_core.hidden_states.results import state_name
from bertviz_core.predictions.results import AnswerPrediction, ClassPrediction, LogitLens, Scoring, WordPrediction
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.model_lines import model_lines
from bertviz_core.questions.texts.sentences import own_plan
from bertviz_core.questions.texts.tokens import EDITED, EDITED_PAIR
from bertviz_core.sentences.results import SparsePooling
from bertviz_core.text import decimals, escape_controls, escape_markdown, isolated
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.two_tokenizers import word_edits

AROUND = 6
"""Number of unchanged words shown beside a change."""
WORD_CLASS = "AutoModelForMaskedLM"
MARKS = (
    "Choose a token to mask it, again to take the mask away; its words are listed below. The first click replaces the "
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
NAT = "A nat is a step of natural logarithms: a probability of one half is 0.69 nats, of one tenth 2.3."
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
HOW: Mapping[Scoring, str] = {
    "softmax": "The task head makes one number, a logit, for each class. `p = exp(logit) / Σ exp(logit)`: the classes "
    "exclude each other, and their probabilities sum to 1.",
    "sigmoid": "The task head makes one number, a logit, for each class, and every class is a question of its own: "
    "`p = 1 / (1 + exp(−logit))`. Several classes may be likely at once, or none; the dashed line is 0.5.",
    "number": "The task head is a regression: its output is the answer itself, in the unit of what it was trained on, "
    "and no probability.",
}
"""How the outputs are processed."""
READ = "The task head reads the state of the whole text, mostly that of its first token. "
NEXT = (
    "Pre-training included the question whether the second text followed the first in its document, or came from "
    "another one. Two logits of the pooled `[CLS]` answer it: `p = exp(logit) / Σ exp(logit)`. A topic is easier to "
    "notice than a thread, so the task head mostly says whether both texts are about the same (Devlin et al. 2019; Liu "
    "et al. 2019)."
)
TAGS = (
    "The task head turns the last state of every token into one logit for each tag; `p = softmax(logits)`, and the "
    "likeliest tag is the token's. Tokens become entities as transformers' `aggregation_strategy` does it: **none** "
    "lists tokens; **simple** joins neighbours of one tag, a `B-` begins anew; **first**, **average** and **max** "
    "first give all pieces of a word one tag. An entity's score is the mean over its tokens or words."
)
ANSWERS = (
    "For every token the task head makes two logits: to be the first of the answer, and the last. An answer is the "
    "span of the context, within the longest length, with the greatest sum of both. `score = p(first) p(last)`, each a "
    "softmax over the tokens of the context. A context that is too long for one run is read in windows that overlap."
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
PROBES = (
    "The model is not changed: each text becomes one vector by the pooling, on every layer. A probe is multinomial "
    "logistic regression on these vectors (each dimension brought to mean 0 and spread 1), fitted on four fifths of "
    "the texts and tried on the fifth that it has not seen, five times over, every part with its share of each class. "
    "The *control task* does the same with shuffled labels (Hewitt and Liang 2019): what is right there is learned by "
    "heart or luck, and accuracy minus control is the probe's *selectivity*. The long-dashed line is always naming the "
    "most frequent class."
)
PROBE_LAYERS = (
    "Where the accuracy of the embeddings is high, the words alone tell the classes apart; where it rises over the "
    "layers, context adds to it. "
    "What a probe can read is in the vector; whether the model uses it, it does not say."
)
PROBE_ANSWER = (
    "The text becomes one vector as the labelled texts did; `softmax(vector @ weight.T + bias)` are the probabilities. "
    "This probe was fitted on all labelled texts, its accuracy measured on parts that it had not seen."
)
SEVERAL_TEXTS = (
    "Texts of like length are run together; what is padded is cut off again, so a text's answer does not depend on its "
    "neighbours. Accuracy is the share of texts whose answer is the gold label. A class's F1 is "
    "`2 hits / (times it is gold + times it is answered)`, macro-F1 the mean over the classes that occur. A label is "
    "compared without regard to capitals; one that is no class of the task head counts as a mistake. The word that is "
    "named with the mistakes raises their share most, by `mistakes with it / texts with it − mistakes without it / "
    "texts without it`, among the words in at least five texts with `p ≤ 0.05` by Fisher's exact test (one-sided), "
    "times the number of these words (Bonferroni). It may go with the cause and not be it: try it in **Change a word**."
)
WORD_SWAPS = (
    "Each word of a pair is put into the slot `{}` of each template, as it is written, and the model reads both texts. "
    "*classes*: the probability of a class, as in **Classes** (of a task head that answers with a number, its logit). "
    "*surprise*: of a masked-LM head, the mean over the tokens of `−log p(token | all others)`, as in **Surprise**, "
    "and the pseudo-log-likelihood, minus their sum (Salazar et al. 2020), which is lower for longer texts. The "
    "difference is that of the second word minus that of the first. *cosine*: of the vectors of both texts, as in "
    "**Sentences**. The interval is the t interval of the mean, `mean ± t · s / √n` with `n` templates, the standard "
    "deviation `s` of their numbers and the 97.5% quantile `t` with `n − 1` degrees of freedom; that of all "
    "pairs is made of the mean of each template over the pairs. A single template has none."
)
LABEL_ERRORS = (
    "Confident learning (Northcutt et al. 2021): a class's threshold is the mean probability of this class over the "
    "texts that have its label. A text is counted in the class whose threshold its probability reaches, in the most "
    "probable class if it reaches several; a text that is counted in another class than its label is suspect, unless "
    "its label is the most probable class after all. *noise rate* takes as many texts as the counts, scaled to all "
    "texts, estimate for each two classes, those with the largest difference of probabilities; *both* only those of "
    "them with the least probabilities of their label; *another class* every text whose label is not its most probable "
    "class. Self-confidence is `p(given)`, the normalized margin "
    "`(p(given) − max p(other) + 1) / 2`. The probabilities are those of probes (logistic regression on sentence "
    "vectors) that were fitted on the other parts of the texts, or of the model's own task head. Nothing is changed: a "
    "suspect may be right, and a wrong label may be none."
)
NO_GOLD = (
    "Without gold labels there is nothing to be compared: type a label and a tab in front of each text, or choose the "
    "column of a file that holds the labels, for accuracy, macro-F1 and a confusion matrix."
)
PAIR_NOT_READ = (
    "The second text of the page is not read with a list: choose a column of second texts in a file, one for each text."
)
NO_GOLD_LABELS = (
    "Calibration compares answers with gold labels: under **Texts**, type a label and a tab in front of each text, or "
    "choose the column of a file that holds the labels."
)
CALIBRATED = (
    "The texts are divided into bins by the probability of their answer (of a multi-label head, by the probability of "
    "the label); a point is the share of them that is true over their mean probability, with Wilson's 95% interval. "
    "On the dashed line a model is as often right as it is sure. With `n_b` of `n` texts in a bin, "
    "`ECE = Σ n_b / n · |share − mean probability|` (Naeini et al. 2015; Guo et al. 2017), over bins of equal width or "
    "with about as many texts each; with few texts in a bin it is too large. The *Brier score* is the mean of "
    "`Σ (probability − 1 or 0)²` over the classes (Brier 1950), of two classes half of it, as in scikit-learn; the "
    "*log loss* is the mean of `−log(probability of the gold label)`. The *temperature* `T` has the least log loss of "
    "`softmax(logits / T)` on a random half of the texts (seed 0; Guo et al. 2017); what it changes is measured on the "
    "other half. The coverage curve has the accuracy of the most confident share of the answers; answers that are "
    "equally sure come together."
)
GOLD_TAGS = (
    "The words are tokenized as they are cut (`is_split_into_words=True`); the tag of a word is the likeliest label of "
    "its first piece. An entity is right if a gold entity has the same words and the same type. By *default* a tag "
    "continues the entity before it unless it begins one (B-) or has another type, as in conlleval; *strict* counts "
    "well-formed entities only: B- I- I- (IOB2), or B- I- E- and S- where the tags have these. Precision is "
    "`right / predicted`, recall `right / gold`, F1 `2 right / (gold + predicted)`; micro of all entities together, "
    "macro the mean of the types: the numbers of seqeval."
)
GOLD_LABELS = (
    "What a trainer makes of the tags: the first piece of each word has its label, and the others have −100, which the "
    "loss leaves out; or all pieces have it, where I- follows B-."
)
NO_EXAMPLE = (
    "The labels of this task head are none of the example's (persons, places, organizations): under **Sentences**, "
    "type or upload words with its tags, such as {}."
)
LABELS = {
    "sequence-classification": "AutoModelForSequenceClassification",
    "next-sentence": "AutoModelForNextSentencePrediction",
}
"""Task -> class of transformers that loads its head."""


def words_code(opened: Opened, tokens: Tokens, masked: list[int], position: int) -> str:
    """Lines that give the best words at a position."""
    return f"""{model_lines(opened, tokens, WORD_CLASS)}
ids = inputs["input_ids"][0].clone()
inputs["input_ids"][0, {masked}] = tokenizer.mask_token_id
with torch.no_grad():
    logits = model(**inputs).logits[0]   # (tokens, vocab)
log_p = logits[{position}].log_softmax(dim=-1)
best = log_p.topk(10)
print(tokenizer.convert_ids_to_tokens(best.indices.tolist()), best.values.exp())
own = ids[{position}]
print(log_p[own], (log_p > log_p[own]).sum() + 1)   # of the original: log-probability, rank
"""


def surprise_code(opened: Opened, tokens: Tokens) -> str:
    """Lines that mask every token in turn."""
    positions = [place for place, special in enumerate(tokens.special.tolist()) if not special]
    return f"""{model_lines(opened, tokens, WORD_CLASS)}
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


def _sparse_code(opened: Opened) -> tuple[str, bool]:
    """Code that makes weights of logits, and whether those of all tokens are added."""
    pooling = own_plan(opened).sparse or SparsePooling()
    return ".relu()" + ".log1p()" * pooling.logs, pooling.strategy == "sum"


def terms_code(opened: Opened, tokens: Tokens, count: int) -> str:
    """Lines that give the heaviest terms."""
    values, added = _sparse_code(opened)
    made = f"logits{values}.sum(dim=0), logits.argmax(dim=0)" if added else f"logits{values}.max(dim=0)"
    return f"""{model_lines(opened, tokens, WORD_CLASS)}
with torch.no_grad():
    logits = model(**inputs).logits[0]   # (tokens, vocab)
weights, positions = {made}
best = weights.topk({count})
print(tokenizer.convert_ids_to_tokens(best.indices.tolist()), best.values, positions[best.indices])
"""


def score_code(opened: Opened, first: Tokens, second: Tokens, count: int) -> str:
    """Lines that give the score and its largest shares."""
    values, added = _sparse_code(opened)
    reduced = "sum" if added else "amax"
    return f"""{model_lines(opened, first, WORD_CLASS)}
second = tokenizer({second.text!r}, return_tensors="pt")
with torch.no_grad():
    one, other = (model(**each).logits[0]{values}.{reduced}(dim=0) for each in (inputs, second))
best = (one * other).topk({count})
print(one @ other)
print(tokenizer.convert_ids_to_tokens(best.indices.tolist()), best.values)
"""


def classes_code(opened: Opened, task: str, tokens: Tokens, scoring: Scoring) -> str:
    """Lines that give the classes of a text."""
    means = {"softmax": ".softmax(-1)", "sigmoid": ".sigmoid()", "number": ""}[scoring]
    return (
        f"{model_lines(opened, tokens, LABELS[task])}"
        "with torch.no_grad():\n"
        "    logits = model(**inputs).logits[0]\n"
        f"print(logits{means})\n"
    )


def original_words(prediction: WordPrediction, position: int, vocab_size: int) -> str:
    """The original token at a position, in a line."""
    if prediction.typed[position]:
        return "The text has a mask here, so there is no original word to be compared."
    value = float(prediction.log_probability[position])
    visibility = "hidden behind the mask" if prediction.masked[position] else "seen by the model"
    return (
        f"The original token **{spelled_token(prediction.tokens, position)}**, {visibility}: probability "
        f"**{decimals(math.exp(value))}**, log-probability **{decimals(value, 3)}** nats, rank "
        f"**{int(prediction.rank[position]):,}** of {vocab_size:,}."
    )


def cell_words(lens: LogitLens, entry: int, position: int) -> str:
    """One cell in a line."""
    place = f"**{state_name(entry)}**, position {position} **{spelled_token(lens.tokens, position)}**"
    spread = (
        f"entropy **{float(lens.entropy[entry, position]):.3f}** nats, "
        f"KL to the last layer **{float(lens.divergence[entry, position]):.3f}** nats"
    )
    if lens.rank[entry, position] == 0:
        return f"{place}: {spread}."
    value = float(lens.log_probability[entry, position])
    return (
        f"{place}: the original token has rank **{int(lens.rank[entry, position]):,}**, probability "
        f"**{decimals(math.exp(value))}**, log-probability **{decimals(value, 3)}** nats; {spread}."
    )


def class_words(prediction: ClassPrediction) -> str:
    """The answer in a line."""
    best = escape_markdown(prediction.labels[prediction.best])
    if prediction.probabilities is None:
        return f"The task head gives the number **{float(prediction.logits[prediction.best]):.4f}** ({best})."
    share = f"**{float(prediction.probabilities[prediction.best]):.3f}**"
    if prediction.scoring == "softmax":
        count = len(prediction.labels)
        return f"To {escape_markdown(prediction.model)} the likeliest of {count:,} classes: **{best}**, {share}."
    if len(prediction.labels) == 1:
        return f"**{best}** has the probability {share}."
    likely = int((prediction.probabilities > 0.5).sum())
    counts = f"{likely:,} of {len(prediction.labels):,} classes {'is' if likely == 1 else 'are'} likelier than not"
    return f"{counts}; the likeliest is **{best}**, with probability {share}."


def null_words(prediction: AnswerPrediction) -> str:
    """How the answer "none" compares with the best span; a notice says so where it is preferred."""
    if prediction.null_logit is None:
        return "This model reads no special token in front, so it has no answer “none”."
    none, span = (f"{logit:.3f}".replace("-", "−") for logit in (prediction.null_logit, prediction.answers[0].logit))
    difference = f"{prediction.null_difference:.3f}".replace("-", "−")
    if prediction.is_null:
        return (
            f"The answer “none” has the logit **{none}**, above the best span's **{span}** (difference {difference})."
        )
    return (
        f"The answer “none” has the logit **{none}**, not above the best span's **{span}** (difference {difference}): "
        "a model that was trained with questions without an answer says that there is one."
    )


def edit_words(options: Options) -> str:
    """The edit in a line: deleted words struck through, inserted words bold."""
    versions = (options.text(), options.get(EDITED.key)), (options.pair or "", options.get(EDITED_PAIR.key))
    changed = [line for before, after in versions if before and after and (line := _steps(before, after))]
    if not changed:
        return "Nothing is changed yet: edit a word of the text to see both answers side by side."
    return f"Changed: {' '.join(changed)}"


def _steps(before: str, after: str) -> str:
    """The edit of one text; "" for none."""
    steps = word_edits(before, after)
    if all(each.kind == "same" for each in steps):
        return ""
    parts = []
    for place, each in enumerate(steps):
        old, new = (escape_markdown(text[slice(*span)]) for text, span in ((before, each.before), (after, each.after)))
        if each.kind == "same":
            parts.append(_near(old, place > 0, place < len(steps) - 1))
        else:
            parts += [*([f"~~{old}~~"] if old else []), *([f"**{new}**"] if new else [])]
    return " ".join(parts)


def _near(text: str, behind: bool, before: bool) -> str:
    """Unchanged words beside a change: after one, before one, or between two."""
    words = text.split(" ")
    first, last = AROUND * behind, AROUND * before
    if len(words) <= first + last:
        return text
    return " ".join([*words[:first], "…", *words[len(words) - last :]])


def gone_and_new(before: list[str], after: list[str]) -> str:
    """Entities of only one version, in a line."""
    gone, new = ([each for each in one if each not in other] for one, other in ((before, after), (after, before)))
    if not gone and not new:
        return "Both versions have the same entities."
    parts = [f"{what}: {escape_markdown(', '.join(each))}" for what, each in (("Gone", gone), ("New", new)) if each]
    return ". ".join(parts) + "."


def spelled_token(tokens: Tokens, position: int) -> str:
    """A token of the text, in Markdown."""
    return escape_markdown(isolated(escape_controls(tokens.tokens[position])))
