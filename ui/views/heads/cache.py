"""What the heads page shows, kept by plain values: weights by model and layer, runs of a layer by their text too."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bertviz_core.heads.fused_products import compare_fused_and_per_head, time_products
from bertviz_core.heads.results import Block, CellBreakdown, FusedVsPerHead, HeadProjections, ProductTimes
from bertviz_core.heads.score_breakdown import LayerHeads, break_down_cell, layer_heads
from bertviz_core.heads.weights import block_norms, head_projections
from bertviz_core.models.loading import LoadedModel
from bertviz_core.trace.results import Trace
from ui import session
from ui.cache import models
from ui.cache.decorator import cached_by_bytes

MEASURED = "measured_products"
"""Key of the session: what was timed last, and its times. No cache of the server holds a time."""


class CellAddress(NamedTuple):
    """A cell of attention: layer, head, and the positions of query and key."""

    layer: int
    head: int
    query: int
    key: int


def layers(name: str) -> int:
    """Layers of a model, as its config states them."""
    return models.loaded(name).num_hidden_layers


def projections(name: str, layer: int) -> HeadProjections:
    """The projections of one layer, cut into heads."""
    model = models.loaded(name)
    return _projections(model.name, model.revision, layer, model)


def norms(name: str) -> Float[np.ndarray, "layers heads blocks"]:
    """Norms of all blocks of all layers."""
    model = models.loaded(name)
    return _norms(model.name, model.revision, model)


def products(name: str, text: str, pair: str | None, layer: int, block: Block) -> FusedVsPerHead:
    """One projection of one layer computed both ways on a text."""
    model = models.loaded(name)
    return _products(model.name, model.revision, text, pair, layer, block, model)


def times(name: str, text: str, pair: str | None, products: FusedVsPerHead) -> ProductTimes | None:
    """How long both ways took when this reader opened the view; measured for each reader, and again on request."""
    model = models.loaded(name)
    what = (model.name, model.revision, text, pair, products.layer, products.block)
    held = session.stored(MEASURED)
    if held is None or held[0] != what:
        held = (what, time_products(model, products))
        session.store(MEASURED, held)
    measured: ProductTimes | None = held[1]
    return measured


def forget_times() -> None:
    """Have both ways timed again."""
    session.store(MEASURED, None)


def cell(name: str, trace: Trace, place: CellAddress) -> CellBreakdown:
    """The arithmetic of one cell; what its layer's other cells share is kept."""
    model = models.loaded(name)
    heads = _heads(model.name, model.revision, trace.tokens.text, trace.tokens.pair, place.layer, model, trace)
    return break_down_cell(model, trace, place.layer, place.head, place.query, place.key, heads)


@cached_by_bytes()
def _projections(name: str, revision: str, layer: int, _model: LoadedModel) -> HeadProjections:
    return head_projections(_model, layer)


@cached_by_bytes()
def _norms(name: str, revision: str, _model: LoadedModel) -> Float[np.ndarray, "layers heads blocks"]:
    return block_norms(_model)


@cached_by_bytes("Running the layer both ways")
def _products(
    name: str, revision: str, text: str, pair: str | None, layer: int, block: Block, _model: LoadedModel
) -> FusedVsPerHead:
    return compare_fused_and_per_head(_model, models.tokens(name, text, pair), layer, block)


@cached_by_bytes("Running the layer")
def _heads(
    name: str, revision: str, text: str, pair: str | None, layer: int, _model: LoadedModel, _trace: Trace
) -> LayerHeads:
    return layer_heads(_model, _trace, layer)
