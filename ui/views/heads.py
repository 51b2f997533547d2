"""The measured times of one product and of one product per head, which belong to a reader and not to the model."""

from typing import Any

import streamlit as st

from bertviz_core.heads.results import FusedVsPerHead, ProductTimes
from bertviz_core.heads.weights import time_products
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.views.heads import MeasuredTimes
from ui import session
from ui.cache.shared_model import SharedModel
from ui.engine import draw

MEASURED = "measured_products"
"""Session key: the products timed last, and their times."""


@draw.register
def _times(part: MeasuredTimes, opened: SharedModel, ask: Any, options: Options) -> None:
    products, device = part.products, opened.loaded.device
    heads, seq, dim = products.fused.shape
    width = products.inputs.shape[1]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        times = _measured(opened, options, products)
        if times is not None:
            one, many = times.fused_seconds, times.per_head_seconds
            shapes = f"({seq}, {width}) times ({width}, {heads * dim}), cut into ({heads}, {seq}, {dim})."
            st.metric("One product", _duration(one, many), help=shapes)
            shapes = f"{heads} times ({seq}, {width}) times ({width}, {dim})."
            st.metric(f"{heads} products" if heads > 1 else "The head's product", _duration(many, many), help=shapes)
            st.metric("Ratio", f"{many / one:.1f}×", help="The second time divided by the first.")
        st.button("Measure again", on_click=session.store, args=(MEASURED, None), key="measure_products")
    if times is None:
        st.caption("The server is too busy to time two products that small; measure again later.")
        return
    where = "one thread of this server" if device == "cpu" else device
    st.caption(
        f"Measured just now, on {where}: the shortest of {times.runs} runs of each. "
        "Another measurement gives somewhat other times; the numbers in the figure stay the same."
    )


def _measured(opened: SharedModel, options: Options, products: FusedVsPerHead) -> ProductTimes | None:
    """Times of both ways, measured once for each reader, and again on request."""
    model = opened.loaded
    what = (model.name, model.revision, options.texts, options.pair, products.layer, products.block)
    stored = session.stored(MEASURED)
    if stored is None or stored[0] != what:
        stored = (what, time_products(model, products))
        session.store(MEASURED, stored)
    measured: ProductTimes | None = stored[1]
    return measured


def _duration(seconds: float, beside: float) -> str:
    """A duration in the unit of another one."""
    return f"{seconds * 1e6:,.0f} µs" if beside < 1e-3 else f"{seconds * 1e3:,.2f} ms"
