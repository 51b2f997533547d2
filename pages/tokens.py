"""Tokens: what does the model read?"""

import streamlit as st

from ui.cache import models
from ui.views.tokens import views
from ui.widgets import controls
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import explained
from ui.widgets.formatting import escape_markdown, heading

name_model = heading("Tokens", "What does the model read?")
with shown_to_user():
    name, text, pair = controls.model_name(), controls.text(), controls.pair()
    tokens = models.tokens(name, text, pair)

name_model(name, f"{len(tokens):,} tokens{' of a pair' if pair else ''}")
for notice in tokens.notices:
    st.warning(escape_markdown(notice), icon=":material/content_cut:" if "cut off" in notice else None)

views.sizes(tokens)
with shown_to_user():
    views.cut_view(name, tokens)
    views.tensor_view(name, tokens)
    views.second_view(name, tokens, text, pair)

explained(
    "tokens",
    "The tokenizer normalises the text, splits it into words and cuts every word into pieces of its vocabulary, from "
    "the left the longest that is there (WordPiece) or by merges learnt from counts (BPE). Each piece is replaced by "
    "its row number, the id; special tokens are added. A token's static embedding is that row `w` of the table "
    "`E`, of shape `(vocab, width)`; its norm is `‖w‖`, and neighbours are the rows `v` of largest cosine "
    "`w·v / (‖w‖ ‖v‖)`, the row itself left out.",
    "E = model.get_input_embeddings().weight   # (vocab, width)\n"
    "cosine = torch.cosine_similarity(E, E[token_id][None])\n"
    "print(E[token_id].norm(), tokenizer.convert_ids_to_tokens(cosine.topk(11).indices[1:]))",
)
