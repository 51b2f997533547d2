"""How long both ways of multiplying took, timed for each reader: no cache of the server holds a time."""

from bertviz_core.heads.fused_products import time_products
from bertviz_core.heads.results import FusedVsPerHead, ProductTimes
from ui import session
from ui.cache import models

MEASURED = "measured_products"
"""Key of the session: what was timed last, and its times."""


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
