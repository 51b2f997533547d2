"""Tokens: what does the model read?"""

import streamlit as st

from ui import controls, models, token_tensor, token_views
from ui.errors import plain, told
from ui.export import explained
from ui.text import heading

name_model = heading("Tokens", "What does the model read?")
with told():
    name, text, pair = controls.model_name(), controls.text(), controls.pair()
    tokens = models.tokens(name, text, pair)

name_model(name, f"{len(tokens):,} tokens{' of a pair' if pair else ''}")
for notice in tokens.notices:
    st.warning(plain(notice), icon=":material/content_cut:" if "cut off" in notice else None)

token_views.sizes(tokens)
with told():
    token_views.cut_view(name, tokens)
    token_tensor.tensor_view(name, tokens)
    token_tensor.second_view(name, tokens, text, pair)

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
