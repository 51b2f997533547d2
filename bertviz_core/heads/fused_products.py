"""One matrix is many heads: a projection computed as one product and as one product per head, both timed."""

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bertviz_core.heads.layer_inputs import capture_layer_io
from bertviz_core.heads.projections import Projection, layer_projections
from bertviz_core.heads.results import Block, FusedVsPerHead, LayerRun
from bertviz_core.models.loading import LoadedModel
from bertviz_core.trace.arrays import to_numpy
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK

if TYPE_CHECKING:
    import torch

MIN_TIMED_SECONDS, MAX_RUNS, MIN_RUNS = 0.2, 51, 5
"""Both products are timed in turn for at least this long, between 5 and 51 times."""


def compare_fused_and_per_head(
    loaded: LoadedModel, tokens: Tokens, layer: int, block: Block = "query", run: LayerRun | None = None
) -> FusedVsPerHead:
    """One projection of a layer computed twice on its real inputs: as one product that is cut, and as one per head.

    Law: (x W^T + b) cut into heads equals x W_h^T + b_h of every head, since a product works row by row.

    Args:
        loaded: the model.
        tokens: the text, by its own tokenizer.
        layer: zero-based.
        block: query, key or value.
        run: what capture_layer_io gave for these tokens and this layer, if it is known already.

    Raises:
        UnsupportedModelError: the family has no such projections, or needs more than a text.
        ValueError: there is no such layer, or the block is the output, whose heads are summed and not concatenated.
    """
    import torch

    if block == "output":
        raise ValueError("the output projection sums the heads")
    run = run or capture_layer_io(loaded, tokens, layer)
    projections = layer_projections(loaded, layer)
    projection: Projection = getattr(projections, block)
    heads = projections.heads if block == "query" else projections.key_heads
    with RUN_LOCK, torch.inference_mode():
        inputs = torch.tensor(getattr(run, f"{block}_input"), device=loaded.device, dtype=projection.weight.dtype)
        fused_product, per_head_products = _both_products(projection, heads, inputs)
        one, many = fused_product(), per_head_products()
        seconds = _timed(fused_product, per_head_products, loaded.device)
    fused, per_head = to_numpy(one, copy=True), to_numpy(many, copy=True)
    recorded = getattr(run, block)
    return FusedVsPerHead(
        model=loaded.name,
        layer=layer,
        block=block,
        inputs=getattr(run, f"{block}_input"),
        fused=fused,
        per_head=per_head,
        max_difference=float(np.abs(fused - per_head).max()),
        model_difference=None if recorded is None else float(np.abs(_side_by_side(fused) - recorded).max()),
        fused_seconds=median(seconds[0]),
        per_head_seconds=median(seconds[1]),
        runs=len(seconds[0]),
    )


def _side_by_side(cut: Float[np.ndarray, "heads seq dim"]) -> Float[np.ndarray, "seq rows"]:
    return cut.transpose(1, 0, 2).reshape(cut.shape[1], -1)


def _both_products(
    projection: Projection, heads: int, inputs: "torch.Tensor"
) -> "tuple[Callable[[], torch.Tensor], Callable[[], torch.Tensor]]":
    """The large product, cut into heads; and the small products, from a contiguous block of weights per head."""
    import torch
    from torch.nn.functional import linear

    whole = projection.weight.contiguous()
    blocks = [block.clone() for block in whole.chunk(heads)]
    biases = [None] * heads if projection.bias is None else [bias.clone() for bias in projection.bias.chunk(heads)]

    def fused() -> "torch.Tensor":
        return linear(inputs, whole, projection.bias).view(len(inputs), heads, -1).transpose(0, 1)

    def per_head() -> "torch.Tensor":
        return torch.stack([linear(inputs, block, bias) for block, bias in zip(blocks, biases, strict=True)])

    return fused, per_head


def _timed(fused: Callable[[], Any], per_head: Callable[[], Any], device: str) -> tuple[list[float], list[float]]:
    """Durations of both products in seconds, run in turn; on a GPU until the result is there."""
    import torch

    def duration(product: Callable[[], Any]) -> float:
        started = perf_counter()
        product()
        if device == "cuda":
            torch.cuda.synchronize()
        return perf_counter() - started

    seconds: tuple[list[float], list[float]] = ([], [])
    end = perf_counter() + MIN_TIMED_SECONDS
    while len(seconds[0]) < MIN_RUNS or (perf_counter() < end and len(seconds[0]) < MAX_RUNS):
        seconds[0].append(duration(fused))
        seconds[1].append(duration(per_head))
    return seconds
