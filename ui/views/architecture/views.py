"""Views of the architecture page that draw: one layer, its cost, an encoder beside an encoder with a decoder."""

import pandas as pd
import streamlit as st

from bertviz_core.architecture.cost.multiply_adds import (
    BATCHES,
    STATED_TOKENS,
    checked_lengths,
    crossover,
    curve_lengths,
    doubling_lengths,
    foretells,
    multiply_adds,
)
from bertviz_core.architecture.cost.results import Crossover, Holding, MultiplyAdds
from bertviz_core.architecture.results import LayerFlow
from bertviz_core.figures.architecture.cost import (
    cost_figure,
    memory_figure,
)
from bertviz_core.figures.architecture.designs import design_figure
from bertviz_core.figures.architecture.layer_flow import layer_figure
from ui.cache import ledgers
from ui.views.architecture import cache, controls, reproduction, texts
from ui.widgets import controls as widgets_controls
from ui.widgets.figure_block import explained, figure_block
from ui.widgets.formatting import bytes_text, short_count

HOLDINGS: dict[str, Holding] = {"Inference": "inference", "Training": "training"}


def layer_view(asked: cache.ModelClass) -> None:
    """The drawn way through one layer."""
    layer = controls.drawn_layer(cache.layer_count(asked))
    flow = cache.flow(asked, layer)
    design = cache.design(asked)
    read = cache.read(asked.name)
    steps = f"Steps of layer {layer} in the order of the run"
    filename = f"layer {layer} {flow.model}"
    words = figure_block(
        layer_figure(flow),
        filename,
        flow_frame(flow),
        alt=steps,
        texts=read or (),
        explanation=(texts.LAYER, reproduction.layer_code(asked.name, cache.tree(asked).architecture, flow)),
    )
    words.markdown(texts.layer_words(flow, design))


def flow_frame(flow: LayerFlow) -> pd.DataFrame:
    """The steps as a table."""
    return pd.DataFrame(
        {
            "step": [step.name for step in flow.steps],
            "class": [step.class_name for step in flow.steps],
            "part": [step.part for step in flow.steps],
            "weights": [", ".join(map(str, step.weights)) for step in flow.steps],
            "parameters": [step.numel for step in flow.steps],
            "input shape": [str(step.enters or "") for step in flow.steps],
            "output shape": [str(step.leaves or "") for step in flow.steps],
        }
    )


def cost_view(asked: cache.ModelClass) -> None:
    """Multiply-adds by length, and memory of activations by batch and length."""
    of = cache.countable(asked)
    named, terms, limit = cache.tree(asked).architecture, cache.terms(of), cache.most_tokens(of.name)
    read = cache.read(of.name)
    here = len(read) if read is not None else min(STATED_TOKENS, limit or STATED_TOKENS)
    counts = cache.counts(of, checked_lengths(limit, here))
    crossings = crossover(terms), crossover(terms, projections=True)
    exact = foretells(terms, counts)
    if exact:
        costs = multiply_adds(terms, curve_lengths(limit, crossings[0].tokens, here))
        _metrics(multiply_adds(terms, [here]), read is not None, "by the formula, windows honoured")
    else:
        costs = counts = cache.counts(of, tuple(sorted({here, *doubling_lengths(limit)})))
        crossings = Crossover(None), Crossover(None)
        _metrics(cache.counts(of, (here,)), read is not None, "counted by PyTorch")
    spec = cost_figure(costs, counts, crossings[0], limit, terms.model, exact)
    words = figure_block(spec, f"multiply-adds {of.name}", _cost_frame(costs), alt="Multiply-adds by tokens and part")
    causal = cache.design(of).kind == "decoder"
    if exact:
        words.markdown(texts.cost_words(terms, named, crossings, limit, counts, causal))
    else:
        words.markdown(texts.counted_words(terms, named))
    way = cache.way(of)
    if way is not None:
        code = reproduction.cost_code(of.name, terms, here, way, exact)
        explained("architecture_cost", texts.COST, code)
    _memory(of, limit)


def _cost_frame(costs: MultiplyAdds) -> pd.DataFrame:
    """The curves as a table."""
    return pd.DataFrame(
        {
            "tokens": costs.lengths,
            "projections": costs.projections,
            "scores and mixing": costs.attention,
            "scores and mixing of every pair": costs.every_pair,
            "feed-forward": costs.feed_forward,
            "the rest": costs.other,
            "total": costs.total,
        }
    )


def _metrics(costs: MultiplyAdds, typed: bool, how: str) -> None:
    """The numbers of one length; nothing where its run would take too long."""
    if not len(costs.lengths):
        return
    here, total = int(costs.lengths[0]), int(costs.total[0])
    with st.container(horizontal=True):
        st.metric("Your text" if typed else "A text", f"{here:,} tokens", help="Special tokens included.")
        words = f"{total:,} of one forward pass, {how}; twice as many operations."
        st.metric("Multiply-adds", short_count(total), help=words)
        for label, values, of in (
            ("Feed-forward", costs.feed_forward, ""),
            ("Projections", costs.projections, " Those that make query, key, value and attention's output."),
            ("Scores and mixing", costs.attention, ""),
            ("The rest", costs.other, " Task head, pooler, projections of embeddings and of tables of distances."),
        ):
            value = int(values[0])
            st.metric(label, f"{value / total:.1%}" if total else "", help=f"{value:,} multiply-adds.{of}")


@st.fragment
def _memory(of: cache.ModelClass, limit: int | None) -> None:
    st.header("Memory of activations", anchor=False)
    chosen = widgets_controls.choice("What is counted", list(HOLDINGS), "holding", label_visibility="collapsed")
    memory = cache.memory(of, HOLDINGS[chosen], BATCHES, doubling_lengths(limit))
    spec, weights = memory_figure(memory), cache.class_ledger(of).total * 4
    frame = pd.DataFrame(memory.nbytes, columns=[f"{seq} tokens" for seq in memory.lengths])
    frame.insert(0, "batch", list(memory.batches))
    way = cache.way(of)
    code = reproduction.memory_code(of, cache.tree(of).architecture, memory, way) if way else ""
    filename, made = f"activation memory {chosen} {of.name}", (texts.MEMORY_MADE, code)
    words = figure_block(spec, filename, frame, alt=f"{spec.title}, bytes", explanation=made)
    words.markdown(f"{texts.MEMORY[memory.holding]} The weights take {bytes_text(weights)} more at float32.")


def encoder_view(asked: cache.ModelClass) -> None:
    """An encoder, an encoder with a decoder, a decoder; the model's own marked."""
    model, ledger = ledgers.architecture(asked.name), cache.class_ledger(asked)
    design = cache.design(asked)
    rows = [(part.name, part.total, part.total / ledger.total) for part in ledger.components]
    frame = pd.DataFrame(rows, columns=["component", "parameters", "share"])
    words = figure_block(
        design_figure(design, ledger),
        f"encoder or decoder {asked.name}",
        frame,
        alt=f"Components of {asked.name}",
        explanation=(texts.ENCODER, reproduction.design_code(asked.name, ledger.architecture)),
    )
    words.markdown(texts.design_words(model, design))
