"""Surprise: how unexpected each token is, given all others."""

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.figures.predictions.surprise import surprise_figure
from bertviz_core.figures.tokens.box_rows import SPELLED
from bertviz_core.predictions.results import PseudoLikelihood
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.masked_lm import MASK, NO_MASK, TASK, masked_words, surprise
from bertviz_core.text import escape_controls, escape_markdown, isolated, shortened
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.subwords.pieces import text_pieces
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.views.predictions import controls, texts
from ui.views.predictions.compared import compared_block
from ui.widgets import text_fields
from ui.widgets.figure_block import figure_block
from ui.widgets.lists.progress import answer

QUOTED = 60
"""Most characters of a text on a button."""


def surprise_view(name: str) -> None:
    """The text coloured by the surprise of its tokens, and the surprise of the whole text."""
    tokens = controls.read_text(name)
    if _has_mask(name, tokens):
        return
    opened = SharedModel(name)
    result = answer(surprise, opened, Options((tokens.text,), tokens.pair)).result
    words = figure_block(
        surprise_figure(result, text_pieces(tokens)),
        f"surprise {name}",
        surprise_table(result),
        texts=tokens,
        explanation=(texts.SURPRISE, texts.surprise_code(name, tokens)),
        scrolled=True,
    )
    with words:
        _totals(result)
    compared_block(opened, Options((tokens.text,), tokens.pair, TASK), "surprise")


def _has_mask(name: str, tokens: Tokens) -> bool:
    """Whether a text has a mask; if so, the reader is offered its likeliest replacements."""
    mask = models.tokenizer(name).mask_word
    if not np.isin(tokens.input_ids, [models.tokenizer(name).tokenizer.mask_token_id]).any():
        return False
    st.info(
        f"The text has {escape_markdown(mask)} in it, whose word is not known, so neither is its surprise. Write the "
        "word, or take the likeliest; **Masked words** lists more.",
        icon=":material/info:",
    )
    filled = _filled(name, tokens)
    if mask not in "".join(filled):
        texts = " / ".join(f"“{escape_markdown(shortened(each, QUOTED))}”" for each in filled if each)
        st.button(f"Take {texts}", key="fill_masks", on_click=text_fields.put_texts, args=filled)
    return True


def _filled(name: str, tokens: Tokens) -> tuple[str, str]:
    """The text and the second one ("" for none) with every mask replaced by its likeliest word."""
    options = Options((tokens.text,), tokens.pair, values={MASK.key: NO_MASK})
    tokenizer, result = models.tokenizer(name), masked_words(SharedModel(name), options).result
    mask, texts = tokenizer.mask_word, [tokens.text, tokens.pair or ""]
    for place in np.flatnonzero(result.typed).tolist():
        spelling = tokenizer.spelled([int(result.top_ids[place, 0])])
        word = str(tokenizer.tokenizer.convert_tokens_to_string(list(spelling))).strip()
        which = result.tokens.sequence[place] or 0
        which = which if mask in texts[which] else 1 - which
        texts[which] = texts[which].replace(mask, word, 1)
    return texts[0], texts[1]


def surprise_table(result: PseudoLikelihood) -> pd.DataFrame:
    """Every token with its surprise; special tokens have none."""
    values = result.surprise.astype(float)
    return pd.DataFrame(
        {
            "position": range(len(values)),
            "token": list(result.tokens.tokens),
            "surprise, nats": values,
            "probability": np.exp(-values),
        }
    )


def _totals(result: PseudoLikelihood) -> None:
    """Mean and PPPL, and the token with the greatest surprise."""
    most = int(np.nanargmax(result.surprise))
    token = escape_markdown(isolated(escape_controls(result.tokens.tokens[most])))
    with st.container(horizontal=True):
        st.metric("Mean surprise", f"{result.mean:.3f} nats", help="Of all tokens that are not special.")
        st.metric("PPPL", f"{result.perplexity:,.1f}", help="exp(mean surprise): 1 for a text without any surprise.")
        masked = int((~np.isnan(result.surprise)).sum())
        st.metric("Tokens", f"{masked:,}", help="Of the text, special tokens not counted: each was masked once.")
    st.markdown(
        f"Of all tokens the most surprising: **{token}** at position {most}, "
        f"**{float(result.surprise[most]):.3f}** nats."
    )
    st.caption(SPELLED)
