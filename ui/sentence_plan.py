"""What the reader of the sentences page asks for: pooling, layer, measure, order, and how the model is run."""

import streamlit as st

from bertviz_core.results.sentences import Measure, SentenceDtype, SentencePlan
from bertviz_core.sentence_modules import adapted
from bertviz_core.sentence_run import fast_bfloat16
from ui import models, sentence_controls, sentence_models

MANY = 2_000
"""Above so many sentences shorter numbers are offered."""


def asked_for(name: str, count: int) -> tuple[SentencePlan, Measure, bool, SentenceDtype]:
    """Plan, measure, whether clustered, and number format, from widgets in two rows.

    Raises:
        BertvizError: as load_model and recommended.
    """
    own = sentence_models.plan(name)
    model = models.loaded(name)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pooling = sentence_controls.pooling_choice(own.pooling, model.has_pooler) or own.pooling
        layer = sentence_controls.layer_slider(model.num_hidden_layers, pooling == "pooler")
        prompts = sentence_models.prompts(own)
        prompt = sentence_controls.prompt_select(prompts, own.prompt) if prompts else own.prompt
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure = sentence_controls.measure_choice()
        clustered = sentence_controls.clustered()
        fast = count > MANY and fast_bfloat16(model.device) and sentence_controls.bfloat16_toggle()
    return adapted(own, pooling, layer, prompt), measure, clustered, "bfloat16" if fast else "float32"
