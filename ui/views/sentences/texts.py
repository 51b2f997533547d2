"""How the numbers of the sentences page are made, and the lines of Python that make them."""

from collections.abc import Mapping

from bertviz_core.sentences.results import Measure, Pooling

SIMILARITY: Mapping[Measure, str] = {
    "cosine": "Every sentence becomes one vector; the cosine of two is their dot product over the product of their "
    "lengths, from -1 to 1, and 1 on the diagonal. A zero vector has the cosine 0 to all. Sentence numbers begin "
    "at 1. The tree joins, step by step, the two clusters whose mean distance (1 - cosine) is least (average linkage). "
    "Cosines of different models, poolings or layers cannot be compared by their height.",
    "dot": "Every sentence becomes one vector; the dot product grows with the lengths of both. Where the vectors are "
    "for vectors normalised to unit length it is the cosine. Sentence numbers begin at 1. The tree is made from the "
    "cosine.",
    "euclidean": "Every sentence becomes one vector; the Euclidean distance is the length of their difference, 0 on "
    "the diagonal: small is alike. Sentence numbers begin at 1. The tree is made from the cosine.",
}
POOLED: Mapping[Pooling, str] = {
    "mean": "mask = batch['attention_mask'][..., None]\nv = (h * mask).sum(1) / mask.sum(1)",
    "cls": "v = h[:, 0]",
    "max": "v = h.masked_fill(batch['attention_mask'][..., None] == 0, float('-inf')).amax(1)",
    "pooler": "v = outputs.pooler_output",
    "lasttoken": "v = h[range(len(h)), batch['attention_mask'].sum(1) - 1]   # padded on the right",
    "weightedmean": "mask = (batch['attention_mask'].cumsum(1) * batch['attention_mask'])[..., None]\n"
    "v = (h * mask).sum(1) / mask.sum(1)",
    "mean_sqrt_len_tokens": "mask = batch['attention_mask'][..., None]\nv = (h * mask).sum(1) / mask.sum(1).sqrt()",
}
COMPARED: Mapping[Measure, str] = {
    "cosine": "v = torch.nn.functional.normalize(v, dim=-1)\nv @ v.T",
    "dot": "v @ v.T",
    "euclidean": "torch.cdist(v, v)",
}


def similarity_code(measure: Measure, pooling: Pooling) -> str:
    """Python that makes the matrix."""
    return (
        "batch = tokenizer(sentences, padding=True, truncation=True, return_tensors='pt')\n"
        "outputs = model(**batch, output_hidden_states=True)\nh = outputs.hidden_states[layer]\n"
        f"{POOLED[pooling]}\n{COMPARED[measure]}"
    )


def nearest_code(measure: Measure) -> str:
    """Python that finds the nearest."""
    if measure == "euclidean":
        return "torch.cdist(query[None], v)[0].topk(10, largest=False)"
    if measure == "dot":
        return "(v @ query).topk(10)"
    return "torch.nn.functional.cosine_similarity(query[None], v).topk(10)"
