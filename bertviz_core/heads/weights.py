"""Weights of heads, and their products."""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.heads.projections import LayerProjections, Projection, capture_layer_io, layer_projections
from bertviz_core.heads.results import BLOCKS, Block, FusedVsPerHead, HeadParameters, HeadProjections, ProductTimes
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.trace.cost import one_thread, shortest
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import RUN_LOCK, to_numpy


def split_rows(matrix: Float[np.ndarray, "rows columns"], heads: int) -> Float[np.ndarray, "heads dim columns"]:
    """W_q, W_k or W_v as one block of rows per head, a view."""
    return matrix.reshape(heads, _share(len(matrix), heads), matrix.shape[1])


def split_columns(matrix: Float[np.ndarray, "rows columns"], heads: int) -> Float[np.ndarray, "heads rows dim"]:
    """W_o as one block of columns per head, a view; merge_columns is its inverse."""
    return matrix.reshape(len(matrix), heads, _share(matrix.shape[1], heads)).transpose(1, 0, 2)


def merge_columns(blocks: Float[np.ndarray, "heads rows dim"]) -> Float[np.ndarray, "rows columns"]:
    """The inverse of split_columns."""
    return blocks.transpose(1, 0, 2).reshape(blocks.shape[1], -1)


def _share(size: int, heads: int) -> int:
    share, rest = divmod(size, heads)
    if rest:
        raise ValueError(f"{size} for {heads} heads")
    return share


def head_projections(loaded: LoadedModel, layer: int) -> HeadProjections:
    """W_q, W_k and W_v split by rows and W_o by columns, one block per head."""
    projections = layer_projections(loaded, layer)
    heads, key_heads = projections.heads, projections.key_heads
    query, key, value = (
        to_numpy(part.weight, copy=True) for part in (projections.query, projections.key, projections.value)
    )
    output = to_numpy(projections.output.weight, copy=True)
    columns = len(value) // key_heads * heads
    return HeadProjections(
        model=loaded.name,
        layer=layer,
        shared_with=projections.shared_with,
        query=split_rows(query, heads),
        key=split_rows(key, key_heads),
        value=split_rows(value, key_heads),
        output=split_columns(output[:, :columns], heads),
        query_bias=_bias(projections.query, heads),
        key_bias=_bias(projections.key, key_heads),
        value_bias=_bias(projections.value, key_heads),
        output_bias=_bias(projections.output, None),
        output_rest=output[:, columns:],
        norms=_norms(projections),
        stored={block: getattr(projections, block).stored for block in BLOCKS},
    )


def _bias(projection: Projection, heads: int | None) -> np.ndarray | None:
    if projection.bias is None:
        return None
    bias: np.ndarray = to_numpy(projection.bias, copy=True)
    return bias if heads is None else bias.reshape(heads, -1)


def _norms(projections: LayerProjections) -> Float[np.ndarray, "heads blocks"]:
    columns = len(projections.value.weight) // projections.key_heads * projections.heads
    matrices = (
        (projections.query.weight, projections.heads),
        (projections.key.weight, projections.key_heads),
        (projections.value.weight, projections.key_heads),
        (projections.output.weight[:, :columns].T, projections.heads),
    )
    norms = [to_numpy(matrix.float().reshape(heads, -1).norm(dim=1), copy=True) for matrix, heads in matrices]
    return np.stack([np.repeat(norm, projections.heads // len(norm)) for norm in norms], axis=1)


def block_norms(loaded: LoadedModel) -> Float[np.ndarray, "layers heads blocks"]:
    """Frobenius norm of every head's block of W_q, W_k, W_v and W_o in every layer.

    The sum of their squares over the heads is the squared norm of the whole matrix. Missing heads of layers with fewer
    heads are NaN.
    """
    rows: dict[int, Float[np.ndarray, "heads blocks"]] = {}
    if not loaded.num_hidden_layers:
        raise UnsupportedModelError(family(loaded.model_type).no_maps)
    for layer in range(loaded.num_hidden_layers):
        if layer not in rows:
            projections = layer_projections(loaded, layer)
            rows |= dict.fromkeys(projections.shared_with, _norms(projections))
    heads = max(len(row) for row in rows.values())
    norms = np.full((len(rows), heads, len(BLOCKS)), np.nan, dtype=np.float32)
    for layer, row in rows.items():
        norms[layer, : len(row)] = row
    return norms


def head_parameters(projections: HeadProjections) -> HeadParameters:
    """Number of parameters of a head, and of the four projections of its layer."""
    per_head: dict[Block, int] = {}
    heads: dict[Block, int] = {}
    for block in BLOCKS:
        blocks, bias = projections.blocks(block), projections.bias(block)
        heads[block] = len(blocks)
        per_head[block] = math.prod(blocks.shape[1:]) + (0 if bias is None or block == "output" else bias.shape[1])
    bias = projections.output_bias
    beside = projections.output_rest.size + (0 if bias is None else bias.size)
    return HeadParameters(per_head, heads, beside, sum(per_head[block] * heads[block] for block in BLOCKS) + beside)


def head_output_norms(
    projections: HeadProjections, mixed: Float[np.ndarray, " columns"]
) -> Float[np.ndarray, " heads"]:
    """Norm of what each head adds to the output of the attention block for one token.

    The output of the block is the sum of W_o^h z_h over the heads, and the bias; z_h are the columns of head h in the
    input of W_o (Elhage et al. 2021).

    Args:
        mixed: recorded input of W_o for the token; columns behind those of the heads belong to no head.
    """
    heads, _, dim = projections.output.shape
    mixes = mixed[: heads * dim].reshape(heads, dim).astype(np.float64)
    outputs = np.einsum("hod,hd->ho", projections.output.astype(np.float64), mixes)
    lengths: np.ndarray = np.linalg.norm(outputs, axis=1).astype(np.float32)
    return lengths


def value_norms(loaded: LoadedModel, trace: Trace, layer: int) -> Float[np.ndarray, "heads seq"]:
    """Norm of W_o^h v_j for every head and token: ||f(x)|| of Kobayashi et al. (2020).

    Multiplied by the attention weight it is the norm of the contribution of token j to token i through head h. The
    output bias, which belongs to no head, is left out.
    """
    projections = head_projections(loaded, layer)
    if trace.value is not None:
        values = trace.value[layer].astype(np.float64)
    else:
        inputs = capture_layer_io(loaded, trace.tokens, layer).value_input.astype(np.float64)
        values = inputs @ projections.value.astype(np.float64).transpose(0, 2, 1)
        if projections.value_bias is not None:
            values = values + projections.value_bias[:, None]
    values = np.repeat(values, projections.num_heads // len(values), axis=0)
    output = projections.output.astype(np.float64)
    # |O v|^2 = v^T (O^T O) v avoids a vector of the hidden size for each head and token.
    gram = output.transpose(0, 2, 1) @ output
    squares = np.einsum("hsd,hde,hse->hs", values, gram, values, optimize=True)
    norms: np.ndarray = np.sqrt(np.maximum(squares, 0)).astype(np.float32)
    return norms


ATTEMPTS = 4
"""Maximum rounds of timing until the result is plausible."""
LEAST_RATIO, MOST_RATIO_PER_HEAD = 0.5, 4.0
"""Bounds for a plausible ratio of both times: small products do the same multiplications as the large one."""


def compare_fused_and_per_head(
    loaded: LoadedModel, tokens: Tokens, layer: int, block: Block = "query"
) -> FusedVsPerHead:
    """Compute a projection on its real inputs as one product and as one product per head.

    (x W^T + b) split into heads equals x W_h^T + b_h of every head.
    """
    if block == "output":
        raise ValueError("the output projection sums the heads")
    run = capture_layer_io(loaded, tokens, layer)
    with RUN_LOCK, torch.inference_mode():
        fused_product, per_head_products = _both_products(loaded, layer, block, getattr(run, f"{block}_input"))
        fused, per_head = (to_numpy(product(), copy=True) for product in (fused_product, per_head_products))
    recorded = getattr(run, block)
    return FusedVsPerHead(
        model=loaded.name,
        layer=layer,
        block=block,
        inputs=getattr(run, f"{block}_input"),
        fused=fused,
        per_head=per_head,
        max_difference=float(np.abs(fused - per_head).max()),
        model_difference=None if recorded is None else float(np.abs(merge_columns(fused) - recorded).max()),
    )


def time_products(loaded: LoadedModel, products: FusedVsPerHead) -> ProductTimes | None:
    """Time both computations on one thread, the shortest of several runs; None if no round was plausible.

    A round with an implausible ratio (see LEAST_RATIO) is repeated up to four times.
    """
    one, many, runs = float("inf"), float("inf"), 0
    with RUN_LOCK, torch.inference_mode(), one_thread():
        works = _both_products(loaded, products.layer, products.block, products.inputs)
        for _ in range(ATTEMPTS):
            (first, second), count = shortest(works, loaded.device, own_time=True)
            one, many, runs = min(one, first), min(many, second), runs + count
            if plausible(one, many, len(products.fused)):
                return ProductTimes(one, many, runs)
    return None


def plausible(fused_seconds: float, per_head_seconds: float, heads: int) -> bool:
    """Whether both durations are plausible for the same multiplications."""
    return 0 < LEAST_RATIO * fused_seconds <= per_head_seconds <= MOST_RATIO_PER_HEAD * heads * fused_seconds


def _both_products(
    loaded: LoadedModel, layer: int, block: Block, vectors: Float[np.ndarray, "seq hidden"]
) -> "tuple[Callable[[], torch.Tensor], Callable[[], torch.Tensor]]":
    """Functions for the large product, split into heads, and for the small products of contiguous blocks."""
    linear = torch.nn.functional.linear
    projections = layer_projections(loaded, layer)
    projection: Projection = getattr(projections, block)
    heads = projections.heads if block == "query" else projections.key_heads
    inputs = torch.tensor(vectors, device=loaded.device, dtype=projection.weight.dtype)
    whole = projection.weight.contiguous()
    blocks = [each.clone() for each in whole.chunk(heads)]
    biases = [None] * heads if projection.bias is None else [bias.clone() for bias in projection.bias.chunk(heads)]

    def fused() -> "torch.Tensor":
        return linear(inputs, whole, projection.bias).view(len(inputs), heads, -1).transpose(0, 1)

    def per_head() -> "torch.Tensor":
        return torch.stack([linear(inputs, each, bias) for each, bias in zip(blocks, biases, strict=True)])

    return fused, per_head
