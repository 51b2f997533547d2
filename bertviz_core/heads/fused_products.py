"""Compare a projection computed as one product with one product per head, in values and time."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bertviz_core.heads.layer_inputs import capture_layer_io
from bertviz_core.heads.projections import Projection, layer_projections
from bertviz_core.heads.results import Block, FusedVsPerHead, ProductTimes
from bertviz_core.heads.weights import merge_columns
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.trace.cost import one_thread, shortest
from bertviz_core.trace.recorded_arrays import to_numpy
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK

ATTEMPTS = 4
"""Maximum rounds of timing until the result is plausible."""
LEAST_RATIO, MOST_RATIO_PER_HEAD = 0.5, 4.0
"""Bounds for a plausible ratio of both times: small products do the same multiplications as the large one."""


def compare_fused_and_per_head(
    loaded: LoadedModel, tokens: Tokens, layer: int, block: Block = "query"
) -> FusedVsPerHead:
    """Compute a projection on its real inputs as one product and as one product per head.

    (x W^T + b) split into heads equals x W_h^T + b_h of every head.

    Args:
        loaded: the model.
        tokens: the text, tokenized by the model's tokenizer.
        layer: zero-based.
        block: query, key or value.

    Raises:
        UnsupportedModelError: the family has no such projections, or needs more than a text.
        ValueError: there is no such layer, or the block is the output, whose heads are summed.
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

    Args:
        loaded: the model of the products.
        products: the result of compare_fused_and_per_head.

    Raises:
        UnsupportedModelError: the family has no such projections.
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
