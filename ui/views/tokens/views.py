"""The upper part of the tokens page: tokens of the text, their table, and the neighbours of one of them."""

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.figures.tokens.box_rows import DRAWN, SPELLED
from bertviz_core.figures.tokens.nearest import nearest_figure
from bertviz_core.figures.tokens.strip import tokens_figure
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.tokens import TOKEN, nearest_embeddings
from bertviz_core.text import count, counted, escape_controls, escape_markdown, shortened
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.subwords.pieces import text_pieces
from bertviz_core.trace.tokenization import PADDING_ROW
from ui.cache import sources
from ui.cache.shared_model import SharedModel
from ui.views.tokens import controls
from ui.views.tokens.tensor import nearest_code
from ui.widgets.figure_block import download_row, explained, figure_block, folded, scrolled_chart

CHART_KEY = "tokens_neighbours"
HALF = 0.52
"""Share of the page's width taken by the right column."""
MARKS = (
    f"{SPELLED} Neighbouring words differ in shade; pieces of one word touch. A small mark in front is part of the "
    "vocabulary's spelling: ## continues a word, ▁ and Ġ stand for a space. *Italic*: special token. Dotted edge, "
    "underlined: not in the vocabulary. Grey: characters that become no token. Click a token to see its neighbours "
    "below."
)
FROM_THE_RIGHT = " Read from right to left, as the text is written."
HOW = (
    "The tokenizer normalises the text, splits it into words and cuts every word into pieces of its vocabulary, from "
    "the left the longest that is there (WordPiece) or by merges learnt from counts (BPE). Each piece is replaced by "
    "its row number, the id; special tokens are added. A token's static embedding is that row `w` of the table "
    "`E`, of shape `(vocab, width)`; its norm is `‖w‖`, and neighbours are the rows `v` of largest cosine "
    "`w·v / (‖w‖ ‖v‖)`, the row itself left out."
)


@st.fragment
def cut_view(name: str, tokens: Tokens) -> None:
    """The tokens of the text, their table, and the neighbours of the selected one."""
    below, above = controls.below_choice(), st.container()
    with st.container(key="halves_tokens"):
        rows, near = st.columns([1, 1], gap="medium")
    with near:  # drawn first: the address may name another token than the widget showed before
        chosen = controls.token_position(tokens)
    with above:
        pieces = text_pieces(tokens)
        spec = tokens_figure(pieces, below, chosen, name)
        scrolled_chart(spec, controls.take_token)
        st.caption(MARKS + FROM_THE_RIGHT * pieces.right_to_left)
        if len(pieces) > DRAWN:
            st.caption(f"The first {DRAWN:,} of {len(pieces):,} tokens are drawn; the table has all of them.")
        download_row(spec, spec.chart, f"tokens of the text {name}", spec.caption, tokens_frame(tokens), tokens)
    with rows:
        token_table(tokens)
        sizes(tokens)
    with near:
        neighbours(name, tokens, chosen)
    source = sources.source(name)
    explained("tokens", HOW, nearest_code(source, int(tokens.input_ids[chosen])))


def sizes(tokens: Tokens) -> None:
    """Counts of tokens, words and characters."""
    with st.container(horizontal=True):
        st.metric("Tokens", count(len(tokens)), help="Rows that the model reads, special tokens included.")
        st.metric("Of the text", count(int((~tokens.special).sum())), help="Words, pieces of words and punctuation.")
        st.metric("Special", count(int(tokens.special.sum())), help="Tokens such as [CLS], which stand for no word.")
        st.metric("Token limit", count(tokens.limit), help=f"What sets this: {escape_markdown(tokens.limit_reason)}.")
        st.metric("Words", count(_words(tokens)), help="As the tokenizer splits the text; punctuation is not counted.")
        st.metric("Unknown", count(int(tokens.unknown.sum())), help="Pieces of words that are not in the vocabulary.")
        st.metric("Cut off", count(sum(tokens.tokens_cut)), help="Tokens at the end that do not fit the model.")
        st.metric("Characters", count(len(tokens.text) + len(tokens.pair or "")), help="Characters of the text.")
    if tokens.special.any():
        shown = dict.fromkeys(tokens.tokens[position] for position in np.flatnonzero(tokens.special))
        st.caption(f"{token_counts(tokens)}: {escape_markdown(', '.join(shown))}. Special tokens stand for no word.")


def token_counts(tokens: Tokens) -> str:
    """The number of tokens, and how many of them are of the text and how many are special."""
    special = int(tokens.special.sum())
    texts = "the text" if tokens.pair is None else "both texts"
    parts = f" = {len(tokens) - special:,} of {texts} + {special:,} special" if special else ""
    return f"{counted(len(tokens), 'token')}{parts}"


def _words(tokens: Tokens) -> int | None:
    """Number of words with a letter or digit; None where the tokenizer does not mark words."""
    if tokens.word_ids is None:
        return None
    texts, words = (tokens.text, tokens.pair or ""), set()
    for position, (place, index) in enumerate(zip(tokens.sequence, tokens.word_ids, strict=True)):
        span = tokens.offsets[position] if tokens.offsets is not None else None
        covered = texts[place][slice(*span)] if span is not None and place is not None else tokens.tokens[position]
        if index is not None and any(map(str.isalnum, covered)):
            words.add((place, index))
    return len(words)


def token_table(tokens: Tokens) -> None:
    """A table of all tokens."""
    frame = tokens_frame(tokens)
    ids = {column: st.column_config.NumberColumn(format="%d") for column in ("position", "id", "word", "type id")}
    shown = frame.assign(token=[shortened(escape_controls(token), 60) for token in frame["token"]])
    st.dataframe(
        shown,
        hide_index=True,
        height=min(38 + 35 * len(frame), 480),
        alt="Every token of the text",
        column_config=ids,
        placeholder="",
    )


def tokens_frame(tokens: Tokens) -> pd.DataFrame:
    """The rows of the token table; columns that the tokenizer does not provide are left out."""
    flags = zip(tokens.special.tolist(), tokens.unknown.tolist(), strict=True)
    columns: dict[str, object] = {
        "position": range(len(tokens)),
        "token": list(tokens.tokens),
        "id": tokens.input_ids,
        "vocabulary": ["special" if special else "unknown" if unknown else "known" for special, unknown in flags],
    }
    if tokens.word_ids is not None:
        columns["word"] = pd.array(list(tokens.word_ids), dtype="Int64")
    if tokens.offsets is not None:
        columns["characters"] = [
            f"{span[0]}:{span[1]}" if span is not None and span[0] < span[1] else "" for span in tokens.offsets
        ]
    if tokens.token_type_ids is not None:
        columns["type id"] = tokens.token_type_ids
    if tokens.pair is not None:
        columns["text"] = ["" if place is None else ("first", "second")[place] for place in tokens.sequence]
    return pd.DataFrame(columns)


def neighbours(name: str, tokens: Tokens, position: int) -> None:
    """The nearest rows of the embedding table to one token's row, as bars and table."""
    token, token_id = tokens.tokens[position], int(tokens.input_ids[position])
    try:
        options = Options((tokens.text,), tokens.pair, values={TOKEN.key: str(position)})
        answer = nearest_embeddings(SharedModel(name), options)
    except BertvizError as error:
        st.info(escape_markdown(f"The neighbours of a token need the model's weights. {error}"))
        return
    nearest, spelled = answer.result, answer.drawn["spelled"]
    short = shortened(escape_controls(token), 24)
    frame = pd.DataFrame({"token": list(spelled), "id": nearest.ids, "cosine": nearest.cosine, "norm": nearest.norms})
    spec = nearest_figure(nearest, spelled, token, name)
    words = figure_block(spec, f"nearest to {short} {name}", frame, numbers="in files", texts=tokens, share=HALF)
    words.markdown(
        f"**{escape_markdown(short)}** has the id {token_id:,}; its row has the norm **{nearest.norm:.4f}**. The "
        "neighbours are those of the vocabulary, before any layer: the same in every text."
    )
    if any(each.startswith(PADDING_ROW) for each in spelled):
        words.caption(
            "The table has more rows than the tokenizer has tokens. The rest are padding rows, which no text uses."
        )
    with folded("The neighbours as a table", f"{CHART_KEY}_table"):
        form = {"id": "%d", "cosine": "%.4f", "norm": "%.4f"}
        config = {column: st.column_config.NumberColumn(format=each) for column, each in form.items()}
        shown = frame.assign(token=[shortened(escape_controls(each), 60) for each in spelled])
        st.dataframe(shown, hide_index=True, alt="Nearest rows with cosine and norm", column_config=config)
    st.caption(
        "Tokens that are near were used alike in training, which is not the same as meaning the same. How alike the "
        "tokens of your text are in their context: Representations, Token similarity."
    )
