"""Views of the page Architecture: the tree, one layer, its cost, and the three designs of transformers."""

from collections.abc import Callable, Mapping

import pandas as pd
import streamlit as st

from bertviz_core.architecture.cost.results import MultiplyAdds
from bertviz_core.architecture.results import LayerFlow
from bertviz_core.figures.architecture.cost import cost_figure, memory_figure
from bertviz_core.figures.architecture.designs import design_figure
from bertviz_core.figures.architecture.layer_flow import layer_figure
from bertviz_core.questions.models import architecture
from ui.address.widgets import choice
from ui.cache import ledgers
from ui.views.architecture import controls, reproduction, texts
from ui.views.architecture.model_class import ModelClass
from ui.views.architecture.tree import tree_view
from ui.widgets.figure_block import explained, figure_block
from ui.widgets.formatting import bytes_text, short_count


def layer_view(model_class: ModelClass) -> None:
    """A drawing of one layer."""
    opened = model_class.opened
    layer = controls.drawn_layer(architecture.layer_count(opened, model_class.options()))
    flow = architecture.layer(opened, model_class.text_options(layer=str(layer))).result
    design = architecture.design(opened, model_class.options()).result
    named = architecture.modules(opened, model_class.options()).result.architecture
    steps = f"Steps of layer {layer} in the order of the run"
    filename = f"layer {layer} {flow.model}"
    words = figure_block(
        layer_figure(flow),
        filename,
        flow_frame(flow),
        alt=steps,
        texts=model_class.tokens() or (),
        explanation=(texts.LAYER, reproduction.layer_code(model_class.name, named, flow)),
    )
    words.markdown(texts.layer_words(flow, design))


def flow_frame(flow: LayerFlow) -> pd.DataFrame:
    """The steps as a table, and behind them the parameters outside the steps."""
    steps = [
        {
            "step": step.name,
            "class": step.class_name,
            "part": step.part,
            "weights": ", ".join(map(str, step.weights)),
            "parameters": step.numel,
            "input shape": str(step.enters or ""),
            "output shape": str(step.leaves or ""),
        }
        for step in flow.steps
    ]
    others = [
        {
            "step": ", ".join(f"{each.module}.{name}".lstrip(".") for name in each.names),
            "part": "added to a step's output" if each.called else "not used for this text",
            "parameters": each.numel,
        }
        for each in flow.remainders
    ]
    return pd.DataFrame([*steps, *others]).fillna("")


def cost_view(model_class: ModelClass) -> None:
    """Multiply-adds by length, and memory of activations by batch and length."""
    of = model_class.counted()
    opened, named = of.opened, architecture.modules(model_class.opened, model_class.options()).result.architecture
    answer, limit = architecture.cost(opened, of.text_options()), architecture.position_limit(opened)
    cost = answer.result
    how = "by the formula, windows honoured" if cost.by_formula else "counted by PyTorch"
    _metrics(cost.of_text, of.tokens() is not None, how)
    spec = cost_figure(cost.costs, cost.counts, cost.crossing, limit, cost.terms.model, cost.by_formula)
    alt = "Multiply-adds by tokens and part"
    words = figure_block(spec, f"multiply-adds {of.name}", _cost_frame(cost.costs), alt=alt)
    if cost.by_formula:
        causal = architecture.design(opened, of.options()).result.kind == "decoder"
        crossings = cost.crossing, cost.crossing_with_projections
        words.markdown(texts.cost_words(cost.terms, named, crossings, limit, cost.counts, causal))
    else:
        words.markdown(texts.counted_words(cost.terms, named))
    way = architecture.way_of(opened, of.options())
    if way is not None:
        code = reproduction.cost_code(of.name, cost.terms, cost.tokens, way, cost.by_formula)
        explained("architecture_cost", texts.COST, code)
    _memory(of)


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
    """The numbers at one length; nothing where its run would take too long."""
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
def _memory(of: ModelClass) -> None:
    st.header("Memory of activations", anchor=False)
    opened, options = of.opened, of.options()
    chosen = choice(architecture.HOLDING, "What is counted", label_visibility="collapsed")
    memory = architecture.memory(opened, of.options(holding=chosen)).result
    spec, weights = memory_figure(memory), architecture.class_ledger(opened, options).total * 4
    frame = pd.DataFrame(memory.nbytes, columns=[f"{seq} tokens" for seq in memory.lengths])
    frame.insert(0, "batch", list(memory.batches))
    way, named = architecture.way_of(opened, options), architecture.modules(opened, options).result.architecture
    code = reproduction.memory_code(of, named, memory, way) if way else ""
    filename, explanation = f"activation memory {chosen} {of.name}", (texts.MEMORY_MADE, code)
    words = figure_block(spec, filename, frame, alt=f"{spec.title}, bytes", explanation=explanation)
    words.markdown(f"{texts.MEMORY[memory.holding]} The weights take {bytes_text(weights)} more at float32.")


def encoder_view(model_class: ModelClass) -> None:
    """An encoder, an encoder-decoder and a decoder; the model's own design is marked."""
    model, ledger = (
        ledgers.architecture(model_class.name),
        architecture.class_ledger(model_class.opened, model_class.options()),
    )
    design = architecture.design(model_class.opened, model_class.options()).result
    rows = [(part.name, part.total, part.total / ledger.total) for part in ledger.components]
    frame = pd.DataFrame(rows, columns=["component", "parameters", "share"])
    words = figure_block(
        design_figure(design, ledger),
        f"encoder or decoder {model_class.name}",
        frame,
        alt=f"Components of {model_class.name}",
        explanation=(texts.ENCODER, reproduction.design_code(model_class.name, ledger.architecture)),
    )
    words.markdown(texts.design_words(model, design))


VIEWS: Mapping[str, Callable[[ModelClass], None]] = {
    "Module tree": tree_view,
    "One layer": layer_view,
    "Cost": cost_view,
    "Encoder or decoder": encoder_view,
}
"""Name -> view of a model as a class."""
