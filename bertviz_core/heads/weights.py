"""Split the projections of a layer into heads, and compute their norms and value norms.

Vaswani et al. (2017), section 3.2.2, define one projection per head; libraries store one matrix for all heads.
"""

import math

import numpy as np
from jaxtyping import Float

from bertviz_core.heads.layer_inputs import capture_layer_io
from bertviz_core.heads.projections import LayerProjections, Projection, layer_projections
from bertviz_core.heads.results import BLOCKS, Block, HeadParameters, HeadProjections
from bertviz_core.models.loading import LoadedModel
from bertviz_core.trace.recorded_arrays import to_numpy
from bertviz_core.trace.results import Trace


def split_rows(matrix: Float[np.ndarray, "rows columns"], heads: int) -> Float[np.ndarray, "heads dim columns"]:
    """W_q, W_k or W_v as one block of rows per head, a view.

    Raises:
        ValueError: the rows are not a multiple of the heads.
    """
    return matrix.reshape(heads, _share(len(matrix), heads), matrix.shape[1])


def split_columns(matrix: Float[np.ndarray, "rows columns"], heads: int) -> Float[np.ndarray, "heads rows dim"]:
    """W_o as one block of columns per head, a view; merge_columns is its inverse.

    Raises:
        ValueError: the columns are not a multiple of the heads.
    """
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
    """W_q, W_k and W_v split by rows and W_o by columns, one block per head.

    Raises:
        UnsupportedModelError: the family has no such projections, or keeps them in a way that is not known.
        ValueError: there is no such layer.
    """
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

    Raises:
        UnsupportedModelError: the family has no such projections, or keeps them in a way that is not known.
    """
    rows: dict[int, Float[np.ndarray, "heads blocks"]] = {}
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
        projections: the projections of the layer.
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

    Raises:
        UnsupportedModelError: the family has no such projections, or keeps them in a way that is not known.
        ValueError: there is no such layer.
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
