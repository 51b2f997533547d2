"""Views of the architecture page that draw: one layer, its cost, an encoder beside an encoder with a decoder."""

import pandas as pd
import streamlit as st

from bertviz_core.architecture.multiply_adds import (
    BATCHES,
    STATED_TOKENS,
    crossover,
    curve_lengths,
    doubling_lengths,
    formula_covers,
    multiply_adds,
)
from bertviz_core.architecture.results import Holding, LayerFlow, OperationTerms
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
from ui.widgets.formatting import bytes_text, escape_markdown, short_count

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
    name = asked.name
    terms, limit = cache.terms(name), cache.most_tokens(name)
    read = cache.read(name)
    here = len(read) if read is not None else min(STATED_TOKENS, limit or STATED_TOKENS)
    crossing = crossover(terms)
    lengths = curve_lengths(limit, crossing.tokens, here)
    checks = tuple(sorted({here, *(doubling_lengths(limit)[-3:])}))
    counts = cache.counts(name, checks)
    _metrics(terms, here, counts, read is not None)
    costs = multiply_adds(terms, lengths)
    known = formula_covers(terms, counts)
    if known:
        frame = pd.DataFrame(
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
        spec = cost_figure(costs, counts, crossing, limit, terms.model)
        words = figure_block(spec, f"multiply-adds {name}", frame, alt="Multiply-adds by tokens and part")
        causal = cache.design(asked).kind == "decoder"
        words.markdown(texts.cost_words(terms, crossing, limit, counts, causal))
    else:
        listed = ", ".join(f"{value:,} at {seq:,} tokens" for seq, value in counts.items())
        st.info(escape_markdown(f"{texts.NOT_COVERED} PyTorch counts {listed or 'no run short enough'}."))
    explained("architecture_cost", texts.COST, reproduction.cost_code(name, terms, here, cache.encoder_way(name)))
    _memory(name, limit)


def _metrics(terms: OperationTerms, here: int, counts: dict[int, int], typed: bool) -> None:
    """The numbers of one length: the formula's, or PyTorch's own count where the formula leaves work out."""
    costs = multiply_adds(terms, [here])
    formula, pairs = int(costs.total[0]), int((costs.total - costs.attention + costs.every_pair)[0])
    own = counts.get(here, pairs)
    total, how = (formula, "by the formula, windows honoured") if own == pairs else (own, "counted by PyTorch")
    with st.container(horizontal=True):
        st.metric("Your text" if typed else "A text", f"{here:,} tokens", help="Special tokens included.")
        words = f"{total:,} of one forward pass, {how}; twice as many operations."
        st.metric("Multiply-adds", short_count(total), help=words)
        for label, values in (
            ("Feed-forward", costs.feed_forward),
            ("Projections", costs.projections),
            ("Scores and mixing", costs.attention),
            ("The rest", costs.other),
        ):
            value = int(values[0])
            st.metric(label, f"{value / total:.1%}" if total else "", help=f"{value:,} multiply-adds.")


@st.fragment
def _memory(name: str, limit: int | None) -> None:
    st.header("Memory of activations", anchor=False)
    chosen = widgets_controls.choice("What is counted", list(HOLDINGS), "holding", label_visibility="collapsed")
    memory = cache.memory(name, HOLDINGS[chosen], BATCHES, doubling_lengths(limit))
    spec, weights = memory_figure(memory), ledgers.ledger(name).total * 4
    frame = pd.DataFrame(memory.nbytes, columns=[f"{seq} tokens" for seq in memory.lengths])
    frame.insert(0, "batch", list(memory.batches))
    code = reproduction.memory_code(name, memory, cache.encoder_way(name))
    filename, made = f"activation memory {chosen} {name}", (texts.MEMORY_MADE, code)
    words = figure_block(spec, filename, frame, alt=f"{spec.title}, bytes", explanation=made)
    words.markdown(f"{texts.MEMORY[memory.holding]} The weights take {bytes_text(weights)} more at float32.")


def encoder_view(asked: cache.ModelClass) -> None:
    """An encoder, an encoder with a decoder, a decoder; the model's own marked."""
    model, ledger = ledgers.architecture(asked.name), cache.class_ledger(asked)
    design = cache.design(asked)
    rows = [(part.name, part.total, part.total / ledger.total) for part in ledger.components]
    frame = pd.DataFrame(rows, columns=["component", "parameters", "share"])
    words = figure_block(
        design_figure(model, design, ledger),
        f"encoder or decoder {asked.name}",
        frame,
        alt=f"Components of {asked.name}",
        explanation=(texts.ENCODER, reproduction.design_code(asked.name, ledger.architecture)),
    )
    words.markdown(texts.design_words(model, design))
