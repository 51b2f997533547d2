"""Pool token vectors, and apply a checkpoint's dense layers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import DENSE_NBYTES, own_file, present, read_file
from bertviz_core.lazy_imports import torch
from bertviz_core.models.safetensors.folder import SINGLE_FILE, read_json
from bertviz_core.models.safetensors.header import read_file_header
from bertviz_core.models.sentence_folder import pickled_dense
from bertviz_core.sentences.results import POOLINGS, DenseLayer, Pooling
from bertviz_core.text import first_line, quoted

ACTIVATIONS: Mapping[str, str] = {
    "Identity": "identity",
    "Tanh": "tanh",
    "ReLU": "relu",
    "GELU": "gelu",
    "Sigmoid": "sigmoid",
}
WEIGHT = "linear.weight"
SENTENCE_OUTPUT = "sentence_embedding"
MAX_DIMENSIONS = 65_536
"""Most numbers of a vector that a projection makes: a small file may widen every token's."""


def dense_layer(folder: Path, module_folder: str, values: str = SENTENCE_OUTPUT) -> tuple[DenseLayer | None, str]:
    """Read a dense layer of a checkpoint; None and a reason if it is not supported.

    Args:
        folder: folder of the checkpoint.
        module_folder: subfolder of the layer.
        values: the values that it must map, sentence_embedding or token_embeddings.

    Raises:
        CheckpointError: its files are damaged, or outside the checkpoint's folder.
    """
    config = read_json(folder, f"{module_folder}/config.json")
    name = str(config.get("activation_function", "torch.nn.modules.activation.Tanh"))
    activation = ACTIVATIONS.get(name.rpartition(".")[2]) if name.startswith("torch.nn.") else None
    places = [config.get(f"module_{place}_name") or values for place in ("input", "output")]
    causes = [
        *([] if activation else [quoted(name)]),
        *([] if places == [values, values] else [f"{quoted(str(places[0]))} to {quoted(str(places[1]))}"]),
        *(["use_residual"] if config.get("use_residual") else []),
    ]
    if activation is None or causes:
        layer = f"{quoted(module_folder)} ({', '.join(causes)})"
        return None, f"The checkpoint's dense layer {layer} is not followed; its vectors differ."
    if not present(folder, f"{module_folder}/{SINGLE_FILE}"):
        return None, pickled_dense(module_folder, SINGLE_FILE)
    return _read(folder, module_folder, activation), ""


def applied(vectors: "torch.Tensor", dense: tuple[DenseLayer, ...]) -> "torch.Tensor":
    """Apply dense layers to vectors (rows, dimensions): activation(vectors @ weight.T + bias).

    Raises:
        CheckpointError: a layer does not take vectors of this width.
    """
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
    functions = {
        "tanh": torch.tanh,
        "relu": torch.relu,
        "gelu": torch.nn.functional.gelu,
        "sigmoid": torch.sigmoid,
    }
    mapped: torch.Tensor = functions[activation](values)
    return mapped


def check_width(name: str, shape: Sequence[int]) -> None:
    """Check how many numbers a projection makes, before its values are read.

    Raises:
        CheckpointError: they are too many.
    """
    if len(shape) == 2 and shape[0] > MAX_DIMENSIONS:
        raise CheckpointError(f"{name} makes vectors of {shape[0]:,} numbers; at most {MAX_DIMENSIONS:,} are computed.")


def _read(folder: Path, module_folder: str, activation: str) -> DenseLayer:
    from safetensors.torch import load

    layer = f"The dense layer {quoted(module_folder)}"
    path = own_file(folder, f"{module_folder}/{SINGLE_FILE}")  # that of a merged adapter is a link
    try:
        listed, _ = read_file_header(path)
    except CheckpointError as error:
        raise CheckpointError(f"{layer} cannot be read: {error}") from error
    for tensor in listed:
        if tensor.name == WEIGHT:
            check_width(layer, tensor.shape)
    raw = read_file(
        folder, f"{module_folder}/{SINGLE_FILE}", DENSE_NBYTES
    )  # load_file would memory-map it, and the file may change
    try:
        tensors = load(raw)
        weight, bias = tensors[WEIGHT], tensors.get("linear.bias")
    except Exception as error:  # safetensors raises undocumented errors for damaged files
        raise CheckpointError(f"{layer} cannot be read: {first_line(error)}") from error
    if weight.ndim != 2 or (bias is not None and bias.shape != weight.shape[:1]):
        raise CheckpointError(f"{layer} has a weight of shape {tuple(weight.shape)}.")
    return DenseLayer(weight.float().numpy(), None if bias is None else bias.float().numpy(), activation)


def offered_poolings(first_token: str | None, has_pooler: bool, own: Pooling) -> tuple[Pooling, ...]:
    """Return the poolings that a model offers, in a fixed order, its own included.

    A model without a leading special token (GPT-2, T5) offers no first-token pooling, and one without a pooler no
    pooler output.

    Args:
        first_token: leading special token of every text; None for none.
        has_pooler: whether the model has a pooler.
        own: pooling of the checkpoint, or the mean.
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

    Raises:
        ValueError: the pooler is not computed from hidden states here.
    """
    if pooling == "pooler":
        raise ValueError("the pooler is run by the model itself")
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
