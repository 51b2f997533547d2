"""The view on what two checkpoints make of one text: where their hidden states and their attention part."""

import pandas as pd
import streamlit as st

from bertviz_core.behaviour import behaviour, require_same_ids
from bertviz_core.results.compare import Behaviour, CheckpointComparison
from figures.checkpoint_pictures import cosines_picture, divergences_picture
from ui import controls, models, runs
from ui.errors import plain
from ui.export import chart, download_row, explained, folded_table
from ui.weight_words import BEHAVIOUR

COSINES, DIVERGENCES = "checkpoint_cosines", "checkpoint_divergences"


def behaviour_view(name: str, other: str) -> None:
    """What both make of the text in the sidebar."""
    text, pair = controls.text(), controls.pair()
    require_same_ids(name, models.tokens(name, text, pair), other, models.tokens(other, text, pair))
    with st.spinner("Running both models"):
        first = runs.traced(name, text, pair)
        second = runs.traced(other, text, pair)
    place = st.empty()

    def tell(done: int, layers: int) -> None:
        place.progress(done / layers, f"Attention of layer {done} of {layers}")

    found = behaviour(first, second, tell)
    place.empty()
    for notice in found.notices:
        st.warning(plain(notice))
    _cosines(found)
    _divergences(found)
    explained("checkpoint_behaviour", *BEHAVIOUR)


def _cosines(found: Behaviour) -> None:
    if found.cosines is None:
        return
    picture = cosines_picture(found)
    title = picture.title
    chart(picture, COSINES)
    last = found.cosines[-1]
    st.markdown(f"Mean cosine at the last row **{float(last.mean()):.4f}**, smallest **{float(last.min()):.4f}**.")
    frame = pd.DataFrame(found.cosines, columns=[f"{place} {token}" for place, token in enumerate(found.tokens.tokens)])
    frame.insert(0, "layer", range(len(found.cosines)))
    download_row(picture, COSINES, f"cosine {found.first} {found.second}", title, frame, found.tokens, models_of(found))
    folded_table(COSINES, frame, title)


def _divergences(found: Behaviour) -> None:
    if found.divergences is None:
        return
    picture = divergences_picture(found)
    title = picture.title
    chart(picture, DIVERGENCES)
    layer, head = divmod(int(found.divergences.argmax()), found.divergences.shape[1])
    largest = float(found.divergences[layer, head])
    words = f"largest at layer {layer}, head {head}: **{largest:.4f}** nats" if largest else "0 in every head"
    st.markdown(f"Jensen-Shannon divergence, mean over the tokens that look; {words}. It is at most ln 2 = 0.6931.")
    frame = pd.DataFrame(found.divergences, columns=[f"head {head}" for head in range(found.divergences.shape[1])])
    frame.insert(0, "layer", range(len(found.divergences)))
    download_row(
        picture, DIVERGENCES, f"divergence {found.first} {found.second}", title, frame, found.tokens, models_of(found)
    )
    folded_table(DIVERGENCES, frame, title)


def models_of(found: CheckpointComparison | Behaviour) -> tuple[str, ...]:
    """Names of the models compared."""
    return tuple(dict.fromkeys((found.first, found.second)))
