"""How the numbers of the attention page are made, and what they do not mean."""

from bertviz_core.attention.maps import NORMS_RULE, PUNCTUATION_RULE, SIDES_RULE, WORDS_RULE
from bertviz_core.attention.results import MapOptions, Weights
from bertviz_core.attention.rollout import ROLLOUT_RULE

LABELS: dict[Weights, str] = {
    "attention": "Each cell is the attention weight: how much of the key's value goes into the query's new vector. "
    "Rows sum to 1. Not importance: values differ.",
    "value-weighted": "Each cell is the norm of the weighted value vector: the weight times the length of the key's "
    "transformed value. Rows do not sum to 1.",
    "rollout": "Each cell is the share of an input token in a token's vector after this layer, if weights and "
    "residuals were all there is. Rows sum to 1.",
}
FORMULAS = {
    "attention": "softmax(query key^T × scaling + mask) over the keys, from the query and key that the model itself "
    "multiplied (Vaswani et al. 2017, section 3.2.1).",
    "value-weighted": NORMS_RULE,
    "rollout": ROLLOUT_RULE,
}
CODE = {
    "attention": "model = AutoModel.from_pretrained(name, attn_implementation='eager')\n"
    "outputs = model(**tokenizer(text, return_tensors='pt'), output_attentions=True)\n"
    "outputs.attentions[{layer}][0, {head}]   # queries × keys",
    "value-weighted": "alpha = outputs.attentions[{layer}][0, {head}]\n"
    "f = value[{head}] @ W_o[:, {head} * head_dim : ({head} + 1) * head_dim].T   # value: (heads, seq, head_dim)\n"
    "alpha * f.norm(dim=-1)",
    "rollout": "A = torch.stack(outputs.attentions)[:, 0].mean(1)\n"
    "A = (A + torch.eye(A.shape[-1])) / 2\n"
    "A = A / A.sum(-1, keepdim=True)\n"
    "R = A[0]\nfor layer in range(1, {layer} + 1):\n    R = A[layer] @ R",
}
MEASURES = (
    "Entropy is the mean over the queries of -Σ p ln p in nats: 0 where every query looks at one key. Distance is the "
    "mean of Σ p |i - j| in tokens. The shares are the mean weight on special tokens and on the token itself. All four "
    "are of the raw maps over all tokens."
)


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
