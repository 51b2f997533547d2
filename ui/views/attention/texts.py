"""Texts of the page Attention, and lines of Python."""

from bertviz_core.attention.maps import NORMS_RULE, PUNCTUATION_RULE, ROLLOUT_RULE, SIDES_RULE, WORDS_RULE
from bertviz_core.attention.results import MapOptions, Weights
from bertviz_core.attention.value_zeroing import RULE
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.report.model_lines import reading as given_lines
from bertviz_core.questions.texts.attention import PART, PUNCTUATION, SPECIAL, WEIGHTS, WORDS, attention_map
from bertviz_core.trace.results import Tokens, Trace
from ui.cache import models
from ui.cache.shared_model import SharedModel

LABELS: dict[Weights, str] = {
    "attention": "An attention weight is the share of the key's value vector in what the head passes on to the query. "
    "The weights of a query sum to 1. A large weight does not mean that the token is important: value vectors differ "
    "in length and direction.",
    "value-weighted": "The attention weight times the length of the key's transformed value vector: how much the head "
    "passes on from the key to the query. These numbers do not sum to 1.",
    "rollout": "The share of an input token in a token's vector after this layer, if attention and residual "
    "connections were all that mixed the vectors. The shares of a token sum to 1.",
    "value-zeroing": "How far a token's vector after this layer turns (cosine distance) when the value vector of a "
    "token is set to zero in this layer, in all heads; the shares of a row sum to 1. Unlike a weight, it takes in what "
    "the values hold, the residual connection, the normalisations and the feed-forward block, of this layer alone.",
}
SHORT: dict[Weights, str] = {
    "attention": "the weights of a query sum to 1",
    "value-weighted": "attention weights times the lengths of the transformed value vectors",
    "rollout": "the shares of a query sum to 1",
    "value-zeroing": "how far a row's vector turns without the value of a column, as shares of the row",
}
"""The same texts for captions."""
SECOND_TEXT = "The dashed lines show where the second text begins."
FORMULAS = {
    "attention": "softmax(query key^T × scaling + mask) over the keys, from the query and key that the model itself "
    "multiplied (Vaswani et al. 2017, section 3.2.1).",
    "value-weighted": NORMS_RULE,
    "rollout": ROLLOUT_RULE,
    "value-zeroing": RULE,
}
MEASURES = (
    "Entropy is the mean over the queries of -Σ p ln p in nats: 0 where every query looks at one key. Distance is the "
    "mean of Σ p |i - j| in tokens, of a word those of its first piece. The shares are the mean p on special tokens "
    "and on the token itself. All four are of the map as it is drawn: p is a cell over the sum of the visible cells of "
    "its row."
)

COMPARED = (
    "Both models are run on the text, and the maps are read in the same way. Where rows and columns of both are the "
    "same parts of the text, by their characters, the third map is the second minus the first. Of the second model the "
    "same layer and head are shown unless others are chosen; where it has another number of layers or heads, those at "
    "the same relative place: the first for the first, the last for the last. The heads of two models that were not "
    "trained from one start have no reason to correspond."
)
SAME_PLACE = (
    "The {noun} of the same number as in the first model; where the second has another number of {noun}s, the one at "
    "the same relative place, the first for the first and the last for the last."
)
CHANGED = (
    "For every head the Jensen-Shannon divergence of its two attention rows, `(KL(p || m) + KL(q || m)) / 2` with "
    "`m = (p + q) / 2`, is averaged over the queries (Lin 1991): 0 for equal rows, ln 2 = 0.693 nats for rows that "
    "have no key in common. It is that of the raw weights over all tokens, whatever is chosen above. A head that "
    "changed far is not by itself an important one."
)
MERGE = "**Merge pieces to words**, under **Tokens** above, compares words, which may be the same where tokens are not."


def explanation(reading: MapOptions) -> str:
    """How the cells of this reading are computed."""
    words = [FORMULAS[reading.weights]]
    if reading.words:
        words.append(WORDS_RULE)
    if reading.hide_punctuation:
        words.append(PUNCTUATION_RULE)
    if reading.block != "all":
        words.append(SIDES_RULE)
    if reading.words or reading.hide_special or reading.hide_punctuation or reading.block != "all":
        words.append("What is not shown is not spread over the rest: a row's shown and hidden shares add up.")
    return "\n\n".join([*words, MEASURES])


SHOWN = 400
"""Most characters of texts written out in the code; longer ones are variables."""
ROLLOUT = (
    "A = torch.stack(outputs.attentions)[:, 0].mean(1)   # of each layer the mean of its heads\n"
    "A = (A + torch.eye(A.shape[-1])) / 2\n"
    "A = A / A.sum(-1, keepdim=True)\n"
    "rollout = A[0]\n"
    "for layer in range(1, {layer} + 1):\n"
    "    rollout = A[layer] @ rollout\n"
    "print(rollout)   # queries × input tokens"
)


def attention_code(trace: Trace, layer: int, head: int, reading: MapOptions) -> str:
    """Code for the map that is shown.

    Unmerged weights and their rollout need transformers only; readings with values, merged words or hidden tokens use
    the library of this dashboard.
    """
    if reading in (MapOptions(), MapOptions("rollout")):
        return _with_transformers(trace, layer, head, reading)
    return _with_the_library(trace, layer, head, reading)


def _with_transformers(trace: Trace, layer: int, head: int, reading: MapOptions) -> str:
    source = models.source(trace.model)
    where, reader = source.pretrained_name, source.tokenizer_class
    encoder = ".get_encoder()" if source.config.get("is_encoder_decoder") else ""
    arguments = given_lines(trace.tokens, models.loaded(trace.model).model)
    shown = ROLLOUT.format(layer=layer)
    if reading.weights == "attention":
        shown = f"print(outputs.attentions[{layer}][0, {head}])   # queries × keys of layer {layer}, head {head}"
    return (
        "import torch\n"
        f"from transformers import AutoModel, {reader}\n\n"
        f"tokenizer = {reader}.from_pretrained({where!r})\n"
        f"model = AutoModel.from_pretrained({where!r}, attn_implementation='eager', dtype=torch.{trace.dtype})\n"
        f"model = model{encoder}.eval()\n"
        f"inputs = tokenizer({_texts(trace.tokens)}, {arguments})\n"
        "with torch.no_grad():\n"
        "    outputs = model(**inputs, output_attentions=True)\n"
        f"{shown}"
    )


def _with_the_library(trace: Trace, layer: int, head: int, reading: MapOptions) -> str:
    options = Options((trace.tokens.text,), trace.tokens.pair, values=reading_values(layer, head, reading))
    return library_lines(attention_map, SharedModel(trace.model), options)


def reading_values(layer: int, head: int, reading: MapOptions) -> dict[str, str]:
    """The values of the parameters of a question about one map."""
    flags = {WORDS: reading.words, SPECIAL: reading.hide_special, PUNCTUATION: reading.hide_punctuation}
    values = {"layer": str(layer), "head": str(head), WEIGHTS.key: reading.weights, PART.key: reading.block}
    return values | {param.key: "true" for param, is_set in flags.items() if is_set}


def _texts(tokens: Tokens) -> str:
    """The texts as Python literals; variable names if they are long."""
    texts = [each for each in (tokens.text, tokens.pair) if each is not None]
    if sum(map(len, texts)) > SHOWN:
        return ", ".join(("text", "pair")[: len(texts)])
    return ", ".join(map(repr, texts))
