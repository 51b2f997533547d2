"""Poolings, and the cosines of token pairs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.maps import token_groups
from bertviz_core.errors import CheckpointError, UnsupportedModelError
from bertviz_core.isolation.regular_files import DENSE_NBYTES, own_file, present, read_file
from bertviz_core.lazy_imports import torch
from bertviz_core.models.safetensors.folder import SINGLE_FILE, read_file_header, read_json
from bertviz_core.models.sentence_folder import pickled_dense
from bertviz_core.sentences.results import (
    ADDITIVE_POOLINGS,
    POOLINGS,
    SPARSE_POOLINGS,
    DenseLayer,
    Pooling,
    SentencePlan,
    SparsePooling,
    TokenPair,
    TokenPairShares,
)
from bertviz_core.text import first_line, quoted
from bertviz_core.trace.results import Tokens, Trace

ACTIVATIONS: Mapping[str, str] = {
    "Identity": "identity",
    "Tanh": "tanh",
    "ReLU": "relu",
    "GELU": "gelu",
    "Sigmoid": "sigmoid",
}
SENTENCE_OUTPUT = "sentence_embedding"
MAX_DIMENSIONS = 65_536
"""Most numbers of a vector that a projection makes: a small file may widen every token's."""


def dense_layer(
    folder: Path, module_folder: str, values: str = SENTENCE_OUTPUT, makes: str = ""
) -> tuple[DenseLayer | None, str]:
    """Read a dense layer of a checkpoint; None and a reason if it is not supported.

    Args:
        values: the values that it must map, sentence_embedding or token_embeddings.
        makes: the values that it must make; "" for the same.
    """
    config = read_json(folder, f"{module_folder}/config.json")
    name = str(config.get("activation_function", "torch.nn.modules.activation.Tanh"))
    activation = ACTIVATIONS.get(name.rpartition(".")[2]) if name.startswith("torch.nn.") else None
    read = config.get("module_input_name") or values
    places = [read, config.get("module_output_name") or read]
    causes = [
        *([] if activation else [quoted(name)]),
        *([] if places == [values, makes or values] else [f"{quoted(str(places[0]))} to {quoted(str(places[1]))}"]),
        *(["use_residual"] if config.get("use_residual") else []),
    ]
    if activation is None or causes:
        layer = f"{quoted(module_folder)} ({', '.join(causes)})"
        return None, f"The checkpoint's dense layer {layer} is not followed; its vectors differ."
    if not present(folder, f"{module_folder}/{SINGLE_FILE}"):
        return None, pickled_dense(module_folder, SINGLE_FILE)
    layer = f"The dense layer {quoted(module_folder)}"
    return read_linear(folder, f"{module_folder}/{SINGLE_FILE}", layer, activation), ""


def applied(vectors: "torch.Tensor", dense: tuple[DenseLayer, ...]) -> "torch.Tensor":
    """Apply dense layers to vectors (rows, dimensions): activation(vectors @ weight.T + bias)."""
    for layer in dense:
        if vectors.shape[1] != layer.weight.shape[1]:
            raise CheckpointError(
                f"A dense layer of the checkpoint takes vectors of {layer.weight.shape[1]:,} numbers and is given "
                f"{vectors.shape[1]:,}; its files do not belong together."
            )
        vectors = vectors @ torch.tensor(layer.weight, device=vectors.device).T
        if layer.bias is not None:
            vectors = vectors + torch.tensor(layer.bias, device=vectors.device)
        vectors = _activated(vectors, layer.activation)
    return vectors


def _activated(values: "torch.Tensor", activation: str) -> "torch.Tensor":
    if activation == "identity":
        return values
    functions = {"tanh": torch.tanh, "relu": torch.relu, "gelu": torch.nn.functional.gelu, "sigmoid": torch.sigmoid}
    mapped: torch.Tensor = functions[activation](values)
    return mapped


def check_width(name: str, shape: Sequence[int]) -> None:
    """Check how many numbers a projection makes, before its values are read."""
    if len(shape) == 2 and shape[0] > MAX_DIMENSIONS:
        raise CheckpointError(f"{name} makes vectors of {shape[0]:,} numbers; at most {MAX_DIMENSIONS:,} are computed.")


def read_linear(
    folder: Path, file: str, layer: str, activation: str = "identity", prefix: str = "linear."
) -> DenseLayer:
    """Read the tensors `weight` and `bias` of a safetensors file beside a checkpoint.

    Args:
        layer: what it is, as the beginning of a sentence.
        prefix: in front of the names of the tensors.
    """
    from safetensors.torch import load

    path = own_file(folder, file)  # that of a merged adapter is a link
    try:
        listed, _ = read_file_header(path)
    except CheckpointError as error:
        raise CheckpointError(f"{layer} cannot be read: {error}") from error
    for tensor in listed:
        if tensor.name == f"{prefix}weight":
            check_width(layer, tensor.shape)
    raw = read_file(folder, file, DENSE_NBYTES)  # load_file would memory-map it, and the file may change
    try:
        tensors = load(raw)
        weight, bias = tensors[f"{prefix}weight"], tensors.get(f"{prefix}bias")
    except Exception as error:  # safetensors raises undocumented errors for damaged files
        raise CheckpointError(f"{layer} cannot be read: {first_line(error)}") from error
    if weight.ndim != 2 or (bias is not None and bias.shape != weight.shape[:1]):
        besides = "" if bias is None else f" and a bias of shape {tuple(bias.shape)}"
        raise CheckpointError(f"{layer} has a weight of shape {tuple(weight.shape)}{besides}.")
    return DenseLayer(weight.float().numpy(), None if bias is None else bias.float().numpy(), activation)


def offered_poolings(first_token: str | None, has_pooler: bool, own: Pooling) -> tuple[Pooling, ...]:
    """Return the poolings that a model offers, in a fixed order, its own included.

    A model without a leading special token (GPT-2, T5) offers no first-token pooling, and one without a pooler no
    pooler output.
    """
    missing = {"cls": first_token is None, "pooler": not has_pooler}
    offered = [pooling for pooling in POOLINGS if pooling == own or not missing.get(pooling, False)]
    return tuple(dict.fromkeys((*offered, own)))


def token_mask(lengths: "torch.Tensor", seq: int, skipped: int) -> "torch.Tensor":
    """Return which tokens of a padded batch are pooled, (batch, seq) bool: neither padding nor the first `skipped`.

    A sentence with no more than `skipped` tokens keeps its last one, so that one token is pooled.
    """
    positions = torch.arange(seq, device=lengths.device)
    first = torch.clamp(lengths - 1, max=skipped)
    return (positions < lengths[:, None]) & (positions >= first[:, None])


def pooled(hidden: "torch.Tensor", mask: "torch.Tensor", pooling: Pooling) -> "torch.Tensor":
    """Pool hidden states (batch, seq, hidden) by the mask of token_mask into vectors (batch, hidden) float32.

    "mean" is the mean of the token vectors, "cls" the first pooled token, "max" the maximum of each dimension (Reimers
    & Gurevych 2019, section 3); "weightedmean" weights a token by its position from 1 (Muennighoff 2022, section 3),
    "lasttoken" takes the last token, "mean_sqrt_len_tokens" is the sum over the square root of the count (Pooling in
    sentence-transformers). Rows are padded on the right.
    """
    if pooling in ("pooler", *SPARSE_POOLINGS):
        raise ValueError(f"{pooling} is run by the model itself")
    if pooling == "cls":
        first = mask.int().argmax(dim=1)
        return hidden[range(len(hidden)), first].float()
    if pooling == "lasttoken":
        last = mask.shape[1] - 1 - mask.flip(1).int().argmax(dim=1)
        return hidden[range(len(hidden)), last].float()
    states, counted = hidden.float(), mask[:, :, None]
    if pooling == "max":
        return states.masked_fill(~counted, float("-inf")).amax(dim=1)
    # masked_fill, not a product: padding may contain NaN or infinity in some families.
    states, counts = states.masked_fill(~counted, 0.0), mask.sum(dim=1, keepdim=True)
    if pooling == "weightedmean":
        weights = mask * torch.arange(1, mask.shape[1] + 1, device=mask.device)
        return (states * weights[:, :, None]).sum(dim=1) / weights.sum(dim=1, keepdim=True)
    return states.sum(dim=1) / (counts.sqrt() if pooling == "mean_sqrt_len_tokens" else counts)


def term_values(logits: "torch.Tensor", pooling: SparsePooling) -> "torch.Tensor":
    """Compute the weights of logits: log(1 + ReLU(logit)) (Formal et al. 2021), or log(1 + x) of that once more."""
    values = logits.relu()
    for _ in range(pooling.logs):
        values = values.log1p()
    return values


TOP_PAIRS = 20
MEAN_NOTE = (
    "A cell is the dot product of two tokens' vectors, over the counts of tokens and the lengths of the two sentence "
    "vectors; all cells add up to the cosine."
)
WEIGHTED_NOTE = (
    "A cell is the dot product of two tokens' vectors, each weighted as the pooling weights it, over the lengths of "
    "the two sentence vectors; all cells add up to the cosine."
)
MAX_NOTE = (
    "Every dimension of a sentence vector is counted to the one token that has the largest value there; a cell is the "
    "sum over the dimensions of its two tokens, over the lengths of the vectors, and all cells add up to the cosine."
)
SINGLE_VECTOR_NOTE = (
    "An approximation: {what} is one vector that no sum over tokens makes up, so the cells are those of mean pooling "
    "of the same layer. They add up to {total:.4f}; the cosine of the two sentences is {score:.4f}."
)
NOT_LINEAR_NOTE = (
    "An approximation: the model's dense layers ({names}) are not linear, so the cells are those of the vectors in "
    "front of them. They add up to {total:.4f}; the cosine of the two sentences is {score:.4f}."
)


def token_pair_shares(first: Trace, second: Trace, plan: SentencePlan, skipped: int = 0) -> TokenPairShares:
    """Split the cosine of two sentences into contributions of pairs of tokens.

    Each sentence vector is a sum of one part per token, m = sum_i u_i: for mean pooling u_i = h_i / n; for max pooling
    u_i contains the dimensions in which token i is largest; a linear dense layer maps each part separately. So the
    cosine is exactly sum_ij <u_i, v_j> / (|m_a| |m_b|). Single-token poolings, the pooler and dense layers with an
    activation have no such sum; the cells are then those of mean pooling, `exact` is False and `note` explains it.

    Args:
        first: trace of the first sentence, from sentences.batches.sentence_tokens under the plan.
        skipped: number of leading tokens of both that are not pooled (sentences.batches.prompt_tokens).
    """
    _check(first, second, plan)
    if plan.pooling in SPARSE_POOLINGS:
        raise UnsupportedModelError(
            f"The score of {first.model!r}, a sparse encoder, is a sum over words of its vocabulary, not over pairs of "
            "tokens: look at the expanded terms of the two sentences, or choose the pooling mean."
        )
    layer = first.num_hidden_layers if plan.layer is None else plan.layer
    score = _cosine(*(_sentence(trace, layer, plan, skipped) for trace in (first, second)))
    parts = [token_parts(trace.hidden_states[layer], plan, _first(trace, skipped)) for trace in (first, second)]
    lengths = [float(np.linalg.norm(vectors.sum(axis=0))) for vectors in parts]
    scale = lengths[0] * lengths[1]
    cells = parts[0] @ parts[1].T / scale if scale else np.zeros((len(parts[0]), len(parts[1])))
    total = float(cells.sum())
    exact = is_sum(plan)
    words, groups = zip(*(_words(trace.tokens) for trace in (first, second)), strict=True)
    word_cells = groups[0] @ cells @ groups[1].T
    return TokenPairShares(
        first_tokens=first.tokens.tokens,
        second_tokens=second.tokens.tokens,
        cells=cells.astype(np.float32),
        score=score,
        total=total,
        exact=exact,
        note=_note(plan, exact, total, score),
        pooling=plan.pooling,
        layer=layer,
        first_totals=cells.sum(axis=1).astype(np.float32),
        second_totals=cells.sum(axis=0).astype(np.float32),
        first_words=words[0],
        first_word_totals=word_cells.sum(axis=1).astype(np.float32),
        second_words=words[1],
        second_word_totals=word_cells.sum(axis=0).astype(np.float32),
        word_cells=word_cells.astype(np.float32),
        top=_top(cells, first.tokens, second.tokens),
    )


def _check(first: Trace, second: Trace, plan: SentencePlan) -> None:
    if (first.model, first.revision) != (second.model, second.revision):
        raise ValueError(f"traces of {first.model} and {second.model}")
    for trace in (first, second):
        if trace.tokens.pair is not None:
            raise ValueError("a trace of a pair of texts is no sentence")
        if plan.max_seq_length is not None and len(trace.tokens) > plan.max_seq_length:
            raise ValueError(f"{len(trace.tokens)} tokens where the plan reads {plan.max_seq_length}")
        if plan.pooling == "pooler" and trace.pooler_output is None:
            raise UnsupportedModelError(f"{trace.model!r} has no pooler; choose mean, cls or max.")


def is_sum(plan: SentencePlan) -> bool:
    """Return whether the sentence vector is a sum of one part per token."""
    return plan.pooling in ADDITIVE_POOLINGS and all(dense.linear for dense in plan.dense)


def _sentence(trace: Trace, layer: int, plan: SentencePlan, skipped: int) -> Float[np.ndarray, " dimensions"]:
    """Compute the sentence vector of the plan from the trace's hidden states."""
    hidden, start = trace.hidden_states[layer], _first(trace, skipped)
    if plan.pooling == "pooler":
        vector = trace.pooler_output
    elif plan.pooling in ADDITIVE_POOLINGS:
        vector = _pooled_parts(hidden, plan.pooling, start).sum(axis=0)
    else:
        vector = hidden[-1 if plan.pooling == "lasttoken" else start]
    mapped: np.ndarray = applied(torch.tensor(vector, dtype=torch.float32)[None], plan.dense)[0].numpy()
    return mapped.astype(np.float64)[: plan.truncate_dim]


def token_parts(
    hidden: Float[np.ndarray, "seq hidden"], plan: SentencePlan, start: int
) -> Float[np.ndarray, "seq dimensions"]:
    """Compute one part per token, float64; they sum to the sentence vector if such a sum exists (`is_sum`).

    Otherwise they are parts of the mean, or of the vector in front of the dense layers.

    Args:
        hidden: hidden states of the plan's layer.
        start: index of the first pooled token.
    """
    parts = _pooled_parts(hidden, plan.pooling, start)
    if is_sum(plan):
        for dense in plan.dense:
            parts = parts @ dense.weight.T
            if dense.bias is not None:
                parts[start:] += dense.bias / (len(parts) - start)  # distributed evenly
        parts = parts[:, : plan.truncate_dim]
    return parts


def _pooled_parts(
    hidden: Float[np.ndarray, "seq hidden"], pooling: Pooling, start: int
) -> Float[np.ndarray, "seq hidden"]:
    """Compute the part of each token in the pooled vector, float64; of the mean for a pooling that is no sum."""
    hidden = hidden.astype(np.float64)
    if pooling == "max":
        largest, dimensions = hidden[start:].argmax(axis=0) + start, np.arange(hidden.shape[1])
        parts = np.zeros_like(hidden)
        parts[largest, dimensions] = hidden[largest, dimensions]
        return parts
    weights = np.zeros(len(hidden))
    if pooling == "weightedmean":
        weights[start:] = np.arange(start, len(hidden)) + 1
        weights /= weights.sum()
    else:
        count = len(hidden) - start
        weights[start:] = 1 / (np.sqrt(count) if pooling == "mean_sqrt_len_tokens" else count)
    return np.asarray(hidden * weights[:, None])


def _first(trace: Trace, skipped: int) -> int:
    """Return the index of the first pooled token; the last token is always pooled."""
    return min(skipped, len(trace.tokens) - 1)


def _cosine(first: Float[np.ndarray, " dimensions"], second: Float[np.ndarray, " dimensions"]) -> float:
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / lengths if lengths else 0.0


def _words(tokens: Tokens) -> tuple[tuple[str, ...], Float[np.ndarray, "words seq"]]:
    """Return words in order, and a 0/1 matrix of their tokens; other tokens are words of their own."""
    axis = token_groups(tokens, words=True)
    groups = np.zeros((len(axis), len(tokens)))
    for row, positions in enumerate(axis.positions):
        groups[row, list(positions)] = 1
    return axis.labels, groups


def _top(cells: Float[np.ndarray, "first second"], first: Tokens, second: Tokens) -> tuple[TokenPair, ...]:
    plain = ~first.special[:, None] & ~second.special[None, :]
    order = np.argsort(np.where(plain, -cells, np.inf), axis=None, kind="stable")[: min(TOP_PAIRS, int(plain.sum()))]
    pairs: Sequence[tuple[int, int]] = [divmod(int(cell), cells.shape[1]) for cell in order]
    return tuple(TokenPair(row, column, float(cells[row, column])) for row, column in pairs)


def _note(plan: SentencePlan, exact: bool, total: float, score: float) -> str:
    if exact:
        return {"mean": MEAN_NOTE, "max": MAX_NOTE}.get(plan.pooling, WEIGHTED_NOTE)
    if plan.pooling in ADDITIVE_POOLINGS:
        names = ", ".join(dense.activation for dense in plan.dense if not dense.linear)
        return NOT_LINEAR_NOTE.format(names=names, total=total, score=score)
    vector_name = {"cls": "the first token's vector", "lasttoken": "the last token's vector"}.get(
        plan.pooling, "the pooler's output"
    )
    return SINGLE_VECTOR_NOTE.format(what=vector_name, total=total, score=score)
