"""Views of the architecture page that draw: one layer, its cost, an encoder beside an encoder with a decoder."""

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.operations import crossover, multiply_adds
from bertviz_core.results.module_tree import LayerFlow
from bertviz_core.results.operations import Holding, OperationTerms
from figures.data_flow import layer_drawing
from figures.encoder_decoder import encoder_and_decoder
from figures.operations import cost_curves, memory_map
from figures.style import theme
from ui import architecture_cache, architecture_controls, architecture_words, cache, controls
from ui.errors import plain
from ui.export import chart, download_row, explained, folded_table
from ui.text import bytes_text, short_count

POINTS = 240
MOST_TIMES_LIMIT = 20
BATCHES = (1, 2, 4, 8, 16, 32)
HOLDINGS: dict[str, Holding] = {"Inference": "inference", "Training": "training"}
COVERED = 0.5
"""Share of PyTorch's count that the formula must reach for its lines to be drawn."""


def layer_view(asked: architecture_cache.Asked) -> None:
    """The drawn way through one layer."""
    layer = architecture_controls.drawn_layer(architecture_cache.layer_count(asked))
    flow = architecture_cache.flow(asked, layer)
    figure = layer_drawing(flow, theme(controls.theme_name()))
    key = "architecture_layer"
    chart(figure, key, f"Layer {layer} of {flow.model}: the steps from its input to its output with their sizes")
    st.markdown(architecture_words.layer_words(flow))
    frame = flow_frame(flow)
    caption = f"Layer {layer} of {flow.model}, {flow.total:,} parameters."
    download_row(figure, key, f"layer {layer} {flow.model}", caption, frame)
    folded_table(key, frame, f"Steps of layer {layer} in the order of the run")
    explained(key, *architecture_words.LAYER)


def flow_frame(flow: LayerFlow) -> pd.DataFrame:
    """The steps as a table."""
    return pd.DataFrame(
        {
            "step": [step.name for step in flow.steps],
            "class": [step.class_name for step in flow.steps],
            "part": [step.part for step in flow.steps],
            "weights": [", ".join(map(str, step.weights)) for step in flow.steps],
            "parameters": [step.numel for step in flow.steps],
            "goes in": [str(step.enters or "") for step in flow.steps],
            "comes out": [str(step.leaves or "") for step in flow.steps],
        }
    )


def cost_view(asked: architecture_cache.Asked) -> None:
    """Multiply-adds by length, and memory of activations by batch and length."""
    name = asked.name
    terms, limit = architecture_cache.terms(name), architecture_cache.most_tokens(name)
    read = architecture_cache.read(name)
    here = len(read) if read is not None else min(architecture_cache.STATED_TOKENS, limit or 128)
    crossing = crossover(terms)
    lengths = _lengths(limit, crossing.tokens, here)
    checks = tuple(sorted({here, *(lengths_for(limit)[-3:])}))
    counts = architecture_cache.counts(name, checks)
    _metrics(terms, here, counts, read is not None)
    costs = multiply_adds(terms, lengths)
    known = _covered(terms, counts)
    if known:
        figure = cost_curves(
            costs, counts, crossing, limit, f"Multiply-adds of one text - {name}", theme(controls.theme_name())
        )
        chart(figure, "architecture_cost", f"Multiply-adds of {name} by tokens: attention's square, the rest's lines")
        st.markdown(architecture_words.cost_words(terms, crossing, limit, counts))
        frame = pd.DataFrame(
            {
                "tokens": costs.lengths,
                "projections": costs.projections,
                "scores and mixing": costs.attention,
                "feed-forward": costs.feed_forward,
                "other": costs.other,
                "total": costs.total,
            }
        )
        download_row(figure, "architecture_cost", f"multiply-adds {name}", "Multiply-adds by tokens.", frame)
        folded_table("architecture_cost", frame, "Multiply-adds by tokens and part")
    else:
        found = ", ".join(f"{value:,} at {seq:,} tokens" for seq, value in counts.items())
        st.info(plain(f"{architecture_words.NOT_COVERED} PyTorch counts {found or 'no run short enough'}."))
    explained("architecture_cost", *architecture_words.COST)
    _memory(name, limit)


def lengths_for(limit: int | None) -> tuple[int, ...]:
    """Doubling lengths up to what the model reads; 512 where nothing limits it."""
    most = limit or 512
    found = [most]
    while found[-1] > 32 and len(found) < 6:
        found.append(found[-1] // 2)
    return tuple(reversed(found))


def _lengths(limit: int | None, crossing: int | None, here: int) -> list[int]:
    """Lengths of the curve: as far as the model reads, and on to the crossing where that is not too far."""
    most = max(limit or 1024, 2 * here)
    if crossing is not None and crossing <= MOST_TIMES_LIMIT * most:
        most = max(most, int(1.3 * crossing))
    found = np.unique(np.linspace(1, most, POINTS, dtype=np.int64))
    return [int(each) for each in found]


def _covered(terms: OperationTerms, counts: dict[int, int]) -> bool:
    """Whether the formula tells most of what PyTorch counts."""
    costs = multiply_adds(terms, list(counts))
    pairs = costs.total - costs.attention + costs.every_pair
    return bool(all(mine >= COVERED * own for mine, own in zip(pairs, counts.values(), strict=True)))


def _metrics(terms: OperationTerms, here: int, counts: dict[int, int], typed: bool) -> None:
    """The numbers of one length: the formula's, or PyTorch's own count where the formula leaves work out."""
    costs = multiply_adds(terms, [here])
    formula, pairs = int(costs.total[0]), int((costs.total - costs.attention + costs.every_pair)[0])
    own = counts.get(here, pairs)
    total, how = (formula, "by the formula") if own == pairs else (own, "counted by PyTorch")
    with st.container(horizontal=True):
        st.metric("Your text" if typed else "A text", f"{here:,} tokens", help="Special tokens included.")
        words = f"{total:,} of one forward pass, {how}; twice as many operations."
        st.metric("Multiply-adds", short_count(total), help=words)
        for label, values in (
            ("Feed-forward", costs.feed_forward),
            ("Projections", costs.projections),
            ("Scores and mixing", costs.attention),
        ):
            value = int(values[0])
            st.metric(label, f"{value / total:.1%}" if total else "", help=f"{value:,} multiply-adds.")


@st.fragment
def _memory(name: str, limit: int | None) -> None:
    st.subheader("Memory of activations", anchor=False)
    chosen = controls.choice("What is counted", list(HOLDINGS), "holding", label_visibility="collapsed")
    memory = architecture_cache.memory(name, HOLDINGS[chosen], BATCHES, lengths_for(limit))
    title = f"Memory of activations in {chosen.lower()} - {name}"
    figure = memory_map(memory, title, theme(controls.theme_name()))
    chart(figure, "architecture_memory", f"{title}, by texts in a batch and tokens of each")
    weights = cache.ledger(name).total * 4
    st.markdown(f"{architecture_words.MEMORY[memory.holding]} The weights take {bytes_text(weights)} more at float32.")
    frame = pd.DataFrame(memory.nbytes, columns=[f"{seq} tokens" for seq in memory.lengths])
    frame.insert(0, "batch", list(memory.batches))
    download_row(figure, "architecture_memory", f"activation memory {chosen} {name}", title, frame)
    folded_table("architecture_memory", frame, f"{title}, bytes")
    explained("architecture_memory", *architecture_words.MEMORY_MADE)


def encoder_view(asked: architecture_cache.Asked) -> None:
    """An encoder alone beside an encoder with a decoder."""
    model, ledger = cache.architecture(asked.name), architecture_cache.class_ledger(asked)
    local = architecture_cache.local_layers(asked.name)
    figure = encoder_and_decoder(model, ledger, local, theme(controls.theme_name()))
    key = "architecture_encoder"
    chart(figure, key, "An encoder alone, and an encoder whose output a decoder reads by cross-attention")
    st.markdown(architecture_words.encoder_words(model))
    rows = [(part.name, part.total, part.total / ledger.total) for part in ledger.components]
    frame = pd.DataFrame(rows, columns=["component", "parameters", "share"])
    download_row(figure, key, f"encoder or decoder {asked.name}", f"{asked.name}: {ledger.total:,} parameters.", frame)
    folded_table(key, frame, f"Components of {asked.name}")
    explained(key, *architecture_words.ENCODER)
