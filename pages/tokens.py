"""Tokens: what does the model read?"""

import streamlit as st

from bertviz_core.text import escape_markdown
from ui.cache import models
from ui.views.tokens.second_tokenizer import second_view
from ui.views.tokens.tensor import tensor_view
from ui.views.tokens.views import cut_view, token_counts
from ui.widgets import text_fields
from ui.widgets.errors import shown_to_user
from ui.widgets.heading import heading, unshown
from ui.widgets.models import fields

name_model = heading("tokens")
with shown_to_user():
    name, text, pair = fields.model_name(), text_fields.text(), text_fields.pair()
    tokens = models.tokens(name, text, pair)

name_model(name, token_counts(tokens))
for notice in unshown(tokens.notices):
    st.warning(escape_markdown(notice), icon=":material/content_cut:" if "cut off" in notice else None)

with shown_to_user():
    cut_view(name, tokens)
    tensor_view(name, tokens)
    second_view(name, tokens, text, pair)
