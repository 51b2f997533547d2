"""The part of the tokens page that tokenizes the same text with a second tokenizer."""

import pandas as pd
import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.figures.tokens.strip import tokenizers_figure
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.tokens import TOKENIZER, tokens_by
from bertviz_core.text import counted, escape_markdown
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.subwords.pieces import text_pieces
from bertviz_core.trace.subwords.reference_tokenizers import REFERENCE_TOKENIZERS
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.cache.view_notes import noted_if
from ui.views.tokens import controls
from ui.views.tokens.views import token_counts
from ui.widgets.figure_block import figure_block
from ui.widgets.heading import unshown


@st.fragment
def second_view(name: str, tokens: Tokens, text: str, pair: str | None) -> None:
    """The same text under two tokenizers, one below the other."""
    st.header("The same text under a second tokenizer", anchor=False)
    other = controls.tokenizer_select(models.tokenizer_names(), name)
    try:
        second = tokens_by(SharedModel(name), Options((text,), pair), other)
    except BertvizError as error:
        st.warning(escape_markdown(str(error)), icon=":material/block:")
        return
    with noted_if(TOKENIZER.key in st.query_params):  # by default it is below the visible part of the page
        words = figure_block(
            tokenizers_figure(text_pieces(tokens), text_pieces(second), name, other),
            f"tokens of two tokenizers {name} {other}",
            _table({name: tokens, other: second}),
            alt="Tokens of both tokenizers",
            texts=tokens,
            models=(name,) if other in REFERENCE_TOKENIZERS else (name, other),
            scrolled=True,
        )
    for each, read in ((name, tokens), (other, second)):
        description = REFERENCE_TOKENIZERS[each][1] if each in REFERENCE_TOKENIZERS else ""
        words.markdown(f"**{escape_markdown(each)}**: {_counts(read)}. {description}")
    for notice in unshown(second.notices):
        words.warning(f"{escape_markdown(other)}: {escape_markdown(notice)}")
    same = counted(len(set(tokens.tokens) & set(second.tokens)), "spelling")
    words.caption(f"The two have {same} in common here. An id means something only to the model it belongs to.")


def _counts(tokens: Tokens) -> str:
    own = int((~tokens.special).sum())
    characters = len(tokens.text) + len(tokens.pair or "")
    density = f", {characters / own:.1f} characters per token of the text" if own and not any(tokens.tokens_cut) else ""
    return f"{token_counts(tokens)}, {int(tokens.unknown.sum()):,} unknown{density}"


def _table(read: dict[str, Tokens]) -> pd.DataFrame:
    """All tokens of both tokenizers."""
    rows = [
        (name, position, token, token_id)
        for name, tokens in read.items()
        for position, (token, token_id) in enumerate(zip(tokens.tokens, tokens.input_ids.tolist(), strict=True))
    ]
    return pd.DataFrame(rows, columns=["tokenizer", "position", "token", "id"])
